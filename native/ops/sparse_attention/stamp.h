// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What a metadata tensor says about the call that it was made for, in the words behind the task list. Devices do not
// look at them; the host's operator tells by them whether the metadata is its own call's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ops/sparse_attention/lengths.h"
#include "ops/sparse_attention/task_list.h"

namespace acl_attn::ops::sparse {

// Numbers of a call that the task list depends on.
enum Trait : int {
    kHeads, kBatch, kCmpRatio, kOriMaskMode, kCmpMaskMode, kWinLeft, kWinRight, kOriTopk, kCmpTopk, kIsPackedQ,
    kKvLayout, kHasOri, kHasCmp, kTraitCount
};

struct Stamp {
    static constexpr int kListed = 22;  // sequences whose lengths are kept one by one

    // Of one kind of length (queries, original rows, compressed rows, residuals) over all sequences. Not known: the
    // metadata operator need not be told every length.
    struct Total {
        bool is_known = true;
        int64_t sum = 0;
        uint32_t digest = 0;  // of the values in order
    };
    static constexpr int kKinds = 4;

    Operator op = Operator::sparse_flash_mla;
    int32_t traits[kTraitCount] = {};
    Total totals[kKinds];
    int32_t listed[kListed][kKinds] = {};
};

// Traits that a call without compressed rows or original mask leaves open are brought to one value.
Stamp stamp_of(Operator op, const TaskRules& rules, bool is_packed_q, int kv_layout,
               const std::vector<SequenceLengths>& lengths);

// Into words kTaskWords and up, behind a finished task list.
void write_stamp(const Stamp& stamp, uint32_t* words);

enum class StampState : uint8_t {
    absent,   // nothing stands there
    changed,  // not what write_stamp() wrote behind this list
    good,
};
// `stamp` holds what stands there unless nothing legible does.
StampState read_stamp(const uint32_t* words, Stamp& stamp);

// What both say where they differ, "cmpRatio 4, sequsedOriKv[2] 8193" and its counterpart. Empty: nothing.
struct Difference {
    std::string expected, got;
};
Difference difference(const Stamp& expected, const Stamp& got);

std::string describe(const Stamp& stamp);

}  // namespace acl_attn::ops::sparse
