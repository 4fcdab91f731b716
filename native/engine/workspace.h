// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// How a run's workspace is divided. One routine serves the size query (an arena without memory only counts) and the
// run.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/attention.h"
#include "engine/kernels.h"
#include "engine/schedule.h"

namespace acl_attn::engine {

inline bool is_full_quant(const Problem& p) { return p.full_quant.kind != FullQuant::Kind::none; }
// Of tensors that stay wide where queries are quantised.
inline Dtype rope_dtype(const Problem& p) { return is_full_quant(p) ? Dtype::bf16 : p.kv_dtype; }
inline Dtype bias_dtype(const Problem& p) { return is_full_quant(p) ? Dtype::f16 : p.dtype; }

// Keys and values of a type of their own are dequantised to fp32, where no kernel takes them better.
inline bool is_quantised(const Problem& p) { return p.kv_dtype != p.dtype; }
inline Dtype product_dtype(const Problem& p) { return is_quantised(p) ? Dtype::f32 : p.dtype; }

// Whether the products can't use keys, or values, where they lie.
inline bool is_key_staged(const Problem& p) {
    const bool is_cut = p.key.chunk < p.dim || (p.prefix_len > 0 && p.prefix_key.chunk < p.dim);
    return is_cut || p.rope_dim > 0 || is_quantised(p);
}
inline bool is_value_staged(const Problem& p) {
    if (p.value_is_key) return false;
    const bool is_cut = p.value.chunk < p.dim_v || (p.prefix_len > 0 && p.prefix_value.chunk < p.dim_v);
    return is_cut || is_quantised(p);
}

// Whether few rows are computed from stored codes where they lie, their scales and offsets moved out of the sums.
bool takes_codes(const Problem& problem);
// The same of many rows: codes as rows of bf16, which hold each of them exactly. There, powers of two as scales stay
// with the codes, whatever they are shared by; and offsets of integers may be of channels (code_rows-inl.h).
bool prefills_codes(const Problem& problem, const Kernels& kernels);
// How many bf16 numbers hold a query times the scales of its channels: all bits of the product, or those of fp32.
int code_query_parts(const Problem& problem);

// Whether few rows have a kernel of their own.
inline bool takes_few_rows(const Problem& p, const Kernels& kernels) {
    return kernels.prefill_few[static_cast<int>(product_dtype(p))] != nullptr;
}

// How prefill's products take the problem.
inline const OperandForm& prefill_form(const Problem& p, const Kernels& kernels) {
    if (prefills_codes(p, kernels)) return kernels.code_form[static_cast<int>(p.dtype)];
    return kernels.form[static_cast<int>(product_dtype(p))];
}

class Arena {
public:
    static constexpr size_t kAlignment = 64;

    explicit Arena(void* memory = nullptr) : memory_(static_cast<char*>(memory)) {}

    // From the first boundary in `memory` on; the whole needs kAlignment bytes more than used() says.
    static Arena aligned(void* memory) {
        const uintptr_t address = reinterpret_cast<uintptr_t>(memory);
        return Arena(memory == nullptr ? nullptr : static_cast<char*>(memory) + (round_up(address) - address));
    }

    static constexpr size_t round_up(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

    // `count` objects on a cache line boundary; null when only counting.
    template <class T>
    T* take(size_t count) {
        const size_t offset = round_up(used_);
        used_ = offset + count * sizeof(T);
        return memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + offset);
    }

    size_t used() const { return used_; }

private:
    char* memory_;
    size_t used_ = 0;
};

struct Workspace {
    size_t bytes = 0;                    // what the caller must provide, whatever its address's alignment
    char* scratch = nullptr;             // [slots] of scratch_stride bytes
    size_t scratch_stride = 0;
    float* partial_out = nullptr;        // [schedule.partial_rows][dim_v]
    RowState* partial_state = nullptr;   // [schedule.partial_rows]
    int32_t* arrivals = nullptr;         // [schedule.merges]: splits finished
    uint8_t* tile_masks = nullptr;       // [schedule.tile_mask_bytes]
};

Workspace divide_workspace(void* memory, const Problem& problem, const Schedule& schedule, const Kernels& kernels,
                           int slots);

// The scratch of one slot.
Scratch divide_scratch(Arena& arena, const Problem& problem, const Schedule& schedule, const Kernels& kernels);

}  // namespace acl_attn::engine
