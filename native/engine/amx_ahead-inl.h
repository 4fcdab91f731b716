// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// How decode on AMX asks for what comes next: see read_ahead-inl.h.
#pragma once

#include "engine/rows-inl.h"

namespace acl_attn::engine {
namespace {

// What comes next is asked for evenly over all that is done with a head's keys and values, not only while they are
// read: the memory would rest meanwhile. In sixteenths of the bytes of both, about as the time goes.
constexpr int kAheadOfScores = 4, kAheadOfJoining = 1, kAheadOfSoftmax = 3;
constexpr int kAheadOfSplitting = 2, kAheadOfPacking = 4, kAheadOfSums = 2;
static_assert(kAheadOfScores + kAheadOfJoining + kAheadOfSoftmax == 8 &&
              kAheadOfSplitting + kAheadOfPacking + kAheadOfSums == 8, "all of it");

// A sixteenth for one key and head, times 16.
inline int ahead_bytes(const RowBlock& b) {
    return static_cast<int>(bytes_of(b.key.dtype, b.dim) + (b.value_is_key ? 0 : bytes_of(b.value.dtype, b.dim_v)));
}

}  // namespace
}  // namespace acl_attn::engine
