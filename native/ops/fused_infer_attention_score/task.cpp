// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/fused_infer_attention_score/task.h"

#include <utility>

#include "ops/compute.h"

namespace acl_attn::ops::fia {
namespace {

constexpr float kOne = 1.0f;  // the scale of quantised outputs that are all zeros, which need none

engine::Operands operands_of(const Addresses& a) {
    engine::Operands o;
    o.query = a.inputs[kQuery];
    o.key = a.key.data();
    o.value = a.value.data();
    o.mask = static_cast<const uint8_t*>(a.inputs[kAttenMask]);
    o.block_table = static_cast<const int32_t*>(a.inputs[kBlockTable]);
    o.out = a.outputs[kAttentionOut];
    o.lse = static_cast<float*>(a.outputs[kSoftmaxLse]);
    o.query_rope = a.inputs[kQueryRope];
    o.key_rope = a.inputs[kKeyRope];
    o.bias = a.inputs[kPseShift];
    o.slopes = static_cast<const float*>(a.inputs[kPseShift]);
    o.sink = a.inputs[kLearnableSink];
    o.prefix_key = a.inputs[kKeySharedPrefix];
    o.prefix_value = a.inputs[kValueSharedPrefix];
    o.key_scale = a.inputs[kKeyAntiquantScale];
    o.key_offset = a.inputs[kKeyAntiquantOffset];
    o.value_scale = a.inputs[kValueAntiquantScale];
    o.value_offset = a.inputs[kValueAntiquantOffset];
    o.out_scale = a.inputs[kQuantScale2] != nullptr ? a.inputs[kQuantScale2] : &kOne;
    o.out_offset = a.inputs[kQuantOffset2];
    o.query_scale = a.inputs[kDequantScaleQuery];
    o.deq_scale1 = a.inputs[kDeqScale1];
    o.quant_scale1 = a.inputs[kQuantScale1];
    o.deq_scale2 = a.inputs[kDeqScale2];
    o.ranges = a.ranges.empty() ? nullptr : &a.ranges;
    return o;
}

class AttentionTask final : public runtime::Task {
public:
    AttentionTask(std::shared_ptr<const Planned> planned, const Addresses& addresses, void* workspace)
        : planned_(std::move(planned)), addresses_(addresses), workspace_(workspace) {
        if (!addresses_.ranges.empty()) addresses_.ranges.push_back({&kOne, sizeof kOne, "a scale of 1", false});
    }

    runtime::TaskResult run() noexcept override {
        if (planned_->attention == nullptr) return {};
        if (planned_->padding) return run_padded();
        if (planned_->tree.present) return run_tree();
        return report(planned_->attention->run(operands_of(addresses_), workspace_));
    }

private:
    int64_t read_size(Input input) const {
        const void* address = addresses_.inputs[input];
        return address == nullptr ? 0 : *static_cast<const int64_t*>(address);
    }

    // The padding sizes are in reach only now, so this run is planned now. The plan needs no more memory than phase one
    // asked for unless the number of threads or the processor target has been changed since.
    runtime::TaskResult run_padded() const noexcept {
        try {
            const auto attention = compute::plan(padded(planned_->facts.problem, planned_->padding,
                                                         read_size(kQueryPaddingSize), read_size(kKvPaddingSize)),
                                                  planned_->chip);
            std::unique_ptr<char[]> own;
            void* workspace = workspace_;
            if (attention->workspace_bytes() > planned_->attention->workspace_bytes()) {
                own.reset(new char[attention->workspace_bytes()]);
                workspace = own.get();
            }
            return report(attention->run(operands_of(addresses_), workspace));
        } catch (...) {
            return out_of_memory();
        }
    }

    runtime::TaskResult run_tree() const noexcept {
        try {
            engine::Operands operands = operands_of(addresses_);
            const std::vector<uint8_t> mask = expand(planned_->tree, planned_->facts.problem, operands.mask);
            operands.mask = mask.data();
            engine::MemoryRanges ranges = addresses_.ranges;
            ranges.push_back({mask.data(), mask.size(), "the expanded tree mask", false});
            if (operands.ranges != nullptr) operands.ranges = &ranges;
            return report(planned_->attention->run(operands, workspace_));
        } catch (...) {
            return out_of_memory();
        }
    }

    // Without a sentence, which would need some.
    static runtime::TaskResult out_of_memory() noexcept {
        runtime::TaskResult result;
        result.code = ACLNN_ERR_INNER;
        return result;
    }

    runtime::TaskResult report(const engine::Fault& fault) const noexcept {
        runtime::TaskResult result;
        if (fault.failed) {
            result.code = ACLNN_ERR_INNER;
            try {
                result.message = fault.failure;
            } catch (...) {
            }
        }
        if (!fault.found) return result;
        result.code = ACLNN_ERR_PARAM_INVALID;
        try {
            result.message =
                named(invalid(text("blockTable[", fault.sequence, "][", fault.column, "]"),
                              text("a block id in 0..", planned_->facts.problem.block_count - 1), text(fault.value),
                              "every entry that actualSeqLengthsKv reaches must name a block; nothing was computed"),
                      "HOST-C-06")
                    ->sentence();
        } catch (...) {  // the code alone must do if memory for the sentence is short
        }
        return result;
    }

    std::shared_ptr<const Planned> planned_;
    Addresses addresses_;
    void* workspace_;
};

}  // namespace

std::unique_ptr<runtime::Task> make_task(std::shared_ptr<const Planned> planned, const Addresses& addresses,
                                         void* workspace) {
    return std::make_unique<AttentionTask>(std::move(planned), addresses, workspace);
}

}  // namespace acl_attn::ops::fia
