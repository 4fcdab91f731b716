// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows of the operators' catalogues that no entry of their tables stands for: rules about what lengths, tables and
// lists hold, which are looked at when a call runs, as device memory may not be read before; and rows that nothing
// enforces.
#pragma once

#include <cstddef>

#include "ops/absent.h"
#include "ops/sparse_attention/operator.h"

namespace acl_attn::ops::sparse {

struct Late {
    const char* id;
    const char* parameter;
    const char* text;  // what the parameter must hold
};

struct OtherRows {
    const Late* late;
    size_t late_count;
    const Absent* absent;
    size_t absent_count;
};

// Of an operator, or of the one that makes its metadata.
const OtherRows& other_rows(Operator op, bool of_metadata);

}  // namespace acl_attn::ops::sparse
