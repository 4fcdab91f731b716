// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The scales of codes that prefill multiplies as they are. Products of bf16 would round scaled numbers; so scales go to
// what is fp32: those of key channels to the query, which then has several parts, those of key tokens to the scores, those
// of value tokens to the probabilities, those of value channels to the sums. One scale for all keys is a factor of
// scores.
#pragma once

#include "engine/code_rows-inl.h"
#include "engine/exceptional-inl.h"
#include "engine/gemm-inl.h"

namespace acl_attn::engine {
namespace {

// Others could take sums, or what products see of probabilities, out of fp32's range.
inline bool is_ordinary_scale(float x) {
    constexpr float kLargest = 0x1p60f, kSmallest = 0x1p-60f;
    const float size = __builtin_fabsf(x);
    return x == 0.0f || (size >= kSmallest && size <= kLargest);
}

// Of keys, or of values.
class FoldedSide {
public:
    // `numbers`: as Scratch::key_scales.
    FoldedSide(const ScaleView& view, int64_t prefix_len, int dim, float* numbers)
        : v_(view), prefix_len_(prefix_len), dim_(dim), numbers_(numbers), kind_(kind_of(view, prefix_len)) {
        if (kind_ == channels) read_channels(v_, v_.base, dim_, numbers_);
        for (int c = 0; kind_ == tokens && c < kTileKeys; c += kLanes) store(numbers_ + c, vf{});
    }

    // Whether all share an ordinary number, numbers()[0].
    bool is_single() const { return kind_ == channels && v_.group >= dim_ && is_ordinary_scale(numbers_[0]); }
    bool of_channels() const { return kind_ == channels; }
    // [kTileKeys] of the tile that was entered; null: tokens have none.
    const float* of_tokens() const { return kind_ == tokens ? numbers_ : nullptr; }
    const float* numbers() const { return numbers_; }

    void scale_channels(float* x) const {
        for (int d = 0; d < dim_; d += kLanes) {
            store_part(x + d, load_part<vf>(x + d, dim_ - d) * load_part<vf>(numbers_ + d, dim_ - d), dim_ - d);
        }
    }

    // Columns [begin, end) of the tile of key `first_key`, times a factor. Those out of range are marked, and 0: true if
    // there are any.
    bool enter(int64_t first_key, int begin, int end, float factor, uint8_t* classes) {
        if (kind_ != tokens) return false;
        bool any = false;
        for (int c = begin; c < end; c++) {
            const float x = read_number(v_.dtype, scale_address(v_, prefix_len_, first_key + c));
            numbers_[c] = x * factor;
            if (is_ordinary_scale(x)) continue;
            numbers_[c] = 0.0f;
            classes[c] = kHuge;
            any = true;
        }
        return any;
    }

private:
    enum Kind { none, channels, tokens };
    static Kind kind_of(const ScaleView& view, int64_t prefix_len) {
        if (view.base == nullptr || are_powers_of_two(view)) return none;
        return is_constant(view, prefix_len) ? channels : tokens;
    }

    const ScaleView& v_;
    const int64_t prefix_len_;
    const int dim_;
    float* const numbers_;
    const Kind kind_;
};

class CodeScales {
public:
    CodeScales(const RowBlock& block, const Scratch& scratch)
        : keys_(block.key_addition.scale, block.prefix_len, block.dim, scratch.key_scales),
          values_(block.value_addition.scale, block.prefix_len, block.dim_v, scratch.value_scales),
          factor_(block.scale * (keys_.is_single() ? keys_.numbers()[0] : 1.0f)),
          query_parts_(parts_of(block)), dim_v_(block.dim_v) {}

    float of_scores() const { return factor_; }
    int query_parts() const { return query_parts_; }
    void scale_query(float* query) const {
        if (has_key_channels()) keys_.scale_channels(query);
    }

    // Before a tile's products. True if some keys' scales are out of range: of these `classes` are kHuge, of all others
    // kOrdinary.
    bool enter(int64_t first_key, int begin, int end, uint8_t* classes) {
        __builtin_memset(classes + begin, kOrdinary, static_cast<size_t>(end - begin));
        const bool any_key = keys_.enter(first_key, begin, end, factor_, classes);
        return values_.enter(first_key, begin, end, 1.0f, classes) || any_key;
    }
    // [kTileKeys] factors of scores, of_scores() included, and of probabilities; null: none for each token.
    const float* of_keys() const { return keys_.of_tokens(); }
    const float* of_values() const { return values_.of_tokens(); }

    // Scales a row's sums. False: a scale, or a product with it, is infinite or NaN.
    bool finish(float* sums) const {
        if (!values_.of_channels()) return true;
        values_.scale_channels(sums);
        vi suspect = {};
        for (int d = 0; d < dim_v_; d += kLanes) {
            suspect |= (as_int(load_part<vf>(sums + d, dim_v_ - d)) & 0x7f800000) == 0x7f800000;
        }
        return !any(suspect);
    }

private:
    // What holds all bits: of a product twice as many as of each factor, or those of fp32.
    int parts_of(const RowBlock& block) const {
        const Dtype query = block.sink.query_dtype, scale = block.key_addition.scale.dtype;
        if (!has_key_channels()) return query == Dtype::bf16 ? 1 : 2;
        return query == Dtype::bf16 && scale == Dtype::bf16 ? 2 : kCodeQueryParts;
    }
    bool has_key_channels() const { return keys_.of_channels() && !keys_.is_single(); }

    FoldedSide keys_, values_;
    const float factor_;
    const int query_parts_;
    const int dim_v_;
};

}  // namespace
}  // namespace acl_attn::engine
