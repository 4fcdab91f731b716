// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Few rows, of one or several KV heads: see stream-inl.h.
#pragma once

#include <type_traits>

#include "engine/bias-inl.h"
#include "engine/exceptional-inl.h"
#include "engine/finish-inl.h"
#include "engine/group_scales-inl.h"
#include "engine/softmax-inl.h"
#include "engine/staging-inl.h"
#include "engine/stream_products-inl.h"

namespace acl_attn::engine {
namespace {

// What those have that do not take codes.
struct NoScales {
    template <class... Any>
    explicit NoScales(const Any&...) {}
};

// T: what the products take. Rows of codes whose numbers may not suit folded scales are marked by a headroom, and the
// caller computes them again from dequantised numbers.
template <class T, class Products = DecodeProducts<T>>
class Decode {
public:
    static constexpr bool kCodes = is_code<T>;
    static constexpr bool kGroups = std::is_same_v<T, E2M1>;  // of channels have scales of their own, for the products
    static constexpr bool kFolded = kCodes && !kGroups;  // others' are folded into something else
    using Keys = typename Products::Keys;
    using Values = typename Products::Values;
    // Bytes that are asked for while as many are read: less comes late, more falls out of the second-level cache again.
    static constexpr int64_t kGroupBytes = 32768;

    // `careful` looks for exceptional values everywhere, otherwise only where some row does not see some key.
    Decode(const RowBlock& block, const Scratch& scratch, bool careful)
        : b_(block), s_(scratch), careful_(careful), rows_(static_cast<int>(block.row_end - block.row_begin)),
          ldq_(round_up(block.dim, Keys::kElements)), ldo_(round_up(block.dim_v, Values::kElements)),
          are_moved_(kCodes ? has_cut(block) : block.key_staged || block.value_staged),
          keys_(block, scratch, rows_), values_(block, scratch, rows_),
          key_scales_(block.key_addition.scale, block.prefix_len, block.dim, scratch.key_scales),
          value_scales_(block.value_addition.scale, block.prefix_len, block.dim_v, scratch.value_scales),
          key_offsets_(block.key_addition.offset, block.prefix_len, block.dim,
                       scratch.key_scales + round_up(block.dim, kLanes)),
          value_offsets_(block.value_addition.offset, block.prefix_len, block.dim_v,
                         scratch.value_scales + round_up(block.dim_v, kLanes)) {}

    void accumulate() {
        for (int h = 0; h < b_.kv_heads; h++) {
            for (int r = 0; r < rows_; r++) {
                const int i = index(h, r);
                s_.row_max[i] = -kInfinity;
                s_.row_sum[i] = 0.0f;
                s_.row_headroom[i] = 1.0f;
                load_query(h, r);
            }
        }
        __builtin_memset(s_.out, 0, sizeof(float) * b_.kv_heads * rows_ * ldo_);
        const Interval seen = visible_keys(b_, b_.row_begin, b_.row_end);
        for (int64_t key = seen.begin; key < seen.end; key = span_.end) {
            span_ = {key, smaller(seen.end, (key / kStreamSplit + 1) * kStreamSplit)};
            add_span();
        }
        for (int i = 0; i < b_.kv_heads * rows_; i++) to_memory_order(s_.out + i * ldo_);
        if constexpr (kFolded) fold_value_scales();
    }
    RowState state(int i) const {
        const float max = kFolded ? s_.row_max[i] + shift_[i] : s_.row_max[i];
        return {max, s_.row_sum[i], s_.row_headroom[i]};
    }
    const float* out(int i) const { return s_.out + i * ldo_; }
    int index(int kv_head, int r) const { return kv_head * rows_ + r; }  // of a row among all heads'

    // Whether the products could not take it, or the accumulators overflowed or met an infinity or NaN.
    bool is_suspect(int i) const {
        if ((refused_ >> i & 1) != 0) return true;
        vi suspect = {};
        for (int c = 0; c < ldo_; c += kLanes) suspect |= is_non_finite(load<vf>(out(i) + c));
        return any(suspect) || (kCodes && s_.row_headroom[i] != 1.0f);
    }

private:
    using Scales = std::conditional_t<kGroups, GroupScales, std::conditional_t<kCodes, FoldedScales, NoScales>>;
    using Staged = std::conditional_t<kCodes, JoinedCodes, KvStaging<T>>;

    void load_query(int h, int r) {
        const int i = index(h, r);
        float* query = s_.query + i * ldq_;
        for (int d = ldq_ - Keys::kElements; d < ldq_; d += kLanes) store(query + d, vf{});
        widen_query(b_, h, b_.row_begin + r, query);
        if constexpr (kFolded) fold_key_scales(h, i, query);
        if constexpr (kCodes) mark_non_finite(query, i);
        if (!keys_.enter(h, r, query)) refused_ |= uint64_t{1} << i;
    }

    void to_memory_order(float* out) const {
        for (int d = 0; d < ldo_; d += Values::kElements) Values::to_memory_order(out + d);
    }
    void to_own_order(float* out) const {
        for (int d = 0; d < ldo_; d += Values::kElements) Values::to_own_order(out + d);
    }

    void fold_key_scales(int h, int i, float* query) {
        if (key_scales_.of_channels()) key_scales_.scale_channels(h, query);
        shift_[i] = key_offsets_.dot(h, query) * b_.scale;
    }

    void mark_non_finite(const float* query, int i) {
        vi suspect = {};
        for (int d = 0; d < ldq_; d += kLanes) suspect |= is_non_finite(load<vf>(query + d));
        if constexpr (kFolded) suspect |= is_non_finite(splat(shift_[i]));
        if (any(suspect)) s_.row_headroom[i] = kHugeHeadroom;
    }

    void fold_value_scales() {
        if (!value_scales_.of_channels()) return;
        for (int i = 0; i < b_.kv_heads * rows_; i++) {
            if (s_.row_sum[i] == 0.0f) continue;  // a row without keys is 0, whatever the scales
            value_offsets_.add(i / rows_, s_.row_sum[i], s_.out + i * ldo_);
            value_scales_.scale_channels(i / rows_, s_.out + i * ldo_);
        }
    }

    void add_span() {
        locate(b_, span_, s_.key_rows, s_.value_rows);
        look_ahead();
        Staged staging(b_, s_);
        for (int64_t tile = span_.begin / kStreamKeys * kStreamKeys; tile < span_.end; tile += kStreamKeys) {
            tile_ = tile;
            begin_ = static_cast<int>(larger(span_.begin - tile, 0));
            count_ = static_cast<int>(smaller(span_.end - tile, kStreamKeys)) - begin_;
            first_ = tile + begin_ - span_.begin;
            if (are_moved_) staging.stage(tile + begin_, count_, s_.key_rows + first_, s_.value_rows + first_);
            if constexpr (kGroups) {
                read_group_scales(key_scales_);
                read_group_scales(value_scales_);
            }
            score();
            if (may_be_exceptional()) {
                for (int h = 0; h < b_.kv_heads; h++) {
                    locate_values(h);
                    softmax(h);
                    values_.add(h, rows_of_values_, 0, begin_, count_, scores(index(h, 0)), out_of(h), nullptr);
                    values_.finish();
                    if constexpr (!kCodes) {
                        if (exceptional_) add_exceptional(h);
                    }
                }
                continue;
            }
            exceptional_ = false;
            for (int h = 0; h < b_.kv_heads; h++) {
                softmax(h);
                if (!are_moved_) ahead_.advance(count_ * values_.ahead_of_softmax());
            }
            const int at_once = has_heads_apart(b_) ? count_ : Values::kKeys;
            for (int k = 0; k < count_; k += at_once) {
                const int count = count_ - k < at_once ? count_ - k : at_once;
                for (int h = 0; h < b_.kv_heads; h++) {
                    values_.add(h, s_.value_rows + first_ + k, h * b_.value.head_stride, begin_ + k, count,
                                scores(index(h, 0)), out_of(h), ahead(b_.value, count));
                }
            }
            values_.finish();
        }
    }

    float* scores(int i) const { return s_.scores + static_cast<ptrdiff_t>(i) * kStreamScoreStride; }
    float* out_of(int h) const { return s_.out + index(h, 0) * ldo_; }

    static bool has_cut(const RowBlock& b) {
        const bool has_prefix = b.prefix_len > 0;
        return is_cut(b.key) || is_cut(b.value) ||
               (has_prefix && (is_cut(b.key_addition.prefix) || is_cut(b.value_addition.prefix)));
    }

    static void locate(const RowBlock& b, Interval keys, const void** key_rows, const void** value_rows) {
        locate_rows(b.key, b.key_addition.prefix, b.prefix_len, keys.begin, keys.end, key_rows);
        locate_rows(b.value, b.value_addition.prefix, b.prefix_len, keys.begin, keys.end, value_rows);
    }

    // The first rows of the upcoming block, after those of the last span; how many.
    int locate_upcoming() {
        if (b_.upcoming == nullptr || span_.end < visible_keys(b_, b_.row_begin, b_.row_end).end) return 0;
        if (b_.upcoming->key.head_stride != b_.key.head_stride) return 0;  // one stride serves all rows
        Interval seen = visible_keys(*b_.upcoming, b_.upcoming->row_begin, b_.upcoming->row_end);
        seen.end = smaller(seen.end, seen.begin + kStreamKeys);
        if (seen.empty()) return 0;
        const int64_t after = span_.end - span_.begin;
        locate(*b_.upcoming, seen, s_.key_rows + after, s_.value_rows + after);
        return static_cast<int>(seen.end - seen.begin);
    }

    // Rows that are moved are all read at once, before a tile's products.
    void look_ahead() {
        ReadAhead::Rows rows;
        rows.keys = s_.key_rows;
        rows.values = b_.value_is_key ? nullptr : s_.value_rows;
        // Heads that lie side by side are one row.
        const bool are_apart = has_heads_apart(b_);
        const int beside = are_apart ? 1 : b_.kv_heads;
        rows.key_bytes = beside * bytes_of(b_.key.dtype, b_.key.dim);
        rows.value_bytes = beside * bytes_of(b_.value.dtype, b_.value.dim);
        rows.key_head_stride = b_.key.head_stride;
        rows.value_head_stride = b_.value.head_stride;
        if (are_apart) rows.heads = b_.kv_heads;
        rows.count = static_cast<int>(span_.end - span_.begin) + locate_upcoming();
        rows.first_tile = static_cast<int>(smaller(kStreamKeys - span_.begin % kStreamKeys, rows.count));
        const int tile = rows.heads * (rows.values == nullptr ? kStreamKeys : 2 * kStreamKeys);
        if (are_moved_) {
            ahead_ = ReadAhead(rows, tile);
            return;
        }
        const int64_t group = larger(kGroupBytes / rows.key_bytes, Values::kUnordered);
        ahead_ = ReadAhead(rows, static_cast<int>(smaller(group, tile)));
    }

    // For the products of some rows of one head.
    ReadAhead* ahead(const KvView& view, int rows) {
        if (!are_moved_) return &ahead_;
        ahead_.advance(static_cast<int>(rows * bytes_of(view.dtype, view.dim)));  // the products read something else
        return nullptr;
    }

    void score() {
        ReadAhead none;
        const bool is_there = are_moved_;
        if (is_there) ahead_.advance(static_cast<int>(count_ * b_.kv_heads * bytes_of(b_.key.dtype, b_.key.dim)));
        keys_.score(s_.key_rows + first_, count_, begin_, s_.scores, is_there ? none : ahead_);
    }

    // Numbers of groups whose scales were read are all ordinary.
    bool may_be_exceptional() const { return !kGroups && ((careful_ && !kCodes) || !is_seen_by_all()); }

    // The tile's, of all heads. Rows that see one which is not for the products are marked.
    void read_group_scales(const Scales& scales) {
        for (int h = 0; h < b_.kv_heads; h++) {
            if (scales.read(h, tile_ + begin_, begin_, count_, s_.value_classes)) mark_rows(h, s_.value_classes);
        }
    }

    // Marks a head's rows that see a key of the tile whose scale is infinite or NaN: times a sum of products an
    // infinity has a sign, times each of them it may have both.
    void refuse(int h, const float* key_scales) {
        vi suspect = {};
        for (int c = round_down(begin_, kLanes); c < begin_ + count_; c += kLanes) {
            suspect |= is_non_finite(load<vf>(key_scales + c));
        }
        if (!any(suspect)) return;
        uint8_t classes[kStreamKeys];
        for (int k = 0; k < count_; k++) {
            classes[k] = any(is_non_finite(splat(key_scales[begin_ + k]))) ? kHuge : kOrdinary;
        }
        mark_rows(h, classes);
    }

    // Those of a head that see a key of the tile whose class is kHuge.
    void mark_rows(int h, const uint8_t* classes) {
        for (int r = 0; r < rows_; r++) {
            const int64_t row = b_.row_begin + r;
            if (sees_huge(b_, row, visible_keys(b_, row), tile_ + begin_, 0, count_, classes)) {
                s_.row_headroom[index(h, r)] = kHugeHeadroom;
            }
        }
    }

    // One head's values; exceptional ones are set aside where a row may not see them.
    void locate_values(int h) {
        rows_of_values_ = s_.value_heads;
        const int64_t offset = h * b_.value.head_stride;
        for (int k = 0; k < count_; k++) {
            rows_of_values_[k] = static_cast<const char*>(s_.value_rows[first_ + k]) + offset;
        }
        if constexpr (kFolded) {
            float* scales = read_value_scales(h);
            exceptional_ = set_codes_aside<T>(rows_of_values_, count_, b_.dim_v, s_.zeros, scales, s_.value_classes);
        } else if constexpr (!kCodes) {
            exceptional_ = set_aside<T, false>(rows_of_values_, 0, count_, b_.dim_v, s_.zeros, s_.value_classes,
                                               s_.value_originals);
        }
    }

    // Those of the tile's tokens, if they have any.
    float* read_value_scales(int h) {
        if (value_scales_.of_channels()) return nullptr;
        return value_scales_.read_tokens(h, tile_ + begin_, begin_, count_) + begin_;
    }

    bool is_seen_by_all() const {
        return b_.mask == nullptr && visible_keys(b_, b_.row_end - 1).begin <= tile_ + begin_ &&
               visible_keys(b_, b_.row_begin).end >= tile_ + begin_ + count_;
    }

    void softmax(int h) {
        const int first = round_down(begin_, kLanes), last = round_up(begin_ + count_, kLanes);
        if constexpr (kFolded) {
            if (!key_scales_.of_channels()) refuse(h, key_scales_.read_tokens(h, tile_ + begin_, begin_, count_));
            if (!exceptional_) read_value_scales(h);
        }
        for (int r = 0; r < rows_; r++) {
            const int i = index(h, r);
            const int64_t row = b_.row_begin + r;
            const Interval seen = visible_keys(b_, row);
            if constexpr (kFolded) {
                if (!key_scales_.of_channels()) key_scales_.scale_tokens(first, last, scores(i));
            }
            if (b_.bias.kind != BiasKind::none) add_bias(b_, h, row, seen, tile_, first, last, scores(i));
            if (b_.mask != nullptr || seen.begin > tile_ + first || seen.end < tile_ + last) {
                hide_scores(b_, row, seen, tile_, first, last, scores(i));
            }
            const SoftmaxStep step = softmax_step(scores(i), first, last, s_.row_max[i]);
            s_.row_max[i] = step.max;
            s_.row_sum[i] = s_.row_sum[i] * step.rescale + step.sum;
            float rescale = step.rescale;
            const bool is_first_huge = exceptional_ && s_.row_headroom[i] == 1.0f &&
                                       sees_huge(b_, row, seen, tile_ + begin_, 0, count_, s_.value_classes);
            if (is_first_huge) s_.row_headroom[i] = kHugeHeadroom;
            if constexpr (kFolded) {
                if (!value_scales_.of_channels()) value_scales_.scale_tokens(first, last, scores(i));
            } else if constexpr (!kCodes) {
                if (is_first_huge) rescale *= kHugeHeadroom;
                if (s_.row_headroom[i] != 1.0f) multiply(scores(i) + first, last - first, kHugeHeadroom);
            }
            if (rescale != 1.0f) multiply(s_.out + i * ldo_, ldo_, rescale);
        }
    }

    static void multiply(float* x, int count, float factor) {
        for (int c = 0; c < count; c += kLanes) store(x + c, load<vf>(x + c) * splat(factor));
    }

    void add_exceptional(int h) {
        for (int r = 0; r < rows_; r++) {
            const int64_t row = b_.row_begin + r;
            const int i = index(h, r);
            float* out = s_.out + i * ldo_;
            to_memory_order(out);
            add_set_aside<T>(b_, row, visible_keys(b_, row), tile_ + begin_, 0, count_, s_.value_classes,
                             s_.value_originals, [&](int k) { return scores(i)[begin_ + k]; }, out);
            to_own_order(out);
        }
    }

    const RowBlock& b_;
    const Scratch& s_;
    const bool careful_;
    const int rows_, ldq_, ldo_;         // rows of each head
    const bool are_moved_;               // keys or values are put together, or dequantised, before the products
    [[maybe_unused]] typename Products::Session session_;
    Keys keys_;
    Values values_;
    uint64_t refused_ = 0;               // one bit for each row
    Interval span_ = {};                 // keys whose addresses are held: those of one split
    int64_t tile_ = 0;                   // first key of the tile
    int begin_ = 0, count_ = 0;          // columns of the tile that any row of the block sees
    int64_t first_ = 0;                  // the first of these, in the address arrays
    ReadAhead ahead_;
    const void** rows_of_values_ = nullptr;  // one head's, where some may have been set aside
    bool exceptional_ = false;           // some value of them was set aside
    Scales key_scales_, value_scales_;
    std::conditional_t<kFolded, FoldedOffsets, NoScales> key_offsets_, value_offsets_;
    float shift_[kFolded ? kStreamItemRows : 1];  // what offsets add to all of a row's scores
};

// The part of a block that is one row of one head.
inline RowBlock single_row(const RowBlock& block, int kv_head, int64_t row) {
    RowBlock single = block;
    single.query += kv_head * block.group * block.query_head_stride;
    single.key.base += kv_head * block.key.head_stride;
    single.value.base += kv_head * block.value.head_stride;
    const auto move_scales = [&](KvAddition& addition) {
        addition.scale = of_head(addition.scale, kv_head);
        addition.offset = of_head(addition.offset, kv_head);
    };
    move_scales(single.key_addition);
    move_scales(single.value_addition);
    single.sink.first_head += kv_head * block.group;
    single.kv_heads = 1;
    single.row_begin = row;
    single.row_end = row + 1;
    single.upcoming = nullptr;
    return single;
}

// One row by itself, in fp32 on any instruction set, and with all care.
template <class T>
inline void decode_carefully(const RowBlock& block, int kv_head, int64_t row, const Scratch& scratch) {
    const RowBlock single = single_row(block, kv_head, row);
    Decode<T, StreamProducts<T>> again(single, scratch, true);
    again.accumulate();
    finish_row(block, kv_head, row, again.out(0), again.state(0));
}

template <class T>
void decode(const RowBlock& block, const Scratch& scratch) {
    using Careful = std::conditional_t<is_code<T>, F32, T>;
    const int rows = static_cast<int>(block.row_end - block.row_begin);
    uint64_t suspects = 0;
    static_assert(kStreamItemRows <= 64, "one bit for each row");
    Decode<T> all(block, scratch, false);
    all.accumulate();
    for (int i = 0; i < block.kv_heads * rows; i++) {
        if (kHasHuge<Careful> && all.is_suspect(i)) {  // fp16 does not hold finite values whose sum overflows
            suspects |= uint64_t{1} << i;
        } else {
            finish_row(block, i / rows, block.row_begin + i % rows, all.out(i), all.state(i));
        }
    }
    // Again by itself, so that the others keep the bits they would have without it.
    for (int i = 0; i < block.kv_heads * rows; i++) {
        if ((suspects >> i & 1) != 0) decode_carefully<Careful>(block, i / rows, block.row_begin + i % rows, scratch);
    }
}

}  // namespace
}  // namespace acl_attn::engine
