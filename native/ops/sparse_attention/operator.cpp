// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/sparse_attention/operator.h"

#include <iterator>

namespace acl_attn::ops::sparse {
namespace {

constexpr const char* kInputNames[kInputCount] = {
    "q", "oriKv", "cmpKv", "oriSparseIndices", "cmpSparseIndices", "oriBlockTable", "cmpBlockTable", "cuSeqlensQ",
    "cuSeqlensOriKv", "cuSeqlensCmpKv", "sequsedQ", "sequsedOriKv", "sequsedCmpKv", "cmpResidualKv", "oriTopkLength",
    "cmpTopkLength", "sinks", "metadata",
};

constexpr Input kQuantSignature[] = {
    kQ, kOriKv, kCmpKv, kOriSparseIndices, kCmpSparseIndices, kOriBlockTable, kCmpBlockTable, kCuSeqlensQ,
    kCuSeqlensOriKv, kCuSeqlensCmpKv, kSequsedQ, kSequsedOriKv, kSinks, kMetadata,
};

}  // namespace

const char* api_name(Operator op) {
    return op == Operator::sparse_flash_mla ? "aclnnSparseFlashMla" : "aclnnKvQuantSparseAttnSharedkv";
}

const char* metadata_api_name(Operator op) {
    return op == Operator::sparse_flash_mla ? "aclnnSparseFlashMlaMetadata" : "aclnnKvQuantSparseAttnSharedkvMetadata";
}

const char* input_name(Operator op, Input input) {
    if (op == Operator::kv_quant_sparse_attn_sharedkv && input == kSequsedOriKv) return "sequsedKv";
    return kInputNames[input];
}

const char* output_name(Output output) { return output == kAttnOut ? "attnOut" : "softmaxLse"; }

Input input_at(Operator op, size_t position) {
    if (op == Operator::sparse_flash_mla) return position < kInputCount ? static_cast<Input>(position) : kInputCount;
    return position < std::size(kQuantSignature) ? kQuantSignature[position] : kInputCount;
}

}  // namespace acl_attn::ops::sparse
