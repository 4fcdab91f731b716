// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Paged keys: what the block table and the size of blocks may be, and what does not go with paging. The caches' own
// shapes are in rules_cache.cpp.
#include <algorithm>
#include <iterator>

#include "ops/fused_infer_attention_score/rules.h"
#include "ops/fused_infer_attention_score/shorthand.h"

namespace acl_attn::ops::fia {
namespace {

Finding table_type(const Case& c) {
    if (!c.is_paged() || c.block_table->dtype == ACL_INT32) return {};
    return dtype_refused("blockTable", "INT32", c.block_table->dtype);
}

Finding table_not_empty(const Case& c) {
    if (!c.is_paged() || !c.block_table->is_empty()) return {};
    return violated("blockTable", "no empty axis", text("shape ", shape_text(*c.block_table)));
}

Finding table_shape(const Case& c) {
    if (!c.is_paged() || (c.call.is_largest && !c.is_host())) return {};
    // Entries that lie beyond the sequences are never looked at.
    int64_t longest = 0;
    for (int64_t b = 0; c.kv_lengths != nullptr && !c.call.is_largest && b < c.batch; ++b) {
        if (b < static_cast<int64_t>(c.kv_lengths->size())) longest = std::max(longest, (*c.kv_lengths)[b]);
    }
    const int64_t rows = c.block_table->shape[0];
    const int64_t columns = geometry::blocks_for(longest, c.call.block_size);
    if (rows == c.batch && c.block_table->shape[1] >= columns) return {};
    std::string fix;
    if (rows == c.batch - 1 && c.is_packed() && c.q_lengths->front() == 0) {
        fix = "actualSeqLengths looks like cu_seqlens: drop the leading 0";
    } else if (rows == c.batch && c.batch > 1) {
        fix = "with paging, actualSeqLengthsKv counts each sequence's keys by itself: no running totals";
    }
    return violated("blockTable",
                    text("shape (", c.batch, ", >= ", columns, ") for ", c.batch, " sequences of up to ", longest,
                         " keys in blocks of ", c.call.block_size),
                    shape_text(*c.block_table), fix);
}

Finding lengths_given(const Case& c) {
    if (!c.is_paged() || c.call.is_largest || c.kv_lengths != nullptr) return {};
    return violated("actualSeqLengthsKv", "with a blockTable, the number of keys of each sequence", "nothing");
}

Finding mask_width(const Case& c) {
    if (!c.is_paged() || c.mask == nullptr || c.mask->rank < 1 || !is_one_of(c.sparse_mode_number, {0, 1})) return {};
    if (c.call.is_largest && !c.is_older()) return {};
    if (c.mask->shape[c.mask->rank - 1] >= c.product_kv) return {};
    return violated("attenMask", text("a last axis of at least ", c.product_kv, ", what the blocks in use hold"),
                    text("shape ", shape_text(*c.mask)));
}

// Also tensors without elements, with which callers may mean an absent one elsewhere.
Finding none_given(const Case& c, std::initializer_list<Input> inputs) {
    if (!c.is_paged()) return {};
    for (const Input input : inputs) {
        if (c.is_host() ? c.extra[input] != nullptr : c.call.tensors[input].tensor != nullptr) {
            return excluded(c, input, "a blockTable");
        }
    }
    return {};
}
Finding no_padding(const Case& c) { return none_given(c, {kQueryPaddingSize, kKvPaddingSize}); }
Finding no_prefix(const Case& c) { return none_given(c, {kKeySharedPrefix, kValueSharedPrefix}); }

Finding no_different_dims(const Case& c) {
    if (!c.is_paged() || !c.is_dim_different()) return {};
    return violated("value", text("query's head dim ", c.dim, " with a blockTable"), text(c.dim_v));
}

Finding int8_without_rope(const Case& c) {
    if (!c.is_paged() || !c.is_full_quant() || c.rope == Rope::split) return {};
    if (c.is_newest() && c.query->dtype != ACL_INT8) return {};
    return dtype_refused("query", "FLOAT16 or BF16 with a blockTable and no ropes", c.query->dtype);
}

Finding quant_mla_rank(const Case& c) {
    const bool is_quantised = is_one_of(c.quantisation, {Quantisation::mla, Quantisation::per_tensor});
    if (!c.is_paged() || !is_quantised || !is_float8(c.query->dtype) || c.cache != geometry::CacheOrder::bnnbsd ||
        !layout_is(c, {"BSH", "BSND", "BSH_NBSD", "BSND_NBSD"})) {
        return {};
    }
    return violated("key", text("a cache of 3 or 5 axes with 8-bit floats and layout ", c.layout->name),
                    text("shape ", shape_text(*c.key->front())));
}

Finding anti_rank(const Case& c) {
    if (!c.is_paged() || !c.is_anti() || c.cache != geometry::CacheOrder::bnnbsd ||
        layout_is(c, {"BNSD", "BNSD_BSND", "TND"})) {
        return {};
    }
    return layout_refused(c, "BNSD, BNSD_BSND or TND", "a cache of 4 axes whose type is not query's");
}

Finding anti_prefill(const Case& c) {
    if (!c.is_paged() || !c.is_anti() || c.product_q <= 1 || !c.is_int8_kv() ||
        !is_one_of(c.call.key_antiquant_mode, {0, 1})) {
        return {};
    }
    return violated("blockTable", "nothing with INT8 keys in mode 0 or 1 and several query tokens",
                    text("shape ", shape_text(*c.block_table)));
}

Finding mx_rank(const Case& c) {
    if (!c.is_paged() || c.quantisation != Quantisation::mx_f8 || c.cache != geometry::CacheOrder::bnbsh) return {};
    return violated("key", "a cache of 4 or 5 axes with modes 6, 6, 8", text("shape ", shape_text(*c.key->front())));
}

Finding gqa_f8_rank(const Case& c) {
    if (!c.is_paged() || c.quantisation != Quantisation::gqa_f8 || c.cache == geometry::CacheOrder::bnnbsd) return {};
    return violated("key", "a cache of 4 axes with modes 3, 3, 2", text("shape ", shape_text(*c.key->front())));
}

Finding block_of(const Case& c, int64_t step, int64_t limit, const char* with) {
    const int64_t size = c.call.block_size;
    if (size % step == 0 && size >= step && size <= limit) return {};
    return violated("blockSize", text("a multiple of ", step, " up to ", limit, " ", with), text(size));
}

bool is_tile_dim(const Case& c) { return is_one_of(c.dim, {64, 128}); }
bool is_plain_paged_gqa(const Case& c) { return c.is_paged() && c.is_plain_quant() && !c.is_mla(); }

Finding mla_block(const Case& c) {
    return c.is_paged() && c.is_plain_quant() && c.is_mla() ? block_of(c, 16, 1024, "with MLA") : Finding{};
}
Finding tile_block(const Case& c) {
    return is_plain_paged_gqa(c) && is_tile_dim(c) ? block_of(c, 16, 1024, "for head dims 64 and 128") : Finding{};
}
Finding prefill_block(const Case& c) {
    if (!is_plain_paged_gqa(c) || is_tile_dim(c) || c.product_q <= 1) return {};
    return block_of(c, 128, 1024, text("for head dim ", c.dim, " and several query tokens").c_str());
}
Finding decode_block(const Case& c) {
    if (!is_plain_paged_gqa(c) || is_tile_dim(c) || c.product_q > 1) return {};
    return block_of(c, 16, 512, text("for head dim ", c.dim, " and single query tokens").c_str());
}
Finding anti_block(const Case& c) {
    if (!c.is_paged() || !c.is_anti()) return {};
    const bool is_half = is_one_of(c.key->front()->dtype, {ACL_INT4, ACL_FLOAT4_E2M1});
    return block_of(c, is_half ? 64 : 32, 512, is_half ? "with 4-bit keys" : "with 8-bit keys");
}
Finding quant_block(const Case& c, Quantisation quantisation, const char* with) {
    if (!c.is_paged() || c.quantisation != quantisation || c.call.block_size == 128) return {};
    return violated("blockSize", text("128 with ", with), text(c.call.block_size));
}
Finding quant_mla_block(const Case& c) { return quant_block(c, Quantisation::mla, "fully quantised decode MLA"); }
Finding gqa_f8_block(const Case& c) { return quant_block(c, Quantisation::gqa_f8, "modes 3, 3, 2"); }
Finding mx_block(const Case& c) {
    if (!c.is_paged() || c.quantisation != Quantisation::mx_f8) return {};
    if (c.is_host() ? c.call.block_size % 64 == 0 : is_one_of(c.call.block_size, {64, 128, 256, 512, 1024})) return {};
    return violated("blockSize",
                    c.is_host() ? "a multiple of 64 with modes 6, 6, 8"
                                : "64, 128, 256, 512 or 1024 with modes 6, 6, 8",
                    text(c.call.block_size));
}

constexpr const char* kTable = "blockTable";
constexpr const char* kSize = "blockSize";

constexpr Rule<Case> kRules[] = {
    {"PA-S-01", Tier::single, table_type, kEverywhere, kTable, "blockTable is INT32", Known::tensors},
    {"PA-S-03", Tier::single, table_not_empty, kEverywhere, kTable, "no axis of blockTable is empty", Known::tensors},
    {"PA-E-01", Tier::cross, lengths_given, kProducts, "actualSeqLengthsKv",
     "paged keys come with lengths that have values"},
    {"PA-X-04", Tier::cross, quant_mla_rank, kProducts, "key",
     "with 8-bit floats and layouts BSH, BSND, BSH_NBSD and BSND_NBSD, the cache has 3 or 5 axes"},
    {"PA-X-11", Tier::cross, mx_rank, and_host(newest_only(kProducts)), "key",
     "with modes 6, 6, 8 the cache has 4 or 5 axes"},
    {"PA-X-12", Tier::cross, gqa_f8_rank, and_host(newest_only(kProducts)), "key",
     "with modes 3, 3, 2 the cache has 4 axes"},
    {"PA-X-01", Tier::cross, mask_width, kProducts, "attenMask",
     "for sparseMode 0 and 1 the mask is as wide as the blocks of the longest sequence"},
    {"PA-E-03", Tier::cross, no_padding, kEverywhere, "queryPaddingSize, kvPaddingSize",
     "paged keys have no left padding"},
    {"PA-E-04", Tier::cross, no_prefix, kEverywhere, "keySharedPrefix, valueSharedPrefix",
     "paged keys have no shared prefix"},
    {"PA-E-05", Tier::cross, no_different_dims, kAscend950, "value",
     "paged values have query's head dim, or are part of the 192/128 form"},
    {"PA-X-08", Tier::cross, int8_without_rope, kProducts, "query",
     "quantised queries over paged keys have ropes; newest software asks this of INT8 only"},
    {"PA-X-10", Tier::cross, anti_prefill, kProducts, kTable,
     "several query tokens over INT8 keys in mode 0 or 1 are not paged"},
    {"PA-X-03", Tier::cross, anti_rank, kProducts, "inputLayout",
     "over a cache of 4 axes of another type, the layout is BNSD, BNSD_BSND or TND"},
    {"PA-S-06", Tier::consistency, mla_block, kProducts, kSize, "in MLA, blockSize is a multiple of 16 up to 1024"},
    {"PA-S-07", Tier::consistency, tile_block, kProducts, kSize,
     "for head dims 64 and 128, blockSize is a multiple of 16 up to 1024"},
    {"PA-S-08", Tier::consistency, prefill_block, kProducts, kSize,
     "for other head dims and several query tokens, blockSize is a multiple of 128 up to 1024"},
    {"PA-S-09", Tier::consistency, decode_block, kProducts, kSize,
     "for other head dims and single query tokens, blockSize is a multiple of 16 up to 512"},
    {"PA-S-10", Tier::consistency, anti_block, kProducts, kSize,
     "with keys of another type, blockSize is a multiple of 32 bytes (32 of 8-bit, 64 of 4-bit elements) up to 512"},
    {"PA-S-11", Tier::consistency, quant_mla_block, kProducts, kSize,
     "in fully quantised decode MLA, blockSize is 128"},
    {"PA-S-12", Tier::consistency, mx_block, and_host(newest_only(kProducts)), kSize,
     "with modes 6, 6, 8, blockSize is 64, 128, 256, 512 or 1024; profile host takes multiples of 64"},
    {"PA-S-13", Tier::consistency, gqa_f8_block, newest_only(kProducts), kSize,
     "with modes 3, 3, 2, blockSize is 128"},
    {"PA-S-05", Tier::consistency, table_shape, kEverywhere, kTable,
     "blockTable has a row for each sequence, and columns for the blocks of the longest"},
};

}  // namespace

const Group<Case> kPagingRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::fia
