// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The work of one AI core as a sequence of steps: items one after another, the keys of an item in tiles. Both kinds of
// core walk through the same steps, so that what one announces the other waits for.
#pragma once

#include "ascendc/flash_attention/params.h"
#include "ascendc/flash_attention/tiles.h"
#include "ascendc/tile/shared/memory.h"
#include "geometry/band.h"

namespace acl_attn::ascendc {
inline namespace ACL_ATTN_KERNEL_ARCH {

__aicore__ inline void ReadSequence(const FlashAttentionParams& params, int64_t number, int64_t* words) {
    const AscendC::GlobalTensor<int64_t> sequences = Gm<int64_t>(params.sequences);
    for (int32_t i = 0; i < kSequenceWords; ++i) {
        words[i] = sequences.GetValue(static_cast<uint64_t>(number * kSequenceWords + i));
    }
}

// The rows of an item and their sequence, read from the plan.
struct ItemRows {
    int64_t sequence[kSequenceWords];
    int64_t kv_head;
    int64_t row_begin;
    int64_t partial_row;
    int32_t rows;

    __aicore__ inline geometry::Band Band() const {
        geometry::Band band;
        band.first = sequence[kSeqBandFirst];
        band.last = sequence[kSeqBandLast];
        return band;
    }
};

// And the keys, in one range or several that the rows look at one after another.
struct Item : ItemRows {
    static constexpr int32_t kRanges = 1;
    int64_t key_begin[kRanges];
    int64_t key_end[kRanges];

    __aicore__ inline void Read(const FlashAttentionParams& params, int64_t number) {
        const AscendC::GlobalTensor<int64_t> words = Gm<int64_t>(params.items);
        const uint64_t at = static_cast<uint64_t>(number * kItemWords);
        kv_head = words.GetValue(at + kItemKvHead);
        row_begin = words.GetValue(at + kItemRowBegin);
        rows = static_cast<int32_t>(words.GetValue(at + kItemRowEnd) - row_begin);
        key_begin[0] = words.GetValue(at + kItemKeyBegin);
        key_end[0] = words.GetValue(at + kItemKeyEnd);
        partial_row = words.GetValue(at + kItemPartialRow);
        ReadSequence(params, words.GetValue(at + kItemSequence), sequence);
    }
};

struct Step {
    int64_t key;       // the first
    int32_t keys;      // 0: the item's rows see none
    int32_t range;     // of the item's
    int32_t item;      // which entry of Steps::items
    int32_t item_slot; // which of two buffers that belong to items
    int32_t slot;      // which of two buffers that belong to steps
    int32_t key_slot;  // and of three
    bool is_first;     // of the item
    bool is_last;
};

template <class Traits>
class Steps {
    using Params = typename Traits::Params;
    using Item = typename Traits::Item;

public:
    __aicore__ inline Steps(const Params& params, int64_t core) : params_(params) {
        const AscendC::GlobalTensor<int64_t> ranges = Gm<int64_t>(Traits::Rows(params).core_items);
        next_ = ranges.GetValue(static_cast<uint64_t>(core));
        end_ = ranges.GetValue(static_cast<uint64_t>(core + 1));
    }

    // False: there is none. Items of kStepsBefore steps before this one stay.
    __aicore__ inline bool Next(Step* step) {
        step->is_first = key_ >= key_end_;
        if (step->is_first) {
            if (next_ >= end_) return false;
            item_ = (item_ + 1) % kItems;
            item_slot_ = 1 - item_slot_;
            items[item_].Read(params_, next_++);
            range_ = -1;
            key_ = key_end_ = 0;
            LeaveEmptyRanges();
        }
        const int64_t left = key_end_ - key_;
        step->key = key_;
        step->keys = static_cast<int32_t>(left < kKeysOfStep ? left : kKeysOfStep);
        step->range = range_;
        step->item = item_;
        step->item_slot = item_slot_;
        step->slot = static_cast<int32_t>(number_ % 2);
        step->key_slot = static_cast<int32_t>(number_ % kStepsAlive);
        ++number_;
        key_ += step->keys;
        LeaveEmptyRanges();
        step->is_last = key_ >= key_end_;
        return true;
    }

    static constexpr int32_t kStepsBefore = Traits::kLead + 1;
    static constexpr int32_t kItems = kStepsBefore + 1;
    Item items[kItems];

private:
    // Afterwards the item has no keys left, or there is one in the range.
    __aicore__ inline void LeaveEmptyRanges() {
        while (key_ >= key_end_ && range_ + 1 < Item::kRanges) {
            ++range_;
            key_ = items[item_].key_begin[range_];
            key_end_ = items[item_].key_end[range_];
        }
    }

    const Params& params_;
    int64_t next_ = 0;
    int64_t end_ = 0;
    int64_t key_ = 0;
    int64_t key_end_ = 0;
    int64_t number_ = 0;
    int32_t range_ = 0;
    int32_t item_ = kItems - 1;
    int32_t item_slot_ = 1;
};

// The steps of a core that are under way: one whose products are computed, one whose scores are, and kAhead that are
// prepared.
template <class Traits, int32_t kAhead>
class StepsUnderWay {
    static_assert(kAhead <= Traits::kLead, "their items stay");

public:
    static constexpr int32_t kPreparing = 0;
    static constexpr int32_t kScoring = kAhead;
    static constexpr int32_t kSumming = kAhead + 1;

    __aicore__ inline StepsUnderWay(const typename Traits::Params& params, int64_t core) : steps_(params, core) {}

    // Each becomes the one after it. False: none is left.
    __aicore__ inline bool Advance() {
        bool is_any = false;
        for (int32_t i = kSumming; i > 0; --i) {
            under_way_[i] = under_way_[i - 1];
            has_[i] = has_[i - 1];
            is_any = is_any || has_[i];
        }
        has_[0] = has_more_ && steps_.Next(&under_way_[0]);
        has_more_ = has_[0];
        return is_any || has_more_;
    }

    __aicore__ inline bool Has(int32_t stage) const { return has_[stage]; }
    __aicore__ inline const Step& At(int32_t stage) const { return under_way_[stage]; }
    __aicore__ inline const typename Traits::Item& ItemAt(int32_t stage) const {
        return steps_.items[under_way_[stage].item];
    }

private:
    Steps<Traits> steps_;
    Step under_way_[kSumming + 1] = {};
    bool has_[kSumming + 1] = {};
    bool has_more_ = true;
};

}  // namespace ACL_ATTN_KERNEL_ARCH
}  // namespace acl_attn::ascendc
