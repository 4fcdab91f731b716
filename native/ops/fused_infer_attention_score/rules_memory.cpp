// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What the addresses and strides of a call must fulfil so that running it touches nothing but the call's own memory.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>

#include "ops/fused_infer_attention_score/memory.h"
#include "ops/fused_infer_attention_score/rules.h"
#include "ops/tensors.h"
#include "runtime/memory.h"

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

template <class Name>
Finding address_fits(const Name& name, const Extent& extent) {
    if (extent.span.begin == extent.span.end) return {};
    if (extent.address == nullptr) return violated(name(), "the address of its data", "a null address");
    const size_t excess = reinterpret_cast<uintptr_t>(extent.address) % extent.alignment;
    if (excess != 0) {
        return violated(name(), text("an address that ", extent.alignment, " divides"),
                        text("one that is ", excess, " bytes off"));
    }
    const size_t room = runtime::known_room(extent.address);
    if (extent.span.end <= 0 || static_cast<size_t>(extent.span.end) <= room) return {};
    return violated(name(), text("memory for ", extent.span.end, " bytes from its address on"),
                    text("an address ", room, " bytes before the end of its allocation"));
}

std::string input_name(const Extent& input) { return Touched{input.index, input.member, nullptr, false}.input_name(); }

Finding addresses_fit(const Extents& extents) {
    for (const Extent& input : extents.inputs) {
        if (Finding f = address_fits([&] { return input_name(input); }, input)) return f;
    }
    for (const Extent& out : extents.outputs) {
        if (Finding f = address_fits([&] { return std::string(kOutputNames[out.index]); }, out)) return f;
    }
    return {};
}

Finding not_apart(const char* written, const std::string& other) {
    return violated(written, "memory of its own", text("memory that overlaps ", other));
}

// The engine reads inputs while it writes outputs.
Finding outputs_apart(const Extents& extents) {
    const auto overlap = [](const Extent& a, const Extent& b) {
        return ops::overlap(a.span, a.address, b.span, b.address);
    };
    for (const Extent& out : extents.outputs) {
        for (const Extent& input : extents.inputs) {
            if (!overlap(out, input)) continue;
            return not_apart(kOutputNames[out.index], input_name(input));
        }
    }
    if (extents.outputs.size() == 2 && overlap(extents.outputs[0], extents.outputs[1])) {
        return not_apart("softmaxLse", "attentionOut");
    }
    return {};
}

Finding all_addressed(const Case& c) { return addresses_fit(extents_of(c)); }
Finding none_overlaps(const Case& c) { return outputs_apart(extents_of(c)); }

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

Extents extents_of(const Case& c) {
    Extents extents;
    const auto add = [&](const Touched& touched, std::vector<Extent>& to) {
        if (c.call.is_sketch && touched.tensor->data == nullptr) return;
        const size_t alignment = static_cast<size_t>(std::max(meta::dtype_bits(touched.tensor->dtype) / 8, 1));
        to.push_back({touched.index, touched.member, byte_span(*touched.tensor), alignment, touched.tensor->data});
    };
    for (const Touched& input : touched_inputs(c)) add(input, extents.inputs);
    for (const Touched& output : touched_outputs(c)) add(output, extents.outputs);
    return extents;
}

engine::MemoryRanges ranges_of(const Extents& extents) {
    engine::MemoryRanges ranges;
    const auto add = [&](const Extent& extent, const char* name, bool is_written) {
        const char* begin = static_cast<const char*>(extent.address) + extent.span.begin;
        ranges.push_back({begin, static_cast<uint64_t>(extent.span.end - extent.span.begin), name, is_written});
    };
    for (const Extent& input : extents.inputs) add(input, kInputNames[input.index], false);
    for (const Extent& output : extents.outputs) add(output, kOutputNames[output.index], true);
    return ranges;
}

Finding check_memory(const Extents& extents) {
    if (Finding finding = addresses_fit(extents)) return named(std::move(finding), "HOST-C-02");
    return named(outputs_apart(extents), "HOST-C-03");
}

Finding check_workspace(const Extents& extents, const void* workspace, uint64_t bytes) {
    const ByteSpan span{true, 0, static_cast<int64_t>(bytes)};
    for (const Extent& input : extents.inputs) {
        if (overlap(span, workspace, input.span, input.address)) return not_apart("workspace", input_name(input));
    }
    for (const Extent& out : extents.outputs) {
        if (overlap(span, workspace, out.span, out.address)) return not_apart("workspace", kOutputNames[out.index]);
    }
    return {};
}

const Group<Case> kMemoryRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::fia
