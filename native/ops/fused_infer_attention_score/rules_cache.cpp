// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Paged caches: their axes and strides.
#include <iterator>
#include <string>

#include "ops/fused_infer_attention_score/rules.h"
#include "ops/fused_infer_attention_score/shorthand.h"

namespace acl_attn::ops::fia {
namespace {

using geometry::CacheExtents;
using geometry::CacheOrder;

struct Cache {
    Input input;
    const meta::Tensor* tensor;
    CacheExtents extents;
    int64_t dim;    // that it should have
    int64_t chunk;  // of a cache of 5 axes
};

// Quantised caches keep 32 bytes of a token together, those that are quantised alone 16 elements.
int64_t chunk_of(const Case& c) { return c.is_full_quant() ? 32 : 16; }

template <class Visit>
Finding each_cache(const Case& c, CacheOrder order, Visit&& visit) {
    if (!c.is_paged() || c.cache != order) return {};
    const Cache caches[] = {
        {kKey, c.key->front().get(), c.k_cache, c.dim, chunk_of(c)},
        {kValue, c.value->front().get(), c.v_cache, c.dim_v, chunk_of(c)},
        {kKeyRope, c.has_rope() ? c.extra[kKeyRope] : nullptr, c.k_rope_cache, c.q_rope.dim, 16},
    };
    for (const Cache& cache : caches) {
        if (cache.tensor == nullptr || cache.tensor->rank != static_cast<int>(order)) continue;
        if (Finding f = visit(cache)) return f;
    }
    return {};
}

Finding cache_refused(const Case& c, const Cache& cache) {
    return violated(kInputNames[cache.input],
                    text("a cache ", geometry::axes(c.cache), " of blockSize ", c.call.block_size, " and ", c.kv_heads,
                         " heads of ", cache.dim),
                    shape_text(*cache.tensor));
}

// Shapes hang on blockSize only; profile host looks at them also where lengths have no values.
bool skips(const Case& c) { return c.call.is_largest && !c.is_host(); }

Finding fused_cache(const Case& c) {
    if (skips(c)) return {};
    return each_cache(c, CacheOrder::bnbsh, [&](const Cache& cache) -> Finding {
        const int64_t* shape = cache.tensor->shape;
        const bool fits = shape[1] == c.call.block_size && shape[2] % c.kv_heads == 0 &&
                          shape[2] / c.kv_heads == (c.is_host() && cache.input == kKeyRope ? cache.extents.dim
                                                                                           : cache.dim);
        return fits ? Finding{} : cache_refused(c, cache);
    });
}

Finding headed_cache(const Case& c) {
    if (skips(c)) return {};
    return each_cache(c, CacheOrder::bnnbsd, [&](const Cache& cache) -> Finding {
        const CacheExtents& e = cache.extents;
        const bool fits = e.block_size == c.call.block_size && e.heads == c.kv_heads && e.dim == cache.dim;
        return fits ? Finding{} : cache_refused(c, cache);
    });
}

// On the older products, keys that are quantised alone stand in chunks of 32 too.
Finding chunked_cache(const Case& c) {
    if (skips(c)) return {};
    return each_cache(c, CacheOrder::nz, [&](const Cache& cache) -> Finding {
        const CacheExtents& e = cache.extents;
        const bool fits = e.block_size == c.call.block_size && e.heads == c.kv_heads && e.dim == cache.dim;
        if (!fits) return cache_refused(c, cache);
        const bool is_rope = cache.input == kKeyRope;
        const bool wants_32 = c.is_older() && c.is_anti() && !is_rope;
        const bool takes_32 = wants_32 || (c.is_host() && c.is_anti() && !is_rope);
        if ((e.chunk == cache.chunk && !wants_32) || (takes_32 && e.chunk == 32)) return {};
        return violated(kInputNames[cache.input],
                        text("a last axis of ", wants_32 ? 32 : cache.chunk, " in a cache of 5 axes"),
                        shape_text(*cache.tensor));
    });
}

Finding fused_width(const Case& c) {
    constexpr int64_t limit = 65535;
    if (!c.is_paged() || c.cache != CacheOrder::bnbsh || skips(c)) return {};
    const int64_t width = c.key->front()->shape[2];
    if (width <= limit) return {};
    return violated("key", text("a last axis of at most ", limit, " in a cache of 3 axes"), text(width),
                    "a cache of 4 axes has no such limit");
}

// How many leading axes may have gaps.
int free_axes(const Case& c) {
    if (c.is_host()) return geometry::free_axes(c.cache);
    if (c.is_older()) return c.is_decode_mla() && c.is_plain_quant() ? 1 : 0;
    if (c.is_anti() || c.quantisation == Quantisation::mla) return 0;
    return geometry::free_axes(c.cache);
}

Finding cache_strides(const Case& c) {
    if (!c.is_paged()) return {};
    const int free = free_axes(c);
    for (const auto& [name, tensor] : {std::pair<const char*, const meta::Tensor*>{"key", c.key->front().get()},
                                       {"value", c.value->front().get()},
                                       {"keyRope", c.has_rope() ? c.extra[kKeyRope] : nullptr}}) {
        if (tensor == nullptr || tensor->is_empty()) continue;
        if (!tensor->is_dense_from(free)) {
            return violated(name,
                            free == 0   ? "a contiguous cache"
                            : free == 1 ? "dense axes behind the block axis"
                                        : "dense axes behind the block and the head axis",
                            text("strides ", strides_text(*tensor), " for shape ", shape_text(*tensor)));
        }
    }
    return {};
}

Finding cache_has_blocks(const Case& c) {
    if (!c.is_paged() || c.k_cache.blocks > 0 || c.longest_kv == 0) return {};
    return violated("key", text("at least one block for ", c.longest_kv, " keys"),
                    text("shape ", shape_text(*c.key->front())));
}

constexpr const char* kCaches = "key, value, keyRope";

constexpr Rule<Case> kRules[] = {
    {"PA-C-01", Tier::consistency, fused_cache, kEverywhere, kCaches,
     "caches of 3 axes are (blocks, blockSize, Nkv*D)"},
    {"PA-C-02", Tier::consistency, headed_cache, kEverywhere, kCaches,
     "caches of 4 axes are (blocks, Nkv, blockSize, D)"},
    {"PA-C-03", Tier::consistency, chunked_cache, kEverywhere, kCaches,
     "caches of 5 axes are (blocks, Nkv, D/D0, blockSize, D0), where D0 is 16, or 32 if the call is fully quantised; "
     "older products have 32 for keys of another type too"},
    {"PA-X-02", Tier::consistency, fused_width, kProducts, "key", "in caches of 3 axes, Nkv*D is at most 65535"},
    {"PA-C-04", Tier::consistency, cache_strides, kEverywhere, kCaches,
     "only the block axis of caches may have gaps, and the head axis of those of 4 or 5 axes; none where keys have "
     "another type or decode MLA is fully quantised; on older products only the block axis, in decode MLA"},
    {"HOST-C-01", Tier::consistency, cache_has_blocks, kEverywhere, "key",
     "a cache from which keys are read has blocks", Known::lengths},
};

}  // namespace

const Group<Case> kCacheRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::fia
