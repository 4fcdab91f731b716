// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Stored codes as rows of bf16, a tile at a time. Those hold each code exactly, also times a power of two, which is what
// scales of E8M0 are: what is lost below the smallest bf16 shows in no score and no sum. And the sum of an integer and
// an integer offset, up to 256; what offsets have beside that, and other scales, are left to code_scales-inl.h.
#pragma once

#include "engine/staging-inl.h"

namespace acl_attn::engine {
namespace {

inline bool are_powers_of_two(const ScaleView& scales) { return scales.dtype == Dtype::e8m0; }

// The part of offsets that is added to codes; of NaN, 0.
inline vf staged_offset(vf offset) {
    constexpr float kMost = 128.0f;
    const vf magic = splat(12582912.0f);  // as in exp_vector
    const vf inside = select(offset > kMost, splat(kMost), select(offset > -kMost, offset, splat(-kMost)));
    return select(offset == offset, (inside + magic) - magic, vf{});
}

// What is done to codes: (code + offset) * scale; arrays of whole vectors, or null.
struct CodeChange {
    const float* offset;
    const float* scale;

    CodeChange from(int d) const {
        return {offset == nullptr ? nullptr : offset + d, scale == nullptr ? nullptr : scale + d};
    }
    vf of(vf x, int d) const {
        if (offset != nullptr) x += load<vf>(offset + d);
        if (scale != nullptr) x *= load<vf>(scale + d);
        return x;
    }
};

template <class T>
inline void codes_to_bf16(const uint8_t* codes, CodeChange change, uint16_t* to, int n) {
    const auto number = [&](int d, vf x) { return truncate(bits_of(change.of(x, d)) >> 16); };
    int d = 0;
    for (; d + kLanes <= n; d += kLanes) store(to + d, number(d, load_wide<T>(codes + d * T::kBits / 8)));
    if (d < n) store_part(to + d, number(d, load_wide_part<T>(codes + d * T::kBits / 8, n - d)), n - d);
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
