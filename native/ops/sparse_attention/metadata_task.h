// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Writing a metadata tensor: lengths are read, the list is made, and a stamp says for which call.
#pragma once

#include <memory>

#include "ops/sparse_attention/lengths.h"
#include "ops/regions.h"
#include "ops/sparse_attention/metadata_case.h"
#include "ops/sparse_attention/task_list.h"
#include "runtime/stream.h"

namespace acl_attn::ops::sparse {

// What phase one has found out.
struct MetadataPlan {
    Operator op = Operator::sparse_flash_mla;
    Layout layout_q = Layout::bsnd;
    Layout layout_kv = Layout::bsnd;
    LengthSources lengths;  // without addresses
    TaskRules rules;
    int64_t list_rows = INT64_MAX;    // query rows that ori- and cmpTopkLength are for
    bool is_cmp_length_open = false;  // the planner takes compressed streams as longer than any list
};
MetadataPlan make_metadata_plan(const MetadataCase& subject);

// Each task has its own copy.
struct MetadataAddresses {
    const int32_t* inputs[kInputCount] = {};
    uint32_t* words = nullptr;
};

std::unique_ptr<runtime::Task> make_metadata_task(std::shared_ptr<const MetadataPlan> plan,
                                                  const MetadataAddresses& addresses);

}  // namespace acl_attn::ops::sparse
