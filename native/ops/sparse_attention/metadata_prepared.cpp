// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/sparse_attention/metadata_prepared.h"

#include <iterator>
#include <utility>

#include "ops/failure.h"
#include "ops/place.h"
#include "ops/rule.h"
#include "ops/sparse_attention/metadata_task.h"
#include "ops/sparse_attention/task.h"

namespace acl_attn::ops::sparse {
namespace {

constexpr Input kMlaSignature[] = {kCuSeqlensQ, kCuSeqlensOriKv, kCuSeqlensCmpKv, kSequsedQ, kSequsedOriKv,
                                   kSequsedCmpKv, kCmpResidualKv, kOriTopkLength, kCmpTopkLength};
constexpr Input kQuantSignature[] = {kCuSeqlensQ, kCuSeqlensOriKv, kCuSeqlensCmpKv, kSequsedQ, kSequsedOriKv};

class PreparedMetadata final : public meta::PreparedCall {
public:
    explicit PreparedMetadata(const MetadataCase& c)
        : plan_(std::make_shared<const MetadataPlan>(make_metadata_plan(c))) {
        regions_ = regions_of(c);
        for (size_t i = 0; i < kInputCount; ++i) inputs_[i] = place_of(c.call.tensors[i].tensor.get());
        output_ = place_of(c.metadata);
        for (const Region& region : regions_.inputs) {
            addresses_.inputs[region.index] = static_cast<const int32_t*>(inputs_[region.index].at(region.address));
        }
        addresses_.words = static_cast<uint32_t*>(output_.at(c.metadata->data));
    }

    uint64_t workspace_bytes() const noexcept override { return 0; }

    // Addresses may have been changed since the rules looked at them.
    std::unique_ptr<runtime::Task> bind(void*) const override {
        Finding finding = check_retargeted(regions_, ACLNN_ERR_PARAM_INVALID, "HOST-C-52", "HOST-C-53");
        if (finding) return make_failure(std::move(finding));
        return make_metadata_task(plan_, addresses_);
    }

    bool set_address(meta::Side side, size_t ir_index, int64_t member, void* address) override {
        if (member != -1) return false;
        const Input input = metadata_input_at(plan_->op, ir_index);
        const bool is_input = input != kInputCount && side != meta::Side::output;
        const size_t inputs = plan_->op == Operator::sparse_flash_mla ? std::size(kMlaSignature)
                                                                      : std::size(kQuantSignature);
        const bool is_output = ir_index == (side == meta::Side::either ? inputs : 0) && side != meta::Side::input;
        if (is_input ? !inputs_[input].takes(address) : !is_output || !output_.takes(address)) return false;
        if (is_input) {
            for (Region& region : regions_.inputs) {
                if (region.index != input) continue;
                region.address = address;
                addresses_.inputs[input] = static_cast<const int32_t*>(inputs_[input].at(address));
            }
        } else {
            regions_.outputs.front().address = address;
            addresses_.words = static_cast<uint32_t*>(output_.at(address));
        }
        return true;
    }

    std::string describe() const override {
        return text(metadata_api_name(plan_->op), ": ", plan_->lengths.batch, " sequences, ", plan_->rules.heads,
                    " heads, for ", plan_->rules.cores.cube, " cube and ", plan_->rules.cores.vector,
                    " vector cores\n");
    }

private:
    std::shared_ptr<const MetadataPlan> plan_;
    Place inputs_[kInputCount];
    Place output_;
    MetadataAddresses addresses_;
    Regions regions_;
};

}  // namespace

Input metadata_input_at(Operator op, size_t position) {
    if (op == Operator::sparse_flash_mla) {
        return position < std::size(kMlaSignature) ? kMlaSignature[position] : kInputCount;
    }
    return position < std::size(kQuantSignature) ? kQuantSignature[position] : kInputCount;
}

Regions regions_of(const MetadataCase& c) {
    Regions regions;
    regions.inputs.reserve(kInputCount);
    for (size_t i = 0; i < kInputCount; ++i) {
        const Input input = static_cast<Input>(i);
        const bool is_ignored = c.is_quantised() && (input == kCuSeqlensOriKv || input == kCuSeqlensCmpKv);
        if (c.in[i] != nullptr && !is_ignored) add_region(regions.inputs, c.name(input), i, *c.in[i], c.call.is_sketch);
    }
    add_region(regions.outputs, "metaData", 0, *c.metadata, c.call.is_sketch);
    return regions;
}

std::unique_ptr<meta::PreparedCall> prepare(const MetadataCase& subject) {
    return std::make_unique<PreparedMetadata>(subject);
}

}  // namespace acl_attn::ops::sparse
