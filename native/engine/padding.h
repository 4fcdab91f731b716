// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>

#include "engine/kernels.h"

namespace acl_attn::engine {

// Writes what rows have that see no key, for output tokens that nothing else computes.
inline void clear_tokens(const RowSink& sink, int64_t begin, int64_t end, int32_t heads, int32_t dim_v) {
    for (int64_t token = begin; token < end; token++) {
        for (int64_t head = 0; head < heads; head++) {
            std::memset(sink.out + token * sink.out_token_stride + head * sink.out_head_stride, 0,
                        static_cast<size_t>(bytes_of(sink.out_dtype, dim_v)));
            if (sink.lse != nullptr) {
                sink.lse[token * sink.lse_token_stride + head * sink.lse_head_stride] = sink.empty_lse;
            }
        }
    }
}

}  // namespace acl_attn::engine
