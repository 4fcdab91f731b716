// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Vector cores bring the rows of a step together in a slot of the core's part of GM, in the order of its columns.
#pragma once

#include <type_traits>

#include "ascendc/sparse_attention/traits.h"
#include "ascendc/tile/shared/events.h"
#include "ascendc/tile/shared/handoff.h"
#if __NPU_ARCH__ == 3510
#include "ascendc/tile/arch3510/unpack.h"
#endif

namespace acl_attn::ascendc {
inline namespace ACL_ATTN_KERNEL_ARCH {

// A bit for each of a step's columns.
struct ColumnBits {
    uint64_t words[kKeysOfStep / 64];

    __aicore__ inline void Add(int32_t column) { words[column / 64] |= uint64_t{1} << (column % 64); }
    __aicore__ inline bool IsEmpty() const { return (words[0] | words[1]) == 0; }
};

template <class Traits>
class RowGather {
    using Element = typename Traits::Element;
    using Stored = typename Traits::Row;
    using Item = typename Traits::Item;
    static constexpr int32_t kNoRow = -1;
    static constexpr uint32_t kScaleFloats = Traits::kGatherRows * kFloatsPerBlock;

public:
    __aicore__ inline void Begin() {
        stored_.Prime();
        order_.Prime();
        if constexpr (Traits::kIsPacked) unpacked_.Prime();
        constexpr int32_t kFloats = static_cast<int32_t>(Traits::kRowBytes / sizeof(float));
        Fill(Ub<float>(Traits::kUbZero, kFloats), 0.0f, kFloats);
        Order<AscendC::HardEvent::V_MTE3, 1>();
        Order<AscendC::HardEvent::MTE3_V, 1>();
    }
    __aicore__ inline void End() {
        stored_.Drain();
        order_.Drain();
        if constexpr (Traits::kIsPacked) unpacked_.Drain();
    }

    // Reads the step's part of the list. The result: columns that nobody sees, entries behind the end of the list and
    // those passed over.
    __aicore__ inline ColumnBits Read(const Step& step, const Item& item) {
        ColumnBits hidden = {};
        const Stream& stream = item.streams[step.range];
        if (stream.list == 0) return hidden;
        if (step.key == item.key_begin[step.range]) has_ended_ = HasEnd(stream, step.key);
        for (int32_t column = 0; column < step.keys; ++column) {
            const int32_t row = has_ended_ ? kNoRow : stream.Entry(step.key + column);
            has_ended_ = row < 0;
            rows_[column] = row < stream.visible ? row : kNoRow;
            if (rows_[column] < 0) hidden.Add(column);
        }
        return hidden;
    }

    // Columns `share` of the step, which was read last, to rows of the slot at `to`. Hidden ones become 0: they are
    // multiplied by probabilities of 0.
    __aicore__ inline void Take(const Step& step, const Item& item, RowShare share, uint64_t to) {
        // What was in the slot has been read: vector cores have seen that step's scores.
        order_.WaitFree(0);
        order_.SetReady(0);
        order_.WaitReady(0);
        order_.SetFree(0);
        const Stream& stream = item.streams[step.range];
        const int32_t end = share.begin + share.rows;
        int32_t buffered = 0;
        for (int32_t column = share.begin; column < end;) {
            const int32_t most = Min(Traits::kGatherRows - buffered, end - column);
            KeyRun run;
            if (stream.list == 0) {
                run = item.RunAt(step.range, step.key + column, most);
            } else if (rows_[column] >= 0) {
                run = item.RunAt(step.range, rows_[column], Neighbours(column, most));
            } else {
                Flush(column, &buffered, to);
                Put(to, column, Ub<Element>(Traits::kUbZero, Traits::kDim), 1);
                ++column;
                continue;
            }
            const bool is_alone = run.stride * static_cast<int64_t>(sizeof(Stored)) > kMaxCopyStrideBytes;
            const int32_t count = is_alone ? 1 : run.count;
            if (buffered == 0) stored_.WaitFree(buffer_);
            const uint32_t row = static_cast<uint32_t>(buffered * Traits::kStoredColumns);
            GmToUb(StoredTile()[row], Gm<Stored>(run.address), count,
                   Traits::kStoredColumns, count == 1 ? Traits::kStoredColumns : run.stride, Traits::kStoredColumns);
            buffered += count;
            column += count;
            if (buffered == Traits::kGatherRows) Flush(column, &buffered, to);
        }
        Flush(end, &buffered, to);
    }

private:
    // Whether -1 ends the list before entry `before`, which is not the first where the list is split among items.
    __aicore__ static inline bool HasEnd(const Stream& stream, int64_t before) {
        for (int64_t entry = 0; entry < before; ++entry) {
            if (stream.Entry(entry) < 0) return true;
        }
        return false;
    }

    // Columns from `column` on, at most `most`, whose rows follow one another.
    __aicore__ inline int32_t Neighbours(int32_t column, int32_t most) const {
        int32_t count = 1;
        while (count < most && rows_[column + count] == rows_[column] + count) ++count;
        return count;
    }

    __aicore__ inline AscendC::LocalTensor<Stored> StoredTile() const {
        constexpr uint32_t kBytes = Traits::kGatherRows * Traits::kStoredBytes;
        return Ub<Stored>(Traits::kUbStored + static_cast<uint32_t>(buffer_) * kBytes,
                          Traits::kGatherRows * Traits::kStoredColumns);
    }
    __aicore__ inline AscendC::LocalTensor<Element> UnpackedTile() const {
        constexpr uint32_t kBytes = Traits::kGatherRows * Traits::kRowBytes;
        return Ub<Element>(Traits::kUbUnpacked + static_cast<uint32_t>(buffer_) * kBytes,
                           Traits::kGatherRows * Traits::kDim);
    }

    __aicore__ static inline void Put(uint64_t to, int32_t column, const AscendC::LocalTensor<Element>& rows,
                                      int32_t count) {
        UbToGm(Gm<Element>(to)[static_cast<uint64_t>(column * Traits::kDim)], rows, count, Traits::kDim, Traits::kDim,
               Traits::kDim);
    }

    // Rows in the buffer become those of the columns before `end`.
    __aicore__ inline void Flush(int32_t end, int32_t* buffered, uint64_t to) {
        const int32_t count = *buffered;
        if (count == 0) return;
        stored_.SetReady(buffer_);
        stored_.WaitReady(buffer_);
        if constexpr (Traits::kIsPacked) {
            unpacked_.WaitFree(buffer_);
            UnpackRows(UnpackedTile(), StoredTile(), Ub<float>(Traits::kUbScales, kScaleFloats), count);
            stored_.SetFree(buffer_);
            unpacked_.SetReady(buffer_);
            unpacked_.WaitReady(buffer_);
            Put(to, end - count, UnpackedTile(), count);
            unpacked_.SetFree(buffer_);
        } else {
            Put(to, end - count, StoredTile(), count);
            stored_.SetFree(buffer_);
        }
        buffer_ = (buffer_ + 1) % Traits::kGatherBuffers;
        *buffered = 0;
    }

    // Stored rows go to GM as they are, or to the vector pipe, which has flags for them because on dav-3510 nobody
    // fetches products.
    using StoredRing =
        std::conditional_t<Traits::kIsPacked, EventRing<AscendC::HardEvent::MTE2_V, AscendC::HardEvent::V_MTE2, 1, Traits::kGatherBuffers>,
                           EventRing<AscendC::HardEvent::MTE2_MTE3, AscendC::HardEvent::MTE3_MTE2, 0, Traits::kGatherBuffers>>;

    int32_t buffer_ = 0;
    bool has_ended_ = false;
    int32_t rows_[kKeysOfStep];  // that a list names; kNoRow: hidden
    StoredRing stored_;
    EventRing<AscendC::HardEvent::V_MTE3, AscendC::HardEvent::MTE3_V, 2, 2> unpacked_;
    EventRing<AscendC::HardEvent::V_MTE3, AscendC::HardEvent::MTE3_V, 4, 1> order_;
};

}  // namespace ACL_ATTN_KERNEL_ARCH
}  // namespace acl_attn::ascendc
