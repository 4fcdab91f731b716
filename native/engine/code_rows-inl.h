// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Stored codes as rows of bf16, a tile at a time. Those hold each code exactly, also times a power of two, which is
// what scales of E8M0 are: what is lost below the smallest bf16 shows in no score and no sum. And the sum of an integer
// and an integer offset, up to 256; what offsets have beside that, and other scales, are left to code_scales-inl.h.
#pragma once

#include "engine/staging-inl.h"

namespace acl_attn::engine {
namespace {

inline bool are_powers_of_two(const ScaleView& scales) { return scales.dtype == Dtype::e8m0; }

// Of rows of stored codes.
inline bool may_be_infinite(const KvView& rows, const ScaleView& scales) {
    return rows.dtype == Dtype::hif8 || are_powers_of_two(scales);
}

// The part of offsets that is added to codes; of NaN, 0.
inline vf staged_offset(vf offset) {
    constexpr float kMost = 128.0f;
    const vf inside = select(offset > kMost, splat(kMost), select(offset > -kMost, offset, splat(-kMost)));
    return select(offset == offset, nearest_integer(inside), vf{});
}

// What is done to codes: (code + offset) * scale; arrays of whole vectors, or null.
struct CodeChange {
    const float* offset;
    const float* scale;

    bool is_none() const { return offset == nullptr && scale == nullptr; }
    CodeChange from(int d) const {
        return {offset == nullptr ? nullptr : offset + d, scale == nullptr ? nullptr : scale + d};
    }
    vf of(vf x, int d) const {
        if (offset != nullptr) x += load<vf>(offset + d);
        if (scale != nullptr) x *= load<vf>(scale + d);
        return x;
    }
};

inline vh upper_halves(vf x) { return truncate(bits_of(x) >> 16); }
inline void store_upper_halves(uint16_t* to, vf first, vf second) {
#if defined(__AVX512BW__)
    alignas(64) static constexpr uint16_t kUpper[32] = {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31,
                                                        33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
    store(to, _mm512_permutex2var_epi16(reinterpret_cast<__m512i>(first), load<__m512i>(kUpper),
                                        reinterpret_cast<__m512i>(second)));
#else
    store(to, upper_halves(first));
    store(to + kLanes, upper_halves(second));
#endif
}

template <class T>
inline void codes_to_bf16(const uint8_t* codes, CodeChange change, uint16_t* to, int n) {
    const auto convert = [&](auto changed) {
        const auto number = [&](int d) { return changed(load_wide<T>(codes + d * T::kBits / 8), d); };
        int d = 0;
        for (; d + 2 * kLanes <= n; d += 2 * kLanes) store_upper_halves(to + d, number(d), number(d + kLanes));
        for (; d < n; d += kLanes) {
            const vf x = changed(load_wide_part<T>(codes + d * T::kBits / 8, n - d), d);
            store_part(to + d, upper_halves(x), n - d);
        }
    };
    if (change.is_none()) return convert([](vf x, int) { return x; });
    convert([&](vf x, int d) { return change.of(x, d); });
}

inline void stored_to_bf16(Dtype dtype, const char* p, CodeChange change, uint16_t* to, int n) {
    const uint8_t* codes = reinterpret_cast<const uint8_t*>(p);
    switch (dtype) {
        case Dtype::i8: return codes_to_bf16<I8>(codes, change, to, n);
        case Dtype::i4: return codes_to_bf16<I4>(codes, change, to, n);
        case Dtype::f8_e4m3: return codes_to_bf16<E4M3>(codes, change, to, n);
        case Dtype::hif8: return codes_to_bf16<HiFloat8>(codes, change, to, n);
        case Dtype::f4_e2m1: return codes_to_bf16<E2M1>(codes, change, to, n);
        default: return;  // not a stored type: Attention::plan refuses
    }
}

// As KvStaging.
class CodeRows {
public:
    CodeRows(const RowBlock& block, const Scratch& scratch)
        : keys_(block.key, block.key_addition, block.prefix_len, scratch.key_staging, scratch.key_scales),
          values_(block.value, block.value_addition, block.prefix_len, scratch.value_staging, scratch.value_scales) {}

    void stage(int64_t first_key, int count, const void** keys, const void** values) {
        keys_.stage(first_key, count, keys);
        values_.stage(first_key, count, values);
    }

private:
    class Side {
    public:
        Side(const KvView& view, const KvAddition& addition, int64_t prefix_len, void* memory, float* scales)
            : view_(view), addition_(addition), prefix_len_(prefix_len), stride_(round_up(view.dim, kLanes)),
              memory_(static_cast<uint16_t*>(memory)),
              scale_(are_powers_of_two(addition.scale) ? addition.scale : none_, prefix_len, view.dim, scales) {
            if (addition.offset.base == nullptr) return;
            read_channels(addition.offset, addition.offset.base, view.dim, offset_);
            for (int d = 0; d < stride_; d += kLanes) store(offset_ + d, staged_offset(load<vf>(offset_ + d)));
        }

        void stage(int64_t first_key, int count, const void** rows) {
            uint16_t* to = memory_;
            for (int i = 0; i < count; i++, to += stride_) {
                const int64_t key = first_key + i;
                const KvView& view = key < prefix_len_ ? addition_.prefix : view_;
                const CodeChange change = {addition_.offset.base == nullptr ? nullptr : offset_,
                                           scale_.exists() ? scale_.at(key) : nullptr};
                for_chunks(view, static_cast<const char*>(rows[i]), [&](const char* p, int d, int n) {
                    stored_to_bf16(view.dtype, p, change.from(d), to + d, n);
                });
                rows[i] = to;
            }
        }

    private:
        const ScaleView none_ = {};
        const KvView& view_;
        const KvAddition& addition_;
        const int64_t prefix_len_;
        const int stride_;
        uint16_t* const memory_;
        TokenScales scale_;
        alignas(64) float offset_[kMaxDim + 64];  // a chunk's last vector may begin anywhere
    };

    Side keys_, values_;
};

}  // namespace
}  // namespace acl_attn::engine
