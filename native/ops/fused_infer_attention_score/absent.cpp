// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The rows of the vendor's catalogue that no rule of ours stands for, and what only a run can look at; and why.
#include <iterator>

#include "ops/fused_infer_attention_score/catalogue.h"

namespace acl_attn::ops::fia {
namespace {

constexpr Absent kRows[] = {
    {"API-E-07", "executor", "phase two gets an executor",
     "phase two itself looks at its executor, with the same status"},
    {"API-S-04", "inputLayout", "a null pointer means BSH", "nothing is refused; the default is taken (COM-S-03)"},
    {"API-S-05", "numHeads, numKeyValueHeads, blockSize, innerPrecise, sparseMode", "only the low 32 bits count",
     "values that do not fit are refused by HOST-S-01, as cutting them hides a mistake"},
    {"API-C-01", "key, value, keySharedPrefix, valueSharedPrefix", "INT32 tensors hold eight INT4 in an element",
     "a change of view, done before any rule; a mixture fails API-S-01"},
    {"API-C-02", "softmaxLse", "without softmaxLseFlag the tensor is not looked at", "done before any rule"},
    {"API-X-01", "key, value, keyRope, keyAntiquantScale, valueAntiquantScale",
     "strided tensors need a recent base package",
     "a fault of an installation; strides are the matter of PA-C-04 to PA-C-06"},
    {"API-X-02", "", "failures of the runtime have their own status",
     "a fault of the platform, reported by phase two"},
    {"COM-E-01", "query, key, value, attentionOut", "the tensors have shapes",
     "every aclTensor has one; null pointers are API-E-01 to 04"},
    {"COM-E-03", "query, attentionOut", "both without elements: success, nothing is done",
     "nothing is refused; rules end with the parser for such calls"},
    {"COM-E-04", "key, value", "no elements in any member: success, zeros",
     "nothing is refused; products end with the parser for such calls"},
    {"COM-E-05", "", "the attributes are supplied", "the C interface has them all"},
    {"COM-S-17", "scaleValue", "any number will do", "nothing is refused but what is no number (HOST-S-03)"},
    {"COM-C-17", "query, key, value", "prefill MLA is 192/128, or equal head dims with ropes",
     "follows from the class of the call; other pairs meet COM-C-07 and COM-C-08"},
    {"COM-C-22", "query, key", "unless quantised, query and key have one type", "what makes a call not quantised"},
    {"COM-C-40", "query, key", "token axes have no upper bound", "nothing is refused"},
    {"COM-X-06", "", "what differing head dims go with", "PSE-X-04, PA-E-05, LP-X-07, LSE-X-03 and DQN-E-01 say it"},
    {"COM-X-07", "", "prefill MLA is not quantised", "ROPE-X-10, ROPE-X-17, DQA-X-14 and DQF-X-32 say it"},
    {"COM-X-08", "", "what decode MLA goes without", "ROPE-X-10, ROPE-X-15, ROPE-X-16 and PFX-X-07 say it"},
    {"ASL-S-01", "actualSeqLengths", "packed queries have an entry for each sequence",
     "the entries are what sequences are counted by"},
    {"DQA-X-08", "queryPaddingSize, kvPaddingSize", "several tokens over INT8 keys have no left padding",
     "LP-X-06 says it"},
    {"DQA-X-09", "blockTable", "several tokens over INT8 keys are not paged", "PA-X-10 says it"},
    {"DQF-S-03", "queryQuantMode, keyAntiquantMode, valueAntiquantMode", "decode MLA has modes 3, 0, 0",
     "what makes the scheme; other modes meet DQF-S-07"},
    {"DQF-S-10", "queryQuantMode, keyAntiquantMode, valueAntiquantMode", "MXFP8 has modes 6, 6, 8",
     "what makes the scheme"},
    {"DQF-S-13", "queryQuantMode, keyAntiquantMode, valueAntiquantMode", "FP8 by token and head has modes 3, 3, 2",
     "what makes the scheme"},
    {"DQF-X-12", "query", "fully quantised decode MLA has 1 to 16 tokens", "ROPE-X-14 says it"},
    {"DQF-X-34", "keySharedPrefix", "where scales serve whole tensors, there is no prefix", "PFX-X-08 says it"},
    {"PA-E-02", "blockTable", "paged keys are no tensor list", "a list with a blockTable is a list: COM-C-31"},
    {"PA-X-05", "key", "8-bit decode MLA takes caches of 3, 4 or 5 axes in some layouts", "COM-X-05 leaves no other"},
    {"PA-X-06", "key", "INT8 decode MLA reads caches of 5 axes", "DQF-X-20 says it"},
    {"PA-X-07", "key, value, keyRope", "quantised caches of 5 axes have 32 as last axis, ropes 16",
     "PA-C-03 says it"},
    {"PA-X-09", "pseShift", "the bias is as wide as the blocks", "PSE-X-01 says it"},
    {"PA-X-13", "inputLayout", "older products page with any left part of a layout", "COM-S-03 leaves no other"},
    {"LP-E-01", "queryPaddingSize, kvPaddingSize", "the tensor has a descriptor", "every aclTensor has one"},
    {"LP-X-01", "queryPaddingSize, kvPaddingSize", "paged keys have no left padding", "PA-E-03 says it"},
    {"PFX-X-01", "keySharedPrefix", "paged keys have no shared prefix", "PA-E-04 says it"},
    {"ROPE-X-11", "inputLayout", "MLA has the layouts of its form", "COM-S-09 and COM-S-10 say it"},
    {"ROPE-X-12", "numHeads", "decode MLA has a power of two of heads", "COM-S-06 says it"},
    {"HOST-C-06", "blockTable", "entries that lengths reach name blocks of the cache",
     "its values lie in device memory: the run looks at them before it computes anything, and ends with 161002"},
    {"TPL-X-01", "", "a kernel template is found", "a fault of an installation: no call was seen to fail there"},
};

}  // namespace

const Absent* const kAbsent = kRows;
const size_t kAbsentCount = std::size(kRows);

}  // namespace acl_attn::ops::fia
