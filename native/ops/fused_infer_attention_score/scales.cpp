// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/fused_infer_attention_score/scales.h"

#include "ops/tensors.h"

namespace acl_attn::ops::fia {
namespace {

// Tokens that a scale for each token must reach: the prefix's, and physical rows where data stand at the end.
int64_t tokens_needed(const Case& c) { return c.mask_columns(); }

// (N*D), (1, N*D), (N, D) and that with axes of 1 in between.
bool is_per_channel(const meta::Tensor& scale, int64_t heads, int64_t dim) {
    if (scale.rank < 1 || scale.rank > 4 || scale.numel() != heads * dim) return false;
    const int64_t last = scale.shape[scale.rank - 1];
    return last == heads * dim || last == dim;
}

}  // namespace

engine::Dtype engine_dtype(aclDataType dtype) {
    switch (dtype) {
        case ACL_BF16: return engine::Dtype::bf16;
        case ACL_FLOAT: return engine::Dtype::f32;
        case ACL_INT8: return engine::Dtype::i8;
        case ACL_INT4: return engine::Dtype::i4;
        case ACL_FLOAT8_E4M3FN: return engine::Dtype::f8_e4m3;
        case ACL_HIFLOAT8: return engine::Dtype::hif8;
        case ACL_FLOAT4_E2M1: return engine::Dtype::f4_e2m1;
        case ACL_FLOAT8_E8M0: return engine::Dtype::e8m0;
        default: return engine::Dtype::f16;
    }
}

std::string scale_shape_text(const Case& c, int64_t mode, int64_t dim) {
    const int64_t n = c.kv_heads;
    const int64_t tokens = tokens_needed(c);
    switch (mode) {
        case 0: return text("(1), (", n * dim, ") or (", n, ", ", dim, "), for a tensor or for each head and channel");
        case 1: return text("(", c.batch, ", >= ", tokens, "), for each sequence and token");
        case 2: return text("(", n, "), for each head");
        case 3: return text("(", c.batch, ", ", n, ", >= ", tokens, "), for each sequence, head and token");
        case 4: return text("(", c.k_cache.blocks, ", ", c.call.block_size, "), for each block and token");
        case 5:
            return text("(", c.k_cache.blocks, ", ", n, ", ", c.call.block_size, "), for each block, head and token");
        default:
            return text("(1, ", c.batch, ", ", n, ", >= ", tokens, ", ", dim / kScaleGroup, "), for groups of ",
                        kScaleGroup, " channels of each token");
    }
}

bool find_scale(const Case& c, int64_t mode, int64_t dim, const meta::Tensor& scale, ScalePlace* place) {
    const int64_t* shape = scale.shape;
    const int rank = scale.rank;
    const int64_t n = c.kv_heads;
    engine::ScaleLayout& layout = place->layout;
    layout.dtype = engine_dtype(scale.dtype);
    layout.group = static_cast<int32_t>(dim);
    switch (mode) {
        case 0:
            if (rank <= 1 && scale.numel() == 1) return true;
            layout.head_stride = dim;
            layout.group = 1;
            layout.group_stride = 1;
            return is_per_channel(scale, n, dim);
        case 1: {
            const bool fits = (rank == 2 || (rank == 3 && shape[0] == 1)) && shape[rank - 2] == c.batch &&
                              shape[rank - 1] >= tokens_needed(c);
            layout.token_stride = 1;
            place->sequence_stride = shape[rank > 0 ? rank - 1 : 0];
            return fits;
        }
        case 2: layout.head_stride = 1; return has_shape(scale, &n, 1);
        case 3:
            layout.token_stride = 1;
            layout.head_stride = shape[2];
            place->sequence_stride = n * shape[2];
            return rank == 3 && shape[0] == c.batch && shape[1] == n && shape[2] >= tokens_needed(c);
        case 4:
        case 5: {
            if (c.storage != Storage::paged) return false;
            const int64_t with_heads[] = {c.k_cache.blocks, n, c.call.block_size};
            const int64_t without[] = {c.k_cache.blocks, c.call.block_size};
            layout.paged = true;
            layout.token_stride = 1;
            layout.head_stride = mode == 5 ? c.call.block_size : 0;
            layout.block_stride = mode == 5 ? n * c.call.block_size : c.call.block_size;
            return mode == 5 ? has_shape(scale, with_heads, 3) : has_shape(scale, without, 2);
        }
        case 6: {
            const int64_t groups = dim / kScaleGroup;
            layout.group = kScaleGroup;
            layout.group_stride = 1;
            layout.token_stride = groups;
            layout.head_stride = shape[3] * groups;
            place->sequence_stride = n * layout.head_stride;
            return rank == 5 && dim % kScaleGroup == 0 && shape[0] == 1 && shape[1] == c.batch && shape[2] == n &&
                   shape[3] >= tokens_needed(c) && shape[4] == groups;
        }
        default: return false;
    }
}

}  // namespace acl_attn::ops::fia
