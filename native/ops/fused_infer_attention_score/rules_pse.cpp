// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include <iterator>

#include "ops/fused_infer_attention_score/rules.h"
#include "ops/tensors.h"

namespace acl_attn::ops::fia {
namespace {

Finding pse_type_known(const Case& c) {
    if (c.call.pse_type == 0 || c.has_slopes()) return {};
    return violated("pseType", "0 (pseShift is added), 2 or 3 (pseShift holds slopes)", text(c.call.pse_type));
}

Finding pse_dtype(const Case& c) {
    const meta::Tensor* pse = c.extra[kPseShift];
    if (pse == nullptr) return {};
    const aclDataType query = c.query->dtype == ACL_INT8 ? ACL_FLOAT16 : c.query->dtype;
    const aclDataType wanted = c.has_slopes() ? ACL_FLOAT : query;
    if (pse->dtype == wanted) return {};
    const bool registered = pse->dtype == ACL_FLOAT16 || pse->dtype == ACL_BF16 || pse->dtype == ACL_FLOAT;
    const std::string expected = text("dtype ", meta::dtype_name(wanted), " for pseType ", c.call.pse_type);
    return registered ? violated("pseShift", expected, meta::dtype_name(pse->dtype))
                      : invalid("pseShift", expected, meta::dtype_name(pse->dtype));
}

Finding slopes_given(const Case& c) {
    if (!c.has_slopes() || c.kv_is_empty || c.extra[kPseShift] != nullptr) return {};
    return violated("pseShift", text("a slope for each of the ", c.heads, " heads with pseType ", c.call.pse_type),
                    "nothing");
}

Finding slopes_shape(const Case& c) {
    if (!c.has_slopes() || c.extra[kPseShift] == nullptr || has_shape(*c.extra[kPseShift], &c.heads, 1)) return {};
    return violated("pseShift", text("shape (", c.heads, ") for pseType ", c.call.pse_type),
                    shape_text(*c.extra[kPseShift]));
}

Finding bias_shape(const Case& c) {
    const meta::Tensor* pse = c.extra[kPseShift];
    if (pse == nullptr || c.has_slopes()) return {};
    if (c.call.is_largest && pse->rank == 4) return {};
    const bool fits = pse->rank == 4 && (pse->shape[0] == 1 || pse->shape[0] == c.batch) && pse->shape[1] == c.heads &&
                      (pse->shape[2] == 1 || pse->shape[2] >= c.mask_rows()) && pse->shape[3] >= c.mask_columns();
    if (fits) return {};
    return violated("pseShift",
                    text("shape (", c.batch == 1 ? "" : text(c.batch, " or "), "1, ", c.heads, ", 1 or >= ",
                         c.mask_rows(), ", >= ", c.mask_columns(), ") for pseType 0"),
                    shape_text(*pse));
}

int64_t start(const Case& c, Input input) {
    const std::vector<int64_t>* values = given_ints(c.call, input);
    return values == nullptr ? 0 : values->front();
}

Finding starts_in_range(const Case& c) {
    for (const Input input : {kQStartIdx, kKvStartIdx}) {
        const int64_t value = start(c, input);
        if (value != static_cast<int32_t>(value)) {
            return violated(text(kInputNames[input], "[0]"), "a 32-bit number", text(value));
        }
        if (value != 0 && !c.has_slopes()) {
            return violated(text(kInputNames[input], "[0]"), text("0 or nothing with pseType ", c.call.pse_type),
                            text(value), "only pseType 2 and 3 look at positions");
        }
    }
    return {};
}

Finding distance_in_range(const Case& c) {
    constexpr int64_t limit = 1048576;
    const int64_t distance = start(c, kKvStartIdx) - start(c, kQStartIdx);
    if (distance >= -limit && distance <= limit) return {};
    return violated("kvStartIdx", text("at most ", limit, " away from qStartIdx"), text(distance, " away"));
}

// Positions are counted inside a sequence's own tokens; with padding or a prefix that is not defined.
Finding slopes_alone(const Case& c) {
    if (!c.has_slopes() || c.kv_is_empty) return {};
    const char* other = c.has_prefix()                              ? "keySharedPrefix"
                        : c.extra[kQueryPaddingSize] != nullptr     ? "queryPaddingSize"
                        : c.extra[kKvPaddingSize] != nullptr        ? "kvPaddingSize"
                        : c.is_full_quant()                         ? "quantised queries"
                                                                    : nullptr;
    if (other == nullptr) return {};
    return violated("pseType", text("0 with ", other), text(c.call.pse_type));
}

Finding bias_for_quantised(const Case& c) {
    if (c.extra[kPseShift] == nullptr || !c.is_full_quant() || c.quantisation == Quantisation::per_tensor) return {};
    return violated("pseShift", "nothing with this quantisation", text("shape ", shape_text(*c.extra[kPseShift])));
}

constexpr Rule<Case> kRules[] = {
    {"PSE-S-01", Tier::single, pse_type_known},
    {"PSE-S-02", Tier::single, pse_dtype},  // with 03 and 04
    {"PSE-S-05", Tier::single, slopes_shape},
    {"PSE-E-01", Tier::existence, slopes_given},
    {"PSE-C-01", Tier::consistency, starts_in_range},  // with 02
    {"PSE-C-03", Tier::consistency, distance_in_range},
    {"LP-X-02", Tier::cross, slopes_alone},  // with PFX-X-04 and DQF-X-31
    {"DQF-X-16", Tier::cross, bias_for_quantised},
    {"PSE-S-07", Tier::consistency, bias_shape},  // with 06 and 08
};

}  // namespace

const Group<Case> kPseRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::fia
