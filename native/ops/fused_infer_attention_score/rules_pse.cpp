// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// pseShift: a bias that is added (pseType 0), or slopes over the distance of positions (pseType 2 and 3).
#include <iterator>
#include <string>

#include "ops/fused_infer_attention_score/rules.h"
#include "ops/fused_infer_attention_score/shorthand.h"
#include "ops/saturating.h"

namespace acl_attn::ops::fia {
namespace {

const meta::Tensor* bias(const Case& c) { return c.has_slopes() ? nullptr : c.extra[kPseShift]; }
const meta::Tensor* slopes(const Case& c) { return c.has_slopes() ? c.extra[kPseShift] : nullptr; }

Finding type_of(const Case& c, const meta::Tensor* pse, aclDataType wanted) {
    if (pse == nullptr || pse->dtype == wanted) return {};
    return dtype_refused("pseShift", text(meta::dtype_name(wanted), " for pseType ", c.call.pse_type), pse->dtype);
}
Finding slopes_type(const Case& c) { return type_of(c, slopes(c), ACL_FLOAT); }
Finding fp16_bias_type(const Case& c) {
    const bool applies = c.is_host() ? c.query->dtype != ACL_BF16 : is_one_of(c.query->dtype, {ACL_FLOAT16, ACL_INT8});
    return applies ? type_of(c, bias(c), ACL_FLOAT16) : Finding{};
}
Finding bf16_bias_type(const Case& c) {
    return c.query->dtype == ACL_BF16 ? type_of(c, bias(c), ACL_BF16) : Finding{};
}

Finding slopes_given(const Case& c) {
    if (!c.has_slopes() || c.kv_is_empty || c.extra[kPseShift] != nullptr) return {};
    return violated("pseShift", text("a slope for each of the ", c.heads, " heads with pseType ", c.call.pse_type),
                    "nothing");
}

Finding slopes_shape(const Case& c) {
    if (slopes(c) == nullptr || has_shape(*slopes(c), &c.heads, 1)) return {};
    return shape_refused("pseShift", text("(", c.heads, ") for pseType ", c.call.pse_type), *slopes(c));
}

// Products look at the axes of a tensor without elements too.
Finding bias_rank(const Case& c) {
    const meta::Tensor* pse = c.is_host() ? bias(c) : c.has_slopes() ? nullptr : c.call.tensors[kPseShift].tensor.get();
    if (pse == nullptr || pse->rank == 4) return {};
    return violated("pseShift", "4 axes for pseType 0", text("shape ", shape_text(*pse)));
}

Finding bias_shape(const Case& c, bool has_rows) {
    const meta::Tensor* pse = bias(c);
    if (pse == nullptr || pse->rank != 4 || (pse->shape[2] > 1) != has_rows) return {};
    if (c.call.is_largest && c.is_host()) return {};
    const int64_t rows = c.is_host() ? c.mask_rows() : c.product_q;
    const int64_t columns = c.is_host() ? c.mask_columns() : c.product_kv + c.prefix_len;
    const bool fits = (pse->shape[0] == 1 || pse->shape[0] == c.batch) && pse->shape[1] == c.heads &&
                      (has_rows ? pse->shape[2] >= rows : pse->shape[2] == 1) && pse->shape[3] >= columns;
    if (fits) return {};
    return shape_refused("pseShift",
                         text("(", c.batch == 1 ? "" : text(c.batch, " or "), "1, ", c.heads, ", 1 or >= ", rows,
                              ", >= ", columns, ") for pseType 0"),
                         *pse);
}
Finding many_row_bias(const Case& c) { return bias_shape(c, true); }
Finding one_row_bias(const Case& c) { return bias_shape(c, false); }

int64_t start(const Case& c, Input input) {
    const std::vector<int64_t>* values = given_ints(c.call, input);
    return values == nullptr ? 0 : values->front();
}

Finding start_in_range(const Case& c, Input input) {
    const int64_t value = start(c, input);
    if (!c.has_slopes() || value == static_cast<int32_t>(value)) return {};
    return violated(text(kInputNames[input], "[0]"), "a 32-bit number", text(value));
}
Finding q_start_in_range(const Case& c) { return start_in_range(c, kQStartIdx); }
Finding kv_start_in_range(const Case& c) { return start_in_range(c, kKvStartIdx); }

Finding starts_used(const Case& c) {
    if (c.has_slopes() || !c.is_strict()) return {};
    for (const Input input : {kQStartIdx, kKvStartIdx}) {
        if (start(c, input) == 0) continue;
        return violated(text(kInputNames[input], "[0]"), text("0 or nothing with pseType ", c.call.pse_type),
                        text(start(c, input)), "only pseType 2 and 3 look at positions");
    }
    return {};
}

Finding distance_in_range(const Case& c) {
    constexpr int64_t limit = 1048576;
    if (!c.has_slopes()) return {};
    const int64_t distance = saturating_difference(start(c, kKvStartIdx), start(c, kQStartIdx));
    if (distance >= -limit && distance <= limit) return {};
    return violated("kvStartIdx", text("at most ", limit, " away from qStartIdx"), text(distance, " away"));
}

Finding paged_width(const Case& c) {
    const meta::Tensor* pse = bias(c);
    if (pse == nullptr || !c.is_paged() || pse->rank != 4 || pse->shape[3] >= c.product_kv) return {};
    return violated("pseShift", text("a last axis of at least ", c.product_kv, ", what the blocks in use hold"),
                    text("shape ", shape_text(*pse)));
}

Finding slopes_over_square(const Case& c) {
    if (!c.has_slopes() || c.product_q == c.product_kv) return {};
    return violated("pseType", text("0, unless query tokens and keys are equally many"),
                    text(c.call.pse_type, " for ", c.product_q, " and ", c.product_kv));
}

Finding none_with_mla(const Case& c) {
    if (c.call.is_largest || !c.is_mla() || c.extra[kPseShift] == nullptr) return {};
    return excluded(c, kPseShift, "MLA");
}

Finding none_with_different_dims(const Case& c) {
    if (!c.is_dim_different() || c.extra[kPseShift] == nullptr) return {};
    return excluded(c, kPseShift, "head dims that differ between query and value");
}

Finding decode_rows(const Case& c) {
    const meta::Tensor* pse = bias(c);
    if (!c.is_anti_decode() || pse == nullptr || pse->rank != 4 || pse->shape[2] == 1) return {};
    return violated("pseShift", "a third axis of 1 for single tokens over keys of another type",
                    text("shape ", shape_text(*pse)));
}

Finding layout_takes_bias(const Case& c) {
    if (c.call.is_largest || bias(c) == nullptr ||
        !layout_is(c, {"BSH_BNSD", "BSND_BNSD", "TND", "NTD", "NTD_TND", "TND_NTD"})) {
        return {};
    }
    return excluded(c, kPseShift, c.layout->name);
}

constexpr const char* kPse = "pseShift";

constexpr Rule<Case> kRules[] = {
    {"PSE-S-02", Tier::single, slopes_type, kEverywhere, kPse, "slopes are FLOAT", Known::tensors, kTypeStatus},
    {"PSE-S-05", Tier::single, slopes_shape, kEverywhere, kPse, "there is a slope for each query head"},
    {"PSE-E-01", Tier::existence, slopes_given, kEverywhere, kPse, "pseType 2 and 3 come with slopes"},
    {"PSE-X-01", Tier::cross, paged_width, page_only(kProducts), kPse,
     "with paged keys the bias is as wide as the blocks of the longest sequence"},
    {"PSE-X-02", Tier::cross, slopes_over_square, page_only(kProducts), "pseType",
     "with slopes, query tokens and keys are equally many"},
    {"PSE-X-03", Tier::cross, none_with_mla, kProducts, kPse, "MLA has no pseShift"},
    {"PSE-X-04", Tier::cross, none_with_different_dims, kProducts, kPse,
     "where value's head dim differs, there is no pseShift"},
    {"PSE-X-05", Tier::cross, decode_rows, page_only(kProducts), kPse,
     "for single tokens over keys of another type the bias has one row"},
    {"PSE-X-06", Tier::cross, layout_takes_bias, kProducts, kPse,
     "layouts BSH_BNSD, BSND_BNSD, TND, NTD, NTD_TND and TND_NTD have no bias"},
    {"PSE-S-03", Tier::consistency, fp16_bias_type, kEverywhere, kPse, "a bias on FLOAT16 or INT8 queries is FLOAT16",
     Known::tensors, kTypeStatus},
    {"PSE-S-04", Tier::consistency, bf16_bias_type, kEverywhere, kPse, "a bias on BF16 queries is BF16",
     Known::tensors, kTypeStatus},
    {"PSE-S-06", Tier::consistency, bias_rank, kEverywhere, kPse, "a bias has 4 axes"},
    {"PSE-S-07", Tier::consistency, many_row_bias, kEverywhere, kPse,
     "a bias of several rows is (B or 1, N, >= Sq, >= Skv + prefix)", Known::lengths},
    {"PSE-S-08", Tier::consistency, one_row_bias, kEverywhere, kPse,
     "a bias of one row is (B or 1, N, 1, >= Skv + prefix)", Known::lengths},
    {"PSE-C-01", Tier::consistency, q_start_in_range, kEverywhere, "qStartIdx",
     "with slopes, the first position of queries is a 32-bit number"},
    {"PSE-C-02", Tier::consistency, kv_start_in_range, kEverywhere, "kvStartIdx",
     "with slopes, the first position of keys is a 32-bit number"},
    {"PSE-C-03", Tier::consistency, distance_in_range, kEverywhere, "qStartIdx, kvStartIdx",
     "with slopes, the two are at most 1048576 apart"},
    {"HOST-S-07", Tier::consistency, starts_used, and_host(page_only(kProducts)), "qStartIdx, kvStartIdx",
     "without slopes, nothing but 0 is given"},
};

}  // namespace

const Group<Case> kPseRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::fia
