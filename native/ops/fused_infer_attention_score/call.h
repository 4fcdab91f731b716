// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// One call of the operator, out of the C interface's handles: what was given, not yet what it means.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "meta/objects.h"
#include "ops/finding.h"

namespace acl_attn::ops::fia {

using TensorRef = std::shared_ptr<const meta::Tensor>;
using ListRef = std::shared_ptr<const meta::TensorList>;
using IntsRef = std::shared_ptr<const std::vector<int64_t>>;

// Positions in the operator's signature.
enum Input : size_t {
    kQuery, kKey, kValue, kPseShift, kAttenMask, kActualSeqLengths, kActualSeqLengthsKv, kDeqScale1, kQuantScale1,
    kDeqScale2, kQuantScale2, kQuantOffset2, kAntiquantScale, kAntiquantOffset, kBlockTable, kQueryPaddingSize,
    kKvPaddingSize, kKeyAntiquantScale, kKeyAntiquantOffset, kValueAntiquantScale, kValueAntiquantOffset,
    kKeySharedPrefix, kValueSharedPrefix, kActualSharedPrefixLen, kQueryRope, kKeyRope, kKeyRopeAntiquantScale,
    kDequantScaleQuery, kLearnableSink, kQStartIdx, kKvStartIdx, kInputCount
};
enum Output : size_t { kAttentionOut, kSoftmaxLse, kOutputCount };
extern const char* const kInputNames[kInputCount];
extern const char* const kOutputNames[kOutputCount];

// A tensor or an array at a position: `handle` as the caller passed it, and what it stands for. Null: absent (or dead,
// which the front rules refuse before anything else looks).
struct TensorArg {
    const aclTensor* handle = nullptr;
    TensorRef tensor;
    bool is_half = false;  // split off antiquantScale or antiquantOffset, whose address it uses
};
struct ListArg {
    const aclTensorList* handle = nullptr;
    ListRef list;
};
struct IntsArg {
    const aclIntArray* handle = nullptr;
    IntsRef values;
};

struct Call {
    int version = 5;                   // of the entry point
    size_t inputs = kInputCount;       // that its signature has: the first ones of the newest
    bool is_largest = false;           // lengths have no values yet: every sequence is as long as it can be
    bool is_sketch = false;            // only looked at: tensors may have no memory yet

    ListArg key, value;
    TensorArg tensors[kInputCount];  // at the positions of plain tensors
    IntsArg ints[kInputCount];       // at the positions of arrays
    TensorArg outputs[kOutputCount];

    bool has_workspace_size = false;  // the out-pointers
    bool has_executor = false;

    int64_t num_heads = 0;
    double scale_value = 1.0;
    int64_t pre_tokens = 0;
    int64_t next_tokens = 0;
    const char* input_layout = nullptr;
    int64_t num_key_value_heads = 0;
    int64_t sparse_mode = 0;
    int64_t inner_precise = 0;
    int64_t block_size = 0;
    int64_t antiquant_mode = 0;
    bool softmax_lse_flag = false;
    int64_t key_antiquant_mode = 0;
    int64_t value_antiquant_mode = 0;
    int64_t query_quant_mode = 0;
    int64_t pse_type = 0;
};

struct NamedList {
    const char* name;
    const ListArg& arg;
};
inline std::array<NamedList, 2> lists(const Call& call) { return {{{"key", call.key}, {"value", call.value}}}; }

// "aclnnFusedInferAttentionScore", "...V2", ... "...V5".
const char* api_name(int version);

// Looks up every handle of the call and brings what has two spellings into one: INT32 key, value and prefixes hold
// eight INT4 in an element; antiquantScale and antiquantOffset of the older entry points hold key's and value's behind
// one another.
void resolve(Call& call);

// Optional inputs are absent as null pointers, tensors without elements, and arrays without entries.
const meta::Tensor* given(const Call& call, Input input);
const std::vector<int64_t>* given_ints(const Call& call, Input input);

}  // namespace acl_attn::ops::fia
