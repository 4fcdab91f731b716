// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/attention.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "engine/full_quant_plan.h"
#include "engine/padding.h"
#include "engine/schedule.h"
#include "engine/table_fault.h"
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
    require(p.dim >= 1 && p.rope_dim >= 0 && p.dim + p.rope_dim <= kMaxDim, "dim: expected 1 to 576, rope included");
    require(p.dim_v >= 1 && p.dim_v <= kMaxDim, "dim_v: expected 1 to 576");
    require(p.key.chunk >= 1 && (p.value_is_key || p.value.chunk >= 1) && (p.rope_dim == 0 || p.key_rope.chunk >= 1),
            "chunk: expected a positive number");
    require(p.prefix_len == 0 || (p.prefix_key.chunk >= 1 && p.prefix_value.chunk >= 1),
            "prefix chunk: expected a positive number");
    require(!p.value_is_key || p.dim_v <= p.dim, "dim_v: expected at most dim, whose channels the values are");
    for (const Dequant* dequant : {&p.key_dequant, &p.value_dequant}) {
        require(dequant->layout.group >= 1, "group: expected a positive number");
        require(!dequant->layout.paged || p.block_size > 0, "scales: expected pages only beside pages");
    }
    require(p.full_quant.key_scale.run >= 1 && p.full_quant.value_scale.run >= 1, "run: expected a positive number");
    require(p.prefix_len >= 0, "prefix_len: expected a number not below 0");
    require(p.block_size >= 0, "block_size: expected a number not below 0");
    for (const Sequence& s : p.sequences) {
        require(s.q_len >= 0 && s.kv_len >= p.prefix_len && s.pad_before >= 0 && s.pad_after >= 0,
                "lengths: expected numbers not below 0");
        require(s.band.first >= kOpenFirst && s.band.last <= kOpenLast, "band: expected ends inside the open ones");
    }
}

// Of a query's type.
const char* name_of(Dtype dtype) {
    switch (dtype) {
        case Dtype::f16: return "fp16";
        case Dtype::i8: return "int8";
        case Dtype::f8_e4m3: return "fp8";
        case Dtype::hif8: return "hif8";
        default: return "bf16";
    }
}

const Kernels& kernels_for(const Problem& p) {
    const int target = target_in_use();
    return p.post_quant.present ? target_kernels_in_fp32(target) : target_kernels(target);
}

// Most rows of a KV head that are left to decode, where there is a kernel of few rows, which on AMX computes 16 of them
// in the time of one. With 8 rows of D = 128 both wait for memory about as long; from a cache that one takes 0.6 of the
// time.
constexpr int kStreamRowsBesideFew = 7;

Schedule schedule_for(const Kernels& kernels, const Problem& p, const Effort& effort) {
    if (is_full_quant(p)) {
        const FullQuantKernel& kernel = full_quant_kernel(kernels, p);
        return make_schedule(p, effort, {kernel.group, kernel.block_rows, kStreamRows});
    }
    const OperandForm& form = prefill_form(p, kernels);
    if (!takes_few_rows(p, kernels)) return make_schedule(p, effort, {form.group, form.block_rows, kStreamRows});
    return make_schedule(p, effort, {form.group, form.block_rows, kStreamRowsBesideFew, kFewRows});
}

class PlannedAttention final : public Attention {
public:
    explicit PlannedAttention(Problem problem)
        : problem_(std::move(problem)), kernels_(kernels_for(problem_)),
          effort_(effort_of(problem_, thread_count())), schedule_(schedule_for(kernels_, problem_, effort_)),
          slots_(static_cast<int>(std::clamp<size_t>(schedule_.items.size(), 1, static_cast<size_t>(effort_.threads)))),
          takes_codes_(takes_codes(problem_)), prefills_codes_(prefills_codes(problem_, kernels_)),
          bytes_(divide_workspace(nullptr, problem_, schedule_, kernels_, slots_).bytes) {}

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

    static void work(void* run, int slot);
    template <class AnyScratch>
    void work_on(Run& run, size_t index, const AnyScratch& scratch) const;
    RowKernel* kernel_of(const WorkItem& item) const;
    void compute(Run& run, size_t index, const Scratch& scratch) const;
    void compute(Run& run, size_t index, const FullQuantScratch& scratch) const;
    void merge(Run& run, const WorkItem& item) const;
    void write_padding(const Operands& operands, const Sequence& s) const;
    RowBlock row_block(const Run& run, const WorkItem& item) const;
    RowSink row_sink(const Operands& operands, const Sequence& s, int64_t kv_head) const;
    int64_t group() const { return problem_.heads / problem_.kv_heads; }
    KvView kv_view(Dtype dtype, const KvLayout& layout, int64_t head_stride, int32_t dim) const;
    static ScaleView scale_view(const void* numbers, const ScaleLayout& layout, int64_t origin, int64_t prefix_origin,
                                int64_t kv_head);
    void view_operands(const Operands& operands, const Sequence& s, int64_t kv_head, RowBlock& block) const;

    const Problem problem_;
    const Kernels& kernels_;
    const Effort effort_;
    const Schedule schedule_;
    const int slots_;  // threads that a run uses at most
    const bool takes_codes_, prefills_codes_;
    const size_t bytes_;
};

Fault PlannedAttention::run(const Operands& operands, void* memory) const noexcept {
    Fault fault = find_table_fault(problem_, operands);
    if (fault.found || schedule_.items.empty()) return fault;
    Run run{*this, operands, divide_workspace(memory, problem_, schedule_, kernels_, slots_)};
    std::memset(run.workspace.arrivals, 0, schedule_.merges.size() * sizeof(int32_t));
    std::memset(run.workspace.tile_masks, 0, static_cast<size_t>(schedule_.tile_mask_bytes));
    run_on_threads(slots_, work, &run, is_worth_waking(effort_.multiply_adds));
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
    if (is_full_quant(plan.problem_)) {
        plan.work_on(run, index, divide_full_quant_scratch(arena, plan.problem_, plan.schedule_, plan.kernels_));
    } else {
        plan.work_on(run, index, divide_scratch(arena, plan.problem_, plan.schedule_, plan.kernels_));
    }
}

// From item `index` on.
template <class AnyScratch>
void PlannedAttention::work_on(Run& run, size_t index, const AnyScratch& scratch) const {
    std::memset(scratch.zeros, 0, sizeof(float) * kMaxDim);
    for (; index < schedule_.items.size(); index = run.next.fetch_add(1, std::memory_order_relaxed)) {
        const WorkItem& item = schedule_.items[index];
        if (item.kind == WorkItem::padding) {
            write_padding(run.operands, problem_.sequences[static_cast<size_t>(item.sequence)]);
        } else {
            compute(run, index, scratch);
        }
    }
}

void PlannedAttention::compute(Run& run, size_t index, const FullQuantScratch& scratch) const {
    const WorkItem& item = schedule_.items[index];
    const Sequence& s = problem_.sequences[static_cast<size_t>(item.sequence)];
    full_quant_kernel(kernels_, problem_)
        .run(full_quant_block(problem_, run.operands, s, item.kv_head, row_block(run, item)), scratch);
}

RowKernel* PlannedAttention::kernel_of(const WorkItem& item) const {
    const int products = static_cast<int>(product_dtype(problem_));
    if (item.kind == WorkItem::few_rows) return kernels_.prefill_few[products];
    if (item.kind == WorkItem::prefill) {
        return prefills_codes_ ? kernels_.prefill_codes[static_cast<int>(problem_.dtype)] : kernels_.prefill[products];
    }
    return takes_codes_ ? kernels_.decode_codes[static_cast<int>(problem_.kv_dtype)] : kernels_.decode[products];
}

void PlannedAttention::compute(Run& run, size_t index, const Scratch& scratch) const {
    const WorkItem& item = schedule_.items[index];
    RowBlock block = row_block(run, item), upcoming;
    // Other threads take the items between, if they are about as fast.
    const size_t probable = index + static_cast<size_t>(slots_);
    if (probable < schedule_.items.size() && schedule_.items[probable].kind == item.kind) {
        upcoming = row_block(run, schedule_.items[probable]);
        block.upcoming = &upcoming;
    }
    kernel_of(item)(block, scratch);
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
    kernels_.merge(block);
}

void PlannedAttention::write_padding(const Operands& operands, const Sequence& s) const {
    const RowSink sink = row_sink(operands, s, 0);
    clear_tokens(sink, -s.pad_before, 0, problem_.heads, problem_.dim_v);
    clear_tokens(sink, s.q_len, s.q_len + s.pad_after, problem_.heads, problem_.dim_v);
}

RowSink PlannedAttention::row_sink(const Operands& operands, const Sequence& s, int64_t kv_head) const {
    const Problem& p = problem_;
    const int64_t head = kv_head * group();
    RowSink sink = {};
    sink.out = static_cast<char*>(operands.out) + bytes_of(p.out_dtype, s.out_offset + head * p.out.head_stride);
    sink.out_token_stride = bytes_of(p.out_dtype, p.out.token_stride);
    sink.out_head_stride = bytes_of(p.out_dtype, p.out.head_stride);
    sink.out_dtype = p.out_dtype;
    sink.query_dtype = bias_dtype(p);
    sink.first_head = static_cast<int32_t>(head);
    sink.sinks = p.has_sink ? operands.sink : nullptr;
    sink.sinks_dtype = p.dtype;
    sink.empty_lse = std::numeric_limits<float>::infinity();
    if (p.post_quant.present) {
        sink.out_scale = static_cast<const char*>(operands.out_scale);
        if (p.post_quant.has_offset) sink.out_offset = static_cast<const char*>(operands.out_offset);
        sink.out_scale_dtype = p.post_quant.scale_dtype;
        sink.out_scale_stride = p.post_quant.channel_stride;
    }
    if (p.wants_lse) {
        sink.lse = operands.lse + s.lse_offset + head * p.lse.head_stride;
        sink.lse_token_stride = p.lse.token_stride;
        sink.lse_head_stride = p.lse.head_stride;
    }
    return sink;
}

// All of a view but where it is.
KvView PlannedAttention::kv_view(Dtype dtype, const KvLayout& layout, int64_t head_stride, int32_t dim) const {
    KvView v = {};
    v.dtype = dtype;
    v.token_stride = bytes_of(v.dtype, layout.token_stride);
    v.head_stride = bytes_of(v.dtype, head_stride);
    v.block_stride = bytes_of(v.dtype, layout.block_stride);
    v.chunk_stride = bytes_of(v.dtype, layout.chunk_stride);
    v.block_size = problem_.block_size;
    v.chunk = layout.chunk;
    v.dim = dim;
    return v;
}

ScaleView PlannedAttention::scale_view(const void* numbers, const ScaleLayout& layout, int64_t origin,
                                       int64_t prefix_origin, int64_t kv_head) {
    const char* start = static_cast<const char*>(numbers) + bytes_of(layout.dtype, kv_head * layout.head_stride);
    ScaleView v = {};
    v.base = start + (layout.paged ? 0 : bytes_of(layout.dtype, origin));
    v.prefix = start + bytes_of(layout.dtype, prefix_origin);
    v.head_stride = bytes_of(layout.dtype, layout.head_stride);
    v.token_stride = bytes_of(layout.dtype, layout.token_stride);
    v.block_stride = bytes_of(layout.dtype, layout.block_stride);
    v.group_stride = bytes_of(layout.dtype, layout.group_stride);
    v.group = layout.group;
    v.dtype = layout.dtype;
    return v;
}

void PlannedAttention::view_operands(const Operands& operands, const Sequence& s, int64_t kv_head,
                                     RowBlock& block) const {
    const Problem& p = problem_;
    const int32_t* table = p.block_size > 0 ? operands.block_table + s.table_offset : nullptr;
    const auto own = [&](const void* start, Dtype dtype, const KvLayout& layout, int64_t offset, int64_t head_stride,
                         int32_t dim) {
        KvView v = kv_view(dtype, layout, head_stride, dim);
        if (s.kv_len == p.prefix_len) return v;  // nothing will be read, and there may be no memory at all
        v.base = static_cast<const char*>(start) + bytes_of(v.dtype, offset + kv_head * head_stride);
        v.table = table;
        return v;
    };
    const auto member = [&](const void* const* members) {
        return s.kv_len == p.prefix_len ? nullptr : members[s.kv_member];
    };
    block.key = own(member(operands.key), p.kv_dtype, p.key, s.key_offset, s.key_head_stride, p.dim);
    if (p.value_is_key) {
        block.value = block.key;
        block.value.dim = p.dim_v;
    } else {
        block.value = own(member(operands.value), p.kv_dtype, p.value, s.value_offset, s.value_head_stride, p.dim_v);
    }
    if (p.rope_dim > 0) {
        block.key_addition.rope = own(operands.key_rope, rope_dtype(p), p.key_rope, s.key_rope_offset,
                                      s.key_rope_head_stride, p.rope_dim);
    }
    const auto prefix = [&](const void* start, const KvLayout& layout, int64_t head_stride, int32_t dim) {
        KvView v = kv_view(p.kv_dtype, layout, head_stride, dim);
        v.base = static_cast<const char*>(start) + bytes_of(v.dtype, kv_head * head_stride);
        return v;
    };
    block.prefix_len = p.prefix_len;
    if (p.prefix_len > 0) {
        block.key_addition.prefix = prefix(operands.prefix_key, p.prefix_key, p.prefix_key_head_stride, p.dim);
        block.value_addition.prefix =
            prefix(operands.prefix_value, p.prefix_value, p.prefix_value_head_stride, p.dim_v);
    }
    const auto scales = [&](KvAddition& addition, const Dequant& dequant, const void* scale, const void* offset,
                            int64_t origin, int64_t prefix_origin) {
        const auto view = [&](const void* numbers) {
            ScaleView v = scale_view(numbers, dequant.layout, origin, prefix_origin, kv_head);
            if (dequant.layout.paged) v.table = table;
            v.block_size = p.block_size;
            return v;
        };
        if (dequant.has_scale) addition.scale = view(scale);
        if (dequant.has_offset) addition.offset = view(offset);
    };
    scales(block.key_addition, p.key_dequant, operands.key_scale, operands.key_offset, s.key_scale_offset,
           s.prefix_key_scale_offset);
    scales(block.value_addition, p.value_dequant, operands.value_scale, operands.value_offset, s.value_scale_offset,
           s.prefix_value_scale_offset);
    block.key_staged = is_key_staged(p);
    block.value_staged = is_value_staged(p);
    block.value_is_key = p.value_is_key;
}

RowBlock PlannedAttention::row_block(const Run& run, const WorkItem& item) const {
    const Problem& p = problem_;
    const Operands& operands = run.operands;
    const Sequence& s = p.sequences[static_cast<size_t>(item.sequence)];
    RowBlock block = {};
    if (!is_full_quant(p)) {
        block.query = static_cast<const uint16_t*>(operands.query) + s.q_offset +
                      item.kv_head * group() * p.query.head_stride;
    }
    block.query_token_stride = p.query.token_stride;
    block.query_head_stride = p.query.head_stride;
    if (p.rope_dim > 0) {
        block.query_rope = static_cast<const uint16_t*>(operands.query_rope) + s.query_rope_offset +
                           item.kv_head * group() * p.query_rope.head_stride;
        block.query_rope_token_stride = p.query_rope.token_stride;
        block.query_rope_head_stride = p.query_rope.head_stride;
        block.rope_dim = p.rope_dim;
    }
    view_operands(operands, s, item.kv_head, block);
    block.bias.kind = p.bias;
    if (p.bias == BiasKind::tensor) {
        block.bias.base = static_cast<const char*>(operands.bias) + bytes_of(bias_dtype(p), s.bias_offset);
    }
    block.bias.head_stride = bytes_of(bias_dtype(p), p.bias_head_stride);
    block.bias.row_stride = bytes_of(bias_dtype(p), p.bias_row_stride);
    block.bias.slopes = operands.slopes;
    block.bias.distance = p.bias_distance;
    if (p.has_mask) block.mask = operands.mask + s.mask_offset;
    block.mask_row_stride = p.mask_row_stride;
    if (!schedule_.tile_masks.empty()) {
        block.tile_masks = run.workspace.tile_masks + schedule_.tile_masks[static_cast<size_t>(item.sequence)];
        block.tile_mask_stride = tiles_of(s);
    }
    block.band_first = s.band.first;
    block.band_last = s.band.last;
    block.row_begin = item.row_begin;
    block.row_end = item.row_end;
    block.key_begin = item.key_begin;
    block.key_end = item.key_end;
    block.kv_heads = item.kv_heads;
    block.group = static_cast<int32_t>(group());
    block.dim = p.dim + p.rope_dim;
    block.dim_v = p.dim_v;
    if (prefills_codes_) block.query_parts = code_query_parts(p);
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
        prefill += item.kind == WorkItem::prefill || item.kind == WorkItem::few_rows;
        decode += item.kind == WorkItem::decode;
        padding += item.kind == WorkItem::padding;
    }
    const auto text = [](auto number) { return std::to_string(number); };
    std::string out = "target: " + std::string(kernels_.name) + ", threads: " + text(slots_);
    out += "\nshape: " + text(problem_.sequences.size()) + " sequences, heads " + text(problem_.heads) + ":" +
           text(problem_.kv_heads) + ", dims " + text(problem_.dim) + " and " + text(problem_.dim_v) + ", " +
           name_of(problem_.dtype);
    if (problem_.block_size > 0) out += ", paged in blocks of " + text(problem_.block_size);
    const int32_t most_rows = std::max(schedule_.block_rows, schedule_.few_rows);
    out += "\nwork items: " + text(prefill) + " prefill (up to " + text(most_rows) + " rows), " + text(decode) +
           " decode, " + text(padding) + " padding; " + text(schedule_.merges.size()) + " merges of split keys";
    return out + "\nworkspace: " + text(bytes_) + " bytes";
}

}  // namespace

std::string unsupported(const Problem& p) {
    const auto is_any = [](Dtype dtype, std::initializer_list<Dtype> set) {
        return std::find(set.begin(), set.end(), dtype) != set.end();
    };
    if (is_full_quant(p)) return unsupported_full_quant(p);
    if (!is_any(p.dtype, {Dtype::f16, Dtype::bf16})) return "queries of this type";
    const bool has_scales = p.key_dequant.has_scale || p.key_dequant.has_offset || p.value_dequant.has_scale ||
                            p.value_dequant.has_offset;
    if (p.kv_dtype == p.dtype) {
        if (has_scales) return "scales of keys and values that are not quantised";
    } else if (!is_any(p.kv_dtype, {Dtype::i8, Dtype::i4, Dtype::f8_e4m3, Dtype::hif8, Dtype::f4_e2m1})) {
        return "keys and values of this type";
    } else if (p.rope_dim > 0) {
        return "rope channels beside quantised keys";
    }
    for (const Dequant* dequant : {&p.key_dequant, &p.value_dequant}) {
        if (!is_any(dequant->layout.dtype, {Dtype::f16, Dtype::bf16, Dtype::f32, Dtype::e8m0})) {
            return "scales of this type";
        }
    }
    if (p.rope_dim > 0 && p.prefix_len > 0) return "rope channels beside a prefix";
    if (p.value_is_key && p.prefix_len > 0) return "values that are part of the keys beside a prefix";
    if (p.post_quant.present) {
        if (!is_any(p.out_dtype, {Dtype::i8, Dtype::f8_e4m3, Dtype::hif8})) return "a quantised output of this type";
        if (!is_any(p.post_quant.scale_dtype, {Dtype::f32, Dtype::bf16})) return "output scales of this type";
    } else if (!is_any(p.out_dtype, {p.dtype})) {
        return "an output of another type than the query";
    }
    return {};
}

std::unique_ptr<const Attention> Attention::plan(Problem problem) {
    check(problem);
    return std::make_unique<PlannedAttention>(std::move(problem));
}

}  // namespace acl_attn::engine
