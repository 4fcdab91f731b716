// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Quantised queries: which tensors each scheme takes, and their shapes.
#include <iterator>
#include <string>
#include <vector>

#include "ops/fused_infer_attention_score/full_quant.h"
#include "ops/fused_infer_attention_score/rules.h"
#include "ops/tensors.h"

namespace acl_attn::ops::fia {
namespace {

using Shape = std::vector<int64_t>;
using geometry::CacheOrder;
using geometry::Order;

bool is(const Case& c, Quantisation quantisation) { return c.quantisation == quantisation && !c.kv_is_empty; }
bool has_dynamic_scales(const Case& c) {
    return is(c, Quantisation::mla) || is(c, Quantisation::gqa_f8) || is(c, Quantisation::mx_f8);
}

Finding missing_scale(Input input) { return violated(kInputNames[input], "a scale for quantised queries", "nothing"); }

Finding scales_given(const Case& c) {
    if (is(c, Quantisation::per_tensor)) {
        for (const Input input : {kDeqScale1, kQuantScale1, kDeqScale2}) {
            if (c.extra[input] == nullptr) return missing_scale(input);
        }
    }
    if (has_dynamic_scales(c)) {
        for (const Input input : {kDequantScaleQuery, kKeyAntiquantScale, kValueAntiquantScale}) {
            if (c.extra[input] == nullptr) return missing_scale(input);
        }
    }
    return {};
}

Finding query_type(const Case& c) {
    const aclDataType dtype = c.query->dtype;
    const char* wanted = nullptr;
    if (is(c, Quantisation::per_tensor) && dtype != ACL_INT8) wanted = "dtype INT8 when all modes are 0";
    if ((is(c, Quantisation::gqa_f8) || is(c, Quantisation::mx_f8)) && dtype != ACL_FLOAT8_E4M3FN) {
        wanted = "dtype FLOAT8_E4M3FN with these modes";
    }
    if (wanted == nullptr) return {};
    return violated("query", wanted, meta::dtype_name(dtype));
}

Finding scale_types(const Case& c) {
    if (!c.is_full_quant()) return {};
    const aclDataType dynamic = c.quantisation == Quantisation::mx_f8 ? ACL_FLOAT8_E8M0 : ACL_FLOAT;
    const struct {
        Input input;
        aclDataType wanted;
    } scales[] = {{kDequantScaleQuery, dynamic}, {kKeyAntiquantScale, dynamic}, {kValueAntiquantScale, dynamic},
                  {kQuantScale1, ACL_FLOAT},     {kDeqScale1, ACL_FLOAT},       {kDeqScale2, ACL_FLOAT}};
    for (const auto& [input, wanted] : scales) {
        const meta::Tensor* scale = c.extra[input];
        if (scale == nullptr || scale->dtype == wanted) continue;
        const bool is_word = input == kDeqScale1 || input == kDeqScale2;
        if (is_word && scale->dtype == ACL_UINT64) continue;
        return violated(kInputNames[input], text("dtype ", meta::dtype_name(wanted), is_word ? " or UINT64" : ""),
                        meta::dtype_name(scale->dtype));
    }
    return {};
}

Finding one_shape(Input input, const Case& c, const std::vector<Shape>& wanted) {
    const meta::Tensor* scale = c.extra[input];
    if (scale == nullptr) return {};
    std::string names;
    for (const Shape& shape : wanted) {
        const int rank = static_cast<int>(shape.size());
        if (has_shape(*scale, shape.data(), rank)) return {};
        names += text(names.empty() ? "" : " or ", dims_text(shape.data(), rank));
    }
    return violated(kInputNames[input], text("shape ", names), shape_text(*scale));
}

Finding single_numbers(const Case& c) {
    if (!c.is_full_quant()) return {};
    for (const Input input : {kDeqScale1, kQuantScale1, kDeqScale2}) {
        if (Finding f = one_shape(input, c, {{1}})) return f;
    }
    if (!is(c, Quantisation::mla)) return {};
    for (const Input input : {kKeyAntiquantScale, kValueAntiquantScale}) {
        if (Finding f = one_shape(input, c, {{1}})) return f;
    }
    return {};
}

// Of every scheme: query's shape without the channels.
Finding query_scale_shape(const Case& c) {
    if (!has_dynamic_scales(c)) return {};
    const int64_t group = c.heads / c.kv_heads;
    if (c.quantisation == Quantisation::mx_f8) {
        return one_shape(kDequantScaleQuery, c,
                         {{c.q.tokens, c.heads, pairs(c.dim), kHalves},
                          {c.kv_heads, c.q.tokens, group, pairs(c.dim), kHalves}});
    }
    switch (c.layout->query) {
        case Order::bsh:
        case Order::bsnd: return one_shape(kDequantScaleQuery, c, {{c.q.batch, c.q.tokens, c.heads}});
        case Order::bnsd: return one_shape(kDequantScaleQuery, c, {{c.q.batch, c.heads, c.q.tokens}});
        case Order::tnd: return one_shape(kDequantScaleQuery, c, {{c.q.tokens, c.heads}});
        case Order::ntd: return one_shape(kDequantScaleQuery, c, {{c.heads, c.q.tokens}});
        case Order::nbsd: break;
    }
    return {};
}

Finding gqa_scale_shapes(const Case& c) {
    if (!is(c, Quantisation::gqa_f8)) return {};
    if (c.storage != Storage::paged || c.cache != CacheOrder::bnnbsd) {
        return violated("key", text("with modes 3, 3, 2 a paged cache ", geometry::axes(CacheOrder::bnnbsd)),
                        text("shape ", shape_text(*c.key->front()), c.storage == Storage::paged ? "" : ", not paged"));
    }
    if (Finding f = one_shape(kKeyAntiquantScale, c, {{c.k_cache.blocks, c.kv_heads, c.call.block_size}})) return f;
    return one_shape(kValueAntiquantScale, c, {{c.kv_heads}});
}

Finding mx_scale_shapes(const Case& c) {
    if (!is(c, Quantisation::mx_f8)) return {};
    if (c.dim % kPaired != 0 || c.dim_v % kPaired != 0) {
        return violated(c.dim % kPaired != 0 ? "query" : "value", text("with modes 6, 6, 8 a multiple of ", kPaired,
                                                                       " as head dim"),
                        text(c.dim % kPaired != 0 ? c.dim : c.dim_v));
    }
    if (c.layout->query != Order::tnd) return violated("inputLayout", "TND with modes 6, 6, 8", c.layout->name);
    const int64_t n = c.kv_heads;
    if (c.storage != Storage::paged) {
        int64_t value_pairs = 0;  // groups of tokens begin anew with each sequence
        for (const Tokens& tokens : c.kv_tokens) value_pairs += pairs(tokens.count);
        if (Finding f = one_shape(kKeyAntiquantScale, c, {{c.k.front().tokens, n, pairs(c.dim), kHalves}})) return f;
        if (c.call.is_largest && c.extra[kValueAntiquantScale]->rank == 4) return {};
        return one_shape(kValueAntiquantScale, c, {{value_pairs, n, c.dim_v, kHalves}});
    }
    const int64_t blocks = c.k_cache.blocks;
    const int64_t size = c.call.block_size;
    if (c.cache == CacheOrder::bnbsh || size % kPaired != 0) {
        return violated(c.cache == CacheOrder::bnbsh ? "key" : "blockSize",
                        text("with modes 6, 6, 8 a cache of rank 4 or 5 and blocks of a multiple of ", kPaired),
                        text("rank ", static_cast<int>(c.cache), ", blocks of ", size));
    }
    const bool nz = c.cache == CacheOrder::nz;
    const Shape key = nz ? Shape{blocks, n, size / kRun, pairs(c.dim), kRun, kHalves}
                         : Shape{blocks, n, size, pairs(c.dim), kHalves};
    const Shape value = nz ? Shape{blocks, n, c.dim_v / kRun, pairs(size), kRun, kHalves}
                           : Shape{blocks, n, pairs(size), c.dim_v, kHalves};
    if (Finding f = one_shape(kKeyAntiquantScale, c, {key})) return f;
    return one_shape(kValueAntiquantScale, c, {value});
}

// The block axis may have gaps, and the head axis behind it.
Finding scale_strides(const Case& c) {
    if (!c.is_full_quant() || c.storage != Storage::paged) return {};
    for (const Input input : {kKeyAntiquantScale, kValueAntiquantScale}) {
        const meta::Tensor* scale = c.extra[input];
        if (scale == nullptr || scale->is_contiguous()) continue;
        bool fits = c.quantisation != Quantisation::mla && scale->rank > 2 && scale->is_dense_from(2);
        for (int axis = 0; axis < 2 && fits; ++axis) fits = scale->shape[axis] == 1 || scale->stride[axis] > 0;
        if (fits) continue;
        return violated(kInputNames[input], "dense axes behind the block and the head axis",
                        text("strides ", strides_text(*scale), " for shape ", shape_text(*scale)));
    }
    return {};
}

Finding mla_dims(const Case& c) {
    if (!is(c, Quantisation::mla) || c.value_is_key()) return {};
    return violated("query", "with queryQuantMode 3 a head dim of 512 (decode MLA)", text(c.dim));
}

Finding no_lists(const Case& c) {
    if (!c.is_full_quant() || c.storage != Storage::list) return {};
    return violated("key", "one tensor with quantised queries", text(c.key->size()));
}

Finding out_type(const Case& c) {
    const bool only_bf16 =
        c.quantisation == Quantisation::mla || (c.quantisation == Quantisation::mx_f8 && c.has_rope());
    if (!only_bf16 || c.out->dtype == ACL_BF16) return {};
    return violated("attentionOut", "dtype BF16 with quantised queries and ropes", meta::dtype_name(c.out->dtype));
}

constexpr Rule<Case> kRules[] = {
    {"DQF-X-21", Tier::single, query_type},   // with DQF-X-35 and 46
    {"DQF-S-01", Tier::single, scale_types},  // with DQF-S-04, 05, 08, 09, 11, 12
    {"DQF-S-06", Tier::single, single_numbers},
    {"DQF-E-01", Tier::existence, scales_given},  // with DQF-E-06, 07, 12, 14
    {"DQF-X-19", Tier::cross, no_lists},          // with DQF-X-44 and 55
    {"DQF-X-11", Tier::cross, mla_dims},
    {"DQF-X-04", Tier::cross, out_type},           // with DQF-X-37
    {"DQF-X-13", Tier::cross, query_scale_shape},  // with DQF-X-14, 41, 52
    {"DQF-X-53", Tier::cross, gqa_scale_shapes},   // with DQF-E-16, DQF-X-48 and 54
    {"DQF-X-42", Tier::cross, mx_scale_shapes},    // with DQF-X-38, 40 and PA-X-11
    {"DQF-X-43", Tier::consistency, scale_strides},
};

}  // namespace

const Group<Case> kFullQuantRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::fia
