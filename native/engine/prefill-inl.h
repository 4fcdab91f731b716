// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Many rows: keys and values are packed once per tile and used by all rows of the block.
#pragma once

#include "engine/bias-inl.h"
#include "engine/code_scales-inl.h"
#include "engine/decode-inl.h"
#include "engine/finish-inl.h"
#include "engine/mask-inl.h"
#include "engine/tile-inl.h"
#include "engine/tile_rows-inl.h"

namespace acl_attn::engine {
namespace {

template <class T, class Operand>
class Prefill : Operand::template Rows<T, Prefill<T, Operand>> {
    using Rows = typename Operand::template Rows<T, Prefill<T, Operand>>;
    friend Rows;
    friend BlockRows<Operand, Prefill<T, Operand>>;

public:
    Prefill(const RowBlock& block, const Scratch& scratch)
        : Rows(block, scratch, tile_), rows_(static_cast<int>(block.row_end - block.row_begin)),
          heads_(kManyHeads ? block.kv_heads : 1), head_rows_(heads_ > 1 ? round_up(rows_, kGroup) : rows_),
          tile_(block, scratch), scales_(block, scratch) {}

    void run() {
        this->begin(heads_ * head_rows_);
        if constexpr (kPaired) find_extreme_rows();
        if constexpr (Operand::kKeysOnLeft) this->turn_queries();
        for (bool more = tile_.first(); more; more = tile_.next()) {
            const bool is_seen = b_.mask == nullptr || look_at_mask();
            Ahead ahead = tile_.ahead();
            if (!is_seen) continue;
            for (int head = 0; head < heads_; head++) {
                // A head asks for its part of what comes next: a third beside packing, the rest beside products.
                const float parts = 3.0f * static_cast<float>(heads_ - head);
                const int groups = this->groups_ / heads_;
                ahead.set_share(1.0f / parts);
                pack(head, ahead);
                ahead.set_share(2.0f / (parts - 1.0f));
                this->visit(head * groups, (head + 1) * groups, ahead);
            }
        }
        this->end();
        for (int r = 0; r < heads_ * head_rows_; r++) {
            if (!has_row(r) || (kPaired && is_extreme(r))) continue;
            RowState state = this->state(r);
            float* sums = this->sums(r);
            if constexpr (kTakesCodes) {
                if (!scales_.is_ordinary() || !scales_.finish(row(r), sums, state)) {
                    mark_extreme(r);
                    continue;
                }
            }
            finish_row(b_, head(r), row(r), sums, state);
        }
        if constexpr (kPaired) compute_extreme_rows();
    }

private:
    using Rows::b_;
    using Rows::s_;
    using Rows::kPaired;
    using Rows::kTakesCodes;
    static constexpr int kGroup = Operand::kGroup;
    static constexpr bool kManyHeads = Operand::kKeysOnLeft;

    // Rows of several heads begin at whole groups.
    int head(int r) const { return kManyHeads ? r / head_rows_ : 0; }
    int64_t row(int r) const { return b_.row_begin + (kManyHeads ? r % head_rows_ : r); }
    bool has_row(int r) const { return row(r) < b_.row_end && (!kManyHeads || head(r) < heads_); }
    Interval seen(int r) const { return visible_keys(b_, row(r)); }
    Interval group_seen(int g) const {
        const Interval band = group_band(g);
        if (b_.mask == nullptr) return band;
        const TileColumns shown = masks_[g].shown();
        return {larger(band.begin, tile_.key + shown.begin), smaller(band.end, tile_.key + shown.end)};
    }
    bool is_masked(int g) const { return masks_[g].hides_any(); }
    Interval group_band(int g) const { return visible_keys(b_, row(g * kGroup), group_end(g)); }
    int64_t group_end(int g) const { return smaller(row(g * kGroup) + kGroup, b_.row_end); }

    const CodeScales& scales() const { return scales_; }

    void pack(int head, Ahead& ahead) {
        tile_.pack(head, ahead);
        if constexpr (kTakesCodes) {
            uint8_t refused[kTileKeys];
            bool any_refused = scales_.enter(tile_.key, tile_.begin, tile_.end, refused);
            // The zeros that are later parts of queries would make NaN of an infinity.
            const bool is_safe = b_.query_parts == 1 || !may_be_infinite(b_.key, b_.key_addition.scale);
            for (int k = tile_.begin; k < tile_.end && !is_safe; k++) {
                if (classify_row<T, false>(tile_.key_row(k), b_.dim) == kOrdinary) continue;
                refused[k] = kHuge;
                any_refused = true;
            }
            if (any_refused) refuse(refused);
        }
    }

    // Keys that the products cannot take.
    void refuse(const uint8_t* classes) {
        for (int r = 0; r < rows_; r++) {
            if (sees_huge(b_, row(r), seen(r), tile_.key, tile_.begin, tile_.end, classes)) mark_extreme(r);
        }
    }

    // Finds what the mask hides of the tile from each group. False: all of it from all.
    bool look_at_mask() {
        bool is_seen = false;
        for (int g = 0; g < this->groups_; g++) {
            uint8_t* code = b_.tile_masks + row(g * kGroup) / kGroup * b_.tile_mask_stride + tile_.key / Operand::kTile;
            masks_[g] = TileMask::read(code);
            if (!masks_[g].is_known()) {
                const TileColumns columns = columns_of(group_band(g), tile_.key, tile_.begin, tile_.end);
                masks_[g] = TileMask(b_, row(g * kGroup), group_end(g), tile_.key, columns);
                masks_[g].write(code);
            }
            is_seen |= !masks_[g].hides_all();
        }
        return is_seen;
    }

    void adjust_scores(int r, Interval seen, int begin, int end, float* scores) const {
        if (b_.bias.kind != BiasKind::none) add_bias(b_, head(r), row(r), seen, tile_.key, begin, end, scores);
        if (is_masked(r / kGroup) || seen.begin > tile_.key + begin || seen.end < tile_.key + end) {
            hide_scores(b_, row(r), seen, tile_.key, begin, end, scores);
        }
    }

    // The instructions that multiply bf16 take subnormal operands for 0, which shows in a score where the other factor
    // is huge; and the second parts of an fp16 become NaN beside an infinity. Rows of such queries are computed in
    // fp32, each by itself: the others keep the bits they would have without them.
    template <class V>
    struct ExtremeCodes {
        static constexpr uint16_t kHuge = (127 + 90) << 7, kInfinite = BF16::kExponent, kNormal = 1 << 7;
        V top = {}, above_zero = ~V{}, above_huge = ~V{};  // smaller numbers wrap around to the largest
        void add(V codes) {
            const V magnitude = codes & uint16_t{0x7fff};
            const V tiny = magnitude - uint16_t{1}, huge = magnitude - kHuge;
            top = magnitude > top ? magnitude : top;
            above_zero = tiny < above_zero ? tiny : above_zero;
            above_huge = huge < above_huge ? huge : above_huge;
        }
        V found() const {
            // A scale that is small takes a score back that was infinite.
            if constexpr (kTakesCodes) {
                return reinterpret_cast<V>((above_zero < uint16_t{kNormal - 1}) | (top >= kHuge));
            }
            if constexpr (Operand::kParts > 1) return reinterpret_cast<V>(top >= kInfinite);
            return reinterpret_cast<V>((above_zero < uint16_t{kNormal - 1}) |
                                       (above_huge < uint16_t{kInfinite - kHuge}));
        }
    };

    // Among `count` codes, a multiple of kLanes.
    static bool any_extreme(const uint16_t* codes, int count) {
        ExtremeCodes<vw> whole;
        ExtremeCodes<vh> rest;
        int i = 0;
        for (; i + 2 * kLanes <= count; i += 2 * kLanes) whole.add(load<vw>(codes + i));
        if (i < count) rest.add(load<vh>(codes + i));
        return any(reinterpret_cast<vi>(whole.found())) || any(reinterpret_cast<vi>(extend(rest.found())));
    }

    void find_extreme_rows() {
        const uint16_t* queries = reinterpret_cast<const uint16_t*>(s_.query);
        const int count = 2 * this->ldq_;
        if (!any_extreme(queries, heads_ * head_rows_ * count)) return;
        for (int r = 0; r < heads_ * head_rows_; r++) {  // filling has zeros
            if (any_extreme(queries + r * count, count)) mark_extreme(r);
        }
    }

    void mark_extreme(int r) { extreme_rows_[r / 64] |= uint64_t{1} << r % 64; }
    bool is_extreme(int r) const { return (extreme_rows_[r / 64] >> r % 64 & 1) != 0; }

    void compute_extreme_rows() {
        for (int r = 0; r < heads_ * head_rows_; r++) {
            if (is_extreme(r)) decode_carefully<std::conditional_t<kTakesCodes, F32, T>>(b_, head(r), row(r), s_);
        }
    }

    const int rows_;  // of a head
    const int heads_, head_rows_;  // with filling
    Tile<T, Operand> tile_;
    std::conditional_t<kTakesCodes, CodeScales, NoScales> scales_;
    uint64_t extreme_rows_[Operand::kBlockRows / 64] = {};
    TileMask masks_[Operand::kBlockRows / kGroup];  // of the tile's keys, from a group's rows
};

template <class T, class Operand>
void prefill(const RowBlock& block, const Scratch& scratch) {
    Prefill<T, Operand>(block, scratch).run();
}

}  // namespace
}  // namespace acl_attn::engine
