// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/sparse_attention/task.h"

#include <utility>

#include "ops/sparse_attention/faults.h"
#include "ops/sparse_attention/metadata_check.h"
#include "ops/sparse_attention/result.h"
#include "ops/sparse_attention/task_shares.h"

namespace acl_attn::ops::sparse {
namespace {

const int32_t* ints(const Addresses& a, Input input) { return static_cast<const int32_t*>(a.inputs[input]); }

engine::SparseOperands operands_of(const Addresses& a) {
    engine::SparseOperands o;
    o.query = a.inputs[kQ];
    o.ori = a.inputs[kOriKv];
    o.cmp = a.inputs[kCmpKv];
    o.ori_block_table = ints(a, kOriBlockTable);
    o.cmp_block_table = ints(a, kCmpBlockTable);
    o.ori_indices = ints(a, kOriSparseIndices);
    o.cmp_indices = ints(a, kCmpSparseIndices);
    o.ori_topk_length = ints(a, kOriTopkLength);
    o.cmp_topk_length = ints(a, kCmpTopkLength);
    o.sinks = static_cast<const float*>(a.inputs[kSinks]);
    o.out = a.outputs[kAttnOut];
    o.lse = static_cast<float*>(a.outputs[kSoftmaxLse]);
    o.ranges = a.ranges.empty() ? nullptr : &a.ranges;
    return o;
}

LengthSources with_addresses(LengthSources sources, const Addresses& a) {
    sources.q.totals = ints(a, kCuSeqlensQ);
    sources.q.used = ints(a, kSequsedQ);
    sources.ori.totals = ints(a, kCuSeqlensOriKv);
    sources.ori.used = ints(a, kSequsedOriKv);
    sources.cmp.totals = ints(a, kCuSeqlensCmpKv);
    sources.cmp.used = ints(a, kSequsedCmpKv);
    sources.residual = ints(a, kCmpResidualKv);
    return sources;
}

class SparseTask final : public runtime::Task {
public:
    SparseTask(std::shared_ptr<const Planned> planned, const Addresses& addresses, void* workspace)
        : planned_(std::move(planned)), addresses_(addresses), workspace_(workspace) {}

    runtime::TaskResult run() noexcept override {
        if (planned_->attention == nullptr) return {};
        return guarded_result([&] { return compute(); });
    }

private:
    runtime::TaskResult compute() const {
        const Addresses& a = addresses_;
        const uint32_t* words = static_cast<const uint32_t*>(a.inputs[kMetadata]);
        std::vector<SequenceLengths> lengths;
        if (Finding finding = read_lengths(with_addresses(planned_->lengths, a), lengths)) return result_of(finding);
        if (Finding finding =
                check_metadata(*planned_, lengths, ints(a, kOriTopkLength), ints(a, kCmpTopkLength), words)) {
            return result_of(finding);
        }
        const std::vector<engine::SparseSequence> sequences = place_sequences(*planned_, lengths);
        engine::SparseOperands operands = operands_of(a);
        engine::SparseShares shares;
        if (planned_->follows_tasks && planned_->attention->cores() > 0) {
            shares = read_shares(planned_->tasks,
                                 task_sequences(*planned_, lengths, operands.ori_topk_length, operands.cmp_topk_length),
                                 words);
            operands.shares = &shares;
        }
        const engine::SparseFault fault =
            planned_->attention->run(operands, sequences.data(), static_cast<int64_t>(sequences.size()), workspace_);
        if (fault.found()) return result_of(finding_of(*planned_, sequences, fault));
        runtime::TaskResult result;
        if (fault.failed) result.code = ACLNN_ERR_INNER;
        result.message = fault.failure;
        return result;
    }

    std::shared_ptr<const Planned> planned_;
    const Addresses addresses_;
    void* workspace_;
};

}  // namespace

std::unique_ptr<runtime::Task> make_task(std::shared_ptr<const Planned> planned, const Addresses& addresses,
                                         void* workspace) {
    return std::make_unique<SparseTask>(std::move(planned), addresses, workspace);
}

}  // namespace acl_attn::ops::sparse
