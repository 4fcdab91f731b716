// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The operators' names of layouts, and the axes behind them.
#pragma once

#include <cstdint>
#include <cstring>

#include "ops/sparse_attention/operator.h"

namespace acl_attn::ops::sparse {

enum class Layout : uint8_t {
    bsnd,     // (B, S, N, D)
    tnd,      // (T, N, D), sequences behind one another
    paged,    // (blocks, block size, N, D)
    unknown,
};

constexpr int rank_of(Layout layout) { return layout == Layout::tnd ? 3 : 4; }

constexpr const char* paged_name(Operator op) { return op == Operator::sparse_flash_mla ? "PA_BBND" : "PA_ND"; }

constexpr const char* layout_name(Operator op, Layout layout) {
    switch (layout) {
        case Layout::bsnd: return "BSND";
        case Layout::tnd: return "TND";
        case Layout::paged: return paged_name(op);
        case Layout::unknown: break;
    }
    return "?";
}

constexpr const char* axes_of(Layout layout) {
    switch (layout) {
        case Layout::bsnd: return "(B, S, N, D)";
        case Layout::tnd: return "(T, N, D)";
        case Layout::paged: return "(blocks, block size, N, D)";
        case Layout::unknown: break;
    }
    return "?";
}

// Null is the operator's default.
inline Layout find_layout_q(const char* name) {
    if (name == nullptr || std::strcmp(name, "BSND") == 0) return Layout::bsnd;
    return std::strcmp(name, "TND") == 0 ? Layout::tnd : Layout::unknown;
}

inline Layout find_layout_kv(Operator op, const char* name) {
    if (name == nullptr) return op == Operator::sparse_flash_mla ? Layout::bsnd : Layout::paged;
    return std::strcmp(name, paged_name(op)) == 0 ? Layout::paged : find_layout_q(name);
}

}  // namespace acl_attn::ops::sparse
