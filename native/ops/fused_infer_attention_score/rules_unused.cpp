// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Parameters of quantisation that a call's class has no use for must be absent: a caller who gives them means another
// class.
#include <algorithm>
#include <iterator>

#include "ops/fused_infer_attention_score/rules.h"
#include "ops/tensors.h"

namespace acl_attn::ops::fia {
namespace {

constexpr Input kTensors[] = {kDeqScale1,          kQuantScale1,         kDeqScale2,
                              kAntiquantScale,     kAntiquantOffset,     kKeyAntiquantScale,
                              kKeyAntiquantOffset, kValueAntiquantScale, kValueAntiquantOffset,
                              kDequantScaleQuery};

struct Class {
    const char* name;
    Input used[7];  // kQuery: no entry
};

Class class_of(Quantisation quantisation) {
    switch (quantisation) {
        case Quantisation::none: return {"query and key of one 16-bit dtype", {}};
        case Quantisation::anti:
            return {"key of another dtype than query",
                    {kKeyAntiquantScale, kValueAntiquantScale, kKeyAntiquantOffset, kValueAntiquantOffset,
                     kAntiquantScale, kAntiquantOffset}};  // of the last two: DQA-E-04
        case Quantisation::per_tensor:
            return {"quantised queries without modes", {kDeqScale1, kQuantScale1, kDeqScale2}};
        case Quantisation::mla:
            return {"queryQuantMode 3 and ropes", {kDequantScaleQuery, kKeyAntiquantScale, kValueAntiquantScale}};
        case Quantisation::gqa_f8:
            return {"modes 3, 3, 2",
                    {kDequantScaleQuery, kKeyAntiquantScale, kValueAntiquantScale, kQuantScale1}};
        case Quantisation::mx_f8:
            return {"modes 6, 6, 8",
                    {kDequantScaleQuery, kKeyAntiquantScale, kValueAntiquantScale, kQuantScale1}};
    }
    return {"", {}};
}

Finding only_used_tensors(const Case& c) {
    const Class own = class_of(c.quantisation);
    for (const Input input : kTensors) {
        if (c.extra[input] == nullptr) continue;
        if (std::find(std::begin(own.used), std::end(own.used), input) != std::end(own.used)) continue;
        return violated(kInputNames[input], text("nothing with ", own.name),
                        text("shape ", shape_text(*c.extra[input])));
    }
    return {};
}

Finding only_used_modes(const Case& c) {
    const Call& call = c.call;
    const bool own_modes = c.quantisation == Quantisation::mla || c.quantisation == Quantisation::gqa_f8 ||
                           c.quantisation == Quantisation::mx_f8;
    const bool anti = c.quantisation == Quantisation::anti;
    const struct {
        const char* name;
        int64_t value;
        bool used;
    } modes[] = {
        {"queryQuantMode", call.query_quant_mode, own_modes},
        {"keyAntiquantMode", call.key_antiquant_mode, own_modes || anti},
        {"valueAntiquantMode", call.value_antiquant_mode, own_modes || anti},
        {"antiquantMode", call.antiquant_mode, anti},  // DQA-E-03
    };
    for (const auto& mode : modes) {
        if (mode.value == 0 || mode.used) continue;
        return violated(mode.name, text("0 with ", class_of(c.quantisation).name), text(mode.value));
    }
    return {};
}

Finding reserved_absent(const Case& c) {
    const meta::Tensor* scale = c.extra[kKeyRopeAntiquantScale];
    if (scale == nullptr) return {};
    return violated("keyRopeAntiquantScale", "nothing: it is reserved", text("shape ", shape_text(*scale)));
}

constexpr Rule<Case> kRules[] = {
    {"HOST-E-03", Tier::single, only_used_modes},
    {"DQN-E-01", Tier::existence, only_used_tensors},  // with DQF-E-02 to 04, 08 to 10, 13, 15
    {"ROPE-X-18", Tier::existence, reserved_absent},
};

}  // namespace

const Group<Case> kUnusedRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::fia
