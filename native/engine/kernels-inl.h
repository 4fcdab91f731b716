// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// One instruction set's table. The including file names it and is compiled with that instruction set's flags.
#pragma once

#include "engine/decode-inl.h"
#include "engine/full_quant_kernels.h"
#include "engine/prefill-inl.h"
#include "engine/sparse-inl.h"

namespace acl_attn::engine {
namespace {

void exp_array(const float* x, float* y, size_t n) {
    for (size_t i = 0; i < n; i += kLanes) {
        const int part = n - i < kLanes ? static_cast<int>(n - i) : kLanes;
        store_part(y + i, exp_vector(load_part<vf>(x + i, part)), part);
    }
}

template <class T>
void widen_array(const uint16_t* x, float* y, size_t n) {
    for (size_t i = 0; i < n; i += kLanes) {
        const int part = n - i < kLanes ? static_cast<int>(n - i) : kLanes;
        store_part(y + i, load_wide_part<T>(x + i, part), part);
    }
}

template <class T>
void narrow_array(const float* x, uint16_t* y, size_t n) {
    for (size_t i = 0; i < n; i += kLanes) {
        const int part = n - i < kLanes ? static_cast<int>(n - i) : kLanes;
        store_narrow_part<T>(y + i, load_part<vf>(x + i, part), part);
    }
}

template <class Operand>
constexpr OperandForm form_of() {
    return {Operand::kDepth, Operand::kParts,     Operand::kQueryParts, Operand::kColumns,  Operand::kSteps,
            Operand::kGroup, Operand::kBlockRows, Operand::kScoreRows,  Operand::kIsInPlace};
}

// Prefill of codes beside queries of a type, if there is an operand for it.
template <class Operand>
struct CodePrefill {
    static constexpr RowKernel* run = prefill<BF16, Operand>;
    static constexpr OperandForm form = form_of<Operand>();
};
template <>
struct CodePrefill<void> {
    static constexpr RowKernel* run = nullptr;
    static constexpr OperandForm form = {};
};

// Few rows of bf16, if there is an operand for them.
template <class Operand>
constexpr RowKernel* kPrefillFew = prefill<BF16, Operand>;
template <>
constexpr RowKernel* kPrefillFew<void> = nullptr;

// What the panels of each type are made of; dequantised numbers always compute in fp32. SharedOperand: of bf16 rows
// that are keys and values at once; its form is that of Bf16Operand, as is FewOperand's, of few rows of bf16. Code
// operands: of codes, beside queries of f16 or bf16.
template <class F16Operand, class Bf16Operand, class SharedOperand = Bf16Operand, class FewOperand = void,
          class F16CodeOperand = void, class Bf16CodeOperand = void>
constexpr Kernels make_kernels(const char* name, const FullQuantKernels* full_quant) {
    // No type has more than those of which two share a byte.
    using Float4 = DecodeProducts<E2M1>;
    constexpr int of_i4 = DecodeProducts<I4>::Keys::kElements;
    constexpr int of_keys = Float4::Keys::kElements, of_values = Float4::Values::kElements;
    constexpr int of_e2m1 = of_keys > of_values ? of_keys : of_values;
    constexpr int code_channels = of_i4 > of_e2m1 ? of_i4 : of_e2m1;
    return {name,
            kLanes,
            kNr,
            {form_of<F16Operand>(), form_of<Bf16Operand>(), form_of<Fp32Operand>()},
            {prefill<F16, F16Operand>, prefill<BF16, Bf16Operand>, prefill<F32, Fp32Operand>},
            {nullptr, kPrefillFew<FewOperand>, nullptr},
            {decode<F16>, decode<BF16>, decode<F32>},
            {CodePrefill<F16CodeOperand>::run, CodePrefill<Bf16CodeOperand>::run},
            {CodePrefill<F16CodeOperand>::form, CodePrefill<Bf16CodeOperand>::form},
            {nullptr, nullptr, nullptr, decode<I8>, decode<I4>, decode<E4M3>, decode<HiFloat8>, decode<E2M1>},
            code_channels,
            !std::is_same_v<DecodeProducts<I4>::Keys, StreamKeys<I4>>,
            merge_partials,
            full_quant,
            {sparse<F16, F16Operand>, sparse<BF16, SharedOperand>},
            merge_sparse,
            exp_array,
            {widen_array<F16>, widen_array<BF16>},
            {narrow_array<F16>, narrow_array<BF16>}};
}

}  // namespace
}  // namespace acl_attn::engine
