// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include <iterator>

#include "ops/sparse_flash_mla/rules.h"

namespace acl_attn::ops::sparse::mla {
namespace {

constexpr Absent kRows[] = {
    {"SMLA-045", "q", "more than one head (of the vendor's documents)",
     "the products take one; so does every profile here"},
    {"SMLA-046", "q", "a power of two of heads on every product (of the vendor's documents)",
     "the Ascend950 takes any number up to 128 (SMLA-043); older products are held to it by SMLA-044"},
    {"SMLA-057", "cmpMaskMode", "3 with cmpKv, and both masks 0 with oriSparseIndices (of the vendor's documents)",
     "the Ascend950 takes other masks; older products are held to it by SMLA-050 and SMLA-051"},
};

}  // namespace

const Absent* const kAbsent = kRows;
const size_t kAbsentCount = std::size(kRows);

}  // namespace acl_attn::ops::sparse::mla
