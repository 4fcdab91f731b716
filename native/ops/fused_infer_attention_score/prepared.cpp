// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/fused_infer_attention_score/prepared.h"

#include <tuple>
#include <utility>
#include <vector>

#include "engine/attention.h"
#include "ops/fused_infer_attention_score/describe.h"
#include "ops/fused_infer_attention_score/plan.h"
#include "ops/tensors.h"

namespace acl_attn::ops::fia {
namespace {

// A tensor's first element lies `offset` bytes behind the address that the tensor was given.
struct Place {
    bool present = false;
    bool empty = true;
    int64_t offset = 0;

    bool takes(const void* address) const { return present && (empty || address != nullptr); }
    void* at(void* address) const { return address == nullptr ? nullptr : static_cast<char*>(address) + offset; }
};

Place place_of(const meta::Tensor* tensor) {
    if (tensor == nullptr) return {};
    return {true, tensor->is_empty(), tensor->offset * meta::dtype_bits(tensor->dtype) / 8};
}

struct Places {
    Place query, mask, block_table, out, lse;
    std::vector<Place> key, value;
};

// Of the first elements. Never changed once a task may hold it.
struct Addresses {
    void* query = nullptr;
    std::vector<const void*> key, value;
    void* mask = nullptr;
    void* block_table = nullptr;
    void* out = nullptr;
    void* lse = nullptr;
};

class AttentionTask final : public runtime::Task {
public:
    AttentionTask(std::shared_ptr<const engine::Attention> attention, int64_t block_count,
                  std::shared_ptr<const Addresses> addresses, void* workspace)
        : attention_(std::move(attention)),
          block_count_(block_count),
          addresses_(std::move(addresses)),
          workspace_(workspace) {}

    runtime::TaskResult run() noexcept override {
        engine::Operands operands;
        if (attention_ == nullptr) return {};
        operands.query = addresses_->query;
        operands.key = addresses_->key.data();
        operands.value = addresses_->value.data();
        operands.mask = static_cast<const uint8_t*>(addresses_->mask);
        operands.block_table = static_cast<const int32_t*>(addresses_->block_table);
        operands.out = addresses_->out;
        operands.lse = static_cast<float*>(addresses_->lse);
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
    std::shared_ptr<const Addresses> addresses_;
    void* workspace_;
};

class PreparedAttention final : public meta::PreparedCall {
public:
    explicit PreparedAttention(const Case& c) {
        if (!c.is_empty) {
            engine::Problem problem = make_problem(c);
            facts_ = facts_of(c, problem);
            attention_ = engine::Attention::plan(std::move(problem));
        }
        places_.query = place_of(c.query);
        places_.mask = place_of(c.mask);
        places_.block_table = place_of(c.block_table);
        places_.out = place_of(c.out);
        places_.lse = place_of(c.lse);
        auto addresses = std::make_shared<Addresses>();
        addresses->query = places_.query.at(c.query->data);
        addresses->out = places_.out.at(c.out->data);
        if (c.reads_mask()) addresses->mask = places_.mask.at(c.mask->data);
        if (c.storage == Storage::paged) addresses->block_table = places_.block_table.at(c.block_table->data);
        if (c.lse != nullptr) addresses->lse = places_.lse.at(c.lse->data);
        for (const auto& [from, places, to] :
             {std::tuple{c.key, &places_.key, &addresses->key}, {c.value, &places_.value, &addresses->value}}) {
            for (const TensorRef& tensor : *from) {
                places->push_back(place_of(tensor.get()));
                to->push_back(places->back().at(tensor->data));
            }
        }
        addresses_ = std::move(addresses);
    }

    uint64_t workspace_bytes() const noexcept override {
        return attention_ == nullptr ? 0 : attention_->workspace_bytes();
    }

    std::unique_ptr<runtime::Task> bind(void* workspace) const override {
        return std::make_unique<AttentionTask>(attention_, facts_.problem.block_count, addresses_, workspace);
    }

    bool set_address(meta::Side side, size_t ir_index, int64_t member, void* address) override {
        if (side == meta::Side::either) {
            const bool is_input = ir_index < kInputCount;
            return set_address(is_input ? meta::Side::input : meta::Side::output,
                               is_input ? ir_index : ir_index - kInputCount, member, address);
        }
        // Tasks in flight hold the present addresses, so a change goes to a copy.
        auto changed = std::make_shared<Addresses>(*addresses_);
        if (side == meta::Side::input && (ir_index == kKey || ir_index == kValue)) {
            const std::vector<Place>& places = ir_index == kKey ? places_.key : places_.value;
            std::vector<const void*>& members = ir_index == kKey ? changed->key : changed->value;
            if (member < 0 || member >= static_cast<int64_t>(places.size())) return false;
            if (!places[member].takes(address)) return false;
            members[member] = places[member].at(address);
        } else {
            const auto [place, slot] = plain_slot(side, ir_index, *changed);
            if (member != -1 || place == nullptr || !place->takes(address)) return false;
            *slot = place->at(address);
        }
        addresses_ = std::move(changed);
        return true;
    }

    std::string describe() const override {
        if (attention_ == nullptr) return "aclnnFusedInferAttentionScoreV5: query has no elements; nothing to do\n";
        return fia::describe(facts_) + attention_->describe();
    }

private:
    std::pair<const Place*, void**> plain_slot(meta::Side side, size_t ir_index, Addresses& addresses) const {
        if (side == meta::Side::output) {
            if (ir_index == kAttentionOut) return {&places_.out, &addresses.out};
            if (ir_index == kSoftmaxLse) return {&places_.lse, &addresses.lse};
            return {nullptr, nullptr};
        }
        if (ir_index == kQuery) return {&places_.query, &addresses.query};
        if (ir_index == kAttenMask) return {&places_.mask, &addresses.mask};
        if (ir_index == kBlockTable) return {&places_.block_table, &addresses.block_table};
        return {nullptr, nullptr};
    }

    std::shared_ptr<const engine::Attention> attention_;  // null: nothing to do
    Facts facts_;
    Places places_;
    std::shared_ptr<const Addresses> addresses_;
};

}  // namespace

std::unique_ptr<meta::PreparedCall> prepare(const Case& subject) {
    return std::make_unique<PreparedAttention>(subject);
}

}  // namespace acl_attn::ops::fia
