// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Parameters of quantisation that a call's class has no use for must be absent: a caller who gives them means another
// class.
#include <algorithm>
#include <iterator>

#include "ops/fused_infer_attention_score/rules.h"
#include "ops/fused_infer_attention_score/shorthand.h"

namespace acl_attn::ops::fia {
namespace {

constexpr Input kTensors[] = {kDeqScale1,          kQuantScale1,         kDeqScale2,
                              kDequantScaleQuery,  kAntiquantScale,      kAntiquantOffset,
                              kKeyAntiquantScale,  kKeyAntiquantOffset,  kValueAntiquantScale,
                              kValueAntiquantOffset};

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

Finding none_of_quantisation(const Case& c) {
    if (!c.is_plain_quant()) return {};
    for (const Input input : kTensors) {
        if (c.extra[input] != nullptr) return excluded(c, input, class_of(c.quantisation).name);
    }
    return {};
}

Finding only_used_tensors(const Case& c) {
    if (!c.is_strict()) return {};
    const Class own = class_of(c.quantisation);
    for (const Input input : kTensors) {
        if (c.extra[input] == nullptr) continue;
        if (std::find(std::begin(own.used), std::end(own.used), input) != std::end(own.used)) continue;
        return excluded(c, input, own.name);
    }
    return {};
}

Finding only_used_modes(const Case& c) {
    if (!c.is_strict()) return {};
    const Call& call = c.call;
    const bool own_modes = c.is_full_quant() && c.quantisation != Quantisation::per_tensor;
    const struct {
        const char* name;
        int64_t value;
        bool is_used;
    } modes[] = {
        {"queryQuantMode", call.query_quant_mode, own_modes},
        {"keyAntiquantMode", call.key_antiquant_mode, own_modes || c.is_anti()},
        {"valueAntiquantMode", call.value_antiquant_mode, own_modes || c.is_anti()},
        {"antiquantMode", call.antiquant_mode, c.is_anti()},  // DQA-E-03
    };
    for (const auto& mode : modes) {
        if (mode.value == 0 || mode.is_used) continue;
        return violated(mode.name, text("0 with ", class_of(c.quantisation).name), text(mode.value));
    }
    return {};
}

constexpr const char* kAll =
    "deqScale1, quantScale1, deqScale2, dequantScaleQuery, antiquantScale, antiquantOffset, keyAntiquantScale, "
    "keyAntiquantOffset, valueAntiquantScale, valueAntiquantOffset";

constexpr Rule<Case> kRules[] = {
    {"HOST-E-03", Tier::existence, only_used_modes, and_host(page_only(kProducts)),
     "queryQuantMode, keyAntiquantMode, valueAntiquantMode, antiquantMode",
     "modes that the call's class has no use for are 0", Known::tensors},
    {"DQN-E-01", Tier::existence, none_of_quantisation, and_host(kAscend950), kAll,
     "calls that are not quantised have no parameter of quantisation", Known::tensors},
    {"HOST-E-04", Tier::existence, only_used_tensors, and_host(page_only(kProducts)), kAll,
     "parameters of quantisation that the call's class has no use for are not given", Known::tensors},
};

}  // namespace

const Group<Case> kUnusedRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::fia
