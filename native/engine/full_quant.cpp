// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "engine/full_quant_plan.h"
#include "formats/scale_word.h"

namespace acl_attn::engine {
namespace {

using Kind = FullQuant::Kind;

float read_float(const void* p, int64_t index = 0) {
    float x;
    std::memcpy(&x, static_cast<const char*>(p) + index * static_cast<int64_t>(sizeof x), sizeof x);
    return x;
}

// fp32, or the lower half of a word.
float read_scale(const void* p, bool is_word) {
    if (!is_word) return read_float(p);
    uint64_t word;
    std::memcpy(&word, p, sizeof word);
    return formats::float_of(static_cast<uint32_t>(word));
}

size_t round_up(size_t n, size_t multiple) { return (n + multiple - 1) / multiple * multiple; }

LineScaleView line_scale_view(const void* numbers, const LineScaleLayout& layout, int64_t size, int64_t origin,
                              int64_t kv_head, const int32_t* table, int32_t block_size) {
    LineScaleView v = {};
    const int64_t first = kv_head * layout.head_stride + (table == nullptr ? origin : 0);
    v.base = static_cast<const char*>(numbers) + size * first;
    v.table = table;
    v.block_stride = size * layout.block_stride;
    v.run_stride = size * layout.run_stride;
    v.line_stride = size * layout.line_stride;
    v.pair_stride = size * layout.pair_stride;
    v.block_size = block_size;
    v.run = layout.run;
    return v;
}

}  // namespace

std::string unsupported_full_quant(const Problem& p) {
    const Kind kind = p.full_quant.kind;
    const bool is_f8 = p.dtype == Dtype::f8_e4m3;
    const bool has_dtype = kind == Kind::per_tensor_i8 ? p.dtype == Dtype::i8
                           : kind == Kind::mla         ? is_f8 || p.dtype == Dtype::i8 || p.dtype == Dtype::hif8
                                                       : is_f8;
    if (!has_dtype || p.kv_dtype != p.dtype) return "quantised queries of this type";
    if (p.out_dtype != Dtype::f16 && p.out_dtype != Dtype::bf16) return "a quantised output of quantised queries";
    if (p.post_quant.present || p.has_sink || p.prefix_len > 0) {
        return "post-quantisation, a learnable sink or a prefix beside quantised queries";
    }
    if (p.key_dequant.has_scale || p.key_dequant.has_offset || p.value_dequant.has_scale ||
        p.value_dequant.has_offset) {
        return "antiquantisation beside quantised queries";
    }
    if (p.bias != BiasKind::none && (p.bias != BiasKind::tensor || kind != Kind::per_tensor_i8)) {
        return "this position bias beside quantised queries";
    }
    const bool may_have_rope = kind == Kind::mla || kind == Kind::mx_f8;
    if (p.rope_dim > 0 && !may_have_rope) return "rope channels beside these quantised queries";
    if (kind == Kind::mla && !p.value_is_key) return "values other than the keys with this quantisation";
    if (kind != Kind::mla && p.value_is_key) return "values that are the keys with this quantisation";
    if (kind == Kind::mx_f8 && (p.dim % (2 * kScaledGroup) != 0 || p.block_size % (2 * kScaledGroup) != 0)) {
        return "head dims, or pages, that cut a pair of groups of 32";
    }
    return {};
}

const FullQuantKernel& full_quant_kernel(const Kernels& kernels, const Problem& p) {
    const FullQuantKernels& k = *kernels.full_quant;
    switch (p.full_quant.kind) {
        case Kind::mla: return p.dtype == Dtype::i8 ? k.mla_i8 : p.dtype == Dtype::hif8 ? k.mla_hif8 : k.mla_f8;
        case Kind::gqa_f8: return k.gqa_f8;
        case Kind::mx_f8: return k.mx_f8;
        default: return k.per_tensor;
    }
}

FullQuantScratch divide_full_quant_scratch(Arena& arena, const Problem& p, const Schedule& schedule,
                                           const Kernels& kernels) {
    const FullQuantKernel& kernel = full_quant_kernel(kernels, p);
    const size_t lanes = static_cast<size_t>(kernels.lanes), nr = static_cast<size_t>(kernels.nr);
    const size_t element = static_cast<size_t>(kernel.element_bytes);
    const size_t rope_element = static_cast<size_t>(kernel.rope_element_bytes);
    const size_t dim = round_up(static_cast<size_t>(p.dim), static_cast<size_t>(kernel.channels));
    const size_t dim_v = round_up(static_cast<size_t>(p.dim_v), kStagingAlignment);
    const size_t rope_dim = round_up(static_cast<size_t>(p.rope_dim), static_cast<size_t>(kernel.rope_channels));
    const size_t rows = round_up(static_cast<size_t>(schedule.block_rows), static_cast<size_t>(kernel.group));
    const int tile_size = tile_keys(p.full_quant.kind);
    const size_t tile = static_cast<size_t>(tile_size);
    const size_t scores = std::min(rows, static_cast<size_t>(kernel.strip_rows)) *
                          static_cast<size_t>(score_stride(tile_size));

    FullQuantScratch s = {};
    s.out = arena.take<float>(rows * round_up(dim_v, lanes));
    s.row_max = arena.take<float>(rows);
    s.row_sum = arena.take<float>(rows);
    s.row_scale = arena.take<float>(rows);
    s.row_start = arena.take<int32_t>(rows);
    s.kept = arena.take<float>(rows);
    s.joining = arena.take<float>(rows);
    s.scores = arena.take<float>(scores);
    if (element < sizeof(float)) s.weights = arena.take<char>(scores * element);
    s.query = reinterpret_cast<float*>(arena.take<char>(rows * dim * element));
    s.query_rope = reinterpret_cast<float*>(arena.take<char>(rows * rope_dim * rope_element));
    s.key_staging = arena.take<char>(tile * dim * element);
    if (!p.value_is_key) s.value_staging = arena.take<char>(tile * dim_v * element);
    s.rope_staging = arena.take<char>(tile * rope_dim * rope_element);
    s.key_panels = reinterpret_cast<float*>(arena.take<char>(tile * dim * element));
    s.value_panels = reinterpret_cast<float*>(arena.take<char>(round_up(dim_v, nr) * tile * element));
    s.rope_panels = reinterpret_cast<float*>(arena.take<char>(tile * rope_dim * rope_element));
    s.key_rows = arena.take<const void*>(tile);
    s.value_rows = arena.take<const void*>(tile);
    s.rope_rows = arena.take<const void*>(tile);
    s.value_originals = arena.take<const void*>(tile);
    s.value_classes = arena.take<uint8_t>(tile);
    s.key_scales = arena.take<float>(tile);
    s.line_scales = arena.take<uint8_t>(std::max(dim, dim_v));
    s.zeros = arena.take<float>(kMaxDim);
    return s;
}

FullQuantBlock full_quant_block(const Problem& p, const Operands& operands, const Sequence& s, int64_t kv_head,
                                const RowBlock& rows) {
    const FullQuant& f = p.full_quant;
    const int64_t group = p.heads / p.kv_heads;
    FullQuantBlock b = {};
    b.rows = rows;
    b.query = static_cast<const uint8_t*>(operands.query) + s.q_offset + kv_head * group * p.query.head_stride;
    b.has_few_rows = s.q_len * group <= kStreamRows;
    b.weight_scale = operands.quant_scale1 == nullptr ? 1.0f : read_float(operands.quant_scale1);
    b.score_scale = p.scale;
    b.value_scale_all = 1.0f;
    if (s.kv_len == 0) return b;  // nothing will be read, and there may be no scales at all
    if (f.kind == Kind::per_tensor_i8) {
        b.score_scale = formats::truncate_fp19(read_scale(operands.deq_scale1, f.deq_scale1_is_word));
        b.value_scale_all = read_scale(operands.deq_scale2, f.deq_scale2_is_word);
        return b;
    }
    const int64_t size = f.kind == Kind::mx_f8 ? 1 : static_cast<int64_t>(sizeof(float));
    b.query_scale = static_cast<const char*>(operands.query_scale) +
                    size * (s.query_scale_offset + kv_head * f.query_scale.kv_head_stride);
    b.query_scale_token_stride = size * f.query_scale.token_stride;
    b.query_scale_head_stride = size * f.query_scale.head_stride;
    if (f.kind == Kind::mla) {
        b.score_scale = static_cast<float>(static_cast<double>(p.scale) * read_float(operands.key_scale));
        b.value_scale_all = read_float(operands.value_scale);
        return b;
    }
    const int32_t* table = p.block_size > 0 ? operands.block_table + s.table_offset : nullptr;
    b.key_scale = line_scale_view(operands.key_scale, f.key_scale, size, s.key_scale_offset, kv_head, table,
                                  p.block_size);
    if (f.kind == Kind::gqa_f8) {
        b.value_scale_all = read_float(operands.value_scale, kv_head);
    } else {
        b.value_scale = line_scale_view(operands.value_scale, f.value_scale, size, s.value_scale_offset, kv_head,
                                        table, p.block_size);
    }
    return b;
}

}  // namespace acl_attn::engine
