// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What the addresses and strides of a call must fulfil so that running it touches nothing but the call's own memory.
#include <iterator>
#include <string>

#include "ops/fused_infer_attention_score/rules.h"
#include "ops/tensors.h"

namespace acl_attn::ops::fia {
namespace {

// Calls visit(name, touched) for every tensor that the run touches, inputs first, until one returns a finding. name()
// makes the tensor's name, which good tensors have no need of.
template <class Visit>
Finding each_touched(const Case& c, Visit&& visit) {
    for (const Touched& input : touched_inputs(c)) {
        if (Finding f = visit([&] { return input.input_name(); }, input)) return f;
    }
    for (const Touched& output : touched_outputs(c)) {
        if (Finding f = visit([&] { return std::string(kOutputNames[output.index]); }, output)) return f;
    }
    return {};
}

Finding all_dense(const Case& c) {
    return each_touched(c, [](const auto& name, const Touched& touched) -> Finding {
        const meta::Tensor& tensor = *touched.tensor;
        if (touched.may_be_strided || tensor.is_contiguous()) return {};
        return violated(name(), "a contiguous tensor",
                        text("strides ", strides_text(tensor), " for shape ", shape_text(tensor)),
                        "copy it to dense memory first");
    });
}

// Two 4-bit elements share a byte, so nothing may begin in the middle of one.
Finding whole_bytes(const Case& c) {
    return each_touched(c, [](const auto& name, const Touched& touched) -> Finding {
        const meta::Tensor& tensor = *touched.tensor;
        if (meta::dtype_bits(tensor.dtype) != 4 || tensor.is_empty()) return {};
        bool even = tensor.offset % 2 == 0 && last_axis(tensor) % 2 == 0;
        for (int axis = 0; axis + 1 < tensor.rank; ++axis) {
            even = even && (tensor.shape[axis] == 1 || tensor.stride[axis] % 2 == 0);
        }
        if (even) return {};
        return violated(name(), text("an even last axis, even strides and an even offset for ",
                                   meta::dtype_name(tensor.dtype)),
                        text("shape ", shape_text(tensor), ", strides ", strides_text(tensor), ", offset ",
                             tensor.offset));
    });
}

Finding all_addressed(const Case& c) { return check_addresses(regions_of(c), kMemoryStatus); }
Finding none_overlaps(const Case& c) { return check_apart(regions_of(c), kMemoryStatus); }

constexpr Rule<Case> kRules[] = {
    {"PA-C-05", Tier::consistency, all_dense, kHostOnly, "",
     "tensors are contiguous, except paged caches and their scales"},
    {"HOST-C-04", Tier::consistency, whole_bytes, kHostOnly, "",
     "no row of 4-bit elements begins in the middle of a byte"},
    {"HOST-C-02", Tier::consistency, all_addressed, kHostOnly, "",
     "every tensor has an address that fits its elements, with room for them"},
    {"HOST-C-03", Tier::consistency, none_overlaps, kHostOnly, "", "no output lies on another tensor"},
};

}  // namespace

Regions regions_of(const Case& c) {
    Regions regions;
    for (const Touched& t : touched_inputs(c)) {
        add_region(regions.inputs, kInputNames[t.index], t.index, *t.tensor, c.call.is_sketch, t.member);
    }
    for (const Touched& t : touched_outputs(c)) {
        add_region(regions.outputs, kOutputNames[t.index], t.index, *t.tensor, c.call.is_sketch);
    }
    return regions;
}

const Group<Case> kMemoryRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::fia
