// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/attention.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "engine/schedule.h"
#include "engine/targets.h"
#include "engine/thread_pool.h"
#include "engine/threads.h"
#include "engine/workspace.h"

namespace acl_attn::engine {
namespace {

// The operator layer has validated the call; this guards the kernels' own limits.
void check(const Problem& p) {
    const auto require = [](bool holds, const char* message) {
        if (!holds) throw std::invalid_argument(message);
    };
    if (const std::string feature = unsupported(p); !feature.empty()) {
        throw std::invalid_argument("problem: expected features that the engine has, got " + feature);
    }
    require(p.heads >= 1 && p.kv_heads >= 1 && p.heads % p.kv_heads == 0,
            "heads: expected a positive multiple of kv_heads");
    require(p.dim >= 1 && p.dim <= kMaxDim, "dim: expected 1 to 576");
    require(p.dim_v >= 1 && p.dim_v <= kMaxDim, "dim_v: expected 1 to 576");
    require(p.key.chunk >= 1 && p.value.chunk >= 1, "chunk: expected a positive number");
    require(p.block_size >= 0, "block_size: expected a number not below 0");
    for (const Sequence& s : p.sequences) {
        require(s.q_len >= 0 && s.kv_len >= 0 && s.pad_before >= 0 && s.pad_after >= 0,
                "lengths: expected numbers not below 0");
        require(s.band.first >= kOpenFirst && s.band.last <= kOpenLast, "band: expected ends inside the open ones");
    }
}

class PlannedAttention final : public Attention {
public:
    explicit PlannedAttention(Problem problem)
        : problem_(std::move(problem)), kernels_(target_kernels(target_in_use())), threads_(thread_count()),
          schedule_(make_schedule(problem_, threads_)) {
        const size_t items = std::max<size_t>(schedule_.items.size(), 1);
        slots_ = static_cast<int>(std::min<size_t>(static_cast<size_t>(threads_), items));
        bytes_ = divide_workspace(nullptr, problem_, schedule_, kernels_, slots_).bytes;
    }

    size_t workspace_bytes() const override { return bytes_; }
    Fault run(const Operands& operands, void* memory) const noexcept override;
    std::string describe() const override;

private:
    struct Run {
        const PlannedAttention& plan;
        const Operands& operands;
        Workspace workspace;
        std::atomic<size_t> next{0};
    };

    Fault find_fault(const Operands& operands) const;
    static void work(void* run, int slot);
    void compute(Run& run, const WorkItem& item, const Scratch& scratch) const;
    void merge(Run& run, const WorkItem& item) const;
    void write_padding(const Operands& operands, const Sequence& s) const;
    RowBlock row_block(const Run& run, const WorkItem& item) const;
    RowSink row_sink(const Operands& operands, const Sequence& s, int64_t kv_head) const;
    int64_t group() const { return problem_.heads / problem_.kv_heads; }
    int dtype() const { return static_cast<int>(problem_.dtype); }

    const Problem problem_;
    const Kernels& kernels_;
    const int threads_;
    const Schedule schedule_;
    int slots_ = 1;
    size_t bytes_ = 0;
};

Fault PlannedAttention::find_fault(const Operands& operands) const {
    if (problem_.block_size == 0) return {};
    for (size_t i = 0; i < problem_.sequences.size(); i++) {
        const Sequence& s = problem_.sequences[i];
        if (s.q_len == 0) continue;  // nothing of it is read
        const int64_t columns = (s.kv_len + problem_.block_size - 1) / problem_.block_size;
        for (int64_t column = 0; column < columns; column++) {
            const int32_t entry = operands.block_table[s.table_offset + column];
            if (entry < 0 || entry >= problem_.block_count) return {true, static_cast<int64_t>(i), column, entry};
        }
    }
    return {};
}

Fault PlannedAttention::run(const Operands& operands, void* memory) const noexcept {
    const Fault fault = find_fault(operands);
    if (fault.found || schedule_.items.empty()) return fault;
    Run run{*this, operands, divide_workspace(memory, problem_, schedule_, kernels_, slots_)};
    std::memset(run.workspace.arrivals, 0, schedule_.merges.size() * sizeof(int32_t));
    run_on_threads(slots_, work, &run);
    return {};
}

// One thread's share: items from the common list until it is empty.
void PlannedAttention::work(void* context, int slot) {
    Run& run = *static_cast<Run*>(context);
    const PlannedAttention& plan = run.plan;
    const size_t count = plan.schedule_.items.size();
    size_t index = run.next.fetch_add(1, std::memory_order_relaxed);
    if (index >= count) return;
    Arena arena(run.workspace.scratch + run.workspace.scratch_stride * static_cast<size_t>(slot));
    const Scratch scratch = divide_scratch(arena, plan.problem_, plan.schedule_, plan.kernels_);
    std::memset(scratch.zeros, 0, sizeof(uint16_t) * kMaxDim);
    for (; index < count; index = run.next.fetch_add(1, std::memory_order_relaxed)) {
        plan.compute(run, plan.schedule_.items[index], scratch);
    }
}

void PlannedAttention::compute(Run& run, const WorkItem& item, const Scratch& scratch) const {
    if (item.kind == WorkItem::padding) {
        write_padding(run.operands, problem_.sequences[static_cast<size_t>(item.sequence)]);
        return;
    }
    const RowBlock block = row_block(run, item);
    (item.kind == WorkItem::decode ? kernels_.decode : kernels_.prefill)[dtype()](block, scratch);
    if (item.merge < 0) return;
    const Merge& merge_of_item = schedule_.merges[static_cast<size_t>(item.merge)];
    // The last to arrive has seen all others' partials.
    const int32_t before = __atomic_fetch_add(run.workspace.arrivals + item.merge, 1, __ATOMIC_ACQ_REL);
    if (before == merge_of_item.splits - 1) merge(run, item);
}

void PlannedAttention::merge(Run& run, const WorkItem& item) const {
    const Merge& m = schedule_.merges[static_cast<size_t>(item.merge)];
    MergeBlock block = {};
    block.partial_out = run.workspace.partial_out + m.partial_row * problem_.dim_v;
    block.partial_state = run.workspace.partial_state + m.partial_row;
    block.splits = m.splits;
    block.row_begin = m.row_begin;
    block.row_end = m.row_end;
    block.kv_heads = m.kv_heads;
    block.group = static_cast<int32_t>(group());
    block.dim_v = problem_.dim_v;
    block.sink = row_sink(run.operands, problem_.sequences[static_cast<size_t>(m.sequence)], m.kv_head);
    kernels_.merge[dtype()](block);
}

void PlannedAttention::write_padding(const Operands& operands, const Sequence& s) const {
    const RowSink sink = row_sink(operands, s, 0);
    const auto clear = [&](int64_t token) {
        for (int64_t head = 0; head < problem_.heads; head++) {
            std::memset(sink.out + token * sink.out_token_stride + head * sink.out_head_stride, 0,
                        sizeof(uint16_t) * static_cast<size_t>(problem_.dim_v));
            if (sink.lse == nullptr) continue;
            sink.lse[token * sink.lse_token_stride + head * sink.lse_head_stride] =
                std::numeric_limits<float>::infinity();
        }
    };
    for (int64_t token = -s.pad_before; token < 0; token++) clear(token);
    for (int64_t token = s.q_len; token < s.q_len + s.pad_after; token++) clear(token);
}

RowSink PlannedAttention::row_sink(const Operands& operands, const Sequence& s, int64_t kv_head) const {
    const int64_t head = kv_head * group();
    RowSink sink = {};
    sink.out = static_cast<uint16_t*>(operands.out) + s.out_offset + head * problem_.out.head_stride;
    sink.out_token_stride = problem_.out.token_stride;
    sink.out_head_stride = problem_.out.head_stride;
    if (problem_.wants_lse) {
        sink.lse = operands.lse + s.lse_offset + head * problem_.lse.head_stride;
        sink.lse_token_stride = problem_.lse.token_stride;
        sink.lse_head_stride = problem_.lse.head_stride;
    }
    return sink;
}

RowBlock PlannedAttention::row_block(const Run& run, const WorkItem& item) const {
    const Problem& p = problem_;
    const Operands& operands = run.operands;
    const Sequence& s = p.sequences[static_cast<size_t>(item.sequence)];
    const auto view = [&](const void* const* members, const KvLayout& layout, int64_t offset,
                          int64_t head_stride, int32_t dim) {
        KvView v = {};
        if (s.kv_len == 0) return v;  // nothing will be read, and there may be no memory at all
        v.base = static_cast<const uint16_t*>(members[s.kv_member]) + offset + item.kv_head * head_stride;
        v.table = p.block_size > 0 ? operands.block_table + s.table_offset : nullptr;
        v.token_stride = layout.token_stride;
        v.head_stride = head_stride;
        v.block_stride = layout.block_stride;
        v.chunk_stride = layout.chunk_stride;
        v.block_size = p.block_size;
        v.chunk = layout.chunk;
        v.dim = dim;
        return v;
    };
    RowBlock block = {};
    block.query = static_cast<const uint16_t*>(operands.query) + s.q_offset +
                  item.kv_head * group() * p.query.head_stride;
    block.query_token_stride = p.query.token_stride;
    block.query_head_stride = p.query.head_stride;
    block.key = view(operands.key, p.key, s.key_offset, s.key_head_stride, p.dim);
    block.value = view(operands.value, p.value, s.value_offset, s.value_head_stride, p.dim_v);
    if (p.has_mask) block.mask = operands.mask + s.mask_offset;
    block.mask_row_stride = p.mask_row_stride;
    block.band_first = s.band.first;
    block.band_last = s.band.last;
    block.row_begin = item.row_begin;
    block.row_end = item.row_end;
    block.key_begin = item.key_begin;
    block.key_end = item.key_end;
    block.kv_heads = item.kv_heads;
    block.group = static_cast<int32_t>(group());
    block.dim = p.dim;
    block.dim_v = p.dim_v;
    block.scale = p.scale;
    block.sink = row_sink(operands, s, item.kv_head);
    if (item.merge >= 0) {
        block.sink.partial_out = run.workspace.partial_out + item.partial_row * p.dim_v;
        block.sink.partial_state = run.workspace.partial_state + item.partial_row;
    }
    return block;
}

std::string PlannedAttention::describe() const {
    size_t prefill = 0, decode = 0, padding = 0;
    for (const WorkItem& item : schedule_.items) {
        prefill += item.kind == WorkItem::prefill;
        decode += item.kind == WorkItem::decode;
        padding += item.kind == WorkItem::padding;
    }
    const auto text = [](auto number) { return std::to_string(number); };
    std::string out = "target: " + std::string(kernels_.name) + ", threads: " + text(slots_) + " of " + text(threads_);
    out += "\nshape: " + text(problem_.sequences.size()) + " sequences, heads " + text(problem_.heads) + ":" +
           text(problem_.kv_heads) + ", dims " + text(problem_.dim) + " and " + text(problem_.dim_v) + ", " +
           (problem_.dtype == Dtype::f16 ? "fp16" : "bf16");
    if (problem_.block_size > 0) out += ", paged in blocks of " + text(problem_.block_size);
    out += "\nwork items: " + text(prefill) + " prefill (up to " + text(schedule_.block_rows) + " rows), " +
           text(decode) + " decode, " + text(padding) + " padding; " + text(schedule_.merges.size()) +
           " merges of split keys";
    out += "\nworkspace: " + text(bytes_) + " bytes";
    for (const std::string& problem : {target_environment_problem(), thread_environment_problem()}) {
        if (!problem.empty()) out += "\nwarning: " + problem;
    }
    return out;
}

}  // namespace

std::string unsupported(const Problem& p) {
    if (p.kv_dtype != p.dtype) return "keys and values of another type than the query";
    if (p.key_dequant.has_scale || p.key_dequant.has_offset || p.value_dequant.has_scale || p.value_dequant.has_offset) {
        return "scales of keys and values";
    }
    if (p.out_dtype != p.dtype || p.post_quant.present) return "an output of another type than the query";
    if (p.rope_dim != 0) return "rope channels in tensors of their own";
    if (p.value_is_key) return "values that are part of the keys";
    if (p.bias != BiasKind::none) return "a bias";
    if (p.has_sink) return "a learnable sink";
    if (p.prefix_len != 0) return "a shared prefix";
    return {};
}

std::unique_ptr<const Attention> Attention::plan(Problem problem) {
    check(problem);
    return std::make_unique<PlannedAttention>(std::move(problem));
}

}  // namespace acl_attn::engine
