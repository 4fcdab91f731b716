// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// A prefix of keys and values that all sequences share.
#include <algorithm>
#include <iterator>
#include <vector>

#include "ops/fused_infer_attention_score/rules.h"
#include "ops/fused_infer_attention_score/shorthand.h"

namespace acl_attn::ops::fia {
namespace {

constexpr Input kPrefixes[] = {kKeySharedPrefix, kValueSharedPrefix};

Finding excluded_with(const Case& c, bool applies, const char* with) {
    return applies && c.has_prefix() ? excluded(c, kKeySharedPrefix, with) : Finding{};
}

Finding both_or_none(const Case& c) {
    const bool key = c.extra[kKeySharedPrefix] != nullptr;
    if (key == (c.extra[kValueSharedPrefix] != nullptr)) return {};
    return violated(key ? "valueSharedPrefix" : "keySharedPrefix",
                    text("a tensor, as ", key ? "keySharedPrefix" : "valueSharedPrefix", " is one"), "nothing");
}

Finding refused_shape(const Case& c, Input input) {
    const int64_t dim = input == kKeySharedPrefix ? c.dim : c.dim_v;
    int64_t wanted[4];
    const int rank = geometry::rank(c.layout->query);
    geometry::shape(c.layout->query, {1, c.k_prefix.tokens, c.kv_heads, dim}, wanted);
    return shape_refused(kInputNames[input],
                         text(dims_text(wanted, rank), " = ", geometry::axes(c.layout->query), " with B = 1"),
                         *c.extra[input]);
}

Finding ranks(const Case& c) {
    if (!c.has_prefix()) return {};
    for (const Input input : kPrefixes) {
        const meta::Tensor& prefix = *c.extra[input];
        if (prefix.rank == c.key->front()->rank) continue;
        return violated(kInputNames[input], text("as many axes as key, ", shape_text(*c.key->front())),
                        text("shape ", shape_text(prefix)));
    }
    return {};
}

// Prefixes that could be read; others break the rule of their ranks.
bool is_read(const Case& c) { return c.has_prefix() && !ranks(c) && !c.is_paged(); }

Finding batches(const Case& c) {
    if (!is_read(c)) return {};
    for (const Input input : kPrefixes) {
        if (c.extra[input]->shape[0] != 1 && !c.is_packed()) return refused_shape(c, input);
    }
    return {};
}

Finding heads_and_dims(const Case& c) {
    if (!is_read(c) || c.is_bsh()) return {};
    const geometry::Extents& key = c.k.front();
    if (c.k_prefix.heads != key.heads || c.k_prefix.dim != key.dim) return refused_shape(c, kKeySharedPrefix);
    const int64_t wanted = c.is_host() ? c.dim_v : c.k_prefix.dim;
    if (c.v_prefix.heads != key.heads || c.v_prefix.dim != wanted) return refused_shape(c, kValueSharedPrefix);
    return {};
}

Finding fused_axes(const Case& c) {
    if (!is_read(c) || !c.is_bsh()) return {};
    const int64_t key = c.key->front()->shape[2];
    const int64_t value = c.is_host() ? c.value->front()->shape[2] : key;
    if (c.extra[kKeySharedPrefix]->shape[2] != key) return refused_shape(c, kKeySharedPrefix);
    return c.extra[kValueSharedPrefix]->shape[2] != value ? refused_shape(c, kValueSharedPrefix) : Finding{};
}

Finding equal_tokens(const Case& c) {
    if (!is_read(c) || c.k_prefix.tokens == c.v_prefix.tokens) return {};
    return refused_shape(c, kValueSharedPrefix);
}

Finding types(const Case& c) {
    if (!c.has_prefix()) return {};
    const aclDataType wanted = c.key->front()->dtype;
    for (const Input input : kPrefixes) {
        if (c.extra[input]->dtype == wanted) continue;
        return dtype_refused(kInputNames[input], text(meta::dtype_name(wanted), ", as key"), c.extra[input]->dtype);
    }
    return {};
}

const std::vector<int64_t>* length(const Case& c) {
    return c.has_prefix() ? given_ints(c.call, kActualSharedPrefixLen) : nullptr;
}

Finding length_within(const Case& c) {
    if (length(c) == nullptr || !is_read(c) || c.call.is_largest) return {};
    const int64_t limit = std::min(c.k_prefix.tokens, c.v_prefix.tokens);
    if (length(c)->front() <= limit) return {};
    return violated("actualSharedPrefixLen", text("0 to ", limit, ", the token axis of keySharedPrefix"),
                    text(length(c)->front()));
}

Finding length_not_negative(const Case& c) {
    if (length(c) == nullptr || length(c)->front() >= 0) return {};
    return violated("actualSharedPrefixLen", "0 or more", text(length(c)->front()));
}

Finding length_layout(const Case& c) {
    if (length(c) == nullptr || layout_is(c, {"BSH", "BSND", "BNSD", "BNSD_BSND"})) return {};
    return layout_refused(c, "BSH, BSND, BNSD or BNSD_BSND", "actualSharedPrefixLen");
}

Finding length_used(const Case& c) {
    const std::vector<int64_t>* given = given_ints(c.call, kActualSharedPrefixLen);
    if (given == nullptr || c.has_prefix() || c.kv_is_empty || !c.is_strict()) return {};
    return violated("actualSharedPrefixLen", "nothing without keySharedPrefix and valueSharedPrefix",
                    text("an array of ", given->size(), " entries"));
}

Finding no_list(const Case& c) {
    const bool applies = c.is_list() && (!c.is_older() || c.product_q > 1);
    return excluded_with(c, applies, "tensor lists");
}

Finding no_padding(const Case& c) {
    if (!c.has_prefix() || !(c.is_host() || c.product_pads())) return {};
    return first_excluded(c, {kQueryPaddingSize, kKvPaddingSize}, "a shared prefix");
}

Finding no_slopes(const Case& c) {
    if (!c.has_prefix() || !c.has_slopes()) return {};
    return violated("pseType", "0 with a shared prefix", text(c.call.pse_type));
}

Finding layout_takes_prefix(const Case& c) {
    const bool is_refused = c.is_host() ? c.is_packed()
                                        : layout_is(c, {"BSH_BNSD", "BSND_BNSD", "TND", "NTD", "NTD_TND", "TND_NTD"});
    return excluded_with(c, is_refused, c.layout->name);
}

Finding no_prefill_mla(const Case& c) { return excluded_with(c, c.is_prefill_mla(), "prefill MLA"); }
Finding no_decode_mla(const Case& c) { return excluded_with(c, c.is_decode_mla(), "decode MLA"); }
Finding no_full_quant(const Case& c) { return excluded_with(c, c.is_full_quant(), "quantised queries"); }

Finding post_quant_type(const Case& c) {
    if (!c.has_prefix() || !c.is_post_quant() || c.out->dtype == ACL_INT8) return {};
    return dtype_refused("attentionOut", "INT8 if a quantised output has a shared prefix", c.out->dtype);
}

bool has_pair(const Case& c, int64_t key, int64_t value) {
    return c.call.key_antiquant_mode == key && c.call.value_antiquant_mode == value;
}
bool has_any_pair(const Case& c, std::initializer_list<int> modes) {
    return has_pair(c, c.call.key_antiquant_mode, c.call.key_antiquant_mode) &&
           is_one_of(c.call.key_antiquant_mode, modes);
}

Finding pair_refused(const Case& c, const char* allowed) {
    return violated("keySharedPrefix", allowed,
                    text(meta::dtype_name(c.key->front()->dtype), " in modes ", c.call.key_antiquant_mode, "/",
                         c.call.value_antiquant_mode));
}

Finding anti_prefill(const Case& c) {
    if (!c.has_prefix() || !c.is_anti() || c.product_q <= 1) return {};
    if (c.is_int8_kv() && has_any_pair(c, {0, 1})) return {};
    return pair_refused(c, "INT8 keys in modes 0/0 or 1/1 with a shared prefix and several query tokens");
}

// Products take every scale of one axis for one that serves the whole tensor.
bool is_per_tensor(const Case& c) {
    const meta::Tensor* scale = c.extra[kKeyAntiquantScale];
    return has_pair(c, 0, 0) && scale != nullptr && scale->rank == 1;
}

Finding anti_decode_types(const Case& c) {
    if (!c.has_prefix() || !c.is_anti_decode()) return {};
    const bool is_int4 = c.key->front()->dtype == ACL_INT4;
    if (is_per_tensor(c) || has_any_pair(c, {2, 4, 5})) {
        return c.is_int8_kv() ? Finding{} : pair_refused(c, "INT8 keys with a shared prefix and these scales");
    }
    if (has_any_pair(c, {0, 1, 3}) || has_pair(c, 0, 1)) {
        return c.is_int8_kv() || is_int4 ? Finding{}
                                         : pair_refused(c, "INT8 or INT4 keys with a shared prefix and these scales");
    }
    return {};
}

Finding anti_decode_modes(const Case& c) {
    if (!c.has_prefix() || !c.is_anti_decode() || has_any_pair(c, {0, 1, 2, 3, 4, 5}) || has_pair(c, 0, 1)) return {};
    return pair_refused(c, "modes 0 to 5, or 0/1, with a shared prefix");
}

constexpr const char* kBoth = "keySharedPrefix, valueSharedPrefix";
constexpr const char* kKeyPrefix = "keySharedPrefix";
constexpr const char* kLength = "actualSharedPrefixLen";

constexpr Rule<Case> kRules[] = {
    {"HOST-E-05", Tier::existence, length_used, and_host(page_only(kProducts)), kLength,
     "without prefixes, no length of them is given", Known::tensors},
    {"PFX-X-02", Tier::cross, no_list, kEverywhere, kKeyPrefix,
     "a shared prefix has no tensor list; on older products for several query tokens"},
    {"PFX-X-03", Tier::cross, no_padding, kEverywhere, "queryPaddingSize, kvPaddingSize",
     "a shared prefix has no left padding"},
    {"PFX-X-04", Tier::cross, no_slopes, and_host(page_only(kProducts)), "pseType", "a shared prefix has no slopes"},
    {"PFX-X-05", Tier::cross, layout_takes_prefix, kEverywhere, kKeyPrefix,
     "layouts BSH_BNSD, BSND_BNSD, TND, NTD, NTD_TND and TND_NTD have no shared prefix; profile host takes the first "
     "two"},
    {"PFX-X-06", Tier::cross, no_prefill_mla, kProducts, kKeyPrefix, "prefill MLA has no shared prefix"},
    {"PFX-X-07", Tier::cross, no_decode_mla, kProducts, kKeyPrefix, "decode MLA has no shared prefix"},
    {"PFX-X-08", Tier::cross, no_full_quant, kEverywhere, kKeyPrefix, "quantised queries have no shared prefix"},
    {"PFX-X-09", Tier::cross, post_quant_type, kProducts, "attentionOut",
     "with a shared prefix, a quantised output is INT8", Known::tensors},
    {"PFX-X-10", Tier::cross, anti_prefill, kProducts, kKeyPrefix,
     "several query tokens over keys of another type have a shared prefix for INT8 in modes 0/0 and 1/1 only"},
    {"PFX-X-11", Tier::cross, anti_decode_types, kProducts, kKeyPrefix,
     "single tokens over keys of another type have a shared prefix for INT8, and for INT4 with scales by channel or "
     "token"},
    {"PFX-X-12", Tier::cross, anti_decode_modes, kProducts, kKeyPrefix, "and not for other pairs of modes"},
    {"PFX-S-02", Tier::consistency, ranks, kEverywhere, kBoth, "prefixes have as many axes as key", Known::tensors},
    {"PFX-S-01", Tier::consistency, batches, kEverywhere, kBoth, "prefixes have a batch axis of 1"},
    {"PFX-S-03", Tier::consistency, heads_and_dims, kEverywhere, kBoth, "prefixes have key's heads and head dim"},
    {"PFX-S-04", Tier::consistency, fused_axes, kEverywhere, kBoth, "in layout BSH, prefixes have key's last axis"},
    {"PFX-S-05", Tier::consistency, equal_tokens, kEverywhere, kBoth, "both prefixes are equally long"},
    {"PFX-S-06", Tier::consistency, types, kEverywhere, kBoth, "prefixes have key's type", Known::tensors},
    {"PFX-S-08", Tier::consistency, length_within, kEverywhere, kLength,
     "the length is at most that of the prefixes"},
    {"PFX-S-09", Tier::consistency, length_not_negative, kEverywhere, kLength, "the length is not negative",
     Known::tensors},
    {"PFX-S-10", Tier::consistency, length_layout, kProducts, kLength,
     "a length is given with layout BSH, BSND, BNSD or BNSD_BSND"},
    {"PFX-E-01", Tier::consistency, both_or_none, kEverywhere, kBoth, "both prefixes are given, or none",
     Known::tensors},
};

}  // namespace

const Group<Case> kPrefixRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::fia
