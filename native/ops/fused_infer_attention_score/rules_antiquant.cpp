// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include <iterator>
#include <string>

#include "ops/fused_infer_attention_score/rules.h"
#include "ops/fused_infer_attention_score/scales.h"
#include "ops/tensors.h"

namespace acl_attn::ops::fia {
namespace {

struct Side {
    Input scale, offset;
    const char* mode_name;
    int64_t mode;
    int64_t dim;
};
struct Sides {
    Side of[2];
    const Side* begin() const { return of; }
    const Side* end() const { return of + 2; }
};

Sides sides(const Case& c) {
    return {{{kKeyAntiquantScale, kKeyAntiquantOffset, "keyAntiquantMode", c.call.key_antiquant_mode, c.dim},
             {kValueAntiquantScale, kValueAntiquantOffset, "valueAntiquantMode", c.call.value_antiquant_mode,
              c.dim_v}}};
}

bool applies(const Case& c) { return c.quantisation == Quantisation::anti && !c.kv_is_empty; }

Finding modes_known(const Case& c) {
    if (!applies(c)) return {};
    for (const Side& side : sides(c)) {
        if (side.mode < 0 || side.mode > 6) return violated(side.mode_name, "0 to 6", text(side.mode));
    }
    const int64_t key = c.call.key_antiquant_mode;
    const int64_t value = c.call.value_antiquant_mode;
    if (key == value || (key == 0 && value == 1)) return {};
    return violated("valueAntiquantMode", key == 0 ? std::string("0 or 1, as keyAntiquantMode is 0")
                                                   : text(key, ", as keyAntiquantMode"),
                    text(value));
}

Finding no_merged_parameters(const Case& c) {
    if (c.quantisation != Quantisation::anti) return {};
    const bool is_old = c.call.version < 5;
    for (const Input input : {kAntiquantScale, kAntiquantOffset}) {
        if (c.extra[input] == nullptr) continue;
        return violated(kInputNames[input],
                        is_old ? "a tensor whose first axis is 2, key's and value's, where these have none of their own"
                               : "nothing",
                        text("shape ", shape_text(*c.extra[input])),
                        is_old ? "" : "give keyAntiquantScale and valueAntiquantScale");
    }
    if (c.call.antiquant_mode == 0) return {};
    return violated("antiquantMode", "0", text(c.call.antiquant_mode),
                    "keyAntiquantMode and valueAntiquantMode tell what keyAntiquantScale and valueAntiquantScale are");
}

Finding scales_given(const Case& c) {
    if (!applies(c)) return {};
    for (const Side& side : sides(c)) {
        if (c.extra[side.scale] != nullptr) continue;
        return violated(kInputNames[side.scale],
                        text("a scale, as key is ", meta::dtype_name(c.key->front()->dtype), " and query ",
                             meta::dtype_name(c.query->dtype)),
                        "nothing");
    }
    return {};
}

Finding offsets_together(const Case& c) {
    if (!applies(c)) return {};
    const bool key = c.extra[kKeyAntiquantOffset] != nullptr;
    if (key == (c.extra[kValueAntiquantOffset] != nullptr)) return {};
    return violated(key ? "valueAntiquantOffset" : "keyAntiquantOffset",
                    text("a tensor, as ", key ? "keyAntiquantOffset" : "valueAntiquantOffset", " is one"), "nothing");
}

Finding scale_types(const Case& c) {
    if (!applies(c)) return {};
    for (const Side& side : sides(c)) {
        const aclDataType dtype = c.extra[side.scale]->dtype;
        const bool is_coarse = side.mode == 0 || side.mode == 2;  // few scales: in the query's precision
        const aclDataType wanted = side.mode == 6 ? ACL_FLOAT8_E8M0 : is_coarse ? c.query->dtype : ACL_FLOAT;
        if (dtype == wanted || (is_coarse && dtype == ACL_FLOAT)) continue;
        return violated(kInputNames[side.scale],
                        text("dtype ", meta::dtype_name(wanted), " for ", side.mode_name, " ", side.mode),
                        meta::dtype_name(dtype));
    }
    return {};
}

Finding scale_shapes(const Case& c) {
    if (!applies(c) || c.call.is_largest) return {};
    for (const Side& side : sides(c)) {
        ScalePlace place;
        if (find_scale(c, side.mode, side.dim, *c.extra[side.scale], &place)) continue;
        const bool needs_pages = (side.mode == 4 || side.mode == 5) && c.storage != Storage::paged;
        if (needs_pages) return violated(side.mode_name, "another mode without a blockTable", text(side.mode));
        return violated(kInputNames[side.scale],
                        text("shape ", scale_shape_text(c, side.mode, side.dim), ", for ", side.mode_name, " ",
                             side.mode),
                        shape_text(*c.extra[side.scale]));
    }
    return {};
}

Finding offsets_like_scales(const Case& c) {
    if (!applies(c)) return {};
    for (const Side& side : sides(c)) {
        const meta::Tensor& scale = *c.extra[side.scale];
        const meta::Tensor* offset = c.extra[side.offset];
        if (offset == nullptr) continue;
        if (offset->dtype == scale.dtype && has_shape(*offset, scale.shape, scale.rank)) continue;
        return violated(kInputNames[side.offset],
                        text(meta::dtype_name(scale.dtype), " of shape ", shape_text(scale), ", as ",
                             kInputNames[side.scale]),
                        text(meta::dtype_name(offset->dtype), " of shape ", shape_text(*offset)));
    }
    return {};
}

constexpr Rule<Case> kRules[] = {
    {"DQA-S-03", Tier::single, modes_known},  // with DQA-S-01 and 02
    {"DQA-E-04", Tier::existence, no_merged_parameters},  // with DQA-E-03
    {"DQA-E-01", Tier::existence, scales_given},  // with DQA-E-02
    {"DQA-E-05", Tier::existence, offsets_together},
    {"DQA-S-13", Tier::consistency, scale_types},   // to DQA-S-20
    {"DQA-S-21", Tier::consistency, scale_shapes},  // to DQA-S-29
    {"DQA-C-01", Tier::consistency, offsets_like_scales},  // with DQA-C-02
};

}  // namespace

const Group<Case> kAntiquantRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::fia
