// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Which instantiation of the sparse kernels serves which call. A call without one is refused when it is planned.
#pragma once

#include <string>

#include "ascendc/sparse_attention/params.h"
#include "engine/sparse.h"

namespace acl_attn::ascendc {

// A compiled kernel, as in table.h.
struct SparseInstantiation {
    const char* name;
    int32_t architecture;
    engine::Dtype element;  // of query and output
    engine::Dtype row;      // of a row's numbers, of a packed row's codes
    void (*kernel)(SparseAttentionParams);
};

// Null, and in words what the kernels lack, if none serves the problem on that chip.
const SparseInstantiation* find_instantiation(const engine::SparseProblem& problem, int32_t architecture,
                                              std::string* lacking);

}  // namespace acl_attn::ascendc
