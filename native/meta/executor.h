// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The two-phase protocol, once for all operators. Phase one of an operator ends in publish(); phase two is launch().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "acl_attn/acl_attn.h"
#include "aclnn/acl_meta.h"
#include "aclnn/opdev/op_errno.h"
#include "runtime/stream.h"

namespace acl_attn::meta {

enum class Side { input, output, either };

// What phase one leaves behind: a validated call with everything copied out of the caller's objects.
class PreparedCall {
public:
    virtual ~PreparedCall() = default;

    virtual uint64_t workspace_bytes() const noexcept = 0;

    // A task that computes the call with the addresses held now. `workspace` has at least workspace_bytes().
    virtual std::unique_ptr<runtime::Task> bind(void* workspace) const = 0;

    // Retargets a tensor that was present in phase one (repeatable executors). `ir_index` counts the operator's inputs
    // (Side::input), outputs (Side::output) or inputs then outputs (Side::either) in header order, absent optional ones
    // included; `member` is the position in a tensor list, -1 for a plain tensor. False if there is no such tensor.
    virtual bool set_address(Side side, size_t ir_index, int64_t member, void* address) = 0;

    virtual std::string describe() const = 0;  // several lines for people: geometry, path taken, work items
};

// Hands the call to the caller as an executor. `api` is the operator's phase-two name, a string literal.
aclnnStatus publish(const char* api, std::unique_ptr<PreparedCall> call, uint64_t* workspace_size,
                    aclOpExecutor** executor);

// New addresses for tensors of a repeatable executor, `count` of each.
struct Placements {
    const aclAttnTensorPlace* places = nullptr;
    void* const* addresses = nullptr;
    size_t count = 0;
};

// Phase two. Consumes a single-use executor whatever the outcome; a repeatable one stays. `synchronous` runs and waits.
// A null `api` accepts an executor of any operator.
aclnnStatus launch(const char* api, void* workspace, uint64_t workspace_size, aclOpExecutor* executor,
                   aclrtStream stream, bool synchronous = false, const Placements& placements = {}) noexcept;

// PreparedCall::describe of a live executor, else empty.
std::string describe_call(const aclOpExecutor* executor);

}  // namespace acl_attn::meta
