// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/sparse_attention/prepared.h"

#include <utility>

#include "ops/compute.h"
#include "ops/failure.h"
#include "ops/place.h"
#include "ops/rule.h"
#include "ops/sparse_attention/task.h"

namespace acl_attn::ops::sparse {
namespace {

class PreparedSparse final : public meta::PreparedCall {
public:
    PreparedSparse(const Case& c, std::shared_ptr<const Planned> planned) : planned_(std::move(planned)) {
        regions_ = regions_of(c);
        for (size_t i = 0; i < kInputCount; ++i) inputs_[i] = place_of(c.call.tensors[i].tensor.get());
        for (size_t i = 0; i < kOutputCount; ++i) outputs_[i] = place_of(c.call.outputs[i].tensor.get());
        for (const Region& r : regions_.inputs) addresses_.inputs[r.index] = inputs_[r.index].at(r.address);
        for (const Region& r : regions_.outputs) addresses_.outputs[r.index] = outputs_[r.index].at(r.address);
    }

    uint64_t workspace_bytes() const noexcept override {
        return planned_->attention == nullptr ? 0 : planned_->attention->workspace_bytes();
    }

    // Addresses that set_address() has brought together are looked at only here, because a series of changes may pass
    // through such a state.
    std::unique_ptr<runtime::Task> bind(void* workspace) const override {
        Finding finding;
        if (was_retargeted_) finding = check_retargeted(regions_, ACLNN_ERR_PARAM_INVALID, "HOST-C-52", "HOST-C-53");
        if (!finding) finding = check_workspace(regions_, workspace, workspace_bytes(), ACLNN_ERR_PARAM_INVALID);
        if (finding) return make_failure(std::move(finding));
        if (!compute::watches_memory()) return make_task(planned_, addresses_, workspace);
        Addresses watched = addresses_;
        watched.ranges = ranges_of(regions_);
        return make_task(planned_, watched, workspace);
    }

    bool set_address(meta::Side side, size_t ir_index, int64_t member, void* address) override {
        if (member != -1) return false;
        const bool is_input = input_at(planned_->op, ir_index) != kInputCount;
        if (side == meta::Side::input || (side == meta::Side::either && is_input)) {
            return is_input && set_input(input_at(planned_->op, ir_index), address);
        }
        const size_t inputs = side == meta::Side::either ? input_count() : 0;
        const size_t output = ir_index - inputs;
        return ir_index >= inputs && output < kOutputCount && set_output(static_cast<Output>(output), address);
    }

    std::string describe() const override { return text(api_name(planned_->op), ": ", sparse::describe(*planned_)); }

private:
    size_t input_count() const {
        size_t count = 0;
        while (input_at(planned_->op, count) != kInputCount) ++count;
        return count;
    }

    // Tensors that a run does not touch take an address, too, and stay untouched.
    bool set_input(Input input, void* address) {
        if (!inputs_[input].takes(address)) return false;
        move(regions_.inputs, input, address, addresses_.inputs[input], inputs_[input]);
        return true;
    }

    bool set_output(Output output, void* address) {
        if (!outputs_[output].takes(address)) return false;
        move(regions_.outputs, output, address, addresses_.outputs[output], outputs_[output]);
        return true;
    }

    template <class Address>
    void move(std::vector<Region>& regions, size_t index, void* address, Address& first, const Place& place) {
        for (Region& region : regions) {
            if (region.index != index) continue;
            region.address = address;
            first = place.at(address);
            was_retargeted_ = true;
        }
    }

    std::shared_ptr<const Planned> planned_;
    Place inputs_[kInputCount];
    Place outputs_[kOutputCount];
    Addresses addresses_;
    Regions regions_;
    bool was_retargeted_ = false;
};

}  // namespace

Regions regions_of(const Case& c) {
    Regions regions;
    if (c.q->is_empty()) return regions;
    regions.inputs.reserve(kInputCount);
    regions.outputs.reserve(kOutputCount);
    for (size_t i = 0; i < kInputCount; ++i) {
        const Input input = static_cast<Input>(i);
        const bool is_reserved = c.is_quantised() && input == kSequsedQ;
        if (c.in[i] == nullptr || is_reserved) continue;
        add_region(regions.inputs, c.name(input), i, *c.in[i], c.call.is_sketch);
    }
    add_region(regions.outputs, output_name(kAttnOut), kAttnOut, *c.out, c.call.is_sketch);
    if (c.lse != nullptr) add_region(regions.outputs, output_name(kSoftmaxLse), kSoftmaxLse, *c.lse, c.call.is_sketch);
    return regions;
}

std::unique_ptr<meta::PreparedCall> prepare(const Case& subject, std::shared_ptr<const Planned> planned) {
    return std::make_unique<PreparedSparse>(subject, std::move(planned));
}

}  // namespace acl_attn::ops::sparse
