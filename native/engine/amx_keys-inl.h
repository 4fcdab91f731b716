// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The scores of decode from stored codes, on AMX: see amx_stream-inl.h.
#pragma once

#include "engine/amx_ahead-inl.h"
#include "engine/amx_codes-inl.h"
#include "engine/read_ahead-inl.h"

namespace acl_attn::engine {
namespace {

struct TileAt {
    const char* address;
    ptrdiff_t stride;
};

template <class T>
class TileKeys {
    using Codes = AmxCodes<T>;

public:
    static constexpr int kElements = Codes::kPiece;

    TileKeys(const RowBlock& block, const Scratch& scratch, int rows)
        : b_(block), rows_(rows), steps_(round_up(block.dim, kElements) / kAmxNumbers),
          ahead_of_scores_(kAmxRows * ahead_bytes(block) * kAheadOfScores / 16),
          ahead_of_joining_(kAmxRows * ahead_bytes(block) * kAheadOfJoining / 16),
          queries_(static_cast<char*>(scratch.query_tiles)), keys_(static_cast<char*>(scratch.key_tiles)),
          sums_(static_cast<char*>(scratch.sum_tiles)) {
        weights_ = reinterpret_cast<float*>(queries_ + blocks() * panel_bytes());
        __builtin_memset(queries_, 0, static_cast<size_t>(blocks() * (panel_bytes() + 64)));
    }

    // As StreamKeys::enter.
    bool enter(int h, int r, const float* query) {
        const int64_t block = h * blocks_of(rows_) + r / kAmxDigitRows;
        const int row = r % kAmxDigitRows;
        char* panel = queries_ + block * panel_bytes() + kAmxBytes * row;
        Magnitude magnitude;
        for (int d = 0; d < steps_ * kAmxNumbers; d += kLanes) magnitude.add(load<vf>(query + d));
        const int exponent = magnitude.exponent();
        for (int d = 0; d < kQueryDigits; d++) {
            weights_[block * kAmxColumns + d * kAmxDigitRows + row] =
                digit_weight<kQueryDigits>(exponent - Codes::kExponent, d);
        }
        const vf factor = splat(digit_factor<kQueryDigits>(exponent));
        for (int piece = 0; piece < steps_ * kAmxNumbers; piece += kElements) {
            const float* own = query + piece;
            float moved[kElements];
            if constexpr (!Codes::kIsStored) {
                for (int i = 0; i < kElements; i++) moved[i] = own[Codes::key_channel(i)];
                own = moved;
            }
            for (int i = 0; i < kElements; i += kLanes) {
                split_digits<kQueryDigits>(load<vf>(own + i) * factor, [&](int digit, vb numbers) {
                    char elements[sizeof numbers];
                    store(elements, numbers);
                    char* to = panel + (piece + i) / kAmxBytes * 64 + digit * kAmxDigitRows * kAmxBytes;
                    for (size_t e = 0; e < sizeof numbers; e += kAmxBytes, to += 64) {
                        __builtin_memcpy(to, elements + e, kAmxBytes);
                    }
                });
            }
        }
        return true;
    }

    // The scores of all rows with `count` keys, into columns `begin` and after of `scores`. Chunks follow each
    // other about in the order of memory, see StreamKeys: while one is multiplied others are brought to where tiles are
    // loaded from, and the one before is finished.
    void score(const void* const* rows, int count, int begin, float* scores, ReadAhead& ahead) {
        const int chunks = (count + kAmxRows - 1) / kAmxRows, all = b_.kv_heads * chunks;
        const bool are_apart = has_heads_apart(b_);
        ptrdiff_t strides[kStreamKeys / kAmxRows];
        for (int c = 0; c < chunks; c++) strides[c] = stride_of(rows + c * kAmxRows, count - c * kAmxRows);
        const auto chunk_at = [&](int n) {
            const int h = are_apart ? n / chunks : n % b_.kv_heads, c = are_apart ? n % chunks : n / b_.kv_heads;
            const int first = c * kAmxRows;
            return Chunk{rows + first, count - first, h * b_.key.head_stride, strides[c], h, c, n % 2};
        };
        TileAt ring[3];  // two chunks' numbers are ready: a tile is loaded only when what was stored for it has arrived
        const auto prepare = [&](int n) {
            if (n + 1 < all) touch(chunk_at(n + 1));
            if (n < all) ring[n % 3] = locate(chunk_at(n), n % 3);
        };
        prepare(0);
        prepare(1);
        for (int n = 0; n <= all; n++) {
            if (n < all) multiply(chunk_at(n), ring[n % 3], ahead);
            if (n > 0) finish(chunk_at(n - 1), scores + begin, ahead);
            prepare(n + 2);
        }
    }

private:
    // Keys of one head that a tile holds.
    struct Chunk {
        const void* const* rows;
        int count;        // or more
        int64_t offset;   // of the head
        ptrdiff_t stride;
        int head, index;  // in the tile
        int half;         // of the buffer of sums
    };

    int64_t blocks() const { return b_.kv_heads * blocks_of(rows_); }
    int64_t panel_bytes() const { return steps_ * kAmxTileBytes; }

    // From key to key, if a tile can be loaded from where they lie; else 0.
    ptrdiff_t stride_of(const void* const* rows, int count) const {
        const bool can_be = Codes::kIsStored && count >= kAmxRows && b_.dim % kElements == 0;
        return can_be ? common_stride(rows) : 0;
    }

    void touch(const Chunk& chunk) const {
        const int bytes = static_cast<int>(bytes_of(b_.key.dtype, b_.dim));
        for (int k = 0; k < smaller(chunk.count, kAmxRows); k++) {
            const char* row = static_cast<const char*>(chunk.rows[k]) + chunk.offset;
            for (int at = 0; at < bytes; at += 64) prefetch_to_l1(row + at);
        }
    }

    // Where the numbers of a chunk's keys are.
    TileAt locate(const Chunk& chunk, int place) const {
        if (chunk.stride != 0) return {static_cast<const char*>(chunk.rows[0]) + chunk.offset, chunk.stride};
        constexpr int piece_bytes = kElements * T::kBits / 8;
        const int bytes = static_cast<int>(bytes_of(b_.key.dtype, b_.dim));
        const ptrdiff_t stride = 64 * steps_;
        char* const tile = keys_ + place * kAmxRows * stride;
        for (int k = 0; k < kAmxRows; k++) {
            const void* start = chunk.rows[k < chunk.count ? k : chunk.count - 1];
            const uint8_t* row = static_cast<const uint8_t*>(start) + chunk.offset;
            char* to = tile + k * stride;
            for (int at = 0; at < bytes; at += piece_bytes, to += 64 * Codes::kVectors) {
                vt numbers[Codes::kVectors];
                Codes::keys(row + at, bytes - at, numbers);
                for (int v = 0; v < Codes::kVectors; v++) store(to + 64 * v, numbers[v]);
            }
        }
        return {tile, stride};
    }

    char* sums(const Chunk& chunk, int block) const {
        return sums_ + (chunk.half * blocks_of(kStreamRows) + block) * kAmxTileBytes;
    }

    void multiply(const Chunk& chunk, const TileAt& keys, ReadAhead& ahead) {
        const char* query = queries_ + chunk.head * blocks_of(rows_) * panel_bytes();
        for (int block = 0; block < blocks_of(rows_); block++) {
            amx_zero<0>();
            for (int s = 0; s < steps_; s++, query += kAmxTileBytes) {
                amx_load<4>(keys.address + 64 * s, keys.stride);
                amx_load<6>(query, 64);
                amx_multiply_int8<0, 4, 6>();
            }
            amx_store<0>(sums(chunk, block), 64);
        }
        ahead.advance(ahead_of_scores_);
    }

    void finish(const Chunk& chunk, float* scores, ReadAhead& ahead) const {
        const vf scale = splat(b_.scale);
        for (int block = 0; block < blocks_of(rows_); block++) {
            const int first = block * kAmxDigitRows;
            float joined[kAmxDigitRows][kAmxRows];
            join_sums(sums(chunk, block), weights_ + (chunk.head * blocks_of(rows_) + block) * kAmxColumns,
                              joined);
            for (int r = 0; r < smaller(rows_ - first, kAmxDigitRows); r++) {
                float* to = scores + (chunk.head * rows_ + first + r) * kStreamScoreStride + chunk.index * kAmxRows;
                for (int k = 0; k < kAmxRows; k += kLanes) store(to + k, load<vf>(joined[r] + k) * scale);
            }
        }
        ahead.advance(ahead_of_joining_);
    }

    const RowBlock& b_;
    const int rows_, steps_;
    const int ahead_of_scores_, ahead_of_joining_;  // bytes to ask for beside a chunk's
    char* const queries_;  // [head][block][step] tiles
    char* const keys_;     // [3][key] rows
    char* const sums_;
    float* weights_;       // [head][block][digit][row]
};

}  // namespace
}  // namespace acl_attn::engine
