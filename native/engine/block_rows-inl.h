// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What prefill keeps of a block's rows between tiles, whatever computes their products.
#pragma once

#include "engine/exceptional-inl.h"
#include "engine/pack-inl.h"
#include "engine/rows-inl.h"

namespace acl_attn::engine {
namespace {

// The state of a block's rows, in its scratch. Rows are counted in whole groups, and some may be mere filling.
// Owner derives from this and has
//   bool has_row(int r): not filling;           int64_t row(int r): its merged row;
//   int head(int r): its KV head in the block;
//   Interval seen(int r): keys that a row sees; Interval group_seen(int g): that some row of the group sees;
//   bool is_masked(int g): whether a mask hides keys of the tile from rows of the group;
//   void adjust_scores(int r, Interval seen, int begin, int end, float* scores): hides, and what else scores need;
//   const CodeScales& scales(), where Operand takes codes.
template <class Operand, class Owner>
class BlockRows {
public:
    static constexpr int kGroup = Operand::kGroup;

protected:
    static constexpr bool kPaired = Operand::kDepth == 2;
    static constexpr bool kTakesCodes = Operand::kTakesCodes;
    static constexpr int kMaxGroups = Operand::kBlockRows / kGroup;
    static_assert(Operand::kBlockRows % kGroup == 0, "whole groups");
    // Sums of a row are written in vectors, or in rows of a register that may be longer.
    static constexpr int kSums = Operand::kKeysOnLeft ? 2 * Operand::kColumns : Operand::kSteps;
    static constexpr int kWhole = kLanes > kSums ? kLanes : kSums;

    BlockRows(const RowBlock& block, const Scratch& scratch, int ldq)
        : b_(block), s_(scratch), ldo_(round_up(block.dim_v, kWhole)), ldq_(ldq) {}

    void begin(int rows) {
        groups_ = (rows + kGroup - 1) / kGroup;
        for (int r = 0; r < groups_ * kGroup; r++) forget_state(r);
        for (int g = 0; g < groups_; g++) has_sums_[g] = false;
    }

    // After the last tile.
    void end() {
        for (int g = 0; g < groups_; g++) {
            if (!has_sums_[g]) clear_sums(g);
        }
    }

    // As if the row had not seen any key.
    void forget(int r) {
        __builtin_memset(s_.out + r * ldo_, 0, sizeof(float) * ldo_);
        forget_others(r);
    }
    // All but its sums.
    void forget_others(int r) {
        forget_state(r);
        if (any_aside_) __builtin_memset(s_.aside + r * ldo_, 0, sizeof(float) * ldo_);
    }

    // `unit`: that maxima are counted in.
    RowState state(int r, float unit = 1.0f) const { return {s_.row_max[r] * unit, s_.row_sum[r], s_.row_headroom[r]}; }

    // That some row of the groups sees.
    template <class Tile>
    TileColumns seen_columns(const Tile& tile, int group, int groups) {
        Interval seen = owner().group_seen(group);
        for (int g = group + 1; g < group + groups; g++) seen = hull(seen, owner().group_seen(g));
        return {static_cast<int>(larger(seen.begin - tile.key, tile.begin)),
                static_cast<int>(smaller(seen.end - tile.key, tile.end))};
    }

    // Before groups' sums are added to. True: there are none yet. Groups may have begun at different tiles: the sums of
    // one that has none are zeros then.
    bool begin_sums(int group, int groups) {
        bool fresh = true;
        for (int g = group; g < group + groups; g++) fresh &= !has_sums_[g];
        for (int g = group; g < group + groups; g++) {
            if (!fresh && !has_sums_[g]) clear_sums(g);
            has_sums_[g] = true;
        }
        return fresh;
    }

    // Gives a row headroom if it sees a huge value of the tile; its sums so far must then be multiplied by it, too.
    template <class Tile>
    void set_aside(int r, const Tile& tile, TileColumns columns) {
        if (s_.row_headroom[r] != 1.0f ||
            !sees_huge(b_, owner().row(r), owner().seen(r), tile.key, columns.begin, columns.end, s_.value_classes)) {
            return;
        }
        s_.row_headroom[r] = kHugeHeadroom;
        s_.row_rescale[r] *= kHugeHeadroom;
    }

    // Adds to sums of a row the values of the tile that are no part of its products; probability(k) is column k's.
    template <class T, class Tile, class Probability>
    void add_aside(int r, const Tile& tile, TileColumns columns, const Probability& probability, float* sums) {
        add_set_aside<T>(b_, owner().row(r), owner().seen(r), tile.key, columns.begin, columns.end, s_.value_classes,
                         s_.value_originals, probability, sums + r * ldo_);
    }

    // What scores are multiplied by; not all of it where keys have scales of their own.
    float scale() {
        if constexpr (kTakesCodes) return owner().scales().of_scores();
        return b_.scale;
    }
    // Of a tile's keys, scale() included, and values; null: tokens have no scales of their own.
    const float* key_scales() {
        if constexpr (kTakesCodes) return owner().scales().of_keys();
        return nullptr;
    }
    const float* value_scales() {
        if constexpr (kTakesCodes) return owner().scales().of_values();
        return nullptr;
    }
    int query_parts() {
        if constexpr (kTakesCodes) return b_.query_parts;
        return Operand::kQueryParts;
    }

    // Elements from a part of the rows' queries to the next one.
    ptrdiff_t query_part_size() const { return static_cast<ptrdiff_t>(groups_) * kGroup * ldq_; }

    // Writes a row's query as bf16, in parts whose sum it is, times its channels' scales.
    void load_query_parts(int r) {
        const int parts = query_parts();
        uint16_t* to = reinterpret_cast<uint16_t*>(s_.query + r * ldq_);
        if (parts == 1 && owner().has_row(r)) {
            copy_query(b_, owner().head(r), owner().row(r), to);
            for (int d = b_.dim; d < 2 * ldq_; d++) to[d] = 0;
            return;
        }
        for (int part = 0; part < parts; part++) {
            __builtin_memset(to + 2 * part * query_part_size(), 0, sizeof(float) * ldq_);
        }
        if (!owner().has_row(r)) return;
        alignas(64) float query[kMaxDim];
        widen_query(b_, owner().head(r), owner().row(r), query);
        if constexpr (kTakesCodes) owner().scales().scale_query(query);
        for (int d = 0; d < b_.dim; d += kLanes) {
            vf left = load<vf>(query + d);
            for (int part = 0; part < parts; part++) {
                vu rest;
                const vu upper = split_upper(left, &rest);
                store(to + 2 * part * query_part_size() + d, truncate(upper >> 16));
                left = reinterpret_cast<vf>(rest);
            }
        }
    }

    // A row's sums, in the order of channels. Once for each row, at its end.
    float* sums(int r) {
        float* out = s_.out + r * ldo_;
        join_aside(r, out);
        return out;
    }

    // Adds to a row's sums what was kept apart from them.
    void join_aside(int r, float* sums) const {
        if (!any_aside_) return;
        const float* aside = s_.aside + r * ldo_;
        for (int d = 0; d < ldo_; d += kLanes) store(sums + d, load<vf>(sums + d) + load<vf>(aside + d));
    }

    // The instructions that multiply bf16 take subnormal accumulators for 0: what may be subnormal is summed here.
    float* aside() {
        if (!any_aside_) __builtin_memset(s_.aside, 0, sizeof(float) * groups_ * kGroup * ldo_);
        any_aside_ = true;
        return s_.aside;
    }

    Owner& owner() { return static_cast<Owner&>(*this); }

    void scale_sums(float* sums, int r, float factor) const {
        sums += r * ldo_;
        for (int c = 0; c < ldo_; c += kLanes) store(sums + c, load<vf>(sums + c) * splat(factor));
    }

    const RowBlock& b_;
    const Scratch& s_;
    const int ldo_, ldq_;  // of s_.out and s_.query
    int groups_ = 0;
    bool any_aside_ = false;     // s_.aside holds sums
    bool has_sums_[kMaxGroups];  // of a group; s_.out holds nothing before

private:
    void clear_sums(int g) { __builtin_memset(s_.out + g * kGroup * ldo_, 0, sizeof(float) * kGroup * ldo_); }

    void forget_state(int r) {
        s_.row_max[r] = -kInfinity;
        s_.row_sum[r] = 0.0f;
        s_.row_rescale[r] = 1.0f;
        s_.row_headroom[r] = 1.0f;
    }
};

}  // namespace
}  // namespace acl_attn::engine
