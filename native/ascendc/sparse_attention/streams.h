// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The two streams of an item: where their rows lie, and which of their columns its rows look at. Columns are positions
// of the stream, or entries of a token's list.
#pragma once

#include "ascendc/flash_attention/hide.h"
#include "ascendc/flash_attention/rows.h"
#include "ascendc/sparse_attention/params.h"

namespace acl_attn::ascendc {
inline namespace ACL_ATTN_KERNEL_ARCH {

struct Stream {
    uint64_t address;
    uint64_t block_table;  // the sequence's part of it; 0: not paged
    uint64_t list;         // of the item's token; 0: columns are positions
    int64_t row_stride;    // these two in elements of a stored row
    int64_t block_stride;
    int64_t block_size;
    int64_t visible;       // entries that are not below are passed over

    // Positions `position` .. of at most `most` rows that lie equally far apart. `bytes`: of an element.
    __aicore__ inline KeyRun RunAt(int64_t position, int32_t most, int64_t bytes) const {
        KeyRun run;
        run.stride = row_stride;
        run.chunk_stride = 0;
        int64_t left = most;
        int64_t offset = position * row_stride;
        if (block_table != 0) {
            const int64_t block = position / block_size;
            const int64_t inside = position - block * block_size;
            const int64_t entry = Gm<int32_t>(block_table).GetValue(static_cast<uint64_t>(block));
            left = block_size - inside < left ? block_size - inside : left;
            offset = entry * block_stride + inside * row_stride;
        }
        run.address = address + static_cast<uint64_t>(offset * bytes);
        run.count = static_cast<int32_t>(left);
        return run;
    }

    __aicore__ inline int32_t Entry(int64_t column) const {
        return Gm<int32_t>(list).GetValue(static_cast<uint64_t>(column));
    }
};

// The compressed positions that a token sees: those whose original tokens are all visible.
struct CompressedColumns {
    int64_t shift;
    int64_t ratio;
    int64_t len;

    __aicore__ inline geometry::Columns Of(int64_t token) const {
        const int64_t stands_for = token + shift;
        const int64_t count = stands_for <= 0 ? 0 : stands_for / ratio;
        return {0, count < len ? count : len};
    }
};

// `kElementBytes`: of an element of a stored row. `kPacked`: rows are not what the cube takes.
template <int64_t kElementBytes, bool kPacked>
struct SparseItem : ItemRows {
    static constexpr int32_t kRanges = kStreams;
    int64_t key_begin[kRanges];
    int64_t key_end[kRanges];
    Stream streams[kStreams];
    BandColumns original;
    CompressedColumns compressed;

    // Whether vector cores bring the rows of the stream together.
    __aicore__ inline bool IsGathered(int32_t stream) const { return kPacked || streams[stream].list != 0; }

    __aicore__ inline KeyRun RunAt(int32_t stream, int64_t position, int32_t most) const {
        return streams[stream].RunAt(position, most, kElementBytes);
    }

    __aicore__ inline void Read(const SparseAttentionParams& params, int64_t number) {
        const AscendC::GlobalTensor<int64_t> words = Gm<int64_t>(params.rows.items);
        const uint64_t at = static_cast<uint64_t>(number * kSparseItemWords);
        const int64_t own = words.GetValue(at + kSparseItemSequence);
        kv_head = 0;
        row_begin = words.GetValue(at + kSparseItemRowBegin);
        rows = static_cast<int32_t>(words.GetValue(at + kSparseItemRowEnd) - row_begin);
        partial_row = words.GetValue(at + kSparseItemPartialRow);
        ReadSequence(params.rows, own, sequence);
        const AscendC::GlobalTensor<int64_t> places = Gm<int64_t>(params.sequences);
        const uint64_t from = static_cast<uint64_t>(own * kSparseSequenceWords);
        const int64_t ori_len = places.GetValue(from + kSparseOri + kStreamLen);
        original.band = Band();
        original.len = ori_len;
        compressed.shift = places.GetValue(from + kSparseCmpShift);
        compressed.ratio = params.cmp_ratio;
        compressed.len = places.GetValue(from + kSparseCmp + kStreamLen);
        const int64_t first = row_begin / params.rows.heads;
        const int64_t last = (row_begin + rows - 1) / params.rows.heads;
        const int64_t list = places.GetValue(from + kSparseListRow) + first;
        for (int32_t i = 0; i < kStreams; ++i) {
            const uint64_t range = at + kSparseItemOriBegin + static_cast<uint64_t>(2 * i);
            const int64_t to = words.GetValue(range + 1);
            key_begin[i] = words.GetValue(range);
            Place(params.streams[i], places, from + static_cast<uint64_t>(i * kStreamWords), list, &streams[i]);
            const bool is_original = i == kOriStream;
            geometry::Columns seen;
            if (streams[i].list != 0) {
                streams[i].visible = is_original ? ori_len : compressed.Of(first).end;
                seen.end = LookedAt(params.streams[i], list, streams[i].visible);
            } else if (is_original) {
                seen = geometry::columns_between(original.band, first, last, ori_len);
            } else {
                seen = compressed.Of(last);
            }
            if (key_begin[i] < seen.begin) key_begin[i] = seen.begin;
            key_end[i] = to < seen.end ? to : seen.end;
        }
    }

private:
    __aicore__ static inline void Place(const StreamParams& params, const AscendC::GlobalTensor<int64_t>& words,
                                        uint64_t at, int64_t list, Stream* to) {
        constexpr int64_t kWord = static_cast<int64_t>(sizeof(int32_t));
        to->address = static_cast<uint64_t>(words.GetValue(at + kStreamAddress));
        to->row_stride = params.row_stride;
        to->block_stride = params.block_stride;
        to->block_size = params.block_size;
        to->block_table = params.block_table;
        if (params.block_table != 0) {
            to->block_table += static_cast<uint64_t>(words.GetValue(at + kStreamTableOffset) * kWord);
        }
        to->list = params.indices;
        if (params.indices != 0) to->list += static_cast<uint64_t>(list * params.topk * kWord);
        to->visible = 0;
    }

    // The entries of the list that count, unless -1 ends it before.
    __aicore__ static inline int64_t LookedAt(const StreamParams& params, int64_t list, int64_t visible) {
        int64_t count = params.topk < visible ? params.topk : visible;
        if (params.topk_length == 0) return count;
        const int64_t length = Gm<int32_t>(params.topk_length).GetValue(static_cast<uint64_t>(list));
        return length < count ? length : count;
    }
};

}  // namespace ACL_ATTN_KERNEL_ARCH
}  // namespace acl_attn::ascendc
