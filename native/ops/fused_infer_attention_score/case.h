// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What a call means: its class, its dimensions, its sequences. Filled step by step; the rules that are evaluated early
// may only look at what the steps before them have filled.
#pragma once

#include <cstdint>
#include <string>
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

enum class Quantisation : uint8_t {
    none,
    anti,        // keys and values are stored in a type of their own
    per_tensor,  // INT8 throughout
    mla,         // decode MLA
    gqa_f8,
    mx_f8,
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
    const meta::Tensor* extra[kInputCount] = {};  // the other plain tensors
    const std::vector<int64_t>* q_lengths = nullptr;
    const std::vector<int64_t>* kv_lengths = nullptr;
    std::vector<int64_t> assumed_q, assumed_kv;   // what the two above are where lengths have no values
    const meta::Tensor* out = nullptr;
    const meta::Tensor* lse = nullptr;

    Storage storage = Storage::dense;
    const geometry::InputLayout* layout = nullptr;
    Quantisation quantisation = Quantisation::none;
    int64_t heads = 0;
    int64_t kv_heads = 0;
    int64_t batch = 0;
    geometry::Extents q;                          // of query
    std::vector<geometry::Extents> k, v;          // of each member; not paged
    geometry::CacheOrder cache{};                 // paged
    geometry::CacheExtents k_cache, v_cache;      // paged
    int64_t dim = 0;                              // of query
    int64_t dim_v = 0;                            // of value
    geometry::Extents q_rope, k_rope;             // k_rope: not paged
    geometry::CacheExtents k_rope_cache;          // paged
    geometry::Extents k_prefix, v_prefix;
    bool is_empty = false;                        // query and attentionOut have no elements: nothing to do or to check
    bool kv_is_empty = false;                     // no member of key and value has elements: no row sees anything

    // After read_lengths(), one entry a sequence.
    std::vector<Tokens> q_tokens, kv_tokens;
    int64_t longest_q = 0;
    int64_t longest_kv = 0;                       // without the prefix
    int64_t prefix_len = 0;

    bool is_packed() const { return geometry::is_packed(layout->query); }
    bool packs_kv() const { return is_packed() && storage != Storage::paged; }
    bool has_rope() const { return extra[kQueryRope] != nullptr && extra[kKeyRope] != nullptr; }
    // Decode MLA: keys are what values are made of, and the value tensors are never read.
    bool value_is_key() const { return has_rope() && dim == 512; }
    bool has_prefix() const { return extra[kKeySharedPrefix] != nullptr && extra[kValueSharedPrefix] != nullptr; }
    bool has_slopes() const { return call.pse_type == 2 || call.pse_type == 3; }
    bool is_full_quant() const { return quantisation > Quantisation::anti; }
    bool is_post_quant() const { return out->dtype != ACL_FLOAT16 && out->dtype != ACL_BF16; }
    // Tokens that stand at the end of their axis, before as many padding tokens as a device tensor says.
    bool pads_query() const { return extra[kQueryPaddingSize] != nullptr && q.tokens > 1; }
    bool pads_kv() const { return extra[kKvPaddingSize] != nullptr; }
    // Mode 0 has a window if it has a mask, and forgets it where tokens stand at the end of their axis.
    bool has_window() const {
        return mask != nullptr && call.sparse_mode == 0 && !pads_query() && !pads_kv();
    }
    // The columns of a mask or a bias that the run may look at.
    int64_t mask_rows() const { return pads_query() ? q.tokens : longest_q; }
    int64_t mask_columns() const { return pads_kv() ? k.front().tokens : prefix_len + longest_kv; }
    // Modes 2 to 4 are formulas; the tensor that products want with them carries nothing.
    bool reads_mask() const { return mask != nullptr && (call.sparse_mode <= 1 || is_tree()); }
    bool is_tree() const { return call.sparse_mode == 9; }
    geometry::SparseMode sparse_mode() const { return static_cast<geometry::SparseMode>(call.sparse_mode); }
};

// The parser's rules and what they establish, up to `is_empty`.
Finding classify(Case& subject);

// A tensor that the run reads or writes.
struct Touched {
    size_t index = 0;      // Input or Output
    int64_t member = -1;   // of a list
    const meta::Tensor* tensor = nullptr;
    bool may_be_strided = false;

    std::string input_name() const;
};
std::vector<Touched> touched_inputs(const Case& subject);
std::vector<Touched> touched_outputs(const Case& subject);

// Reads the length arrays, whose counts, signs and order the rules have checked.
void read_lengths(Case& subject);

}  // namespace acl_attn::ops::fia
