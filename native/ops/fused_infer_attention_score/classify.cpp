// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What a call means, found out without judging it: each stage goes as far as it can, and stops where a rule of the
// parser is broken, so that what the case says is right as far as `known` says that it is known.
#include <algorithm>
#include <cstdint>
#include <iterator>

#include "ops/fused_infer_attention_score/largest.h"
#include "ops/fused_infer_attention_score/parser.h"
#include "ops/saturating.h"
#include "ops/tensors.h"

namespace acl_attn::ops::fia {
namespace {

bool holds(Finding (*rule)(const Case&), const Case& c) { return !rule(c); }

bool find_tensors(Case& c) {
    const Call& call = c.call;
    c.query = call.tensors[kQuery].tensor.get();
    c.out = call.outputs[kAttentionOut].tensor.get();
    c.lse = call.outputs[kSoftmaxLse].tensor.get();
    for (const auto& [name, arg] : lists(call)) {
        if (arg.list == nullptr || arg.list->tensors.empty()) return false;
    }
    if (c.query == nullptr || c.out == nullptr) return false;
    c.key = &call.key.list->tensors;
    c.value = &call.value.list->tensors;
    c.mask = given(call, kAttenMask);
    c.q_lengths = given_ints(call, kActualSeqLengths);
    c.kv_lengths = given_ints(call, kActualSeqLengthsKv);
    for (size_t i = 0; i < kInputCount; ++i) {
        if (i != kQuery && i != kAttenMask && i != kBlockTable) c.extra[i] = given(call, static_cast<Input>(i));
    }
    // A table with two axes is meant as a table even if one of them is empty; the paging rules refuse that.
    const meta::Tensor* table = call.tensors[kBlockTable].tensor.get();
    if (table != nullptr && (!table->is_empty() || table->rank == 2)) c.block_table = table;
    return true;
}

// Per-tensor is what is left over, also for modes that no scheme has.
Quantisation quantisation_of(const Case& c) {
    const aclDataType query = c.query->dtype;
    if (query != c.key->front()->dtype) return Quantisation::anti;
    if (query == ACL_FLOAT16 || query == ACL_BF16) return Quantisation::none;
    const bool knows_all = c.is_host() || c.is_newest();  // the page has no schemes for groups and paged scales
    if (knows_all && c.has_modes(6, 6, 8)) return Quantisation::mx_f8;
    if (knows_all && c.has_modes(3, 3, 2)) return Quantisation::gqa_f8;
    return c.has_rope() && c.has_modes(3, 0, 0) ? Quantisation::mla : Quantisation::per_tensor;
}

void find_classes(Case& c) {
    c.storage = c.key->size() > 1          ? Storage::list
                : c.block_table != nullptr ? Storage::paged
                                           : Storage::dense;
    c.quantisation = quantisation_of(c);
    c.is_empty = c.query->is_empty();
    const auto all_empty = [](const std::vector<TensorRef>& members) {
        return std::all_of(members.begin(), members.end(), [](const TensorRef& t) { return t->is_empty(); });
    };
    c.kv_is_empty = all_empty(*c.key) && all_empty(*c.value);
    // No row sees a key then, whatever else was given (COM-E-04).
    if (c.kv_is_empty) std::fill(std::begin(c.extra), std::end(c.extra), nullptr);
    c.layout = geometry::find_layout(c.call.input_layout != nullptr ? c.call.input_layout : "BSH");
    c.heads = c.call.num_heads;
    c.kv_heads = c.call.num_key_value_heads == 0 ? c.heads : c.call.num_key_value_heads;
    if (c.is_paged()) c.cache = static_cast<geometry::CacheOrder>(c.key->front()->rank);
}

// Fused axes that heads do not divide are cut down; rules of consistency tell.
bool find_dims(Case& c) {
    for (const auto rule : {attributes_fit, lists_have_equal_length, sizes_are_representable, layout_known,
                            cache_rank_known, heads_positive, kv_heads_positive, query_rank_fits, query_heads_divide,
                            kv_ranks_fit}) {
        if (!holds(rule, c)) return false;
    }
    c.q = geometry::extents(c.layout->query, c.query->shape, c.heads);
    c.dim = c.q.dim;
    if (c.is_paged()) {
        c.k_cache = geometry::cache_extents(c.cache, c.key->front()->shape, c.kv_heads);
        c.v_cache = geometry::cache_extents(c.cache, c.value->front()->shape, c.kv_heads);
        c.dim_v = c.v_cache.dim;
        return true;
    }
    c.k.reserve(c.key->size());
    c.v.reserve(c.key->size());
    for (size_t i = 0; i < c.key->size(); ++i) {
        c.k.push_back(geometry::extents(c.layout->query, (*c.key)[i]->shape, c.kv_heads));
        c.v.push_back(geometry::extents(c.layout->query, (*c.value)[i]->shape, c.kv_heads));
        if (c.kv_is_empty) c.k.back().tokens = c.v.back().tokens = 0;  // even if another axis is the empty one
    }
    c.dim_v = c.v.front().dim;
    return true;
}

bool find_batch(Case& c) {
    if (c.call.is_largest && !c.is_empty) assume_largest(c);
    if (!holds(batch_known, c)) return false;
    c.batch = !c.is_packed() ? c.q.batch : c.q_lengths == nullptr ? 0 : static_cast<int64_t>(c.q_lengths->size());
    return true;
}

void find_rope(Case& c) {
    const bool is_combined = c.is_older() ? c.dim > c.dim_v : c.dim == 192 && c.dim_v == 128;
    c.rope = c.has_rope() ? Rope::split : is_combined ? Rope::combined : Rope::none;
    if (!c.has_rope() || !holds(rope_ranks_fit, c)) return;
    c.q_rope = geometry::extents(c.layout->query, c.extra[kQueryRope]->shape, c.heads);
    if (c.is_paged()) {
        c.k_rope_cache = geometry::cache_extents(c.cache, c.extra[kKeyRope]->shape, c.kv_heads);
    } else {
        c.k_rope = geometry::extents(c.layout->query, c.extra[kKeyRope]->shape, c.kv_heads);
    }
}

void find_prefix(Case& c) {
    if (!c.has_prefix()) return;
    const int rank = geometry::rank(c.layout->query);
    if (c.extra[kKeySharedPrefix]->rank != rank || c.extra[kValueSharedPrefix]->rank != rank) return;
    c.k_prefix = geometry::extents(c.layout->query, c.extra[kKeySharedPrefix]->shape, c.kv_heads);
    c.v_prefix = geometry::extents(c.layout->query, c.extra[kValueSharedPrefix]->shape, c.kv_heads);
    const std::vector<int64_t>* length = given_ints(c.call, kActualSharedPrefixLen);
    const int64_t asked = length != nullptr ? length->front() : c.k_prefix.tokens;
    c.prefix_len = std::min(std::max<int64_t>(asked, 0), c.k_prefix.tokens);
}

int64_t longest_step(const std::vector<int64_t>& totals) {
    int64_t longest = 0;
    for (size_t i = 0; i < totals.size(); ++i) {
        longest = std::max(longest, saturating_difference(totals[i], i == 0 ? 0 : totals[i - 1]));
    }
    return longest;
}

int64_t product_kv(const Case& c) {
    if (c.is_paged()) {
        if (c.is_anti() || c.call.is_largest) return saturating_product(c.block_table->shape[1], c.call.block_size);
        int64_t longest = 0;
        if (c.kv_lengths != nullptr) longest = *std::max_element(c.kv_lengths->begin(), c.kv_lengths->end());
        const int64_t blocks = geometry::blocks_for(std::max<int64_t>(longest, 0), c.call.block_size);
        return saturating_product(blocks, c.call.block_size);
    }
    if (c.is_packed()) {
        return c.kv_lengths == nullptr || c.call.is_largest ? c.k[0].tokens : longest_step(*c.kv_lengths);
    }
    int64_t longest = 0;
    for (const geometry::Extents& member : c.k) longest = std::max(longest, member.tokens);
    return longest;
}

void find_product_sizes(Case& c) {
    const bool is_one = c.is_packed() && c.call.is_largest;
    c.product_batch = is_one ? 1 : c.batch;
    const bool by_axis = !c.is_packed() || is_one || c.q_lengths == nullptr;
    c.product_q = std::min(by_axis ? c.q.tokens : longest_step(*c.q_lengths), kMaxTokens);
    c.product_kv = std::min(product_kv(c), kMaxTokens);
}

// Where products look away from arguments of calls with one query token a sequence.
void drop_what_decode_ignores(Case& c) {
    if (c.is_host() || c.product_q != 1) return;
    const bool is_forced = c.is_older() && c.is_plain() && c.dim == c.dim_v && !c.has_rope();
    if (is_forced) {
        c.sparse_mode_number = 0;
        c.q_lengths = nullptr;
        c.extra[kQueryPaddingSize] = nullptr;
    }
    if (is_forced || c.is_anti()) c.pre_tokens = c.next_tokens = INT32_MAX;
}

}  // namespace

void interpret(Case& c) {
    if (!find_tensors(c)) return;
    find_classes(c);
    c.known = Known::tensors;
    if (!find_dims(c) || !find_batch(c)) return;
    if (c.is_empty) {  // nothing else is looked at
        c.known = Known::lengths;
        return;
    }
    for (const auto rule : {heads_divide, block_size_positive, table_rank_fits}) {
        if (!holds(rule, c)) return;
    }
    find_rope(c);
    find_prefix(c);
    find_product_sizes(c);
    drop_what_decode_ignores(c);
    c.known = read_lengths(c) ? Known::lengths : Known::dims;
}

}  // namespace acl_attn::ops::fia
