// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows of keys or values that products cannot use where they lie: cut into chunks, in two tensors, or quantised. They
// are put together, or dequantised to fp32, in a staging area, a tile at a time.
#pragma once

#include "engine/rows-inl.h"
#include "formats/codes-inl.h"

namespace acl_attn::engine {
namespace {

// One number of a scale's type.
inline float read_number(Dtype dtype, const char* p) {
    switch (dtype) {
        case Dtype::f16: return load_wide_part<F16>(reinterpret_cast<const uint16_t*>(p), 1)[0];
        case Dtype::bf16: return load_wide_part<BF16>(reinterpret_cast<const uint16_t*>(p), 1)[0];
        case Dtype::e8m0: return load_wide_part<E8M0>(reinterpret_cast<const uint8_t*>(p), 1)[0];
        default: {
            float x;
            __builtin_memcpy(&x, p, sizeof x);
            return x;
        }
    }
}

inline void widen_stored(Dtype dtype, const char* p, float* to, int n) {
    const uint8_t* codes = reinterpret_cast<const uint8_t*>(p);
    switch (dtype) {
        case Dtype::i8: return widen_codes<I8>(codes, to, n);
        case Dtype::i4: return widen_codes<I4>(codes, to, n);
        case Dtype::f8_e4m3: return widen_codes<E4M3>(codes, to, n);
        case Dtype::hif8: return widen_codes<HiFloat8>(codes, to, n);
        case Dtype::f4_e2m1: return widen_codes<E2M1>(codes, to, n);
        default: return;  // not a stored type: Attention::plan refuses
    }
}

// Calls piece(address, first channel, channels) for each piece of a row.
template <class Piece>
inline void for_chunks(const KvView& view, const char* row, Piece piece) {
    for (int d = 0; d < view.dim; d += view.chunk, row += view.chunk_stride) {
        piece(row, d, view.dim - d < view.chunk ? view.dim - d : view.chunk);
    }
}

// The scales, or offsets, of one token after another.
class TokenScales {
public:
    TokenScales(const ScaleView& view, int64_t prefix_len, int dim, float* numbers)
        : v_(view), prefix_len_(prefix_len), dim_(dim), numbers_(numbers),
          is_constant_(view.table == nullptr && view.token_stride == 0 &&
                       (prefix_len == 0 || view.prefix == view.base)) {
        if (exists() && is_constant_) read(v_.base);
    }

    bool exists() const { return v_.base != nullptr; }

    // [dim], those of key t.
    const float* at(int64_t t) {
        if (is_constant_) return numbers_;
        const int64_t own = t - prefix_len_;
        if (own < 0) {
            read(v_.prefix + t * v_.token_stride);
        } else if (v_.table == nullptr) {
            read(v_.base + own * v_.token_stride);
        } else {
            read(v_.base + v_.table[own / v_.block_size] * v_.block_stride + own % v_.block_size * v_.token_stride);
        }
        return numbers_;
    }

private:
    void read(const char* p) {
        for (int d = 0; d < dim_; d += v_.group, p += v_.group_stride) {
            const vf x = splat(read_number(v_.dtype, p));
            const int stop = dim_ - d < v_.group ? dim_ : d + v_.group;
            for (int c = d; c < stop; c += kLanes) store_part(numbers_ + c, x, stop - c);
        }
    }

    const ScaleView& v_;
    const int64_t prefix_len_;
    const int dim_;
    float* const numbers_;  // [dim]
    const bool is_constant_;
};

// T: what the staged rows are made of, F32 for dequantised ones.
template <class T>
class Staging {
public:
    // `stride` in elements; `scales` is Scratch::key_scales or value_scales.
    Staging(const KvView& view, const KvAddition& addition, int64_t prefix_len, void* memory, int stride, float* scales)
        : view_(view), addition_(addition), prefix_len_(prefix_len),
          memory_(static_cast<typename T::Element*>(memory)), stride_(stride),
          scale_(addition.scale, prefix_len, view.dim, scales),
          offset_(addition.offset, prefix_len, view.dim, scales == nullptr ? nullptr : scales + stride) {}

    // Stages the rows of keys first_key + [0, count) and points to the copies instead.
    void stage(int64_t first_key, int count, const void** rows) {
        for (int i = 0; i < count; i++) {
            const int64_t key = first_key + i;
            typename T::Element* to = memory_ + static_cast<ptrdiff_t>(i) * stride_;
            const KvView& view = key < prefix_len_ ? addition_.prefix : view_;
            const char* row = static_cast<const char*>(rows[i]);
            if constexpr (sizeof(*to) == sizeof(float)) {
                for_chunks(view, row, [&](const char* p, int d, int n) { widen_stored(view.dtype, p, to + d, n); });
                dequantise(key, to);
            } else {
                copy(view, row, to);
                if (addition_.rope.base != nullptr) {
                    copy(addition_.rope, row_address(addition_.rope, key), to + view.dim);
                }
            }
            rows[i] = to;
        }
    }

private:
    static void copy(const KvView& view, const char* row, typename T::Element* to) {
        for_chunks(view, row, [&](const char* p, int d, int n) {
            __builtin_memcpy(to + d, p, static_cast<size_t>(n) * sizeof(*to));
        });
    }

    void dequantise(int64_t key, float* x) {
        if (offset_.exists()) {
            const float* offset = offset_.at(key);
            for (int d = 0; d < stride_; d += kLanes) store(x + d, load<vf>(x + d) + load<vf>(offset + d));
        }
        if (scale_.exists()) {
            const float* scale = scale_.at(key);
            for (int d = 0; d < stride_; d += kLanes) store(x + d, load<vf>(x + d) * load<vf>(scale + d));
        }
    }

    const KvView& view_;
    const KvAddition& addition_;
    const int64_t prefix_len_;
    typename T::Element* const memory_;
    const int stride_;
    TokenScales scale_, offset_;
};

// Both operands' staging areas.
template <class T>
class KvStaging {
public:
    KvStaging(const RowBlock& block, const Scratch& scratch)
        : b_(block),
          keys_(block.key, block.key_addition, block.prefix_len, scratch.key_staging, round_up(block.dim, kLanes),
                scratch.key_scales),
          values_(block.value, block.value_addition, block.prefix_len, scratch.value_staging,
                  round_up(block.dim_v, kLanes), scratch.value_scales) {}

    void stage(int64_t first_key, int count, const void** keys, const void** values) {
        if (b_.key_staged) keys_.stage(first_key, count, keys);
        if (b_.value_staged) values_.stage(first_key, count, values);
        if (b_.value_is_key) __builtin_memcpy(values, keys, static_cast<size_t>(count) * sizeof *keys);
    }

private:
    const RowBlock& b_;
    Staging<T> keys_, values_;
};

}  // namespace
}  // namespace acl_attn::engine
