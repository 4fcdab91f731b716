// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The sums of values of decode from stored codes, on AMX: see amx_stream-inl.h.
#pragma once

#include "engine/amx_ahead-inl.h"
#include "engine/amx_codes-inl.h"
#include "engine/exceptional-inl.h"
#include "engine/stream_products-inl.h"

namespace acl_attn::engine {
namespace {

template <class T>
class TileValues {
    using Codes = AmxCodes<T>;

public:
    static constexpr int kElements = Codes::kPiece;
    static constexpr int kKeys = kStreamKeys;
    static constexpr int kUnordered = kStreamKeys;

    TileValues(const RowBlock& block, const Scratch& scratch, int rows)
        : b_(block), s_(scratch), rows_(rows), tiles_(round_up(block.dim_v, kElements) / kAmxColumns),
          ahead_of_row_(ahead_bytes(block) * kAheadOfSplitting / 16 / rows),
          ahead_of_element_(kAmxBytes * ahead_bytes(block) * kAheadOfPacking / 16),
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
        const int end = (begin + count + kAmxNumbers - 1) / kAmxNumbers;
        pending_ = {out, begin / kAmxNumbers, end, 1 - before.half};
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
    static constexpr int kSteps = kStreamKeys / kAmxNumbers;  // tiles of a column

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
        const int first = pending_.first * kAmxNumbers, end = pending_.end * kAmxNumbers;
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
        for (int d = 0; d < kWeightDigits; d++) {
            weights_[pending_.half][r][d] = digit_weight<kWeightDigits>(exponent - Codes::kExponent, d);
        }
        const vf factor = splat(digit_factor<kWeightDigits>(exponent));
        for (int step = pending_.first; step < pending_.end; step++) {
            char* to = factors(pending_.half, r / kAmxDigitRows, step) + r % kAmxDigitRows * 64;
            split_weights(seen + step * kAmxNumbers, factor, to, kAmxDigitRows * 64);
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
        constexpr int piece_bytes = kElements * T::kBits / 8;
        constexpr int tiles = kElements / kAmxColumns;
        const int bytes = static_cast<int>(bytes_of(b_.value.dtype, b_.dim_v));
        for (int element = pending_.first * kAmxRows; element < pending_.end * kAmxRows; element++) {
            const int first = element * kAmxBytes - begin;
            const bool are_keys = first >= 0 && first + kAmxBytes <= count;
            const uint8_t* row[kAmxBytes];
            for (int i = 0; i < kAmxBytes; i++) {
                const bool is_key = are_keys || (first + i >= 0 && first + i < count);
                row[i] = is_key ? static_cast<const uint8_t*>(rows[first + i]) + offset
                                : reinterpret_cast<const uint8_t*>(s_.zeros);
            }
            char* to = values(pending_.half, 0, element / kAmxRows) + element % kAmxRows * 64;
            for (int at = 0; at < bytes; at += piece_bytes) {
                vt packed[tiles];
                Codes::values(row, kWhole ? piece_bytes : bytes - at, packed);
                for (int i = 0; i < kAmxBytes; i++) row[i] += piece_bytes;
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
                    amx_multiply_int8<0, 6, 4>();
                    if (!is_pair) continue;
                    amx_load<5>(values(product.half, tile + 1, s), 64);
                    amx_multiply_int8<1, 6, 5>();
                }
                amx_store<0>(sums(block, tile), 64);
                if (is_pair) amx_store<1>(sums(block, tile + 1), 64);
            }
        }
    }

    void add_sums(const Pending& product, ReadAhead& ahead) {
        if (product.out == nullptr) return;
        for (int r = 0; r < rows_; r++) {
            const char* from = sums(r / kAmxDigitRows, 0) + r % kAmxDigitRows * 64;
            float* out = product.out + r * tiles_ * kAmxColumns;
            vf weights[kWeightDigits];
            for (int d = 0; d < kWeightDigits; d++) weights[d] = splat(weights_[product.half][r][d]);
            for (int tile = 0; tile < tiles_; tile++, from += kAmxTileBytes) {
                for (int c = 0; c < kAmxColumns; c += kLanes, out += kLanes) {
                    vf sum = load<vf>(out);
                    for (int d = kWeightDigits - 1; d >= 0; d--) {
                        const char* digit = from + d * kAmxDigitRows * 64 + c * kAmxBytes;
                        sum = fma(load_sums(digit), weights[d], sum);
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
    float weights_[2][kStreamRows][kWeightDigits];  // [half][row][digit]
};

}  // namespace
}  // namespace acl_attn::engine
