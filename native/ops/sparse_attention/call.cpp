// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/sparse_attention/call.h"

#include <utility>

namespace acl_attn::ops::sparse {
namespace {

void look_up(TensorArg& arg) {
    if (arg.handle != nullptr) arg.tensor = meta::find(arg.handle);
}

void replace_block_stride(TensorArg& arg, int64_t stride) {
    if (stride == 0 || arg.tensor == nullptr || arg.tensor->rank == 0) return;
    auto restrided = std::make_shared<meta::Tensor>(*arg.tensor);
    restrided->stride[0] = stride;
    arg.tensor = std::move(restrided);
}

}  // namespace

void resolve(Call& call) {
    for (TensorArg& arg : call.tensors) look_up(arg);
    for (TensorArg& arg : call.outputs) look_up(arg);
    replace_block_stride(call.tensors[kOriKv], call.ori_block_stride);
    replace_block_stride(call.tensors[kCmpKv], call.cmp_block_stride);
}

void resolve(MetadataCall& call) {
    for (TensorArg& arg : call.tensors) look_up(arg);
    look_up(call.metadata);
}

}  // namespace acl_attn::ops::sparse
