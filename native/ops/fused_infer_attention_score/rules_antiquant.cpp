// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Keys and values of a type of their own: modes, types, what must be given and what goes with it. The scales' types and
// shapes are in rules_antiquant_scales.cpp.
#include <iterator>
#include <string>

#include "ops/fused_infer_attention_score/rules.h"
#include "ops/fused_infer_attention_score/shorthand.h"

namespace acl_attn::ops::fia {
namespace {

bool applies(const Case& c) { return c.is_anti() && !c.kv_is_empty; }
aclDataType kv_type(const Case& c) { return c.key->front()->dtype; }

Finding mode_in_range(const Case& c, const char* name, int64_t mode) {
    if (!applies(c) || (mode >= 0 && mode <= 6)) return {};
    return violated(name, "0 to 6", text(mode));
}
Finding key_mode(const Case& c) { return mode_in_range(c, "keyAntiquantMode", c.call.key_antiquant_mode); }
Finding value_mode(const Case& c) { return mode_in_range(c, "valueAntiquantMode", c.call.value_antiquant_mode); }

Finding modes_pair(const Case& c) {
    const int64_t key = c.call.key_antiquant_mode;
    const int64_t value = c.call.value_antiquant_mode;
    if (!applies(c) || key == value || (key == 0 && value == 1)) return {};
    return violated("valueAntiquantMode", key == 0 ? std::string("0 or 1, as keyAntiquantMode is 0")
                                                   : text(key, ", as keyAntiquantMode"),
                    text(value));
}

bool has_modes(const Case& c, int64_t key, int64_t value) {
    return applies(c) && c.call.key_antiquant_mode == key && c.call.value_antiquant_mode == value;
}
bool is_per_tensor(const Case& c) {
    const meta::Tensor* scale = c.extra[kKeyAntiquantScale];
    return scale != nullptr && scale->rank == 1 && scale->shape[0] == 1;
}

Finding types_of(const Case& c, bool concerned, std::initializer_list<aclDataType> types, const char* names) {
    if (!concerned || is_one_of(kv_type(c), types)) return {};
    return dtype_refused("key", text(names, " in modes ", c.call.key_antiquant_mode, "/", c.call.value_antiquant_mode),
                         kv_type(c));
}
Finding tensor_types(const Case& c) {
    return types_of(c, has_modes(c, 0, 0) && is_per_tensor(c), {ACL_INT8}, "INT8, as a scale serves the whole tensor,");
}
Finding channel_types(const Case& c) {
    return types_of(c, has_modes(c, 0, 0) && !is_per_tensor(c),
                    {ACL_INT8, ACL_INT4, ACL_HIFLOAT8, ACL_FLOAT8_E4M3FN}, "INT8, INT4, HIFLOAT8 or FLOAT8_E4M3FN");
}
Finding token_types(const Case& c) {
    return types_of(c, has_modes(c, 1, 1), {ACL_INT8, ACL_INT4, ACL_FLOAT8_E4M3FN}, "INT8, INT4 or FLOAT8_E4M3FN");
}
Finding head_types(const Case& c) { return types_of(c, has_modes(c, 2, 2), {ACL_INT8}, "INT8"); }
Finding token_head_types(const Case& c) {
    return types_of(c, has_modes(c, 3, 3), {ACL_INT8, ACL_INT4}, "INT8 or INT4");
}
Finding paged_token_types(const Case& c) {
    return types_of(c, has_modes(c, 4, 4), {ACL_INT8, ACL_FLOAT8_E4M3FN}, "INT8 or FLOAT8_E4M3FN");
}
Finding paged_token_head_types(const Case& c) { return types_of(c, has_modes(c, 5, 5), {ACL_INT8}, "INT8"); }
Finding mixed_types(const Case& c) {
    return types_of(c, has_modes(c, 0, 1), {ACL_INT8, ACL_INT4}, "INT8 or INT4");
}
Finding group_types(const Case& c) { return types_of(c, has_modes(c, 6, 6), {ACL_FLOAT4_E2M1}, "FLOAT4_E2M1"); }

Finding mixed_int8_types(const Case& c) {
    if (!has_modes(c, 0, 1) || kv_type(c) != ACL_INT8) return {};
    const char* with = "FLOAT16 with INT8 keys in modes 0/1";
    if (c.query->dtype != ACL_FLOAT16) return dtype_refused("query", with, c.query->dtype);
    return c.out->dtype == ACL_FLOAT16 ? Finding{} : dtype_refused("attentionOut", with, c.out->dtype);
}

Finding scale_given(const Case& c, Input scale) {
    if (!applies(c) || c.extra[scale] != nullptr) return {};
    return violated(kInputNames[scale],
                    text("a scale, as key is ", meta::dtype_name(kv_type(c)), " and query ",
                         meta::dtype_name(c.query->dtype)),
                    "nothing");
}
Finding key_scale_given(const Case& c) { return scale_given(c, kKeyAntiquantScale); }
Finding value_scale_given(const Case& c) { return scale_given(c, kValueAntiquantScale); }

Finding no_merged_mode(const Case& c) {
    if (!c.is_anti() || c.call.antiquant_mode == 0) return {};
    return violated("antiquantMode", "0", text(c.call.antiquant_mode),
                    "keyAntiquantMode and valueAntiquantMode tell what keyAntiquantScale and valueAntiquantScale are");
}

Finding no_merged_tensors(const Case& c) {
    if (!c.is_anti()) return {};
    const bool is_old = c.call.version < 5;
    for (const Input input : {kAntiquantScale, kAntiquantOffset}) {
        if (c.extra[input] == nullptr) continue;
        return violated(kInputNames[input],
                        is_old ? "a tensor whose first axis is 2, key's and value's, where these have none of their own"
                               : "nothing",
                        text("shape ", shape_text(*c.extra[input])),
                        is_old ? "" : "give keyAntiquantScale and valueAntiquantScale");
    }
    return {};
}

Finding offsets_together(const Case& c) {
    const bool key = c.extra[kKeyAntiquantOffset] != nullptr;
    if (!applies(c) || key == (c.extra[kValueAntiquantOffset] != nullptr)) return {};
    return violated(key ? "valueAntiquantOffset" : "keyAntiquantOffset",
                    text("a tensor, as ", key ? "keyAntiquantOffset" : "valueAntiquantOffset", " is one"), "nothing");
}

Finding no_float_offsets(const Case& c) {
    if (!applies(c) || !(is_float8(kv_type(c)) || kv_type(c) == ACL_FLOAT4_E2M1)) return {};
    return first_excluded(c, {kKeyAntiquantOffset, kValueAntiquantOffset}, "keys that are floats");
}

Finding layout_known(const Case& c) {
    if (!c.is_anti() || layout_is(c, {"BSH", "BNSD", "BSND", "BNSD_BSND", "TND"})) return {};
    return layout_refused(c, "BSH, BNSD, BSND, BNSD_BSND or TND", "keys of another type than query");
}
Finding int8_not_packed(const Case& c) {
    if (!c.is_anti() || kv_type(c) != ACL_INT8 || !layout_is(c, {"TND"})) return {};
    return layout_refused(c, "BSH, BNSD, BSND or BNSD_BSND", "INT8 keys");
}
Finding decode_layout(const Case& c) {
    if (!c.is_anti_decode() || !layout_is(c, {"BNSD_BSND"})) return {};
    return layout_refused(c, "BSH, BNSD, BSND or TND", "single tokens over keys of another type");
}

bool is_int8_prefill(const Case& c) { return c.is_anti() && c.product_q > 1 && kv_type(c) == ACL_INT8; }
bool is_coarse_prefill(const Case& c) {
    return is_int8_prefill(c) && is_one_of(c.call.key_antiquant_mode, {0, 1});
}
constexpr const char* kPrefill = "INT8 keys in mode 0 or 1 and several query tokens";

Finding prefill_modes(const Case& c) {
    if (!is_int8_prefill(c) || !is_one_of(c.call.key_antiquant_mode, {2, 3, 4, 5})) return {};
    return violated("keyAntiquantMode", "0 or 1 with INT8 keys and several query tokens",
                    text(c.call.key_antiquant_mode));
}
Finding prefill_types(const Case& c) {
    if (!is_coarse_prefill(c)) return {};
    if (c.query->dtype != ACL_BF16) return dtype_refused("query", text("BF16 with ", kPrefill), c.query->dtype);
    if (c.out->dtype == ACL_BF16) return {};
    return dtype_refused("attentionOut", text("BF16 with ", kPrefill), c.out->dtype);
}
Finding prefill_length(const Case& c) {
    if (!is_coarse_prefill(c) || c.product_q <= 16) return {};
    return violated("query", text("at most 16 tokens with ", kPrefill), text(c.product_q));
}
Finding prefill_storage(const Case& c) {
    if (!is_coarse_prefill(c) || c.storage == Storage::dense) return {};
    return c.is_list() ? no_list(c, kPrefill) : excluded(c, kBlockTable, kPrefill);
}
Finding prefill_no_int4(const Case& c) {
    if (!c.is_anti() || c.product_q <= 1 || !is_one_of(kv_type(c), {ACL_INT4, ACL_INT32})) return {};
    return dtype_refused("key", "INT8 or an 8-bit float with several query tokens", kv_type(c));
}

Finding paged_width(const Case& c, int64_t mode, int from_end, bool both) {
    if (!has_modes(c, mode, mode) || !c.is_paged()) return {};
    for (const Input input : {kKeyAntiquantScale, kValueAntiquantScale}) {
        const meta::Tensor* scale = c.extra[input];
        if (scale == nullptr || scale->rank < from_end || (!both && input == kValueAntiquantScale)) continue;
        if (scale->shape[scale->rank - from_end] >= c.product_kv) continue;
        return violated(kInputNames[input],
                        text(from_end == 1 ? "a last axis" : "an axis before the last", " of at least ", c.product_kv,
                             ", what the columns of blockTable hold"),
                        text("shape ", shape_text(*scale)));
    }
    return {};
}
Finding paged_token_width(const Case& c) { return paged_width(c, 1, 1, true); }
Finding paged_token_head_width(const Case& c) { return paged_width(c, 3, 1, true); }
Finding paged_group_width(const Case& c) { return paged_width(c, 6, 2, false); }

Finding no_combined_rope(const Case& c) {
    if (!c.is_anti() || c.rope != Rope::combined) return {};
    return violated("value", "query's head dim with keys of another type", text(c.dim_v));
}

constexpr const char* kModes = "keyAntiquantMode, valueAntiquantMode";
constexpr const char* kKv = "key, value";

constexpr Rule<Case> kRules[] = {
    {"DQA-S-01", Tier::single, key_mode, kEverywhere, "keyAntiquantMode", "keyAntiquantMode is 0 to 6",
     Known::tensors},
    {"DQA-S-02", Tier::single, value_mode, kEverywhere, "valueAntiquantMode", "valueAntiquantMode is 0 to 6",
     Known::tensors},
    {"DQA-S-03", Tier::single, modes_pair, kEverywhere, kModes, "both modes are equal, or 0 for key and 1 for value",
     Known::tensors},
    {"DQA-S-04", Tier::single, tensor_types, kProducts, kKv, "with one scale for the tensor, keys are INT8",
     Known::tensors, kTypeStatus},
    {"DQA-S-05", Tier::single, channel_types, kProducts, kKv,
     "with scales by channel (0/0), keys are INT8, INT4, HIFLOAT8 or FLOAT8_E4M3FN", Known::tensors, kTypeStatus},
    {"DQA-S-06", Tier::single, token_types, kProducts, kKv,
     "with scales by token (1/1), keys are INT8, INT4 or FLOAT8_E4M3FN", Known::tensors, kTypeStatus},
    {"DQA-S-07", Tier::single, head_types, kProducts, kKv, "with scales by head (2/2), keys are INT8", Known::tensors,
     kTypeStatus},
    {"DQA-S-08", Tier::single, token_head_types, kProducts, kKv,
     "with scales by token and head (3/3), keys are INT8 or INT4", Known::tensors, kTypeStatus},
    {"DQA-S-09", Tier::single, paged_token_types, kProducts, kKv,
     "with paged scales by token (4/4), keys are INT8 or FLOAT8_E4M3FN", Known::tensors, kTypeStatus},
    {"DQA-S-10", Tier::single, paged_token_head_types, kProducts, kKv,
     "with paged scales by token and head (5/5), keys are INT8", Known::tensors, kTypeStatus},
    {"DQA-S-11", Tier::single, mixed_types, kProducts, kKv,
     "with scales by channel for key and by token for value (0/1), keys are INT8 or INT4", Known::tensors,
     kTypeStatus},
    {"DQA-S-12", Tier::single, group_types, kProducts, kKv,
     "with scales by groups of channels (6/6), keys are FLOAT4_E2M1", Known::tensors, kTypeStatus},
    {"DQA-S-31", Tier::single, mixed_int8_types, newest_only(kProducts), "query, attentionOut",
     "INT8 keys in modes 0/1 have FLOAT16 queries and outputs", Known::tensors},
    {"DQA-E-01", Tier::existence, key_scale_given, kEverywhere, "keyAntiquantScale",
     "keys of another type come with keyAntiquantScale", Known::tensors},
    {"DQA-E-02", Tier::existence, value_scale_given, kEverywhere, "valueAntiquantScale",
     "and with valueAntiquantScale", Known::tensors},
    {"DQA-E-03", Tier::existence, no_merged_mode, kEverywhere, "antiquantMode",
     "antiquantMode is 0: the parameters that serve key and value together are not supported", Known::tensors},
    {"DQA-E-04", Tier::existence, no_merged_tensors, kEverywhere, "antiquantScale, antiquantOffset",
     "antiquantScale and antiquantOffset are not given", Known::tensors},
    {"DQA-E-05", Tier::existence, offsets_together, kEverywhere, "keyAntiquantOffset, valueAntiquantOffset",
     "both offsets are given, or none", Known::tensors},
    {"DQA-E-06", Tier::existence, no_float_offsets, kProducts, "keyAntiquantOffset, valueAntiquantOffset",
     "keys that are 8-bit or 4-bit floats have no offsets", Known::tensors},
    {"DQA-X-01", Tier::cross, layout_known, kProducts, "inputLayout",
     "over keys of another type, the layout is BSH, BNSD, BSND, BNSD_BSND or TND"},
    {"DQA-X-02", Tier::cross, int8_not_packed, kProducts, "inputLayout", "over INT8 keys the layout is not TND"},
    {"DQA-X-03", Tier::cross, decode_layout, kProducts, "inputLayout",
     "for single tokens over keys of another type the layout is not BNSD_BSND"},
    {"DQA-X-04", Tier::cross, prefill_modes, kProducts, "keyAntiquantMode",
     "with INT8 keys and several query tokens, keyAntiquantMode is none of 2, 3, 4, 5"},
    {"DQA-X-05", Tier::cross, prefill_types, kProducts, "query, attentionOut",
     "with INT8 keys in mode 0 or 1 and several query tokens, query and output are BF16"},
    {"DQA-X-06", Tier::cross, prefill_length, kProducts, "query", "and there are at most 16 tokens"},
    {"DQA-X-07", Tier::cross, prefill_storage, kProducts, kKv, "and keys are one tensor, neither a list nor paged"},
    {"DQA-X-10", Tier::cross, prefill_no_int4, kProducts, kKv, "several query tokens have no INT4 keys"},
    {"DQA-X-11", Tier::cross, paged_token_width, kProducts, "keyAntiquantScale, valueAntiquantScale",
     "over paged keys, scales by token (1/1) are as wide as the columns of blockTable"},
    {"DQA-X-12", Tier::cross, paged_token_head_width, kProducts, "keyAntiquantScale, valueAntiquantScale",
     "over paged keys, scales by token and head (3/3) are as wide as the columns of blockTable"},
    {"DQA-X-13", Tier::cross, paged_group_width, kProducts, "keyAntiquantScale",
     "over paged keys, scales by groups of channels (6/6) are as long as the columns of blockTable"},
    {"DQA-X-14", Tier::cross, no_combined_rope, kProducts, "value", "the 192/128 form has keys of query's type"},
};

}  // namespace

const Group<Case> kAntiquantRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::fia
