// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The three layouts of a paged key or value cache, told apart by rank. Strides count elements.
#pragma once

#include <cstdint>

namespace acl_attn::geometry {

enum class CacheOrder : uint8_t {
    bnbsh = 3,
    bnnbsd = 4,
    nz = 5,
};

constexpr const char* axes(CacheOrder order) {
    switch (order) {
        case CacheOrder::bnbsh: return "(blocks, blockSize, Nkv*D)";
        case CacheOrder::bnnbsd: return "(blocks, Nkv, blockSize, D)";
        case CacheOrder::nz: return "(blocks, Nkv, D/16, blockSize, 16)";
    }
    return "";
}

constexpr bool is_cache_rank(int rank) { return rank >= 3 && rank <= 5; }

struct CacheExtents {
    int64_t blocks = 0;
    int64_t block_size = 0;
    int64_t heads = 0;
    int64_t dim = 0;
    int64_t chunk = 0;  // channels of a token that lie together; dim but for nz
};

// `shape` has as many entries as the order's number. `heads` splits the fused axis of bnbsh (which it must divide).
constexpr CacheExtents cache_extents(CacheOrder order, const int64_t* shape, int64_t heads) {
    switch (order) {
        case CacheOrder::bnbsh: return {shape[0], shape[1], heads, shape[2] / heads, shape[2] / heads};
        case CacheOrder::bnnbsd: return {shape[0], shape[2], shape[1], shape[3], shape[3]};
        case CacheOrder::nz: return {shape[0], shape[3], shape[1], shape[2] * shape[4], shape[4]};
    }
    return {};
}

// How many leading axes may have any stride (blocks, and heads where they have an axis); the rest is dense.
constexpr int free_axes(CacheOrder order) { return order == CacheOrder::bnbsh ? 1 : 2; }

// Token t, head n, channel d of a sequence whose blocks are table[0], table[1], ... lies at
//   table[t / block_size] * block + (t % block_size) * token + n * head + (d / C) * chunk + d % C,   C = extents.chunk.
struct CacheStrides {
    int64_t block = 0;
    int64_t token = 0;
    int64_t head = 0;
    int64_t chunk = 0;
};

// `stride` are the tensor's own, whose axes beyond free_axes() are dense.
constexpr CacheStrides cache_strides(CacheOrder order, const CacheExtents& e, const int64_t* stride) {
    switch (order) {
        case CacheOrder::bnbsh: return {stride[0], e.heads * e.dim, e.dim, e.dim};
        case CacheOrder::bnnbsd: return {stride[0], e.dim, stride[1], e.dim};
        case CacheOrder::nz: return {stride[0], e.chunk, stride[1], e.block_size * e.chunk};
    }
    return {};
}

constexpr int64_t blocks_for(int64_t tokens, int64_t block_size) {
    return tokens / block_size + (tokens % block_size != 0);
}

}  // namespace acl_attn::geometry
