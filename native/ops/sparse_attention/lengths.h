// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// How many tokens of each sequence count, out of the tensors that say so. They live on the device: a call reads them
// when it runs, and only then can it tell whether they fit each other and the shapes.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/finding.h"
#include "ops/sparse_attention/operator.h"

namespace acl_attn::ops::sparse {

// What is known of one side (queries, original or compressed rows) before its values are. Every sequence's length is
// the first that is there of: its entry of `used`, the difference of its entries of `totals`, `extent`.
struct LengthSource {
    bool present = false;
    Input totals_name = kCuSeqlensQ;
    Input used_name = kSequsedQ;
    const char* extent_name = "";     // of the parameter that `extent` comes from
    const int32_t* totals = nullptr;  // [batch + 1], running totals that begin with 0
    const int32_t* used = nullptr;    // [batch]
    int64_t extent = 0;               // tokens that every sequence has room for; kUnknownLength: any number
    int64_t tokens = -1;              // what running totals must end with; < 0: not known
};

// Ids of the rules that values break; the operators and their metadata number them differently.
struct LengthRules {
    const char* totals = "";
    const char* used = "";
    const char* residual = "";
};

struct LengthSources {
    Operator op = Operator::sparse_flash_mla;
    LengthRules rules;
    int64_t batch = 0;
    LengthSource q, ori, cmp;
    const int32_t* residual = nullptr;  // [batch], below cmp_ratio
    int64_t cmp_ratio = 1;
    bool cmp_follows_ori = false;  // a sequence has floor(ori / cmp_ratio) compressed rows
};

// A sequence's tokens of one side.
struct Segment {
    int64_t first = 0;   // in a packed tensor
    int64_t stored = 0;  // tokens that the tensor has for the sequence; kUnknownLength if paged without a table
    int64_t used = 0;    // the first ones, which count
};

struct SequenceLengths {
    Segment q, ori, cmp;
    int64_t residual = 0;

    // Original tokens that the compressed stream stands for.
    int64_t stands_for(int64_t cmp_ratio) const { return cmp.used * cmp_ratio + residual; }
};

// Fills `lengths`, or says which value is wrong.
Finding read_lengths(const LengthSources& sources, std::vector<SequenceLengths>& lengths);

}  // namespace acl_attn::ops::sparse
