// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The scales of codes that prefill multiplies as they are. Products of bf16 would round scaled numbers; so scales go to
// what is fp32: those of key channels to the query, which then has several parts, those of key tokens to the scores,
// those of value tokens to the probabilities, those of value channels to the sums. One scale for all keys is a factor
// of scores. What is not staged of offsets is the same for all keys: it moves the scores of a row together, and its
// sums.
#pragma once

#include "engine/code_rows-inl.h"
#include "engine/exceptional-inl.h"

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
    FoldedSide(const KvAddition& addition, int64_t prefix_len, int dim, float* numbers)
        : v_(addition.scale), prefix_len_(prefix_len), dim_(dim), numbers_(numbers),
          kind_(kind_of(v_, prefix_len, dim)) {
        if (kind_ == single || kind_ == channels) read_channels(v_, v_.base, dim_, numbers_);
        for (int c = 0; kind_ == tokens && c < kTileKeys; c += kLanes) store(numbers_ + c, vf{});
        if (addition.offset.base != nullptr) read_offsets(addition.offset);
    }

    bool of_channels() const { return kind_ == channels; }
    // That of all; 1 if there is none.
    float single_scale() const { return kind_ == single ? numbers_[0] : 1.0f; }
    // [kTileKeys] of the tile that was entered; null: tokens have none.
    const float* of_tokens() const { return kind_ == tokens ? numbers_ : nullptr; }

    // x[d] = (x[d] + weight * rest of the offset) * scale. False: numbers that were finite are not any more, or a scale
    // is not.
    bool dequantise(float weight, float* x) const {
        vi suspect = {};
        for (int d = 0; d < dim_; d += kLanes) {
            const vf before = load_part<vf>(x + d, dim_ - d);
            vf after = before;
            if (has_rest_) after = fma(load<vf>(rest_ + d), splat(weight), after);
            if (kind_ == single || kind_ == channels) {
                const vf scale = load_part<vf>(numbers_ + d, dim_ - d);
                after *= scale;
                suspect |= is_non_finite(scale);
            }
            suspect |= is_non_finite(after) & ~is_non_finite(before);
            store_part(x + d, after, dim_ - d);
        }
        return !any(suspect);
    }

    bool has_rest() const { return has_rest_; }
    // The sum of x times the rest of the offsets.
    float dot_rest(const float* x) const {
        vf sum = {};
        for (int d = 0; d < dim_; d += kLanes) sum = fma(load_part<vf>(x + d, dim_ - d), load<vf>(rest_ + d), sum);
        return reduce_sum(sum);
    }

    // Columns [begin, end) of the tile of key `first_key`, times a factor. Those out of range are marked, and 0: true
    // if there are any.
    bool enter(int64_t first_key, int begin, int end, float factor, uint8_t* classes) {
        if (kind_ != tokens) return false;
        bool any = false;
        read_token_numbers(v_, prefix_len_, first_key + begin, end - begin, numbers_ + begin);
        for (int c = begin; c < end; c++) {
            const float x = numbers_[c];
            const bool is_ordinary = is_ordinary_scale(x);
            numbers_[c] = is_ordinary ? x * factor : 0.0f;
            if (!is_ordinary) classes[c] = kHuge;
            any |= !is_ordinary;
        }
        return any;
    }

private:
    enum Kind { none, single, channels, tokens };
    static Kind kind_of(const ScaleView& view, int64_t prefix_len, int dim) {
        if (view.base == nullptr || are_powers_of_two(view)) return none;
        return !is_constant(view, prefix_len) ? tokens : view.group >= dim ? single : channels;
    }

    void read_offsets(const ScaleView& view) {
        for (int d = round_down(dim_, kLanes); d < round_up(dim_, kLanes); d++) rest_[d] = 0.0f;
        read_channels(view, view.base, dim_, rest_);
        vi differs = {};
        for (int d = 0; d < dim_; d += kLanes) {
            const vf offset = load<vf>(rest_ + d), rest = offset - staged_offset(offset);
            differs |= rest != vf{};
            store(rest_ + d, rest);
        }
        has_rest_ = any(differs);
    }

    const ScaleView& v_;
    const int64_t prefix_len_;
    const int dim_;
    float* const numbers_;
    const Kind kind_;
    bool has_rest_ = false;
    alignas(64) float rest_[kMaxDim];  // of offsets: what is not staged
};

class CodeScales {
public:
    CodeScales(const RowBlock& block, const Scratch& scratch)
        : b_(block), keys_(block.key_addition, block.prefix_len, block.dim, scratch.key_scales),
          values_(block.value_addition, block.prefix_len, block.dim_v, scratch.value_scales),
          factor_(block.scale * keys_.single_scale()) {}

    // False: no row's scores can be scaled so.
    bool is_ordinary() const { return is_ordinary_scale(keys_.single_scale()); }

    float of_scores() const { return factor_; }
    void scale_query(float* query) const {
        if (keys_.of_channels()) keys_.dequantise(0.0f, query);
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

    // Scales a row's sums and moves its scores. False: that cannot be done so.
    bool finish(int64_t row, float* sums, RowState& state) const {
        if (state.sum == 0.0f) return true;  // a row without keys is 0, whatever the scales
        const float shift = keys_.has_rest() ? score_of_rest(row) : 0.0f;
        state.max += shift;
        return values_.dequantise(state.sum * state.headroom, sums) && shift - shift == 0.0f;
    }

private:
    float score_of_rest(int64_t row) const {
        alignas(64) float query[kMaxDim];
        widen_query(b_, 0, row, query);
        scale_query(query);
        return keys_.dot_rest(query) * factor_;
    }

    const RowBlock& b_;
    FoldedSide keys_, values_;
    const float factor_;
};

}  // namespace
}  // namespace acl_attn::engine
