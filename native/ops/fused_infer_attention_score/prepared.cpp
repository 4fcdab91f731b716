// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/fused_infer_attention_score/prepared.h"

#include <utility>
#include <vector>

#include "engine/attention.h"
#include "ops/fused_infer_attention_score/describe.h"
#include "ops/fused_infer_attention_score/plan.h"
#include "ops/fused_infer_attention_score/rules.h"
#include "ops/tensors.h"

namespace acl_attn::ops::fia {
namespace {

// The tensors of a call in one row: these, then the members of key, then those of value.
enum Slot : size_t { kSlotQuery, kSlotMask, kSlotTable, kSlotOut, kSlotLse, kFirstMember };

struct Place {
    bool present = false;
    size_t element_bytes = 0;
    int64_t offset = 0;  // bytes from the address that the tensor was given to its first element
    ByteSpan span;       // from the same address
    std::string name;

    bool has_elements() const { return span.begin < span.end; }
};

// Of first elements, by slot. Never changed once a task may hold it.
using Addresses = std::vector<void*>;

class AttentionTask final : public runtime::Task {
public:
    AttentionTask(std::shared_ptr<const engine::Attention> attention, int64_t block_count, size_t members,
                  std::shared_ptr<const Addresses> addresses, void* workspace)
        : attention_(std::move(attention)),
          block_count_(block_count),
          members_(members),
          addresses_(std::move(addresses)),
          workspace_(workspace) {}

    runtime::TaskResult run() noexcept override {
        const Addresses& at = *addresses_;
        engine::Operands operands;
        operands.query = at[kSlotQuery];
        operands.key = at.data() + kFirstMember;
        operands.value = at.data() + kFirstMember + members_;
        operands.mask = static_cast<const uint8_t*>(at[kSlotMask]);
        operands.block_table = static_cast<const int32_t*>(at[kSlotTable]);
        operands.out = at[kSlotOut];
        operands.lse = static_cast<float*>(at[kSlotLse]);
        const engine::Fault fault = attention_->run(operands, workspace_);
        return fault.found ? report(fault) : runtime::TaskResult{};
    }

private:
    runtime::TaskResult report(const engine::Fault& fault) const noexcept {
        runtime::TaskResult result;
        result.code = ACLNN_ERR_PARAM_INVALID;
        try {
            result.message =
                invalid(text("blockTable[", fault.sequence, "][", fault.column, "]"),
                        text("a block id in 0..", block_count_ - 1), text(fault.value),
                        "every entry that actualSeqLengthsKv reaches must name a block; nothing was computed")
                    .message;
        } catch (...) {  // the code alone must do if memory for the sentence is short
        }
        return result;
    }

    std::shared_ptr<const engine::Attention> attention_;
    int64_t block_count_;
    size_t members_;
    std::shared_ptr<const Addresses> addresses_;
    void* workspace_;
};

// A run that is known to end in this way.
class SettledTask final : public runtime::Task {
public:
    explicit SettledTask(runtime::TaskResult result) : result_(std::move(result)) {}
    runtime::TaskResult run() noexcept override { return std::move(result_); }

private:
    runtime::TaskResult result_;
};

class PreparedAttention final : public meta::PreparedCall {
public:
    explicit PreparedAttention(const Case& c) : members_(c.key->size()) {
        if (!c.is_empty) {
            engine::Problem problem = make_problem(c);
            facts_ = facts_of(c, problem);
            attention_ = engine::Attention::plan(std::move(problem));
        }
        auto addresses = std::make_shared<Addresses>();
        const auto add = [&](std::string name, const meta::Tensor* tensor) {
            places_.push_back(place_of(std::move(name), tensor));
            addresses->push_back(tensor != nullptr ? first_element(places_.back(), tensor->data) : nullptr);
        };
        add(kInputNames[kQuery], c.query);
        add(kInputNames[kAttenMask], c.reads_mask() ? c.mask : nullptr);
        add(kInputNames[kBlockTable], c.storage == Storage::paged ? c.block_table : nullptr);
        add(kOutputNames[kAttentionOut], c.out);
        add(kOutputNames[kSoftmaxLse], c.lse);
        for (const auto& [name, arg] : lists(c.call)) {
            for (size_t i = 0; i < members_; ++i) add(text(name, "[", i, "]"), arg.list->tensors[i].get());
        }
        addresses_ = std::move(addresses);
    }

    uint64_t workspace_bytes() const noexcept override {
        return attention_ == nullptr ? 0 : attention_->workspace_bytes();
    }

    std::unique_ptr<runtime::Task> bind(void* workspace) const override {
        if (attention_ == nullptr) return std::make_unique<SettledTask>(runtime::TaskResult{});
        if (retargeted_) {
            if (Finding finding = check_addresses()) {
                return std::make_unique<SettledTask>(runtime::TaskResult{finding.code, std::move(finding.message)});
            }
        }
        if (Finding finding = check_workspace(workspace)) {
            return std::make_unique<SettledTask>(runtime::TaskResult{finding.code, std::move(finding.message)});
        }
        return std::make_unique<AttentionTask>(attention_, facts_.problem.block_count, members_, addresses_,
                                               workspace);
    }

    bool set_address(meta::Side side, size_t ir_index, int64_t member, void* address) override {
        const size_t slot = slot_of(side, ir_index, member);
        if (slot >= places_.size() || !places_[slot].present) return false;
        // Tasks in flight hold the present addresses, so a change goes to a copy.
        auto changed = std::make_shared<Addresses>(*addresses_);
        (*changed)[slot] = first_element(places_[slot], address);
        addresses_ = std::move(changed);
        retargeted_ = true;
        return true;
    }

    std::string describe() const override {
        if (attention_ == nullptr) return "aclnnFusedInferAttentionScoreV5: query has no elements; nothing to do\n";
        return fia::describe(facts_) + attention_->describe();
    }

private:
    static Place place_of(std::string name, const meta::Tensor* tensor) {
        if (tensor == nullptr) return {};
        const int bits = meta::dtype_bits(tensor->dtype);
        return {true, static_cast<size_t>(bits / 8), tensor->offset * bits / 8, byte_span(*tensor), std::move(name)};
    }

    static void* first_element(const Place& place, void* address) {
        return address == nullptr ? nullptr : static_cast<char*>(address) + place.offset;
    }

    // Beyond the last slot: there is no such tensor.
    size_t slot_of(meta::Side side, size_t ir_index, int64_t member) const {
        const size_t none = places_.size();
        if (side == meta::Side::either && ir_index >= kInputCount) {
            side = meta::Side::output;
            ir_index -= kInputCount;
        }
        if (side != meta::Side::output && (ir_index == kKey || ir_index == kValue)) {
            if (member < 0 || member >= static_cast<int64_t>(members_)) return none;
            return kFirstMember + (ir_index == kKey ? 0 : members_) + static_cast<size_t>(member);
        }
        if (member != -1) return none;
        if (side == meta::Side::output) {
            return ir_index == kAttentionOut ? kSlotOut : ir_index == kSoftmaxLse ? kSlotLse : none;
        }
        return ir_index == kQuery        ? kSlotQuery
               : ir_index == kAttenMask  ? kSlotMask
               : ir_index == kBlockTable ? kSlotTable
                                         : none;
    }

    // Retargeting can bring tensors together that phase one saw apart. Looked at when a run is bound, because a series
    // of address changes may pass through such a state.
    Finding check_addresses() const {
        for (size_t slot = 0; slot < places_.size(); ++slot) {
            if (!places_[slot].has_elements()) continue;
            if (Finding f = check_place(slot)) return f;
        }
        for (const size_t out : {kSlotOut, kSlotLse}) {
            for (size_t other = 0; other < places_.size(); ++other) {
                if (other != out && overlap(places_[out].span, base(out), places_[other].span, base(other))) {
                    return not_apart(places_[out].name, places_[other].name);
                }
            }
        }
        return {};
    }

    Finding check_place(size_t slot) const {
        return check_address(places_[slot].name, places_[slot].element_bytes, base(slot), places_[slot].span);
    }

    // Runs write to it while they read their inputs and write their outputs.
    Finding check_workspace(const void* workspace) const {
        const ByteSpan span{true, 0, static_cast<int64_t>(workspace_bytes())};
        for (size_t slot = 0; slot < places_.size(); ++slot) {
            if (overlap(span, workspace, places_[slot].span, base(slot))) {
                return not_apart("workspace", places_[slot].name);
            }
        }
        return {};
    }

    // The address that the tensor was given.
    const void* base(size_t slot) const {
        if ((*addresses_)[slot] == nullptr) return nullptr;
        return reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>((*addresses_)[slot]) -
                                             static_cast<uintptr_t>(places_[slot].offset));
    }

    std::shared_ptr<const engine::Attention> attention_;  // null: nothing to do
    Facts facts_;
    size_t members_;
    std::vector<Place> places_;
    std::shared_ptr<const Addresses> addresses_;
    bool retargeted_ = false;
};

}  // namespace

std::unique_ptr<meta::PreparedCall> prepare(const Case& subject) {
    return std::make_unique<PreparedAttention>(subject);
}

}  // namespace acl_attn::ops::fia
