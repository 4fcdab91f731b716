// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The products of decode with stored codes, on AMX. A core's vector units would need several times as long for a
// group's rows as its memory for the codes; its tiles multiply them with 16 columns or rows at once, which the parts of
// four rows fill: see amx_parts-inl.h. Products of int8 are exact; every number of the result depends on its row, its
// key or channel, and on the tile of kStreamKeys keys, not on what is computed beside it.
#pragma once

#include "engine/amx_codes-inl.h"
#include "engine/exceptional-inl.h"
#include "engine/stream_products-inl.h"

namespace acl_attn::engine {
namespace {

constexpr int kAmxTileBytes = kAmxRows * 64;

inline int blocks_of(int rows) { return (rows + kAmxPartRows - 1) / kAmxPartRows; }

struct TileAt {
    const char* address;
    ptrdiff_t stride;
};

// What comes next is asked for evenly over all that is done with a head's keys and values, not only while they are
// read: the memory would rest meanwhile. In sixteenths of the bytes of both, about as the time goes.
constexpr int kAheadOfScores = 4, kAheadOfJoining = 1, kAheadOfSoftmax = 3;
constexpr int kAheadOfSplitting = 2, kAheadOfPacking = 4, kAheadOfSums = 2;
static_assert(kAheadOfScores + kAheadOfJoining + kAheadOfSoftmax == 8 &&
              kAheadOfSplitting + kAheadOfPacking + kAheadOfSums == 8, "all of it");

// A sixteenth for one key and head, times 16.
inline int ahead_bytes(const RowBlock& b) {
    return static_cast<int>(bytes_of(b.key.dtype, b.dim) + (b.value_is_key ? 0 : bytes_of(b.value.dtype, b.dim_v)));
}

template <class T>
class TileKeys {
    using Codes = AmxCodes<T>;
    using Parts = typename Codes::Parts;

public:
    static constexpr int kElements = Codes::kPiece;

    TileKeys(const RowBlock& block, const Scratch& scratch, int rows)
        : b_(block), rows_(rows), steps_(round_up(block.dim, kElements) / Parts::kPerRow),
          ahead_of_scores_(kAmxRows * ahead_bytes(block) * kAheadOfScores / 16),
          ahead_of_joining_(kAmxRows * ahead_bytes(block) * kAheadOfJoining / 16),
          queries_(static_cast<char*>(scratch.query_tiles)), keys_(static_cast<char*>(scratch.key_tiles)),
          sums_(static_cast<char*>(scratch.sum_tiles)) {
        weights_ = reinterpret_cast<float*>(queries_ + blocks() * panel_bytes());
        __builtin_memset(queries_, 0, static_cast<size_t>(blocks() * (panel_bytes() + 64)));
    }

    // As StreamKeys::enter.
    bool enter(int h, int r, const float* query) {
        const int64_t block = h * blocks_of(rows_) + r / kAmxPartRows;
        const int row = r % kAmxPartRows;
        char* panel = queries_ + block * panel_bytes() + kAmxElementBytes * row;
        Magnitude magnitude;
        for (int d = 0; d < steps_ * Parts::kPerRow; d += kLanes) magnitude.add(load<vf>(query + d));
        const int exponent = magnitude.exponent();
        constexpr int parts = Parts::kQueryParts;
        for (int p = 0; p < parts; p++) {
            weights_[block * kAmxColumns + p * kAmxPartRows + row] =
                Parts::template weight<parts>(exponent - Codes::kExponent, p);
        }
        const vf factor = splat(Parts::template factor<parts>(exponent));
        for (int piece = 0; piece < steps_ * Parts::kPerRow; piece += kElements) {
            const float* own = query + piece;
            float moved[kElements];
            if constexpr (!Codes::kIsStored) {
                for (int i = 0; i < kElements; i++) moved[i] = own[Codes::key_channel(i)];
                own = moved;
            }
            for (int i = 0; i < kElements; i += kLanes) {
                Parts::template split<parts>(load<vf>(own + i) * factor, [&](int part, auto numbers) {
                    char elements[sizeof numbers];
                    store(elements, numbers);
                    char* to = panel + (piece + i) / Parts::kPerElement * 64 + part * kAmxPartRows * kAmxElementBytes;
                    for (size_t e = 0; e < sizeof numbers; e += kAmxElementBytes, to += 64) {
                        __builtin_memcpy(to, elements + e, kAmxElementBytes);
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
        for (int c = 0; c < chunks; c++) strides[c] = common_stride(rows + c * kAmxRows, count - c * kAmxRows);
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
    ptrdiff_t common_stride(const void* const* rows, int count) const {
        if (!Codes::kIsStored || count < kAmxRows || b_.dim % kElements != 0) return 0;
        const auto address = [&](int k) { return static_cast<const char*>(rows[k]); };
        const ptrdiff_t stride = address(1) - address(0);
        bool is_common = true;
        for (int k = 2; k < kAmxRows; k++) is_common &= address(k) - address(k - 1) == stride;
        return is_common ? stride : 0;
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
                Parts::template multiply<0, 4, 6>();
            }
            amx_store<0>(sums(chunk, block), 64);
        }
        ahead.advance(ahead_of_scores_);
    }

    void finish(const Chunk& chunk, float* scores, ReadAhead& ahead) const {
        const vf scale = splat(b_.scale);
        for (int block = 0; block < blocks_of(rows_); block++) {
            const int first = block * kAmxPartRows;
            float joined[kAmxPartRows][kAmxRows];
            join_parts<Parts>(sums(chunk, block), weights_ + (chunk.head * blocks_of(rows_) + block) * kAmxColumns,
                              joined);
            for (int r = 0; r < smaller(rows_ - first, kAmxPartRows); r++) {
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
    float* weights_;       // [head][block][part][row]
};

template <class T>
class TileValues {
    using Codes = AmxCodes<T>;
    using Parts = typename Codes::Parts;

public:
    static constexpr int kElements = Codes::kPiece;
    static constexpr int kKeys = kStreamKeys;
    static constexpr int kUnordered = kStreamKeys;

    TileValues(const RowBlock& block, const Scratch& scratch, int rows)
        : b_(block), s_(scratch), rows_(rows), tiles_(round_up(block.dim_v, kElements) / kAmxColumns),
          ahead_of_row_(ahead_bytes(block) * kAheadOfSplitting / 16 / rows),
          ahead_of_element_(Parts::kPerElement * ahead_bytes(block) * kAheadOfPacking / 16),
          ahead_of_sums_(kStreamKeys * ahead_bytes(block) * kAheadOfSums / 16 / rows),
          values_(static_cast<char*>(scratch.value_tiles)), factors_(static_cast<char*>(scratch.weight_tiles)),
          sums_(static_cast<char*>(scratch.sum_tiles)) {
        __builtin_memset(factors_, 0, static_cast<size_t>(2 * blocks_of(rows_) * kSteps * kAmxTileBytes));
    }

    int ahead_of_softmax() const { return ahead_bytes(b_) * kAheadOfSoftmax / 16; }

    static void to_own_order(float* x) {
        order_channels<kElements>(x, [](int i) { return Codes::value_channel(i); });
    }
    static void to_memory_order(float* x) {
        restore_channels<kElements>(x, [](int i) { return Codes::value_channel(i); });
    }

    // As StreamValues::add, but a head's products run beside what comes after: finish() waits for the last ones.
    void add(int h, const void* const* rows, int64_t offset, int begin, int count, const float* scores, float* out,
             ReadAhead* ahead) {
        ReadAhead none;
        ReadAhead& next = ahead == nullptr ? none : *ahead;
        const Pending before = pending_;
        const int end = (begin + count + Parts::kPerRow - 1) / Parts::kPerRow;
        pending_ = {out, begin / Parts::kPerRow, end, 1 - before.half};
        for (int r = 0; r < rows_; r++) {
            split_row(h, r, scores + r * kStreamScoreStride, begin, count);
            next.advance(count * ahead_of_row_);
        }
        multiply(before);
        pack(rows, offset, begin, count, next);
        add_sums(before, next);
    }
    void finish() {
        multiply(pending_);
        ReadAhead none;
        add_sums(pending_, none);
        pending_.out = nullptr;
    }

private:
    static constexpr int kSteps = kStreamKeys / Parts::kPerRow;  // tiles of a column

    // A head's products: its rows' sums, steps [first, end), and which half of the buffers has the factors.
    struct Pending {
        float* out;  // null: none
        int first, end, half;
    };

    char* factors(int half, int block, int step) const {
        return factors_ + ((half * blocks_of(rows_) + block) * kSteps + step) * kAmxTileBytes;
    }
    char* values(int half, int tile, int step) const {
        return values_ + ((half * tiles_ + tile) * kSteps + step) * kAmxTileBytes;
    }
    char* sums(int block, int tile) const { return sums_ + (block * tiles_ + tile) * kAmxTileBytes; }

    // A row's probabilities, which may have the scales of values in them, of whole steps.
    void split_row(int h, int r, const float* scores, int begin, int count) {
        const int first = pending_.first * Parts::kPerRow, end = pending_.end * Parts::kPerRow;
        float seen[kStreamKeys];
        Magnitude magnitude;
        for (int c = first; c < end; c += kLanes) {
            const vi column = lane_index() + c;
            const vi is_seen = (column >= begin) & (column < begin + count);
            const vf x = select(is_seen, load<vf>(scores + c), vf{});
            magnitude.add(x);
            store(seen + c, x);
        }
        // Such a row is computed again, see Decode::is_suspect.
        if (!magnitude.is_finite()) s_.row_headroom[h * rows_ + r] = kHugeHeadroom;
        const int exponent = magnitude.exponent();
        constexpr int parts = Parts::kWeightParts;
        for (int p = 0; p < parts; p++) {
            weights_[pending_.half][r][p] = Parts::template weight<parts>(exponent - Codes::kExponent, p);
        }
        const vf factor = splat(Parts::template factor<parts>(exponent));
        for (int step = pending_.first; step < pending_.end; step++) {
            char* to = factors(pending_.half, r / kAmxPartRows, step) + r % kAmxPartRows * 64;
            Parts::split_row(seen + step * Parts::kPerRow, factor, to, kAmxPartRows * 64);
        }
    }

    // The values of whole steps as right factors.
    void pack(const void* const* rows, int64_t offset, int begin, int count, ReadAhead& ahead) {
        if (b_.dim_v % kElements == 0) {
            pack<true>(rows, offset, begin, count, ahead);
        } else {
            pack<false>(rows, offset, begin, count, ahead);
        }
    }
    template <bool kWhole>
    void pack(const void* const* rows, int64_t offset, int begin, int count, ReadAhead& ahead) {
        constexpr int per_element = Parts::kPerElement, piece_bytes = kElements * T::kBits / 8;
        constexpr int tiles = kElements / kAmxColumns;
        const int bytes = static_cast<int>(bytes_of(b_.value.dtype, b_.dim_v));
        for (int element = pending_.first * kAmxRows; element < pending_.end * kAmxRows; element++) {
            const int first = element * per_element - begin;
            const bool are_keys = first >= 0 && first + per_element <= count;
            const uint8_t* row[per_element];
            for (int i = 0; i < per_element; i++) {
                const bool is_key = are_keys || (first + i >= 0 && first + i < count);
                row[i] = is_key ? static_cast<const uint8_t*>(rows[first + i]) + offset
                                : reinterpret_cast<const uint8_t*>(s_.zeros);
            }
            char* to = values(pending_.half, 0, element / kAmxRows) + element % kAmxRows * 64;
            for (int at = 0; at < bytes; at += piece_bytes) {
                vt packed[tiles];
                Codes::values(row, kWhole ? piece_bytes : bytes - at, packed);
                for (int i = 0; i < per_element; i++) row[i] += piece_bytes;
#pragma GCC unroll 8
                for (int t = 0; t < tiles; t++, to += kSteps * kAmxTileBytes) store(to, packed[t]);
            }
            ahead.advance(ahead_of_element_);
        }
    }

    void multiply(const Pending& product) {
        if (product.out == nullptr) return;
        for (int tile = 0; tile < tiles_; tile += 2) {
            const bool is_pair = tile + 1 < tiles_;
            for (int block = 0; block < blocks_of(rows_); block++) {
                amx_zero<0>();
                amx_zero<1>();
                for (int s = product.first; s < product.end; s++) {
                    amx_load<6>(factors(product.half, block, s), 64);
                    amx_load<4>(values(product.half, tile, s), 64);
                    Parts::template multiply<0, 6, 4>();
                    if (!is_pair) continue;
                    amx_load<5>(values(product.half, tile + 1, s), 64);
                    Parts::template multiply<1, 6, 5>();
                }
                amx_store<0>(sums(block, tile), 64);
                if (is_pair) amx_store<1>(sums(block, tile + 1), 64);
            }
        }
    }

    void add_sums(const Pending& product, ReadAhead& ahead) {
        if (product.out == nullptr) return;
        for (int r = 0; r < rows_; r++) {
            const char* from = sums(r / kAmxPartRows, 0) + r % kAmxPartRows * 64;
            float* out = product.out + r * tiles_ * kAmxColumns;
            vf weights[Parts::kWeightParts];
            for (int p = 0; p < Parts::kWeightParts; p++) weights[p] = splat(weights_[product.half][r][p]);
            for (int tile = 0; tile < tiles_; tile++, from += kAmxTileBytes) {
                for (int c = 0; c < kAmxColumns; c += kLanes, out += kLanes) {
                    vf sum = load<vf>(out);
                    for (int p = Parts::kWeightParts - 1; p >= 0; p--) {
                        const char* part = from + p * kAmxPartRows * 64 + c * kAmxElementBytes;
                        sum = fma(Parts::load_sums(part), weights[p], sum);
                    }
                    store(out, sum);
                }
            }
            ahead.advance(ahead_of_sums_);
        }
    }

    const RowBlock& b_;
    const Scratch& s_;
    const int rows_, tiles_;
    const int ahead_of_row_, ahead_of_element_, ahead_of_sums_;  // bytes to ask for beside these; the first by key
    char* const values_;   // [half][tile of columns][step] tiles
    char* const factors_;  // [half][block][step] tiles
    char* const sums_;     // [block][tile of columns] tiles
    Pending pending_ = {};
    float weights_[2][kStreamRows][Parts::kWeightParts];  // [half][row][part]
};

template <class T>
struct TileProducts {
    using Keys = TileKeys<T>;
    using Values = TileValues<T>;
    using Session = AmxSession;
};
template <>
struct DecodeProducts<I8> : TileProducts<I8> {};
template <>
struct DecodeProducts<I4> : TileProducts<I4> {};

}  // namespace
}  // namespace acl_attn::engine
