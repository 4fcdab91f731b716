// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include <iterator>

#include "ops/fused_infer_attention_score/rules.h"
#include "ops/tensors.h"

namespace acl_attn::ops::fia {
namespace {

using geometry::CacheExtents;
using geometry::CacheOrder;

bool is_paged(const Case& c) { return c.storage == Storage::paged; }

Finding table_rank(const Case& c) {
    if (!is_paged(c) || c.block_table->rank == 2) return {};
    return violated("blockTable", "2 axes (B, blocks of a sequence)", text("shape ", shape_text(*c.block_table)));
}

Finding table_type(const Case& c) {
    if (!is_paged(c) || c.block_table->dtype == ACL_INT32) return {};
    return violated("blockTable", "dtype INT32", meta::dtype_name(c.block_table->dtype));
}

Finding table_not_empty(const Case& c) {
    if (!is_paged(c) || !c.block_table->is_empty()) return {};
    return violated("blockTable", "no empty axis", text("shape ", shape_text(*c.block_table)));
}

Finding table_shape(const Case& c) {
    if (!is_paged(c)) return {};
    const int64_t rows = c.block_table->shape[0];
    const int64_t columns = geometry::blocks_for(c.longest_kv, c.call.block_size);
    if (rows == c.batch && c.block_table->shape[1] >= columns) return {};
    std::string fix;
    if (rows == c.batch - 1 && c.is_packed() && c.q_lengths->front() == 0) {
        fix = "actualSeqLengths looks like cu_seqlens: drop the leading 0";
    } else if (rows == c.batch && c.batch > 1) {
        fix = "with paging, actualSeqLengthsKv counts each sequence's keys by itself: no running totals";
    }
    return violated("blockTable",
                    text("shape (", c.batch, ", >= ", columns, ") for ", c.batch, " sequences of up to ", c.longest_kv,
                         " keys in blocks of ", c.call.block_size),
                    shape_text(*c.block_table), fix);
}

Finding cache_shape(const char* name, const Case& c, const meta::Tensor& tensor, const CacheExtents& e) {
    if (e.block_size != c.call.block_size || e.heads != c.kv_heads) {
        return violated(name,
                        text("a cache ", geometry::axes(c.cache), " of blockSize ", c.call.block_size, " and ",
                             c.kv_heads, " heads"),
                        shape_text(tensor));
    }
    // Fully quantised caches keep 32 bytes of a token together, other quantised ones 16 elements, on older products 32.
    const int64_t chunk = c.is_full_quant() ? 32 : 16;
    const bool may_be_32 = c.quantisation == Quantisation::anti;
    if (c.cache == CacheOrder::nz && e.chunk != chunk && !(may_be_32 && e.chunk == 32)) {
        return violated(name, text("a last axis of ", chunk, " in a rank-5 cache"), shape_text(tensor));
    }
    return {};
}

Finding key_cache_shape(const Case& c) {
    return is_paged(c) ? cache_shape("key", c, *c.key->front(), c.k_cache) : Finding{};
}

Finding value_cache_shape(const Case& c) {
    return is_paged(c) ? cache_shape("value", c, *c.value->front(), c.v_cache) : Finding{};
}

Finding equal_block_counts(const Case& c) {
    if (!is_paged(c) || c.k_cache.blocks == c.v_cache.blocks) return {};
    return violated("value", text(c.k_cache.blocks, " blocks, as key"), text(c.v_cache.blocks));
}

Finding cache_has_blocks(const Case& c) {
    if (!is_paged(c) || c.k_cache.blocks > 0 || c.longest_kv == 0) return {};
    return violated("key", text("at least one block for ", c.longest_kv, " keys"),
                    text("shape ", shape_text(*c.key->front())));
}

Finding cache_strides(const char* name, const Case& c, const meta::Tensor& tensor) {
    const int free = geometry::free_axes(c.cache);
    if (tensor.is_empty()) return {};
    if (!tensor.is_dense_from(free)) {
        return violated(name,
                        text("dense axes behind the ", free == 1 ? "block axis" : "block and the head axis"),
                        text("strides ", strides_text(tensor), " for shape ", shape_text(tensor)));
    }
    for (int axis = 0; axis < free; ++axis) {
        if (tensor.shape[axis] > 1 && tensor.stride[axis] <= 0) {
            return violated(name, "positive strides", strides_text(tensor));
        }
    }
    return {};
}

Finding key_cache_strides(const Case& c) {
    return is_paged(c) ? cache_strides("key", c, *c.key->front()) : Finding{};
}

Finding value_cache_strides(const Case& c) {
    return is_paged(c) ? cache_strides("value", c, *c.value->front()) : Finding{};
}

constexpr Rule<Case> kRules[] = {
    {"PA-S-02", Tier::single, table_rank},
    {"PA-S-01", Tier::single, table_type},
    {"PA-S-03", Tier::single, table_not_empty},
    {"PA-S-05", Tier::consistency, table_shape},
    {"PA-C-02", Tier::consistency, key_cache_shape},  // PA-C-01 to 03, by the rank of the cache
    {"PA-C-02", Tier::consistency, value_cache_shape},
    {"COM-C-27", Tier::consistency, equal_block_counts},
    {"HOST-C-01", Tier::consistency, cache_has_blocks},
    {"PA-C-04", Tier::consistency, key_cache_strides},  // with PA-C-06
    {"PA-C-04", Tier::consistency, value_cache_strides},
};

}  // namespace

const Group<Case> kPagingRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::fia
