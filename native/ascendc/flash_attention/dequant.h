// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Stored keys and values become 16-bit rows in the core's part of GM: (x + offset) * scale in fp32, rounded once. A few
// rows at a time, in the scratch memory that other stages use between.
#pragma once

#include "ascendc/flash_attention/numbers.h"
#include "ascendc/flash_attention/rows.h"
#include "ascendc/flash_attention/statistics.h"
#include "ascendc/tile/shared/events.h"
#include "ascendc/tile/shared/handoff.h"
#include "ascendc/tile/shared/widen.h"

namespace acl_attn::ascendc {
inline namespace ACL_ATTN_KERNEL_ARCH {

template <class Traits>
class Dequantiser {
    using Element = typename Traits::Element;
    using Kv = typename Traits::Kv;
    static constexpr int32_t kColumns = Traits::kDim > Traits::kDimV ? Traits::kDim : Traits::kDimV;
    static constexpr int32_t kRows = Traits::kDimV > 128 ? 4 : 16;
    static constexpr int32_t kHalfBytes = kHalfBytesOf<Kv>;
    static constexpr int32_t kPerRawBlock = 64 / kHalfBytes;  // elements in 32 bytes

    // Scratch: raw rows, rows of 16 bits (before and after fp32), rows of fp32, a scale and an offset for each channel.
    static constexpr uint32_t kRaw = Traits::kUbScratch;
    static constexpr uint32_t kNarrow = kRaw + kRows * kColumns;
    static constexpr uint32_t kWide = kNarrow + kRows * kColumns * 2;
    static constexpr uint32_t kScales = kWide + kRows * kColumns * 4;
    static constexpr uint32_t kOffsets = kScales + kColumns * 4;
    static constexpr uint32_t kStored = kOffsets + kColumns * 4;
    static_assert(kStored + kColumns * 4 <= Traits::kUbScratch + Traits::kScratchBytes, "the scratch holds all of it");

public:
    // `share`: of the step's keys, whose first is `first`.
    __aicore__ inline Dequantiser(const FlashAttentionParams& params, const Item& item, RowShare share, int64_t first)
        : params_(params), item_(item), share_(share), first_(first) {}

    // Rows of the tensor that `kv` describes, `ld` elements apart at `to`.
    __aicore__ inline void Convert(const KvParams& kv, const ScaleParams& scale, KvWords words, int32_t ld,
                                   uint64_t to) {
        const bool by_channel = IsByChannel(scale);
        if (by_channel) {
            LoadChannels(kScales, scale.scale, kv, scale, words);
            if (scale.offset != 0) LoadChannels(kOffsets, scale.offset, kv, scale, words);
        }
        const int32_t row_elements = RoundUp(kv.columns, kPerRawBlock);
        for (int32_t row = share_.begin; row < share_.begin + share_.rows;) {
            const int32_t left = Min(kRows, share_.begin + share_.rows - row);
            const KeyRun run = KeyRunAt(params_, kv, words, item_, first_ + row, left, kHalfBytes);
            const FloatTile wide = Ub<float>(kWide, kRows * kColumns);
            const int32_t count = run.count * row_elements;
            Order<AscendC::HardEvent::V_MTE2, 4>();
            LoadRaw(run, kv);
            Order<AscendC::HardEvent::MTE2_V, 4>();
            Widen(wide, Ub<Kv>(kRaw, kRows * kColumns), kNarrow, count);
            if (by_channel) {
                if (scale.offset != 0) {
                    ByColumn<false>(wide, Ub<float>(kOffsets, kColumns), run.count, kv.columns, row_elements);
                }
                ByColumn<true>(wide, Ub<float>(kScales, kColumns), run.count, kv.columns, row_elements);
            } else {
                for (int32_t i = 0; i < run.count; ++i) {
                    ScaleRow(wide[i * row_elements], kv, scale, words, first_ + row + i);
                }
            }
            const AscendC::LocalTensor<Element> narrow = Ub<Element>(kNarrow, kRows * kColumns);
            VecCast(narrow, wide, AscendC::RoundMode::CAST_RINT, static_cast<uint32_t>(count));
            Order<AscendC::HardEvent::V_MTE3, 1>();
            UbToGm(Gm<Element>(to)[static_cast<uint64_t>(row * ld)], narrow, run.count, kv.columns, ld, row_elements);
            Order<AscendC::HardEvent::MTE3_V, 1>();
            row += run.count;
        }
    }

private:
    __aicore__ static inline bool IsByChannel(const ScaleParams& scale) {
        return scale.group == 1 && scale.token_stride == 0;
    }

    __aicore__ inline void LoadRaw(const KeyRun& run, const KvParams& kv) {
        const AscendC::LocalTensor<uint8_t> raw = Ub<uint8_t>(kRaw, kRows * kColumns);
        const AscendC::GlobalTensor<uint8_t> from = Gm<uint8_t>(run.address);
        const int32_t row_bytes = RoundUp(kv.columns, kPerRawBlock) * kHalfBytes / 2;
        const int32_t block = static_cast<int32_t>(kBlockBytes);
        if (run.chunk_stride == 0) {
            GmToUb(raw, from, run.count, kv.columns * kHalfBytes / 2, run.stride * kHalfBytes / 2, row_bytes);
            return;
        }
        for (int32_t byte = 0; byte < row_bytes; byte += block) {  // a group of channels has one block a row
            const int64_t at = byte / block * run.chunk_stride * kHalfBytes / 2;
            GmToUb(raw[static_cast<uint32_t>(byte)], from[static_cast<uint64_t>(at)], run.count, block, block,
                   row_bytes);
        }
    }

    // A number for each channel of the KV head, in fp32.
    __aicore__ inline void LoadChannels(uint32_t to, uint64_t numbers, const KvParams& kv, const ScaleParams& scale,
                                        KvWords words) {
        const int64_t at = item_.sequence[words.scale_offset] + item_.kv_head * scale.head_stride;
        LoadNumbers(Ub<float>(to, kColumns), kStored, numbers, scale.type, static_cast<uint64_t>(at), kv.columns);
    }

    // A row by the numbers of its token, each for a group of channels.
    __aicore__ inline void ScaleRow(const FloatTile& row, const KvParams& kv, const ScaleParams& scale,
                                    KvWords words, int64_t key) {
        const int64_t first = ScaleIndex(scale, words, key);
        for (int32_t column = 0; column < kv.columns; column += scale.group) {
            const int32_t count = Min(scale.group, kv.columns - column);
            const int64_t index = first + column / scale.group * scale.group_stride;
            const FloatTile part = row[static_cast<uint32_t>(column)];
            if (scale.offset != 0) {
                VecAdds(part, part, ScaleAt(scale.offset, scale.type, index), count);
            }
            if (scale.scale != 0) VecMuls(part, part, ScaleAt(scale.scale, scale.type, index), count);
        }
    }

    // Of the key's first number.
    __aicore__ inline int64_t ScaleIndex(const ScaleParams& scale, KvWords words, int64_t key) const {
        const int64_t own = key - params_.prefix_len;
        const int64_t head = item_.kv_head * scale.head_stride;
        if (own < 0) return item_.sequence[words.prefix_scale_offset] + key * scale.token_stride + head;
        if (scale.paged == 0) return item_.sequence[words.scale_offset] + own * scale.token_stride + head;
        const PageRow row = PageRowOf(params_, item_, own);
        return row.block * scale.block_stride + row.inside * scale.token_stride + head;
    }

    const FlashAttentionParams& params_;
    const Item& item_;
    const RowShare share_;
    const int64_t first_;
};

}  // namespace ACL_ATTN_KERNEL_ARCH
}  // namespace acl_attn::ascendc
