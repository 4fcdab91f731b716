// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic on numbers out of a caller's arguments, which may be anything: what int64_t cannot hold is its largest.
#pragma once

#include <cstdint>

namespace acl_attn::ops {

inline int64_t saturating_sum(int64_t a, int64_t b) {
    int64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

inline int64_t saturating_difference(int64_t a, int64_t b) {
    int64_t difference = 0;
    return __builtin_sub_overflow(a, b, &difference) ? INT64_MAX : difference;
}

inline int64_t saturating_product(int64_t a, int64_t b) {
    int64_t product = 0;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

}  // namespace acl_attn::ops
