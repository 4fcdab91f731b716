// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/fused_infer_attention_score/prepared.h"

#include <utility>
#include <vector>

#include "ops/compute.h"
#include "ops/failure.h"
#include "ops/fused_infer_attention_score/largest.h"
#include "ops/fused_infer_attention_score/plan.h"
#include "ops/fused_infer_attention_score/task.h"
#include "ops/place.h"
#include "ops/rule.h"
#include "ops/tensors.h"

namespace acl_attn::ops::fia {
namespace {

// The halves of what the older entry points merge, and where the caller finds the whole.
constexpr struct {
    Input half, whole;
} kHalves[] = {{kKeyAntiquantScale, kAntiquantScale},
               {kValueAntiquantScale, kAntiquantScale},
               {kKeyAntiquantOffset, kAntiquantOffset},
               {kValueAntiquantOffset, kAntiquantOffset}};

class PreparedAttention final : public meta::PreparedCall {
public:
    PreparedAttention(const Case& c, std::shared_ptr<const Planned> planned)
        : api_(api_name(c.call.version)), input_count_(c.call.inputs), planned_(std::move(planned)) {
        for (size_t i = 0; i < kInputCount; ++i) {
            const TensorArg& arg = c.call.tensors[i];
            inputs_[i] = place_of(arg.tensor.get());
            is_half_[i] = arg.is_half;
        }
        for (size_t i = 0; i < kOutputCount; ++i) outputs_[i] = place_of(c.call.outputs[i].tensor.get());
        if (!c.is_empty) {
            regions_ = regions_of(c);
            for (const Region& input : regions_.inputs) {
                if (input.member < 0) addresses_.inputs[input.index] = inputs_[input.index].at(input.address);
            }
            for (const Region& out : regions_.outputs) {
                addresses_.outputs[out.index] = outputs_[out.index].at(out.address);
            }
        }
        add_members(*c.key, key_, addresses_.key);
        add_members(*c.value, value_, addresses_.value);
    }

    uint64_t workspace_bytes() const noexcept override {
        return planned_->attention == nullptr ? 0 : planned_->attention->workspace_bytes();
    }

    // Addresses that set_address() has brought together are looked at only here, because a series of changes may pass
    // through such a state.
    std::unique_ptr<runtime::Task> bind(void* workspace) const override {
        Finding finding;
        if (was_retargeted_) finding = check_retargeted(regions_, kMemoryStatus, "HOST-C-02", "HOST-C-03");
        if (!finding) finding = check_workspace(regions_, workspace, workspace_bytes(), kMemoryStatus);
        if (finding) return make_failure(std::move(finding));
        if (!compute::watches_memory()) return make_task(planned_, addresses_, workspace);
        Addresses watched = addresses_;
        watched.ranges = ranges_of(regions_);
        return make_task(planned_, watched, workspace);
    }

    bool set_address(meta::Side side, size_t ir_index, int64_t member, void* address) override {
        if (side == meta::Side::either) {
            const bool is_input = ir_index < input_count_;
            return set_address(is_input ? meta::Side::input : meta::Side::output,
                               is_input ? ir_index : ir_index - input_count_, member, address);
        }
        const bool taken = side == meta::Side::output ? set_output(ir_index, member, address)
                           : ir_index == kKey         ? set_member(key_, addresses_.key, ir_index, member, address)
                           : ir_index == kValue       ? set_member(value_, addresses_.value, ir_index, member, address)
                                                      : set_input(ir_index, member, address);
        was_retargeted_ = was_retargeted_ || taken;
        return taken;
    }

    std::string describe() const override {
        if (planned_->attention == nullptr) return text(api_, ": query has no elements; nothing to do\n");
        return text(api_, ": ", fia::describe(planned_->facts), planned_->attention->describe());
    }

private:
    static void add_members(const std::vector<TensorRef>& tensors, std::vector<Place>& places,
                            std::vector<const void*>& to) {
        for (const TensorRef& tensor : tensors) {
            places.push_back(place_of(tensor.get()));
            to.push_back(places.back().at(tensor->data));
        }
    }

    static void move(std::vector<Region>& regions, size_t index, int64_t member, void* address) {
        for (Region& region : regions) {
            if (region.index == index && region.member == member) region.address = address;
        }
    }

    bool set_output(size_t index, int64_t member, void* address) {
        if (index >= kOutputCount || member != -1 || !outputs_[index].takes(address)) return false;
        addresses_.outputs[index] = outputs_[index].at(address);
        move(regions_.outputs, index, -1, address);
        return true;
    }

    bool set_member(const std::vector<Place>& places, std::vector<const void*>& to, size_t index, int64_t member,
                    void* address) {
        if (member < 0 || member >= static_cast<int64_t>(places.size())) return false;
        const Place& place = places[static_cast<size_t>(member)];
        if (!place.takes(address)) return false;
        to[static_cast<size_t>(member)] = place.at(address);
        move(regions_.inputs, index, member, address);
        return true;
    }

    bool set_input(size_t index, int64_t member, void* address) {
        if (index >= input_count_ || member != -1) return false;
        bool taken = false;
        const auto set = [&](size_t at) {
            if (!inputs_[at].takes(address)) return;
            addresses_.inputs[at] = inputs_[at].at(address);
            move(regions_.inputs, at, -1, address);
            taken = true;
        };
        if (!is_half_[index]) set(index);
        for (const auto& [half, whole] : kHalves) {
            if (index == whole && is_half_[half]) set(half);
        }
        return taken;
    }

    const char* api_;
    size_t input_count_;
    std::shared_ptr<const Planned> planned_;
    Place inputs_[kInputCount];
    bool is_half_[kInputCount] = {};
    Place outputs_[kOutputCount];
    std::vector<Place> key_, value_;
    Addresses addresses_;
    Regions regions_;
    bool was_retargeted_ = false;
};

// The answer to a question for a size.
class LargestCall final : public meta::PreparedCall {
public:
    LargestCall(const char* api, uint64_t bytes) : api_(api), bytes_(bytes) {}

    uint64_t workspace_bytes() const noexcept override { return bytes_; }
    std::unique_ptr<runtime::Task> bind(void*) const override {
        return make_failure(violated("executor", text("one of ", api_, "GetWorkspaceSize"),
                                     text("one of ", api_, "GetMaxWorkspaceSize, whose lengths have no values")));
    }
    bool set_address(meta::Side, size_t, int64_t, void*) override { return false; }
    std::string describe() const override { return text(api_, ": at most ", bytes_, " bytes of workspace\n"); }

private:
    const char* api_;
    uint64_t bytes_;
};

}  // namespace

// What a run would have to look at, where it cannot look at its operands.
Finding unreadable(const Case& c) {
    if (compute::reads_operands()) return {};
    const char* what = padding_of(c)                                              ? "sizes of padding"
                       : !c.kv_is_empty && tree_of(c).present                     ? "a tree mask"
                       : c.is_post_quant() && c.extra[kQuantScale2] == nullptr    ? "an output without a scale"
                                                                                  : nullptr;
    if (what == nullptr) return {};
    return uncomputed("what can be planned from shapes, lengths and attributes", what,
                      "not supported yet; the host target computes it");
}

Finding unsupported(const Case& c) {
    if (c.is_empty) return {};
    if (Finding finding = unreadable(c)) return finding;
    return compute::unserved(make_problem(c));
}

Finding prepare(const Case& c, std::unique_ptr<meta::PreparedCall>* prepared) {
    auto planned = std::make_shared<Planned>();
    if (!c.is_empty) {
        engine::Problem problem = make_problem(c);
        if (Finding finding = unreadable(c)) return finding;
        if (Finding finding = compute::unserved(problem)) return finding;
        if (c.call.is_largest) {
            *prepared = std::make_unique<LargestCall>(api_name(c.call.version), largest_workspace(c, problem));
            return {};
        }
        planned->facts = facts_of(c, problem);
        planned->padding = padding_of(c);
        planned->tree = c.kv_is_empty ? TreeMask{} : tree_of(c);
        planned->chip = compute::chip();
        planned->attention = compute::plan(std::move(problem), planned->chip);
    }
    *prepared = std::make_unique<PreparedAttention>(c, std::move(planned));
    return {};
}

}  // namespace acl_attn::ops::fia
