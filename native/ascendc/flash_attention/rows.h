// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Where keys and values lie.
#pragma once

#include "ascendc/flash_attention/steps.h"

namespace acl_attn::ascendc {
inline namespace ACL_ATTN_KERNEL_ARCH {

// Keys that can be read in one go: `count` rows, `stride` apart, the first at byte address `address`. Their columns lie
// together, or (chunk_stride > 0) in groups that far apart.
struct KeyRun {
    uint64_t address;
    int64_t stride;
    int64_t chunk_stride;
    int32_t count;
};

// Words of a sequence that say where its keys, or its values, lie. Passed by value: a kernel has no address for
// constants.
struct KvWords {
    SequenceWord address;
    SequenceWord head_stride;
    SequenceWord scale_offset;
    SequenceWord prefix_scale_offset;
};
constexpr KvWords kKeyWords = {kSeqKeyAddress, kSeqKeyHeadStride, kSeqKeyScaleOffset, kSeqPrefixKeyScaleOffset};
constexpr KvWords kValueWords = {kSeqValueAddress, kSeqValueHeadStride, kSeqValueScaleOffset,
                                 kSeqPrefixValueScaleOffset};
constexpr KvWords kRopeWords = {kSeqKeyRopeAddress, kSeqKeyRopeHeadStride, kSeqKeyScaleOffset,
                                kSeqPrefixKeyScaleOffset};  // which has no scales

// A token of a paged sequence: its block in the pool, its row in the block, and how many rows the block has from there.
struct PageRow {
    int64_t block;
    int64_t inside;
    int64_t left;
};

__aicore__ inline PageRow PageRowOf(const FlashAttentionParams& params, const Item& item, int64_t token) {
    const int64_t column = token / params.block_size;
    PageRow row;
    row.inside = token - column * params.block_size;
    row.left = params.block_size - row.inside;
    row.block = Gm<int32_t>(params.block_table)
                    .GetValue(static_cast<uint64_t>(item.sequence[kSeqTableOffset] + column));
    return row;
}

// Of the tensor that `kv` describes: the run that starts at key `key`, of at most `most` keys. An
// element has `half_bytes` half bytes.
__aicore__ inline KeyRun KeyRunAt(const FlashAttentionParams& params, const KvParams& kv, KvWords words,
                                  const Item& item, int64_t key, int32_t most, int32_t half_bytes) {
    KeyRun run;
    uint64_t base = static_cast<uint64_t>(item.sequence[words.address]);
    run.chunk_stride = 0;
    const int64_t own = key - params.prefix_len;
    int64_t offset = 0;
    int64_t left = most;
    if (own < 0) {
        left = -own < left ? -own : left;
        base = kv.prefix;
        offset = key * kv.prefix_token_stride + item.kv_head * kv.prefix_head_stride;
        run.stride = kv.prefix_token_stride;
    } else {
        offset = item.kv_head * item.sequence[words.head_stride];
        run.stride = kv.token_stride;
        if (kv.chunk < kv.columns) run.chunk_stride = kv.chunk_stride;
        if (params.block_size > 0) {
            const PageRow row = PageRowOf(params, item, own);
            left = row.left < left ? row.left : left;
            offset += row.block * kv.block_stride + row.inside * kv.token_stride;
        } else {
            offset += own * kv.token_stride;
        }
    }
    run.address = base + static_cast<uint64_t>(offset * half_bytes / 2);
    run.count = static_cast<int32_t>(left);
    return run;
}

}  // namespace ACL_ATTN_KERNEL_ARCH
}  // namespace acl_attn::ascendc
