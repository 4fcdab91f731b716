// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/fused_infer_attention_score/describe.h"

#include <algorithm>

namespace acl_attn::ops::fia {
namespace {

const char* mode_text(const Facts& f) {
    if (f.is_tree) return "mask of a tree at the end of the keys";
    switch (f.sparse_mode) {
        case geometry::SparseMode::window:
            return f.problem.has_mask ? "mask, and window from the first column" : "none";
        case geometry::SparseMode::all: return "mask";
        case geometry::SparseMode::causal_top: return "causal, first row at the first column";
        case geometry::SparseMode::causal: return "causal, last row at the last column";
        case geometry::SparseMode::band: return "window, last row at the last column";
    }
    return "";
}

std::string storage_text(const Facts& f) {
    switch (f.storage) {
        case Storage::dense: return "one tensor";
        case Storage::list: return text(f.members, " tensors, one a sequence");
        case Storage::paged:
            return text("paged cache of rank ", f.cache_rank, ", ", f.problem.block_count, " blocks of ",
                        f.problem.block_size, " tokens");
    }
    return "";
}

const char* dtype_text(engine::Dtype dtype) {
    switch (dtype) {
        case engine::Dtype::f16: return "FLOAT16";
        case engine::Dtype::bf16: return "BF16";
        case engine::Dtype::f32: return "FLOAT";
        case engine::Dtype::i8: return "INT8";
        case engine::Dtype::i4: return "INT4";
        case engine::Dtype::f8_e4m3: return "FLOAT8_E4M3FN";
        case engine::Dtype::hif8: return "HIFLOAT8";
        case engine::Dtype::f4_e2m1: return "FLOAT4_E2M1";
        case engine::Dtype::e8m0: return "FLOAT8_E8M0";
    }
    return "";
}

const char* bias_text(const engine::Problem& p) {
    switch (p.bias) {
        case engine::BiasKind::none: return "";
        case engine::BiasKind::tensor: return p.bias_row_stride == 0 ? "one row for all" : "a row for each query token";
        case engine::BiasKind::slope: return "slopes over the distance";
        case engine::BiasKind::slope_sqrt: return "slopes over the root of the distance";
    }
    return "";
}

const char* scheme_text(engine::FullQuant::Kind kind) {
    using Kind = engine::FullQuant::Kind;
    switch (kind) {
        case Kind::none: return "";
        case Kind::per_tensor_i8: return "one scale for each of query, key and value";
        case Kind::mla: return "a scale for each query token and head, one for keys that are values";
        case Kind::gqa_f8: return "a scale for each token and head of query and key, and for each head of value";
        case Kind::mx_f8: return "a power of two for each 32 channels of query and key, and each 32 tokens of value";
    }
    return "";
}

// A line for each feature that the call has.
std::string features_text(const Facts& f) {
    const engine::Problem& p = f.problem;
    std::string out;
    if (p.rope_dim > 0) out += text("rope: ", p.rope_dim, " channels", p.value_is_key ? ", values are keys" : "", "\n");
    if (p.bias != engine::BiasKind::none) out += text("bias: ", bias_text(p), "\n");
    if (p.has_sink) out += "sink: a logit for each head\n";
    if (p.prefix_len > 0) out += text("shared prefix: ", p.prefix_len, " tokens\n");
    if (p.key_dequant.has_scale) {
        out += text("stored keys and values: ", dtype_text(p.kv_dtype), ", scales of ",
                    dtype_text(p.key_dequant.layout.dtype), " and ", dtype_text(p.value_dequant.layout.dtype),
                    p.key_dequant.has_offset ? ", with offsets" : "", "\n");
    }
    if (const char* scheme = scheme_text(p.full_quant.kind); *scheme != '\0') out += text("quantised: ", scheme, "\n");
    if (p.post_quant.present) {
        out += text("output: ", dtype_text(p.out_dtype),
                    p.post_quant.channel_stride == 0 ? ", one scale" : ", a scale for each channel",
                    p.post_quant.has_offset ? ", with offsets" : "", "\n");
    }
    if (f.is_padded) out += "left padding: where tokens stand is read when the call runs\n";
    return out;
}

std::string row_text(const engine::Sequence& s, int64_t row) {
    const geometry::Columns seen = geometry::visible_columns(s.band, row, s.kv_len);
    if (seen.begin == seen.end) return text("row ", row, " sees no key");
    return text("row ", row, " sees keys ", seen.begin, "..", seen.end - 1);
}

std::string sequence_text(size_t b, const engine::Sequence& s) {
    std::string out = text("sequence ", b, ": ", s.q_len, " rows, ", s.kv_len, " keys");
    if (s.q_len > 0) out += "; " + row_text(s, 0);
    if (s.q_len > 1) out += ", " + row_text(s, s.q_len - 1);
    if (s.pad_after > 0) out += text("; ", s.pad_after, " padding rows");
    return out + "\n";
}

}  // namespace

Facts facts_of(const Case& c, const engine::Problem& problem) {
    return {problem, c.layout->name, c.storage, c.key->size(), static_cast<int>(c.cache), c.sparse_mode(),
            c.pads_query() || c.pads_kv(), c.is_tree()};
}

std::string describe(const Facts& f) {
    constexpr size_t most = 16;
    const engine::Problem& p = f.problem;
    std::string out =
        text(p.sequences.size(), " sequences, layout ", f.layout, ", ",
             dtype_text(p.dtype), "\n", p.heads, " query heads on ", p.kv_heads,
             " key/value heads, head dim ", p.dim, " (value ", p.dim_v, "), scale ", std::to_string(p.scale), "\n",
             "key/value: ", storage_text(f), "\n", "masking: ", mode_text(f), "\n", features_text(f));
    for (size_t b = 0; b < std::min(p.sequences.size(), most); ++b) out += sequence_text(b, p.sequences[b]);
    if (p.sequences.size() > most) out += text("... and ", p.sequences.size() - most, " more sequences\n");
    return out;
}

}  // namespace acl_attn::ops::fia
