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
constexpr int64_t kMaxStride = int64_t{1} << 29;  // elements, of rows that one copy writes
constexpr int64_t kMaxBlockSize = 65535;          // tokens, of a cache whose channels are in groups

// A tensor of keys whose rows a kernel can load: whole rows, or the groups of 16 channels that a fractal has.
bool loads(const engine::KvLayout& layout, int64_t columns, int64_t block_size) {
    if (layout.chunk >= columns) return true;
    return layout.chunk == kFractalColumns && columns % kFractalColumns == 0 &&
           layout.token_stride == kFractalColumns && layout.chunk_stride % kFractalColumns == 0 &&
           layout.chunk_stride <= kMaxBlockSize * kFractalColumns && block_size <= kMaxBlockSize;
}

bool serves(TileSize size, const Problem& p) {
    return p.dim + p.rope_dim <= dim_of(size) && p.dim_v <= dim_v_of(size) && p.value_is_key == value_is_key(size);
}

// Why no kernel serves it, apart from its tile; empty if that does not stand in the way.
std::string missing(const Problem& p) {
    if (p.full_quant.kind != engine::FullQuant::Kind::none) return "a quantised query";
    if (p.kv_dtype != p.dtype || p.key_dequant.has_scale || p.value_dequant.has_scale) {
        return "quantised keys and values";
    }
    if (p.post_quant.present) return "a quantised output";
    if (p.heads / p.kv_heads > kMaxGroup) return "more than 1024 query heads of one KV head";
    if (p.rope_dim > 0 && p.dim % kFractalColumns != 0) return "rope beside a head dim that is no multiple of 16";
    if (!loads(p.key, p.dim, p.block_size) || !(p.value_is_key || loads(p.value, p.dim_v, p.block_size)) ||
        (p.rope_dim > 0 && !loads(p.key_rope, p.rope_dim, p.block_size))) {
        return "a cache whose channels are in groups of another size than 16";
    }
    for (const engine::RowLayout* rows : {&p.out, &p.lse}) {
        if (rows->head_stride > kMaxStride || rows->token_stride > kMaxStride) return "rows this far apart";
    }
    return {};
}

const char* name_of(TileSize size) {
    switch (size) {
        case TileSize::narrow: return "keys up to 192 channels (rope included), values up to 128";
        case TileSize::wide: return "keys up to 576 channels (rope included), values up to 512";
        case TileSize::latent: return "keys up to 576 channels, values their first channels, up to 512";
    }
    return "";
}

}  // namespace

const Instantiation* find_instantiation(const Problem& p, int32_t architecture, std::string* lacking) {
    *lacking = missing(p);
    if (!lacking->empty()) return nullptr;
    for (const Instantiation& one : kInstantiations) {  // narrow tiles stand first
        if (one.architecture == architecture && one.element == p.dtype && serves(one.size, p)) return &one;
    }
    *lacking = "head dims of " + std::to_string(p.dim + p.rope_dim) + " and " + std::to_string(p.dim_v);
    return nullptr;
}

std::string instantiation_table() {
    std::string out;
    for (const Instantiation& one : kInstantiations) {
        out += std::string(one.name) + ": dav-" + std::to_string(one.architecture) + ", " +
               (one.element == Dtype::f16 ? "fp16" : "bf16") + ", " + name_of(one.size) + "\n";
    }
    return out;
}

}  // namespace acl_attn::ascendc
