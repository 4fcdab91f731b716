// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Every index formula against the definition it abbreviates: nested loops over the axes in memory order.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "check.h"
#include "geometry/band.h"
#include "geometry/layout.h"
#include "geometry/mask.h"
#include "geometry/paged.h"

using namespace acl_attn::geometry;

static void expect(bool ok, const std::string& what) { check_that(ok, what.c_str(), __FILE__, 0); }

// Visits all indices of `axes` (name and extent, outermost first) in row-major order, with the running element number.
using Index = std::map<char, int64_t>;
static void walk(const std::vector<std::pair<char, int64_t>>& axes, const std::function<void(Index&, int64_t)>& visit) {
    int64_t number = 0;
    Index index;
    const std::function<void(size_t)> descend = [&](size_t axis) {
        if (axis == axes.size()) {
            visit(index, number++);
            return;
        }
        for (int64_t i = 0; i < axes[axis].second; ++i) {
            index[axes[axis].first] = i;
            descend(axis + 1);
        }
    };
    descend(0);
}

static void test_orders() {
    constexpr int64_t B = 3, S = 5, N = 2, D = 7;
    const struct {
        Order order;
        std::vector<std::pair<char, int64_t>> axes;  // t stands for s where sequences are packed
        std::vector<int64_t> shape;
    } cases[] = {
        {Order::bsh, {{'b', B}, {'s', S}, {'n', N}, {'d', D}}, {B, S, N * D}},
        {Order::bsnd, {{'b', B}, {'s', S}, {'n', N}, {'d', D}}, {B, S, N, D}},
        {Order::bnsd, {{'b', B}, {'n', N}, {'s', S}, {'d', D}}, {B, N, S, D}},
        {Order::nbsd, {{'n', N}, {'b', B}, {'s', S}, {'d', D}}, {N, B, S, D}},
        {Order::tnd, {{'s', S}, {'n', N}, {'d', D}}, {S, N, D}},
        {Order::ntd, {{'n', N}, {'s', S}, {'d', D}}, {N, S, D}},
    };
    for (const auto& c : cases) {
        const std::string name = axes(c.order);
        expect(rank(c.order) == static_cast<int>(c.shape.size()), name + " rank");
        const Extents e = extents(c.order, c.shape.data(), N);
        const int64_t batch = is_packed(c.order) ? 1 : B;
        expect(e.batch == batch && e.tokens == S && e.heads == N && e.dim == D, name + " extents");
        int64_t back[4] = {};
        shape(c.order, e, back);
        expect(std::equal(c.shape.begin(), c.shape.end(), back), name + " shape");
        const Strides strides = dense_strides(c.order, e);
        walk(c.axes, [&](Index& i, int64_t number) {
            const int64_t got = i['b'] * strides.batch + i['s'] * strides.token + i['n'] * strides.head + i['d'];
            expect(got == number, name + " element " + std::to_string(number));
        });
    }
}

static void test_layout_names() {
    const struct {
        const char* name;
        Order query, out;
    } wanted[] = {
        {"BSH", Order::bsh, Order::bsh},         {"BSND", Order::bsnd, Order::bsnd},
        {"BNSD", Order::bnsd, Order::bnsd},      {"TND", Order::tnd, Order::tnd},
        {"NTD", Order::ntd, Order::ntd},         {"BNSD_BSND", Order::bnsd, Order::bsnd},
        {"BSH_BNSD", Order::bsh, Order::bnsd},   {"BSND_BNSD", Order::bsnd, Order::bnsd},
        {"NTD_TND", Order::ntd, Order::tnd},     {"BSH_NBSD", Order::bsh, Order::nbsd},
        {"BSND_NBSD", Order::bsnd, Order::nbsd}, {"BNSD_NBSD", Order::bnsd, Order::nbsd},
        {"TND_NTD", Order::tnd, Order::ntd},
    };
    for (const auto& w : wanted) {
        const InputLayout* layout = find_layout(w.name);
        expect(layout != nullptr && layout->query == w.query && layout->out == w.out, w.name);
        expect(lse_order(w.query) == (std::strchr(w.name, 'T') != nullptr ? Order::tnd : Order::bnsd), w.name);
    }
    expect(sizeof(kInputLayouts) / sizeof(kInputLayouts[0]) == 13, "13 layouts");
    for (const char* name : {"", "bsh", "BSH ", "NBSD", "BSH_", "TND_BSND", "BNSD_BNSD"}) {
        expect(find_layout(name) == nullptr, std::string("no layout named ") + name);
    }
}

static void test_caches() {
    constexpr int64_t blocks = 4, size = 6, heads = 3, dim = 32, chunk = 16;
    const struct {
        CacheOrder order;
        std::vector<std::pair<char, int64_t>> axes;
        std::vector<int64_t> shape;
    } cases[] = {
        {CacheOrder::bnbsh, {{'p', blocks}, {'r', size}, {'n', heads}, {'d', dim}}, {blocks, size, heads * dim}},
        {CacheOrder::bnnbsd, {{'p', blocks}, {'n', heads}, {'r', size}, {'d', dim}}, {blocks, heads, size, dim}},
        {CacheOrder::nz,
         {{'p', blocks}, {'n', heads}, {'c', dim / chunk}, {'r', size}, {'e', chunk}},
         {blocks, heads, dim / chunk, size, chunk}},
    };
    for (const auto& c : cases) {
        const std::string name = "cache of rank " + std::to_string(c.shape.size());
        expect(is_cache_rank(static_cast<int>(c.shape.size())), name);
        const CacheExtents e = cache_extents(c.order, c.shape.data(), heads);
        expect(e.blocks == blocks && e.block_size == size && e.heads == heads && e.dim == dim, name + " extents");
        std::vector<int64_t> stride(c.shape.size(), 1);
        for (size_t axis = stride.size() - 1; axis > 0; --axis) stride[axis - 1] = stride[axis] * c.shape[axis];
        for (const int64_t gap : {0, 5}) {  // between blocks
            stride[0] += gap;
            const CacheStrides strides = cache_strides(c.order, e, stride.data());
            walk(c.axes, [&](Index& i, int64_t number) {
                const int64_t d = c.order == CacheOrder::nz ? i['c'] * chunk + i['e'] : i['d'];
                const int64_t got = i['p'] * strides.block + i['r'] * strides.token + i['n'] * strides.head +
                                    d / e.chunk * strides.chunk + d % e.chunk;
                expect(got == number + i['p'] * gap, name + " element " + std::to_string(number));
            });
        }
        if (free_axes(c.order) > 1) {  // a gap between heads as well
            stride[1] += 3;
            expect(cache_strides(c.order, e, stride.data()).head == stride[1], name + " head stride");
        }
    }
    expect(!is_cache_rank(2) && !is_cache_rank(6), "cache ranks");
    expect(blocks_for(0, 4) == 0 && blocks_for(1, 4) == 1 && blocks_for(4, 4) == 1 && blocks_for(5, 4) == 2, "blocks");
    expect(blocks_for(INT64_MAX, 1) == INT64_MAX && blocks_for(INT64_MAX, 2) == INT64_MAX / 2 + 1, "many blocks");
}

static bool kept(SparseMode mode, bool mask, int64_t pre, int64_t next, int64_t q, int64_t kv, int64_t i, int64_t j) {
    switch (mode) {
        case SparseMode::window: return !mask || (i - pre <= j && j <= i + next);
        case SparseMode::all: return true;
        case SparseMode::causal_top: return j <= i;
        case SparseMode::causal: return j <= i + (kv - q);
        case SparseMode::band: return i - (pre + q - kv) <= j && j <= i + (next + kv - q);
    }
    return false;
}

static void test_bands() {
    constexpr int64_t most = INT32_MAX;
    for (int number = 0; number <= 4; ++number) {
        const SparseMode mode = static_cast<SparseMode>(number);
        for (const bool mask : {false, true})
            for (const int64_t pre : {int64_t{-2}, int64_t{0}, int64_t{2}, most})
                for (const int64_t next : {int64_t{-3}, int64_t{0}, int64_t{1}, most})
                    for (int64_t q = 0; q < 7; ++q)
                        for (int64_t kv = 0; kv < 7; ++kv) {
                            const Band band = visible_band(mode, mask, pre, next, q, kv);
                            for (int64_t i = 0; i < q; ++i) {
                                const Columns seen = visible_columns(band, i, kv);
                                for (int64_t j = 0; j < kv; ++j) {
                                    expect((seen.begin <= j && j < seen.end) ==
                                               kept(mode, mask, pre, next, q, kv, i, j),
                                           "sparse mode " + std::to_string(number));
                                }
                            }
                        }
    }
    // Beyond 32 bits: clamped before they are added to anything.
    const Band wide = visible_band(SparseMode::band, true, INT64_MAX, INT64_MAX, 3, 5);
    expect(wide.first == kOpenFirst && wide.last == kOpenLast, "open band");
    const Band none = visible_band(SparseMode::window, true, INT64_MIN, INT64_MIN, 3, 5);
    const Columns seen = visible_columns(none, 2, 5);
    expect(seen.begin == seen.end, "band out of reach");
    const Columns far = visible_columns(Band{}, INT64_MAX / 4, INT64_MAX / 4);
    expect(far.begin == 0 && far.end == INT64_MAX / 4, "long sequences");
}

static void test_masks() {
    constexpr int64_t B = 3, R = 4, C = 5;
    const std::vector<std::vector<int64_t>> shapes = {{R, C}, {1, R, C}, {1, 1, R, C}, {B, R, C}, {B, 1, R, C}};
    for (const auto& dims : shapes) {
        const MaskExtents e = mask_extents(static_cast<int>(dims.size()), dims.data());
        const bool shared = dims.size() == 2 || dims[0] == 1;
        expect(e.rows == R && e.columns == C && e.batches == (shared ? 1 : B), "mask extents");
        walk({{'b', shared ? 1 : B}, {'r', R}, {'c', C}}, [&](Index& i, int64_t number) {
            expect(mask_origin(e, i['b']) + i['r'] * e.columns + i['c'] == number, "mask element");
        });
        if (shared) expect(mask_origin(e, B - 1) == 0, "shared mask");
    }
}

int main() {
    test_orders();
    test_layout_names();
    test_caches();
    test_bands();
    test_masks();
    return check_result();
}
