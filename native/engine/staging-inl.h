// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows of keys or values that products cannot use where they lie: cut into chunks, in two tensors, or quantised. They
// are put together, or dequantised to fp32, in a staging area, a tile at a time.
#pragma once

#include "engine/scales-inl.h"

namespace acl_attn::engine {
namespace {

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

inline bool is_cut(const KvView& view) { return view.chunk < view.dim; }

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

// Both operands' rows of codes that the products take as they are: only chunks that lie apart are brought together.
class JoinedCodes {
public:
    JoinedCodes(const RowBlock& block, const Scratch& scratch) : b_(block), s_(scratch) {}

    void stage(int64_t first_key, int count, const void** keys, const void** values) const {
        join(b_.key, b_.key_addition.prefix, first_key, count, s_.key_staging, keys);
        join(b_.value, b_.value_addition.prefix, first_key, count, s_.value_staging, values);
    }

private:
    void join(const KvView& own, const KvView& prefix, int64_t first_key, int count, void* memory,
              const void** rows) const {
        char* to = static_cast<char*>(memory);
        for (int i = 0; i < count; i++, to += own.dim) {
            const KvView& view = first_key + i < b_.prefix_len ? prefix : own;
            if (!is_cut(view)) continue;
            for_chunks(view, static_cast<const char*>(rows[i]), [&](const char* p, int d, int n) {
                __builtin_memcpy(to + bytes_of(view.dtype, d), p, static_cast<size_t>(bytes_of(view.dtype, n)));
            });
            rows[i] = to;
        }
    }

    const RowBlock& b_;
    const Scratch& s_;
};

}  // namespace
}  // namespace acl_attn::engine
