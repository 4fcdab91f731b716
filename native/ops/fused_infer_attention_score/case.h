// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What a call means: its class, its dimensions, its sequences. interpret() fills it as far as the call makes sense and
// says in `known` how far that is; rules say how much they need.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "geometry/band.h"
#include "geometry/layout.h"
#include "geometry/paged.h"
#include "ops/fused_infer_attention_score/call.h"
#include "ops/regions.h"
#include "ops/rule.h"

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

// Rotary parts of query and key, as products see them.
enum class Rope : uint8_t {
    none,
    split,     // in tensors of their own
    combined,  // as part of a wider query and key
};

constexpr int64_t kMaxBatch = 65536;

// What numbers of tokens count as at most, so that sums with them stay in range: rules may come to see those that
// another rule refuses.
constexpr int64_t kMaxTokens = INT64_MAX / 4;

struct Tokens {
    int64_t start = 0;  // in the token axis
    int64_t count = 0;
};

struct Case {
    Case(const Call& c, Profile p, Revision r)
        : call(c), profile(p), revision(r), sparse_mode_number(c.sparse_mode), pre_tokens(c.pre_tokens),
          next_tokens(c.next_tokens), is_strict_(p == Profile::host || r == Revision::page) {}

    const Call& call;
    Profile profile;  // whose rules the call is held against
    Revision revision;
    Known known = Known::nothing;

    // As they count: products look away from some of them for single-token queries.
    int64_t sparse_mode_number;
    int64_t pre_tokens;
    int64_t next_tokens;

    // From Known::tensors on. Null: absent.
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
    bool is_empty = false;                        // query and attentionOut have no elements: nothing to do or to check
    bool kv_is_empty = false;                     // no member of key and value has elements: no row sees anything

    // From Known::dims on.
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
    int64_t prefix_len = 0;                       // within 0 and the prefix's tokens
    Rope rope = Rope::none;
    // What products compute with: the axes, not the sequences. Saturating where values are absurd.
    int64_t product_batch = 0;
    int64_t product_q = 0;
    int64_t product_kv = 0;

    // At Known::lengths, one entry a sequence.
    std::vector<Tokens> q_tokens, kv_tokens;
    int64_t longest_q = 0;
    int64_t longest_kv = 0;                       // without the prefix

    bool is_host() const { return profile == Profile::host; }
    bool is_older() const { return profile == Profile::ascend910b || profile == Profile::ascend910_93; }
    bool is_newest() const { return revision == Revision::newest; }
    // Whether parameters that a call has no use for are refused: newer software is known to look away.
    bool is_strict() const { return is_strict_; }

    bool is_packed() const { return geometry::is_packed(layout->query); }
    bool is_bsh() const { return layout->query == geometry::Order::bsh; }
    // BSH, BSND, BNSD: neither packed nor re-ordered.
    bool is_plain() const { return !is_packed() && layout->query == layout->out; }
    bool packs_kv() const { return is_packed() && storage != Storage::paged; }
    bool is_paged() const { return storage == Storage::paged; }
    bool is_list() const { return storage == Storage::list; }
    bool has_rope() const { return extra[kQueryRope] != nullptr && extra[kKeyRope] != nullptr; }
    // Decode MLA: keys are what values are made of, and the value tensors are never read.
    bool value_is_key() const { return has_rope() && dim == 512; }
    bool has_prefix() const { return extra[kKeySharedPrefix] != nullptr && extra[kValueSharedPrefix] != nullptr; }
    bool has_slopes() const { return call.pse_type == 2 || call.pse_type == 3; }
    bool is_plain_quant() const { return quantisation == Quantisation::none; }
    bool is_anti() const { return quantisation == Quantisation::anti; }
    bool is_full_quant() const { return quantisation > Quantisation::anti; }
    bool is_post_quant() const { return out->dtype != ACL_FLOAT16 && out->dtype != ACL_BF16; }
    // Tokens that stand at the end of their axis, before as many padding tokens as a device tensor says.
    bool pads_query() const { return extra[kQueryPaddingSize] != nullptr && q.tokens > 1; }
    bool pads_kv() const { return extra[kKvPaddingSize] != nullptr; }
    // Mode 0 has a window if it has a mask, and forgets it where tokens stand at the end of their axis.
    bool has_window() const { return mask != nullptr && sparse_mode_number == 0 && !pads_query() && !pads_kv(); }
    // The columns of a mask or a bias that the run may look at.
    int64_t mask_rows() const { return pads_query() ? q.tokens : longest_q; }
    int64_t mask_columns() const { return pads_kv() && !k.empty() ? k.front().tokens : prefix_len + longest_kv; }
    // Modes 2 to 4 are formulas; the tensor that products want with them carries nothing.
    bool reads_mask() const { return mask != nullptr && (sparse_mode_number <= 1 || is_tree()); }
    bool is_tree() const { return sparse_mode_number == 9; }
    geometry::SparseMode sparse_mode() const { return static_cast<geometry::SparseMode>(sparse_mode_number); }

    // The products' classes.
    bool is_decode_mla() const { return rope == Rope::split && dim == 512; }
    bool is_prefill_mla() const { return (rope == Rope::split && dim == 128) || rope == Rope::combined; }
    bool is_mla() const { return is_decode_mla() || is_prefill_mla(); }
    bool is_gqa() const { return rope == Rope::none; }
    // 192/128 is a combined rope, whatever else the call has.
    bool is_dim_different() const { return dim != dim_v && !(dim == 192 && dim_v == 128) && rope != Rope::combined; }
    bool is_anti_decode() const { return is_anti() && product_q == 1; }
    bool is_int8_kv() const { return key->front()->dtype == ACL_INT8; }
    // Padding as products see it: given, and not for a call that has a single token to place.
    bool product_pads_query() const { return extra[kQueryPaddingSize] != nullptr && !is_anti_decode(); }
    bool product_pads_kv() const {
        const bool is_decode = is_plain() && product_q == 1 && dim == dim_v && !has_rope();
        return extra[kKvPaddingSize] != nullptr &&
               (!is_decode || (storage == Storage::dense && given_ints(call, kActualSeqLengthsKv) != nullptr));
    }
    bool product_pads() const { return product_pads_query() || product_pads_kv(); }
    bool has_modes(int64_t q_mode, int64_t k_mode, int64_t v_mode) const {
        return call.query_quant_mode == q_mode && call.key_antiquant_mode == k_mode &&
               call.value_antiquant_mode == v_mode;
    }

private:
    bool is_strict_;
};

// Fills a case as far as its call can be understood.
void interpret(Case& subject);

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

// Where these lie, and the status of a call that has them where they cannot be.
Regions regions_of(const Case& subject);
inline constexpr aclnnStatus kMemoryStatus = ACLNN_ERR_INNER_TILING_ERROR;

// Reads the length arrays. False if some value makes no sense, which the rules then tell.
bool read_lengths(Case& subject);

}  // namespace acl_attn::ops::fia
