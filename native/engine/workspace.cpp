// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/workspace.h"

#include <algorithm>

#include "engine/full_quant_plan.h"

namespace acl_attn::engine {
namespace {

size_t round_up(size_t n, size_t multiple) { return (n + multiple - 1) / multiple * multiple; }

// Whether all tokens have the same scales and offsets.
bool is_constant(const Problem& p, const Dequant& dequant, int64_t Sequence::*own, int64_t Sequence::*prefix) {
    const auto shares_with_prefix = [&](const Sequence& s) { return s.*own == s.*prefix; };
    return dequant.layout.token_stride == 0 && !dequant.layout.paged &&
           (p.prefix_len == 0 || std::all_of(p.sequences.begin(), p.sequences.end(), shares_with_prefix));
}

// Whether the scales are of channels, the same for all tokens, or of tokens, the same for all channels; offsets are of
// channels.
bool is_foldable(const Problem& p, const Dequant& dequant, int32_t dim, int64_t Sequence::*own,
                 int64_t Sequence::*prefix) {
    if (!dequant.has_scale) return false;
    // Where codes lie close to an offset of the other sign, sums lose bits that fp16 results would show.
    if (dequant.has_offset && p.dtype != Dtype::bf16) return false;
    return is_constant(p, dequant, own, prefix) || (dequant.layout.group >= dim && !dequant.has_offset);
}

// Whether scales are of groups of 32 channels, as group_scales-inl.h reads them. The operator has no others of E8M0.
bool is_by_groups(const Problem& p, const Dequant& dequant, int32_t dim) {
    const ScaleLayout& l = dequant.layout;
    return dequant.has_scale && !dequant.has_offset && l.dtype == Dtype::e8m0 && l.group == 32 && l.group_stride == 1 &&
           l.token_stride == (dim + 31) / 32 && !l.paged && p.prefix_len == 0;
}

}  // namespace

bool takes_codes(const Problem& p) {
    if (p.kv_dtype == Dtype::f4_e2m1) {
        return is_by_groups(p, p.key_dequant, p.dim) && is_by_groups(p, p.value_dequant, p.dim_v);
    }
    return is_quantised(p) &&
           is_foldable(p, p.key_dequant, p.dim, &Sequence::key_scale_offset, &Sequence::prefix_key_scale_offset) &&
           is_foldable(p, p.value_dequant, p.dim_v, &Sequence::value_scale_offset,
                       &Sequence::prefix_value_scale_offset);
}

bool prefills_codes(const Problem& p, const Kernels& kernels) {
    if (!is_quantised(p) || p.value_is_key || kernels.prefill_codes[static_cast<int>(p.dtype)] == nullptr) return false;
    if (code_query_parts(p) > kernels.code_form[static_cast<int>(p.dtype)].query_parts) return false;
    const bool are_integers = p.kv_dtype == Dtype::i8 || p.kv_dtype == Dtype::i4;
    const auto fits = [&](const Dequant& dequant, int32_t dim, int64_t Sequence::*own, int64_t Sequence::*prefix) {
        const bool is_of_powers = dequant.layout.dtype == Dtype::e8m0;
        if (dequant.has_offset) return are_integers && !is_of_powers && is_constant(p, dequant, own, prefix);
        return !dequant.has_scale || is_of_powers || is_foldable(p, dequant, dim, own, prefix);
    };
    return fits(p.key_dequant, p.dim, &Sequence::key_scale_offset, &Sequence::prefix_key_scale_offset) &&
           fits(p.value_dequant, p.dim_v, &Sequence::value_scale_offset, &Sequence::prefix_value_scale_offset);
}

int code_query_parts(const Problem& p) {
    const ScaleLayout& scales = p.key_dequant.layout;
    const bool has_channels = p.key_dequant.has_scale && scales.group < p.dim && scales.dtype != Dtype::e8m0;
    if (!has_channels) return p.dtype == Dtype::bf16 ? 1 : 2;
    return p.dtype == Dtype::bf16 && scales.dtype == Dtype::bf16 ? 2 : 3;
}

Scratch divide_scratch(Arena& arena, const Problem& problem, const Schedule& schedule, const Kernels& kernels) {
    const OperandForm& form = prefill_form(problem, kernels);
    // Decode takes two vectors of a row together, few rows on AMX two panels of values.
    const bool has_codes = takes_codes(problem);
    const size_t lanes = static_cast<size_t>(
        std::max({2 * kernels.lanes, 2 * form.steps, has_codes ? kernels.code_channels : 1}));
    const size_t dim = round_up(static_cast<size_t>(problem.dim + problem.rope_dim), lanes);
    const size_t dim_v = round_up(static_cast<size_t>(problem.dim_v), lanes);
    const size_t prefill_rows = round_up(static_cast<size_t>(std::max(schedule.block_rows, schedule.few_rows)),
                                         static_cast<size_t>(form.group));
    const size_t rows = std::max<size_t>(prefill_rows, static_cast<size_t>(schedule.decode_rows));
    const bool has_bf16_rows = prefill_rows > 0 && prefills_codes(problem, kernels);
    const size_t depth = static_cast<size_t>(form.depth), parts = static_cast<size_t>(form.parts);
    const size_t query_parts = static_cast<size_t>(has_bf16_rows ? code_query_parts(problem) : form.query_parts);
    const size_t columns = static_cast<size_t>(form.columns);
    const size_t steps = round_up(round_up(static_cast<size_t>(problem.dim + problem.rope_dim), depth) / depth,
                                  static_cast<size_t>(form.steps));
    const size_t tile = kTileKeys, score_rows = static_cast<size_t>(form.score_rows);

    Scratch s = {};
    s.out = arena.take<float>(rows * dim_v);
    s.row_max = arena.take<float>(rows);
    s.row_sum = arena.take<float>(rows);
    s.row_rescale = arena.take<float>(rows);
    s.row_headroom = arena.take<float>(rows);
    s.scores = arena.take<float>(std::max<size_t>(std::min(prefill_rows, score_rows) * kScoreStride,
                                                  static_cast<size_t>(schedule.decode_rows) * kStreamScoreStride));
    s.query = arena.take<float>(rows * std::max(dim, query_parts * steps));
    s.key_rows = arena.take<const void*>(kStreamSplit + kStreamKeys);
    s.value_rows = arena.take<const void*>(kStreamSplit + kStreamKeys);
    s.value_heads = arena.take<const void*>(kStreamKeys);
    s.value_originals = arena.take<const void*>(kTileKeys);
    s.value_classes = arena.take<uint8_t>(kTileKeys);
    s.zeros = arena.take<float>(kMaxDim);
    // Rows of bf16 leave room for decode's tiles of fp32, which are smaller.
    static_assert(kTileKeys * sizeof(uint16_t) >= kStreamKeys * sizeof(float), "decode may dequantise");
    const size_t size = has_bf16_rows ? sizeof(uint16_t) : static_cast<size_t>(bits_of(product_dtype(problem))) / 8;
    if (is_key_staged(problem)) s.key_staging = arena.take<char>(tile * dim * size);
    if (is_value_staged(problem)) s.value_staging = arena.take<char>(tile * dim_v * size);
    if (is_quantised(problem)) {
        // An item has no more heads than rows.
        const auto of_groups = [&](int32_t channels) {
            if (!has_codes || problem.kv_dtype != Dtype::f4_e2m1) return size_t{0};
            return static_cast<size_t>(schedule.decode_rows * group_scale_bytes(channels)) / sizeof(float);
        };
        s.key_scales = arena.take<float>(std::max({2 * dim, tile, of_groups(problem.dim)}));
        s.value_scales = arena.take<float>(std::max({2 * dim_v, tile, of_groups(problem.dim_v)}));
    }
    if (has_codes && kernels.has_code_tiles && schedule.decode_rows > 0) {
        // A row has a block of its own at most.
        constexpr size_t kTileRow = 64, kTile = 16 * kTileRow, kBlocks = kStreamRows / 4;
        s.query_tiles = arena.take<char>(static_cast<size_t>(schedule.decode_rows) * (16 * dim + kTileRow));
        s.key_tiles = arena.take<char>(kStreamKeys * dim);
        s.value_tiles = arena.take<char>(2 * kStreamKeys * dim_v);
        s.weight_tiles = arena.take<char>(2 * kBlocks * kTile);
        s.sum_tiles = arena.take<char>(kBlocks * std::max<size_t>(2, dim_v / 16) * kTile);
    }
    if (prefill_rows > 0) {
        s.key_panels = arena.take<float>(parts * round_up(tile, columns) * (steps + kRowGap / 2));
        s.value_panels = arena.take<float>(parts * round_up(dim_v, columns) * (tile / depth));
        if (depth > 1) s.aside = arena.take<float>(rows * dim_v);
        if (depth > 1 && !form.in_place) {
            s.probabilities = arena.take<uint16_t>(score_rows * kScoreStride);
            s.residuals = arena.take<ResidualList>(score_rows);
        }
    }
    return s;
}

Workspace divide_workspace(void* memory, const Problem& problem, const Schedule& schedule, const Kernels& kernels,
                           int slots) {
    Arena counter;
    if (is_full_quant(problem)) {
        divide_full_quant_scratch(counter, problem, schedule, kernels);
    } else {
        divide_scratch(counter, problem, schedule, kernels);
    }

    Arena arena = Arena::aligned(memory);
    Workspace w;
    w.scratch_stride = Arena::round_up(counter.used());
    w.scratch = arena.take<char>(w.scratch_stride * static_cast<size_t>(slots));
    w.partial_out = arena.take<float>(static_cast<size_t>(schedule.partial_rows) * static_cast<size_t>(problem.dim_v));
    w.partial_state = arena.take<RowState>(static_cast<size_t>(schedule.partial_rows));
    w.arrivals = arena.take<int32_t>(schedule.merges.size());
    w.tile_masks = arena.take<uint8_t>(static_cast<size_t>(schedule.tile_mask_bytes));
    w.bytes = arena.used() + Arena::kAlignment;
    return w;
}

}  // namespace acl_attn::engine
