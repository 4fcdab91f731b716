// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What a call means: its class, its dimensions, its sequences. Filled step by step; the rules that are evaluated early
// may only look at what the steps before them have filled.
#pragma once

#include <cstdint>
#include <vector>

#include "geometry/band.h"
#include "geometry/layout.h"
#include "geometry/paged.h"
#include "ops/fused_infer_attention_score/call.h"

namespace acl_attn::ops::fia {

enum class Storage : uint8_t {
    dense,  // one tensor for all sequences
    list,   // one tensor a sequence
    paged,  // blocks of one cache, found through the block table
};

struct Tokens {
    int64_t start = 0;  // in the token axis
    int64_t count = 0;
};

struct Case {
    explicit Case(const Call& c) : call(c) {}

    const Call& call;

    // After classify(). Null: absent.
    const meta::Tensor* query = nullptr;
    const std::vector<TensorRef>* key = nullptr;
    const std::vector<TensorRef>* value = nullptr;
    const meta::Tensor* mask = nullptr;
    const meta::Tensor* block_table = nullptr;
    const std::vector<int64_t>* q_lengths = nullptr;
    const std::vector<int64_t>* kv_lengths = nullptr;
    const meta::Tensor* out = nullptr;
    const meta::Tensor* lse = nullptr;

    Storage storage = Storage::dense;
    const geometry::InputLayout* layout = nullptr;
    int64_t heads = 0;
    int64_t kv_heads = 0;
    int64_t batch = 0;
    geometry::Extents q;                          // of query
    std::vector<geometry::Extents> k, v;          // of each member; not paged
    geometry::CacheOrder cache{};                 // paged
    geometry::CacheExtents k_cache, v_cache;      // paged
    int64_t dim = 0;                              // of query
    int64_t dim_v = 0;                            // of value
    bool is_empty = false;                        // query and attentionOut have no elements: nothing to do or to check
    bool kv_is_empty = false;                     // no member of key and value has elements: no row sees anything

    // After read_lengths(), one entry a sequence.
    std::vector<Tokens> q_tokens, kv_tokens;
    int64_t longest_q = 0;
    int64_t longest_kv = 0;

    bool is_packed() const { return geometry::is_packed(layout->query); }
    bool packs_kv() const { return is_packed() && storage != Storage::paged; }
    // Modes 2 to 4 are formulas; the tensor that products want with them carries nothing.
    bool reads_mask() const { return mask != nullptr && call.sparse_mode <= 1; }
    geometry::SparseMode sparse_mode() const { return static_cast<geometry::SparseMode>(call.sparse_mode); }
};

// The parser's rules and what they establish, up to `is_empty`.
Finding classify(Case& subject);

// Reads the length arrays, whose counts, signs and order the rules have checked.
void read_lengths(Case& subject);

}  // namespace acl_attn::ops::fia
