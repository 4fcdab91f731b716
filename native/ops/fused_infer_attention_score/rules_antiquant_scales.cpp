// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Scales and offsets of keys and values of a type of their own. Products have a list of types and shapes for each pair
// of modes; profile host takes what scales.h can read.
#include <iterator>
#include <string>

#include "ops/fused_infer_attention_score/rules.h"
#include "ops/fused_infer_attention_score/scales.h"
#include "ops/fused_infer_attention_score/shorthand.h"

namespace acl_attn::ops::fia {
namespace {

struct Side {
    const char* name;
    Input scale, offset;
    const char* mode_name;
    int64_t mode;
    int64_t dim;
};

Side key_side(const Case& c) {
    return {"key", kKeyAntiquantScale, kKeyAntiquantOffset, "keyAntiquantMode", c.call.key_antiquant_mode, c.dim};
}
Side value_side(const Case& c) {
    return {"value",
            kValueAntiquantScale,
            kValueAntiquantOffset,
            "valueAntiquantMode",
            c.call.value_antiquant_mode,
            c.dim_v};
}

bool has_modes(const Case& c, int64_t key, int64_t value) {
    return c.is_anti() && !c.kv_is_empty && c.call.key_antiquant_mode == key && c.call.value_antiquant_mode == value;
}

bool is_coarse(int64_t mode) { return mode == 0 || mode == 2; }  // few scales: in the query's precision

aclDataType scale_type(const Case& c, const Side& side, bool is_mixed) {
    if (side.mode == 6) return ACL_FLOAT8_E8M0;
    if (is_mixed && !c.is_host() && !c.is_newest()) return ACL_FLOAT;  // the page and the sources disagree
    return is_coarse(side.mode) ? c.query->dtype : ACL_FLOAT;
}

template <int key, int value>
Finding types(const Case& c) {
    if (!has_modes(c, key, value)) return {};
    for (const Side& side : {key_side(c), value_side(c)}) {
        const meta::Tensor* scale = c.extra[side.scale];
        if (scale == nullptr) continue;
        const aclDataType wanted = scale_type(c, side, key != value);
        if (scale->dtype == wanted) continue;
        if (c.is_host() && is_coarse(side.mode) && scale->dtype == ACL_FLOAT) continue;
        return dtype_refused(kInputNames[side.scale],
                             text(meta::dtype_name(wanted), " for ", side.mode_name, " ", side.mode), scale->dtype);
    }
    return {};
}

// A scale of another shape would not help.
Finding uneven_groups(const Side& side) {
    if (side.mode != 6 || side.dim % kScaleGroup == 0) return {};
    return violated(side.name, text("a head dim that ", kScaleGroup, " divides, for ", side.mode_name, " 6"),
                    text(side.dim));
}

// What profile host can read.
Finding readable(const Case& c, const Side& side) {
    const meta::Tensor* scale = c.extra[side.scale];
    ScalePlace place;
    if (scale == nullptr || c.call.is_largest || find_scale(c, side.mode, side.dim, *scale, &place)) return {};
    if (Finding f = uneven_groups(side)) return f;
    const bool needs_pages = (side.mode == 4 || side.mode == 5) && !c.is_paged();
    if (needs_pages) return violated(side.mode_name, "another mode without a blockTable", text(side.mode));
    return shape_refused(kInputNames[side.scale],
                         text(scale_shape_text(c, side.mode, side.dim), ", for ", side.mode_name, " ", side.mode),
                         *scale);
}

struct Shape {
    int64_t axes[5];
    int rank;
};

bool is_shape(const meta::Tensor& tensor, const Shape& shape) { return has_shape(tensor, shape.axes, shape.rank); }
// The same but for an axis that may be longer.
bool reaches(const meta::Tensor& tensor, Shape shape, int axis) {
    if (tensor.rank != shape.rank || tensor.shape[axis] < shape.axes[axis]) return false;
    shape.axes[axis] = tensor.shape[axis];
    return is_shape(tensor, shape);
}

bool is_per_channel(const Case& c, const meta::Tensor& scale) {
    const int64_t n = c.kv_heads;
    const int64_t d = c.dim;
    for (const Shape& shape : {Shape{{n * d}, 1}, Shape{{1}, 1}, Shape{{1, n * d}, 2}, Shape{{n, d}, 2},
                               Shape{{1, n, d}, 3}, Shape{{n, 1, d}, 3}, Shape{{1, n, 1, d}, 4},
                               Shape{{1, 1, n, d}, 4}}) {
        if (is_shape(scale, shape)) return true;
    }
    return false;
}

bool is_per_token(const Case& c, const meta::Tensor& scale) {
    if (c.call.is_largest && c.is_packed()) return true;
    return reaches(scale, {{c.product_batch, c.product_kv}, 2}, 1) ||
           reaches(scale, {{1, c.product_batch, c.product_kv}, 3}, 2);
}

bool has_product_shape(const Case& c, int64_t mode, const meta::Tensor& scale) {
    const int64_t n = c.kv_heads;
    const int64_t blocks = c.is_paged() ? c.k_cache.blocks : 0;
    switch (mode) {
        case 0: return is_per_channel(c, scale);
        case 1: return is_per_token(c, scale);
        case 2: return is_shape(scale, {{n}, 1});
        case 3: return reaches(scale, {{c.product_batch, n, c.product_kv}, 3}, 2);
        case 4: return is_shape(scale, {{blocks, c.call.block_size}, 2});
        case 5: return is_shape(scale, {{blocks, n, c.call.block_size}, 3});
        default: return reaches(scale, {{1, c.product_batch, n, c.product_kv, c.dim / kScaleGroup}, 5}, 3);
    }
}

Finding shape_of(const Case& c, const Side& side) {
    if (c.is_host()) return readable(c, side);
    const meta::Tensor* scale = c.extra[side.scale];
    if (scale == nullptr || has_product_shape(c, side.mode, *scale)) return {};
    if (Finding f = uneven_groups(side)) return f;
    return shape_refused(kInputNames[side.scale],
                         text(scale_shape_text(c, side.mode, c.dim), ", for ", side.mode_name, " ", side.mode), *scale);
}

template <int mode>
Finding shapes(const Case& c) {
    if (!has_modes(c, mode, mode)) return {};
    if (Finding f = shape_of(c, key_side(c))) return f;
    return c.is_host() ? shape_of(c, value_side(c)) : Finding{};
}
Finding mixed_key_shape(const Case& c) { return has_modes(c, 0, 1) ? shape_of(c, key_side(c)) : Finding{}; }
Finding mixed_value_shape(const Case& c) { return has_modes(c, 0, 1) ? shape_of(c, value_side(c)) : Finding{}; }

Finding value_like_key(const Case& c) {
    const meta::Tensor* key = c.extra[kKeyAntiquantScale];
    const meta::Tensor* value = c.extra[kValueAntiquantScale];
    if (!c.is_anti() || has_modes(c, 0, 1) || key == nullptr || value == nullptr) return {};
    if (has_shape(*value, key->shape, key->rank)) return {};
    return shape_refused("valueAntiquantScale", text(shape_text(*key), ", as keyAntiquantScale"), *value);
}

template <class Differs>
Finding offsets(const Case& c, Differs&& differs) {
    if (!c.is_anti() || c.kv_is_empty) return {};
    for (const Side& side : {key_side(c), value_side(c)}) {
        const meta::Tensor* scale = c.extra[side.scale];
        const meta::Tensor* offset = c.extra[side.offset];
        if (scale == nullptr || offset == nullptr) continue;
        if (Finding f = differs(side, *scale, *offset)) return f;
    }
    return {};
}

Finding offset_types(const Case& c) {
    return offsets(c, [](const Side& side, const meta::Tensor& scale, const meta::Tensor& offset) {
        if (offset.dtype == scale.dtype) return Finding{};
        return dtype_refused(kInputNames[side.offset],
                             text(meta::dtype_name(scale.dtype), ", as ", kInputNames[side.scale]), offset.dtype);
    });
}

Finding offset_shapes(const Case& c) {
    return offsets(c, [](const Side& side, const meta::Tensor& scale, const meta::Tensor& offset) {
        if (has_shape(offset, scale.shape, scale.rank)) return Finding{};
        return shape_refused(kInputNames[side.offset], text(shape_text(scale), ", as ", kInputNames[side.scale]),
                             offset);
    });
}

constexpr const char* kScales = "keyAntiquantScale, valueAntiquantScale";
constexpr const char* kOffsets = "keyAntiquantOffset, valueAntiquantOffset";

constexpr Rule<Case> kRules[] = {
    {"DQA-S-13", Tier::consistency, types<0, 0>, kEverywhere, kScales, "scales by channel have query's type",
     Known::tensors},
    {"DQA-S-14", Tier::consistency, types<1, 1>, kEverywhere, kScales, "scales by token are FLOAT", Known::tensors},
    {"DQA-S-15", Tier::consistency, types<2, 2>, kEverywhere, kScales, "scales by head have query's type",
     Known::tensors},
    {"DQA-S-16", Tier::consistency, types<3, 3>, kEverywhere, kScales, "scales by token and head are FLOAT",
     Known::tensors},
    {"DQA-S-17", Tier::consistency, types<4, 4>, kEverywhere, kScales, "paged scales by token are FLOAT",
     Known::tensors},
    {"DQA-S-18", Tier::consistency, types<5, 5>, kEverywhere, kScales, "paged scales by token and head are FLOAT",
     Known::tensors},
    {"DQA-S-19", Tier::consistency, types<0, 1>, kEverywhere, kScales,
     "in modes 0/1 both scales are FLOAT; newest software wants query's type for key's", Known::tensors},
    {"DQA-S-20", Tier::consistency, types<6, 6>, kEverywhere, kScales, "scales by groups of channels are FLOAT8_E8M0",
     Known::tensors},
    {"DQA-S-21", Tier::consistency, shapes<0>, kEverywhere, kScales,
     "scales by channel are (1), or Nkv*D numbers in one of seven arrangements of axes"},
    {"DQA-S-22", Tier::consistency, shapes<1>, kEverywhere, kScales,
     "scales by token are (B, >= Skv) or (1, B, >= Skv)"},
    {"DQA-S-23", Tier::consistency, shapes<2>, kEverywhere, kScales, "scales by head are (Nkv)"},
    {"DQA-S-24", Tier::consistency, shapes<3>, kEverywhere, kScales, "scales by token and head are (B, Nkv, >= Skv)"},
    {"DQA-S-25", Tier::consistency, shapes<4>, kEverywhere, kScales, "paged scales by token are (blocks, blockSize)"},
    {"DQA-S-26", Tier::consistency, shapes<5>, kEverywhere, kScales,
     "paged scales by token and head are (blocks, Nkv, blockSize)"},
    {"DQA-S-27", Tier::consistency, mixed_key_shape, kEverywhere, "keyAntiquantScale",
     "in modes 0/1 key's scale is one by channel"},
    {"DQA-S-28", Tier::consistency, mixed_value_shape, kEverywhere, "valueAntiquantScale",
     "in modes 0/1 value's scale is one by token"},
    {"DQA-S-29", Tier::consistency, shapes<6>, kEverywhere, kScales,
     "scales by groups of channels are (1, B, Nkv, >= Skv, D/32)"},
    {"DQA-S-30", Tier::consistency, value_like_key, kProducts, "valueAntiquantScale",
     "but for modes 0/1, value's scale has the shape of key's", Known::tensors},
    {"DQA-C-01", Tier::consistency, offset_types, kEverywhere, kOffsets, "an offset has its scale's type",
     Known::tensors},
    {"DQA-C-02", Tier::consistency, offset_shapes, kEverywhere, kOffsets, "an offset has its scale's shape",
     Known::tensors},
};

}  // namespace

const Group<Case> kAntiquantScaleRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::fia
