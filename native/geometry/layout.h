// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The axis orders of unpaged tensors and the layout names built from them. Strides and offsets count elements.
#pragma once

#include <cstdint>
#include <cstring>

namespace acl_attn::geometry {

// b sequence, s token, n head, d channel, t token of the packed sequences. In bsh, h is n and d fused, n outermost.
enum class Order : uint8_t { bsh, bsnd, bnsd, nbsd, tnd, ntd };

constexpr bool is_packed(Order order) { return order == Order::tnd || order == Order::ntd; }
constexpr int rank(Order order) { return order == Order::bsh || is_packed(order) ? 3 : 4; }
constexpr const char* axes(Order order) {
    switch (order) {
        case Order::bsh: return "(B, S, N*D)";
        case Order::bsnd: return "(B, S, N, D)";
        case Order::bnsd: return "(B, N, S, D)";
        case Order::nbsd: return "(N, B, S, D)";
        case Order::tnd: return "(T, N, D)";
        case Order::ntd: return "(N, T, D)";
    }
    return "";
}

struct InputLayout {
    const char* name;
    Order query;  // also the order of unpaged key and value
    Order out;
};

inline constexpr InputLayout kInputLayouts[] = {
    {"BSH", Order::bsh, Order::bsh},         {"BSND", Order::bsnd, Order::bsnd},
    {"BNSD", Order::bnsd, Order::bnsd},      {"TND", Order::tnd, Order::tnd},
    {"NTD", Order::ntd, Order::ntd},         {"BSH_BNSD", Order::bsh, Order::bnsd},
    {"BSND_BNSD", Order::bsnd, Order::bnsd}, {"BNSD_BSND", Order::bnsd, Order::bsnd},
    {"NTD_TND", Order::ntd, Order::tnd},     {"BSH_NBSD", Order::bsh, Order::nbsd},
    {"BSND_NBSD", Order::bsnd, Order::nbsd}, {"BNSD_NBSD", Order::bnsd, Order::nbsd},
    {"TND_NTD", Order::tnd, Order::ntd},
};

// Null for an unknown name; names are case-sensitive.
inline const InputLayout* find_layout(const char* name) {
    for (const InputLayout& layout : kInputLayouts) {
        if (std::strcmp(layout.name, name) == 0) return &layout;
    }
    return nullptr;
}

struct Extents {
    int64_t batch = 1;   // packed: 1
    int64_t tokens = 0;  // of one sequence; packed: of all
    int64_t heads = 0;
    int64_t dim = 0;
};

// `shape` has rank(order) entries. `heads` splits the fused axis of bsh (which it must divide); other orders have heads
// of their own.
constexpr Extents extents(Order order, const int64_t* shape, int64_t heads) {
    switch (order) {
        case Order::bsh: return {shape[0], shape[1], heads, shape[2] / heads};
        case Order::bsnd: return {shape[0], shape[1], shape[2], shape[3]};
        case Order::bnsd: return {shape[0], shape[2], shape[1], shape[3]};
        case Order::nbsd: return {shape[1], shape[2], shape[0], shape[3]};
        case Order::tnd: return {1, shape[0], shape[1], shape[2]};
        case Order::ntd: return {1, shape[1], shape[0], shape[2]};
    }
    return {};
}

// The inverse of extents(): writes rank(order) entries.
constexpr void shape(Order order, const Extents& e, int64_t* out) {
    const int64_t fused = e.heads * e.dim;
    switch (order) {
        case Order::bsh: out[0] = e.batch, out[1] = e.tokens, out[2] = fused; break;
        case Order::bsnd: out[0] = e.batch, out[1] = e.tokens, out[2] = e.heads, out[3] = e.dim; break;
        case Order::bnsd: out[0] = e.batch, out[1] = e.heads, out[2] = e.tokens, out[3] = e.dim; break;
        case Order::nbsd: out[0] = e.heads, out[1] = e.batch, out[2] = e.tokens, out[3] = e.dim; break;
        case Order::tnd: out[0] = e.tokens, out[1] = e.heads, out[2] = e.dim; break;
        case Order::ntd: out[0] = e.heads, out[1] = e.tokens, out[2] = e.dim; break;
    }
}

// Element (batch b, token t, head n, channel d) of a dense tensor lies at b * batch + t * token + n * head + d.
struct Strides {
    int64_t batch = 0;
    int64_t token = 0;
    int64_t head = 0;
};

constexpr Strides dense_strides(Order order, const Extents& e) {
    const int64_t row = e.heads * e.dim;
    const int64_t plane = e.tokens * e.dim;
    switch (order) {
        case Order::bsh:
        case Order::bsnd: return {e.tokens * row, row, e.dim};
        case Order::bnsd: return {e.heads * plane, e.dim, plane};
        case Order::nbsd: return {plane, e.dim, e.batch * plane};
        case Order::tnd: return {0, row, e.dim};
        case Order::ntd: return {0, e.dim, plane};
    }
    return {};
}

// softmaxLse has one value a row and puts heads before tokens, whatever the query's order; packed ones the other way
// round, even if the output is ntd.
constexpr Order lse_order(Order query) { return is_packed(query) ? Order::tnd : Order::bnsd; }

}  // namespace acl_attn::geometry
