// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What the launch hands to the sparse kernels. All that concerns query rows, results, items' hand-over and merges is
// flash attention's (`rows`); what is here says where the rows of the two streams lie and which of them a token sees.
// Strides and offsets count elements of a stored row, which are bytes where rows are packed; addresses are bytes.
#pragma once

#include <cstdint>

#include "ascendc/flash_attention/params.h"
#include "ascendc/flash_attention/tiles.h"
#include "formats/packed_row.h"

namespace acl_attn::ascendc {

constexpr int32_t kOriStream = 0;
constexpr int32_t kCmpStream = 1;
constexpr int32_t kStreams = 2;

// Words of a sequence's share of a stream; as engine::SparseStream.
enum StreamWord : int32_t {
    kStreamAddress,      // of row 0; paged: of block 0
    kStreamTableOffset,  // paged: the number of the sequence's first entry in the block table
    kStreamLen,
    kStreamWords
};

// Words of a sequence, besides those in `rows.sequences`, of which a sparse kernel reads the offsets and lengths of
// query, output and LSE, the padding, and kSeqBandFirst and kSeqBandLast: the original stream's band.
enum SparseSequenceWord : int32_t {
    kSparseOri = kOriStream * kStreamWords,
    kSparseCmp = kCmpStream * kStreamWords,
    kSparseCmpShift = kStreams * kStreamWords,  // as engine::SparseSequence
    kSparseListRow,
    kSparseSequenceWords
};

// Words of an item: a block of merged rows (row r is token r / heads, head r % heads), no more than the tile has, and
// the columns of both streams that it looks at: positions, or entries of the token's list. Of what lies in these
// ranges each row takes what it sees; ranges may be wider, and need not be as narrow as the token's top-k length. Where
// a stream has lists, all rows of an item are one token's.
enum SparseItemWord : int32_t {
    kSparseItemSequence,
    kSparseItemRowBegin,
    kSparseItemRowEnd,
    kSparseItemOriBegin,  // begin == end: none of the stream
    kSparseItemOriEnd,
    kSparseItemCmpBegin,
    kSparseItemCmpEnd,
    kSparseItemPartialRow,  // where its unfinished rows go; -1: it finishes them
    kSparseItemWords
};

// As engine::SparsePool; addresses of 0: absent.
struct StreamParams {
    uint64_t block_table;  // 0: not paged
    uint64_t indices;      // [lists][topk]; 0: tokens see intervals
    uint64_t topk_length;  // [lists]
    int64_t row_stride;
    int64_t block_stride;
    int64_t topk;
    int64_t block_size;
};

struct SparseAttentionParams {
    // `rows.sequences`, `core_items`, `merges` (of KV head 0), `clears`, `core_memory` and the partials as in flash
    // attention, `rows.items` with the words above. group == heads, dim == dim_v == 512, no rope; the sink is fp32.
    FlashAttentionParams rows;
    uint64_t sequences;  // [][kSparseSequenceWords]
    int64_t cmp_ratio;
    StreamParams streams[kStreams];
};

static_assert(sizeof(StreamParams) == 56 && sizeof(SparseAttentionParams) % 8 == 0, "no padding");

// How a stored row becomes what the cube takes. Rows of the query's type in intervals are loaded where they lie; rows of
// lists and packed rows come from a slot in the core's part of GM, which vector cores fill a step ahead.
enum class StoredRows : int32_t { plain, packed_e4m3, packed_hif8 };

constexpr int32_t kSparseTileRows = rows_of(TileSize::shared);

// GM that a core needs: sparse kernels always have slots for gathered rows.
constexpr uint32_t sparse_core_bytes() {
    return core_bytes(TileSize::shared, false) +
           static_cast<uint32_t>(kStepsAlive * kKeysOfStep * dim_of(TileSize::shared)) * 2u;
}

}  // namespace acl_attn::ascendc
