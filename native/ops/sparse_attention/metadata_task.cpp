// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/sparse_attention/metadata_task.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ops/rule.h"
#include "ops/sparse_attention/plan.h"
#include "ops/sparse_attention/result.h"
#include "ops/sparse_attention/stamp.h"

namespace acl_attn::ops::sparse {
namespace {

// Lengths are numbers that a caller may get wrong, and planning takes some nanoseconds for each query token.
constexpr int64_t kMostTokens = int64_t{1} << 26;

LengthSource query_source(const MetadataCase& c) {
    LengthSource source;
    source.present = true;
    source.extent_name = "maxSeqlenQ";
    source.extent = c.call.max_seqlen_q;
    return source;
}

LengthSource row_source(const MetadataCase& c, bool present, Input totals, Input used, const char* extent_name,
                        int64_t most) {
    LengthSource source;
    source.present = present;
    source.totals_name = totals;
    source.used_name = used;
    source.extent_name = extent_name;
    source.extent = c.layout_kv == Layout::bsnd && !c.is_quantised() ? most : kUnknownLength;
    return source;
}

// The words are written only when all is known, so that a failing call leaves them alone.
class MetadataTask final : public runtime::Task {
public:
    MetadataTask(std::shared_ptr<const MetadataPlan> plan, const MetadataAddresses& addresses)
        : plan_(std::move(plan)), addresses_(addresses) {}

    runtime::TaskResult run() noexcept override {
        return guarded_result([&] { return compute(); });
    }

private:
    const int32_t* ints(Input input) const { return addresses_.inputs[input]; }

    LengthSources sources() const {
        LengthSources s = plan_->lengths;
        s.q.totals = plan_->layout_q == Layout::tnd ? ints(kCuSeqlensQ) : nullptr;
        s.q.used = ints(kSequsedQ);
        if (plan_->layout_kv == Layout::tnd && plan_->op == Operator::sparse_flash_mla) {
            s.ori.totals = ints(kCuSeqlensOriKv);
            s.cmp.totals = ints(kCuSeqlensCmpKv);
        }
        s.ori.used = ints(kSequsedOriKv);
        s.cmp.used = ints(kSequsedCmpKv);
        s.residual = ints(kCmpResidualKv);
        return s;
    }

    // Lists' lengths belong to query rows as q stores them.
    Finding check_lists(const std::vector<SequenceLengths>& lengths) const {
        for (const Input input : {kOriTopkLength, kCmpTopkLength}) {
            const int32_t* values = ints(input);
            if (values == nullptr) continue;
            for (size_t b = 0; b < lengths.size(); ++b) {
                const TaskSequence at =
                    task_sequence(lengths[b], plan_->layout_q, static_cast<int64_t>(b), values, values);
                const int64_t first = at.ori_topk - values;
                if (first + at.q > plan_->list_rows) {
                    return named(invalid(input_name(plan_->op, input),
                                         text("an entry for each of ", first + at.q, " rows"), text(plan_->list_rows)),
                                 "SMLA-M43");
                }
                const int32_t* wrong = std::find_if(at.ori_topk, at.ori_topk + at.q, [](int32_t n) { return n < 0; });
                if (wrong == at.ori_topk + at.q) continue;
                const std::string row = plan_->layout_q == Layout::tnd ? text("[", wrong - values, "]")
                                                                       : text("[", b, "][", wrong - at.ori_topk, "]");
                return named(invalid(text(input_name(plan_->op, input), row, "[0]"), "0 or more", text(*wrong)),
                             "SMLA-M43");
            }
        }
        return {};
    }

    Finding check_size(const std::vector<SequenceLengths>& lengths) const {
        int64_t tokens = 0;
        for (const SequenceLengths& of : lengths) tokens += of.q.used;
        if (tokens <= kMostTokens) return {};
        return named(invalid(plan_->layout_q == Layout::tnd ? "cuSeqlensQ" : "maxSeqlenQ",
                             text("at most ", kMostTokens, " query tokens in all"), text(tokens)),
                     "HOST-V-52");
    }

    Finding compute() const {
        std::vector<SequenceLengths> lengths;
        if (Finding finding = read_lengths(sources(), lengths)) return finding;
        if (Finding finding = check_size(lengths)) return finding;
        if (Finding finding = check_lists(lengths)) return finding;
        std::vector<TaskSequence> sequences;
        for (size_t b = 0; b < lengths.size(); ++b) {
            sequences.push_back(task_sequence(lengths[b], plan_->layout_q, static_cast<int64_t>(b),
                                              ints(kOriTopkLength), ints(kCmpTopkLength)));
            if (plan_->is_cmp_length_open) sequences.back().cmp = kUnknownLength;
        }
        write_task_list(plan_->rules, sequences, addresses_.words);
        write_stamp(stamp_of(plan_->op, plan_->rules, plan_->layout_q == Layout::tnd,
                             static_cast<int>(plan_->layout_kv), lengths),
                    addresses_.words);
        return {};
    }

    std::shared_ptr<const MetadataPlan> plan_;
    const MetadataAddresses addresses_;
};

}  // namespace

MetadataPlan make_metadata_plan(const MetadataCase& c) {
    MetadataPlan plan;
    plan.op = c.call.op;
    plan.layout_q = c.layout_q;
    plan.layout_kv = c.layout_kv;
    plan.lengths.op = c.call.op;
    plan.lengths.rules = c.is_quantised() ? LengthRules{"KVQ-050", "KVQ-050", "KVQ-050"}
                                          : LengthRules{"SMLA-M40", "SMLA-M41", "SMLA-M42"};
    plan.lengths.batch = c.batch;
    plan.lengths.q = query_source(c);
    plan.lengths.ori = row_source(c, c.call.has_ori_kv || c.is_quantised(), kCuSeqlensOriKv, kSequsedOriKv,
                                  "maxSeqlenOriKv", c.call.max_seqlen_ori_kv);
    plan.lengths.cmp =
        row_source(c, c.call.has_cmp_kv, kCuSeqlensCmpKv, kSequsedCmpKv, "maxSeqlenCmpKv", c.call.max_seqlen_cmp_kv);
    plan.lengths.cmp_ratio = c.call.cmp_ratio;
    plan.lengths.cmp_follows_ori = c.is_quantised();

    TaskRules& r = plan.rules;
    r.heads = c.call.num_heads_q;
    r.blocking = blocking_of(c.call.op, c.device.family, r.heads, c.call.ori_topk > 0 || c.call.cmp_topk > 0);
    r.cores = c.device.cores;
    r.has_ori = c.call.has_ori_kv;
    r.has_cmp = c.call.has_cmp_kv;
    r.ori_topk = c.call.ori_topk;
    r.cmp_topk = c.call.cmp_topk;
    r.cmp_ratio = c.call.cmp_ratio;
    r.ori_mask_mode = c.call.ori_mask_mode;
    r.cmp_mask_mode = c.call.cmp_mask_mode;
    r.win_left = c.call.ori_win_left;
    r.win_right = c.call.ori_win_right;
    r.cmp_follows_ori = c.is_quantised();
    r.is_batch_consistent = c.device.is_batch_consistent && !c.is_quantised();

    for (const Input input : {kOriTopkLength, kCmpTopkLength}) {
        if (c.in[input] != nullptr) plan.list_rows = std::min(plan.list_rows, c.in[input]->numel());
    }
    plan.is_cmp_length_open = !c.is_quantised() && c.call.cmp_topk > 0 && c.in[kSequsedCmpKv] == nullptr &&
                              (c.is_paged() || c.call.max_seqlen_cmp_kv == 0);
    return plan;
}

std::unique_ptr<runtime::Task> make_metadata_task(std::shared_ptr<const MetadataPlan> plan,
                                                  const MetadataAddresses& addresses) {
    return std::make_unique<MetadataTask>(std::move(plan), addresses);
}

}  // namespace acl_attn::ops::sparse
