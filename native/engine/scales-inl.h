// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The scales, and offsets, of stored keys and values, read as fp32.
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

// That of the KV head so many after the view's own.
inline ScaleView of_head(ScaleView view, int head) {
    if (view.base != nullptr) view.base += head * view.head_stride;
    if (view.prefix != nullptr) view.prefix += head * view.head_stride;
    return view;
}

// Whether all tokens have the same numbers.
inline bool is_constant(const ScaleView& view, int64_t prefix_len) {
    return view.table == nullptr && view.token_stride == 0 && (prefix_len == 0 || view.prefix == view.base);
}

// Where the numbers of key t begin.
inline const char* scale_address(const ScaleView& view, int64_t prefix_len, int64_t t) {
    const int64_t own = t - prefix_len;
    if (own < 0) return view.prefix + t * view.token_stride;
    if (view.table == nullptr) return view.base + own * view.token_stride;
    const int64_t block = view.table[own / view.block_size];
    return view.base + block * view.block_stride + own % view.block_size * view.token_stride;
}

// How many keys' numbers, from key t's on, follow at a distance of token_stride; those of later keys may, too.
inline int64_t scales_beside(const ScaleView& view, int64_t prefix_len, int64_t t) {
    const int64_t own = t - prefix_len;
    if (own < 0) return -own;
    return view.table == nullptr ? kStreamKeys : view.block_size - own % view.block_size;
}

// The first numbers of keys first_key + [0, count): their only ones, where all channels share them.
inline void read_token_numbers(const ScaleView& view, int64_t prefix_len, int64_t first_key, int count, float* to) {
    for (int k = 0; k < count;) {
        const int64_t key = first_key + k;
        const int n = static_cast<int>(smaller(count - k, scales_beside(view, prefix_len, key)));
        const char* p = scale_address(view, prefix_len, key);
        if (view.dtype == Dtype::f32 && view.token_stride == sizeof *to) {
            __builtin_memcpy(to + k, p, sizeof *to * static_cast<size_t>(n));
        } else {
            for (int i = 0; i < n; i++) to[k + i] = read_number(view.dtype, p + i * view.token_stride);
        }
        k += n;
    }
}

// The numbers at p for channels [0, dim), up to a whole vector.
inline void read_channels(const ScaleView& view, const char* p, int dim, float* to) {
    if (view.group == 1 && view.group_stride == bytes_of(view.dtype, 1) && view.dtype != Dtype::e8m0) {
        for (int d = 0; d < dim; d += kLanes, p += kLanes * view.group_stride) {
            const bool is_wide = view.dtype == Dtype::f32;
            store(to + d, is_wide ? load_part<vf>(reinterpret_cast<const float*>(p), dim - d)
                                  : widen_part(view.dtype, reinterpret_cast<const uint16_t*>(p), dim - d));
        }
        return;
    }
    for (int d = 0; d < dim; d += view.group, p += view.group_stride) {
        const vf x = splat(read_number(view.dtype, p));
        const int stop = dim - d < view.group ? dim : d + view.group;
        for (int c = d; c < stop; c += kLanes) store_part(to + c, x, stop - c);
    }
}

// The numbers of one token after another.
class TokenScales {
public:
    TokenScales(const ScaleView& view, int64_t prefix_len, int dim, float* numbers)
        : v_(view), prefix_len_(prefix_len), dim_(dim), numbers_(numbers), is_constant_(is_constant(view, prefix_len)) {
        if (exists() && is_constant_) read_channels(v_, v_.base, dim_, numbers_);
    }

    bool exists() const { return v_.base != nullptr; }

    // [dim], those of key t.
    const float* at(int64_t t) {
        if (!is_constant_) read_channels(v_, scale_address(v_, prefix_len_, t), dim_, numbers_);
        return numbers_;
    }

private:
    const ScaleView& v_;
    const int64_t prefix_len_;
    const int dim_;
    float* const numbers_;  // [dim]
    const bool is_constant_;
};

// The numbers of one head's channels after another's, the same for all tokens.
class ChannelNumbers {
public:
    // `numbers`: [dim] in whole vectors.
    ChannelNumbers(const ScaleView& view, int dim, float* numbers) : v_(view), dim_(dim), numbers_(numbers) {}

    bool exist() const { return v_.base != nullptr; }

    const float* of_head(int head) {
        if (head != head_) read_channels(v_, v_.base + head * v_.head_stride, dim_, numbers_);
        head_ = head;
        return numbers_;
    }

private:
    const ScaleView& v_;
    const int dim_;
    float* const numbers_;
    int head_ = -1;  // whose are held
};

// Scales of codes that a product takes as they are: those of channels go to its other factor or to its sum, those of
// tokens to scores or probabilities. There is one kind or the other (workspace.h: takes_codes).
class FoldedScales {
public:
    // `numbers`: as Scratch::key_scales.
    FoldedScales(const ScaleView& view, int64_t prefix_len, int dim, float* numbers)
        : v_(view), prefix_len_(prefix_len), dim_(dim), numbers_(numbers), channels_(view, dim, numbers),
          of_channels_(is_constant(view, prefix_len)) {
        for (int i = 0; i < kStreamKeys && !of_channels_; i++) numbers_[i] = 0.0f;
    }

    bool of_channels() const { return of_channels_; }

    // x[d] *= number of the head's channel d.
    void scale_channels(int head, float* x) {
        const float* scales = channels_.of_head(head);
        for (int d = 0; d < dim_; d += kLanes) {
            store_part(x + d, load_part<vf>(x + d, dim_ - d) * load_part<vf>(scales + d, dim_ - d), dim_ - d);
        }
    }

    // Those of `count` keys from first_key on, into numbers [begin, begin + count) of a tile.
    float* read_tokens(int head, int64_t first_key, int begin, int count) {
        read_token_numbers(of_head(v_, head), prefix_len_, first_key, count, numbers_ + begin);
        return numbers_;
    }

    // scores[c] *= number c of the tile.
    void scale_tokens(int begin, int end, float* scores) const {
        for (int c = begin; c < end; c += kLanes) store(scores + c, load<vf>(scores + c) * load<vf>(numbers_ + c));
    }

private:
    const ScaleView& v_;
    const int64_t prefix_len_;
    const int dim_;
    float* const numbers_;
    ChannelNumbers channels_;
    const bool of_channels_;
};

// Offsets of channels, the same for all tokens, of codes that a product takes as they are: what they add to a row's
// scores is the same for all keys, and what they add to its sums is so for all probabilities.
class FoldedOffsets {
public:
    // `numbers`: [dim] in whole vectors.
    FoldedOffsets(const ScaleView& view, int64_t, int dim, float* numbers) : dim_(dim), channels_(view, dim, numbers) {}

    // Those of a head times x, which is scaled. In double: scores may be small beside it.
    float dot(int head, const float* x) {
        if (!channels_.exist()) return 0.0f;
        typedef double Doubles __attribute__((vector_size(kLanes * sizeof(double))));
        const float* offsets = channels_.of_head(head);
        Doubles sums = {};
        for (int d = 0; d < dim_; d += kLanes) {
            sums += __builtin_convertvector(load_part<vf>(x + d, dim_ - d), Doubles) *
                    __builtin_convertvector(load_part<vf>(offsets + d, dim_ - d), Doubles);
        }
        double sum = 0;
        for (int i = 0; i < kLanes; i++) sum += sums[i];
        return static_cast<float>(sum);
    }

    // x[d] += weight * number of the head's channel d.
    void add(int head, float weight, float* x) {
        if (!channels_.exist()) return;
        const float* offsets = channels_.of_head(head);
        for (int d = 0; d < dim_; d += kLanes) {
            const int n = dim_ - d;
            store_part(x + d, fma(load_part<vf>(offsets + d, n), splat(weight), load_part<vf>(x + d, n)), n);
        }
    }

private:
    const int dim_;
    ChannelNumbers channels_;
};

}  // namespace
}  // namespace acl_attn::engine
