// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What the addresses and strides of a call must fulfil so that running it touches nothing but the call's own memory.
#include <cstdint>
#include <iterator>
#include <string>

#include "ops/fused_infer_attention_score/rules.h"
#include "ops/tensors.h"

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
    if (tensor.data == nullptr) return violated(name, "the address of its data", "a null address");
    const size_t size = static_cast<size_t>(meta::dtype_bits(tensor.dtype) / 8);
    const size_t excess = reinterpret_cast<uintptr_t>(tensor.data) % size;
    if (excess == 0) return {};
    return violated(name, text("an address that ", size, " divides"), text("one that is ", excess, " bytes off"));
}

Finding all_addressed(const Case& c) {
    if (Finding f = each_input(c, addressed)) return f;
    return each_output(c, addressed);
}

bool overlap(const meta::Tensor& a, const meta::Tensor& b) {
    const ByteSpan sa = byte_span(a);
    const ByteSpan sb = byte_span(b);
    const intptr_t pa = reinterpret_cast<intptr_t>(a.data);
    const intptr_t pb = reinterpret_cast<intptr_t>(b.data);
    return sa.begin < sa.end && sb.begin < sb.end && pa + sa.begin < pb + sb.end && pb + sb.begin < pa + sa.end;
}

// The engine reads inputs while it writes outputs.
Finding outputs_apart(const Case& c) {
    Finding found = each_output(c, [&](const std::string& out_name, const meta::Tensor& out) {
        return each_input(c, [&](const std::string& name, const meta::Tensor& input) -> Finding {
            if (!overlap(out, input)) return {};
            return violated(out_name, "memory of its own", text("memory that overlaps ", name));
        });
    });
    if (!found && c.lse != nullptr && overlap(*c.out, *c.lse)) {
        return violated("softmaxLse", "memory of its own", "memory that overlaps attentionOut");
    }
    return found;
}

constexpr Rule<Case> kRules[] = {
    {"PA-C-05", Tier::consistency, all_dense},
    {"HOST-C-02", Tier::consistency, all_addressed},
    {"HOST-C-03", Tier::consistency, outputs_apart},
};

}  // namespace

const Group<Case> kMemoryRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::fia
