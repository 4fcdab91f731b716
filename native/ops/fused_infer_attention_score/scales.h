// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Where antiquantisation's scales lie: one home for what the rules demand of their shapes and what the engine is told.
#pragma once

#include "engine/attention.h"
#include "ops/fused_infer_attention_score/case.h"

namespace acl_attn::ops::fia {

constexpr int32_t kScaleGroup = 32;  // channels that share a scale in mode 6

engine::Dtype engine_dtype(aclDataType dtype);

struct ScalePlace {
    engine::ScaleLayout layout;
    int64_t sequence_stride = 0;  // sequence b's begin at b * sequence_stride
};

// What kind of scale a mode (0 to 6) takes, for messages.
std::string scale_shape_text(const Case& subject, int64_t mode, int64_t dim);

// False if `scale` has not the shape that `mode` takes for keys or values of head dim `dim`.
bool find_scale(const Case& subject, int64_t mode, int64_t dim, const meta::Tensor& scale, ScalePlace* place);

}  // namespace acl_attn::ops::fia
