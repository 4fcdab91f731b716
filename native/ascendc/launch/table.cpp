// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ascendc/launch/table.h"

#include "ascendc/launch/kernels.h"

namespace acl_attn::ascendc {
namespace {

using engine::Dtype;
using engine::Problem;

constexpr int64_t kFractalColumns = 16;  // of a 16-bit type
constexpr int64_t kMaxGroup = 1024;
constexpr int32_t kGroupStep = 8;                 // fp32 numbers in 32 bytes, where a vector instruction may begin
constexpr int32_t kMaxDim = 576;
constexpr int64_t kMaxBlockSize = 65535;          // tokens, of a cache whose channels are in groups

// A tensor of keys whose rows a kernel can load: whole rows, or groups of 32 bytes, as a fractal has.
bool loads(const Problem& p, const engine::KvLayout& layout, Dtype dtype, int64_t columns) {
    if (layout.chunk >= columns) return true;
    const int64_t group = 256 / engine::bits_of(dtype);
    return layout.chunk == group && columns % group == 0 && layout.token_stride == group &&
           layout.chunk_stride % group == 0 && layout.chunk_stride <= kMaxBlockSize * group &&
           p.block_size <= kMaxBlockSize;
}

// Numbers for each channel (the same for all tokens), or for each token and group of channels.
bool scales(const engine::Dequant& dequant) {
    const engine::ScaleLayout& l = dequant.layout;
    if (!dequant.has_scale && !dequant.has_offset) return true;
    if (!dequant.has_scale) return false;
    if (l.group == 1) return l.token_stride == 0 && !l.paged && l.group_stride == 1 && l.dtype != Dtype::e8m0;
    return l.group % kGroupStep == 0 || l.group_stride == 0 || l.group >= kMaxDim;
}

bool serves(TileSize size, const Problem& p) {
    if (scheme_of(p) == Scheme::mla) {  // whose ropes have tiles of their own
        return p.dim <= dim_of(size) && p.rope_dim <= kMaxQuantisedRope && p.dim_v <= dim_v_of(size);
    }
    const int64_t groups = (p.dim + kFractalColumns - 1) / kFractalColumns;  // rope begins at a fractal
    const int64_t columns = p.rope_dim > 0 ? groups * kFractalColumns + p.rope_dim : p.dim;
    return columns <= dim_of(size) && p.dim_v <= dim_v_of(size) && p.value_is_key == value_is_key(size);
}

// What the kernels lack for quantised queries; empty if nothing.
std::string missing_for_quantised(const Problem& p) {
    using Kind = engine::FullQuant::Kind;
    const engine::FullQuant& quant = p.full_quant;
    if (quant.kind == Kind::none) return {};
    if (quant.kind == Kind::mx_f8) return "MXFP8 queries";
    if (std::string refused = engine::unsupported(p); !refused.empty()) return refused;
    if (quant.kind != Kind::gqa_f8) return {};
    if (quant.key_scale.run != 1 || quant.key_scale.run_stride != 1) {
        return "scales of keys that are not behind one another";
    }
    if (p.block_size % kGroupStep != 0) return "pages of a number of tokens that is no multiple of 8";
    return {};
}

// Why no kernel serves it, apart from its tile; empty if that does not stand in the way.
std::string missing(const Problem& p, int32_t architecture) {
    if (std::string lacking = missing_for_quantised(p); !lacking.empty()) return lacking;
    const bool is_quantised = scheme_of(p) != Scheme::none;
    for (const engine::Dequant* dequant : {&p.key_dequant, &p.value_dequant}) {
        if (!scales(*dequant)) return "scales shared like these";
        if (p.kv_dtype != p.dtype && !dequant->has_scale) return "quantised keys or values without scales";
    }
    if (p.post_quant.present && p.out_dtype != Dtype::i8 && architecture == 2201) {
        return "an output of this type on dav-2201";
    }
    if (p.heads / p.kv_heads > kMaxGroup) return "more than 1024 query heads of one KV head";
    if (!loads(p, p.key, p.kv_dtype, p.dim) || !(p.value_is_key || loads(p, p.value, p.kv_dtype, p.dim_v)) ||
        (p.rope_dim > 0 && !loads(p, p.key_rope, is_quantised ? Dtype::bf16 : p.dtype, p.rope_dim))) {
        return "a cache whose channels are in groups of another size than 32 bytes";
    }
    for (const engine::RowLayout* rows : {&p.out, &p.lse}) {
        if (rows->head_stride > kMaxStride || rows->token_stride > kMaxStride) return "rows this far apart";
    }
    return {};
}

const char* name_of(Dtype dtype) {
    switch (dtype) {
        case Dtype::f16: return "fp16";
        case Dtype::bf16: return "bf16";
        case Dtype::i8: return "int8";
        case Dtype::i4: return "int4";
        case Dtype::f8_e4m3: return "fp8 (e4m3)";
        case Dtype::hif8: return "hifloat8";
        case Dtype::f4_e2m1: return "fp4 (e2m1)";
        default: return "other";
    }
}

const char* name_of(Scheme scheme) {
    switch (scheme) {
        case Scheme::none: return "";
        case Scheme::per_tensor: return " quantised per tensor";
        case Scheme::mla: return " quantised per token and head, ropes apart";
        case Scheme::gqa: return " quantised per token and head";
    }
    return "";
}

const char* name_of(TileSize size) {
    switch (size) {
        case TileSize::narrow: return "keys up to 192 channels (rope included), values up to 128";
        case TileSize::wide: return "keys up to 576 channels (rope included), values up to 512";
        case TileSize::latent: return "keys up to 576 channels, values their first channels, up to 512";
        case TileSize::shared: return "rows of 512 channels that are key and value";
    }
    return "";
}

}  // namespace

Scheme scheme_of(const Problem& p) {
    switch (p.full_quant.kind) {
        case engine::FullQuant::Kind::per_tensor_i8: return Scheme::per_tensor;
        case engine::FullQuant::Kind::mla: return Scheme::mla;
        case engine::FullQuant::Kind::gqa_f8: return Scheme::gqa;
        default: return Scheme::none;
    }
}

const Instantiation* find_instantiation(const Problem& p, int32_t architecture, std::string* lacking) {
    *lacking = missing(p, architecture);
    if (!lacking->empty()) return nullptr;
    bool has_types = false;
    for (const Instantiation& one : kInstantiations) {
        if (one.architecture != architecture || one.element != p.dtype || one.kv != p.kv_dtype ||
            one.scheme != scheme_of(p)) {
            continue;
        }
        has_types = true;
        if (serves(one.size, p)) return &one;
    }
    if (!has_types) {
        *lacking = "these types of query and keys on dav-" + std::to_string(architecture);
        return nullptr;
    }
    *lacking = "head dims of " + std::to_string(p.dim + p.rope_dim) + " and " + std::to_string(p.dim_v);
    return nullptr;
}

std::string instantiation_table() {
    std::string out;
    for (const Instantiation& one : kInstantiations) {
        out += std::string(one.name) + ": dav-" + std::to_string(one.architecture) + ", " +
               name_of(one.element) + " queries" + name_of(one.scheme) + ", " + name_of(one.kv) +
               " keys and values, " + name_of(one.size) + "\n";
    }
    return out;
}

}  // namespace acl_attn::ascendc
