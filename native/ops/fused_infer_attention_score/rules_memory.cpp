// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What the addresses and strides of a call must fulfil so that running it touches nothing but the call's own memory.
#include <cstdint>
#include <iterator>
#include <string>

#include "ops/fused_infer_attention_score/rules.h"
#include "ops/tensors.h"
#include "runtime/memory.h"

namespace acl_attn::ops::fia {
namespace {

// Calls visit(name, tensor) for every tensor that the run touches, until one returns a finding.
template <class Visit>
Finding each_input(const Case& c, Visit&& visit) {
    if (Finding f = visit(std::string("query"), *c.query)) return f;
    for (const auto& [name, arg] : lists(c.call)) {
        for (size_t i = 0; i < arg.list->tensors.size(); ++i) {
            if (Finding f = visit(text(name, "[", i, "]"), *arg.list->tensors[i])) return f;
        }
    }
    if (c.reads_mask()) {
        if (Finding f = visit(std::string("attenMask"), *c.mask)) return f;
    }
    if (c.storage == Storage::paged) return visit(std::string("blockTable"), *c.block_table);
    return {};
}

template <class Visit>
Finding each_output(const Case& c, Visit&& visit) {
    if (Finding f = visit(std::string("attentionOut"), *c.out)) return f;
    return c.lse != nullptr ? visit(std::string("softmaxLse"), *c.lse) : Finding{};
}

Finding dense(const std::string& name, const meta::Tensor& tensor) {
    if (tensor.is_contiguous()) return {};
    return violated(name, "a contiguous tensor",
                    text("strides ", strides_text(tensor), " for shape ", shape_text(tensor)),
                    "copy it to dense memory first");
}

Finding all_dense(const Case& c) {
    const auto check = [&](const std::string& name, const meta::Tensor& tensor) -> Finding {
        const bool may_be_strided = c.storage == Storage::paged && (name[0] == 'k' || name[0] == 'v');  // PA-C-04
        return may_be_strided ? Finding{} : dense(name, tensor);
    };
    if (Finding f = each_input(c, check)) return f;
    return each_output(c, dense);
}

Finding addressed(const std::string& name, const meta::Tensor& tensor) {
    if (tensor.is_empty()) return {};
    return check_address(name, static_cast<size_t>(meta::dtype_bits(tensor.dtype) / 8), tensor.data, byte_span(tensor));
}

Finding all_addressed(const Case& c) {
    if (Finding f = each_input(c, addressed)) return f;
    return each_output(c, addressed);
}

bool share_memory(const meta::Tensor& a, const meta::Tensor& b) {
    return overlap(byte_span(a), a.data, byte_span(b), b.data);
}

Finding outputs_apart(const Case& c) {
    Finding found = each_output(c, [&](const std::string& out_name, const meta::Tensor& out) {
        return each_input(c, [&](const std::string& name, const meta::Tensor& input) {
            return share_memory(out, input) ? not_apart(out_name, name) : Finding{};
        });
    });
    if (!found && c.lse != nullptr && share_memory(*c.out, *c.lse)) return not_apart("softmaxLse", "attentionOut");
    return found;
}

constexpr Rule<Case> kRules[] = {
    {"PA-C-05", Tier::consistency, all_dense},
    {"HOST-C-02", Tier::consistency, all_addressed},
    {"HOST-C-03", Tier::consistency, outputs_apart},
};

}  // namespace

Finding check_address(const std::string& name, size_t element_bytes, const void* data, const ByteSpan& span) {
    if (data == nullptr) return violated(name, "the address of its data", "a null address");
    const size_t excess = reinterpret_cast<uintptr_t>(data) % element_bytes;
    if (excess != 0) {
        return violated(name, text("an address that ", element_bytes, " divides"),
                        text("one that is ", excess, " bytes off"));
    }
    const size_t room = runtime::known_room(data);
    if (span.end <= 0 || static_cast<size_t>(span.end) <= room) return {};
    return violated(name, text("memory for ", span.end, " bytes from its address on"),
                    text("an address ", room, " bytes before the end of its allocation"));
}

// The engine reads inputs while it writes outputs.
Finding not_apart(const std::string& output, const std::string& other) {
    return violated(output, "memory of its own", text("memory that overlaps ", other));
}

const Group<Case> kMemoryRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::fia
