// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The two operators that share this folder, and what the C interface calls their parts.
#pragma once

#include <cstddef>
#include <cstdint>

namespace acl_attn::ops::sparse {

enum class Operator : uint8_t {
    sparse_flash_mla,
    kv_quant_sparse_attn_sharedkv,
};

// Tensors of either operator, in the order of sparse_flash_mla's signature.
enum Input : size_t {
    kQ, kOriKv, kCmpKv, kOriSparseIndices, kCmpSparseIndices, kOriBlockTable, kCmpBlockTable, kCuSeqlensQ,
    kCuSeqlensOriKv, kCuSeqlensCmpKv, kSequsedQ, kSequsedOriKv, kSequsedCmpKv, kCmpResidualKv, kOriTopkLength,
    kCmpTopkLength, kSinks, kMetadata, kInputCount
};
enum Output : size_t { kAttnOut, kSoftmaxLse, kOutputCount };

// Names of the functions, phase two.
const char* api_name(Operator op);
const char* metadata_api_name(Operator op);

// A parameter's name in messages; sequsedOriKv is called sequsedKv by the operator that has one such parameter.
const char* input_name(Operator op, Input input);
const char* output_name(Output output);

// The input at a position of the operator's signature; kInputCount beyond its last.
Input input_at(Operator op, size_t position);

}  // namespace acl_attn::ops::sparse
