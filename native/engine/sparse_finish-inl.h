// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The end of a sparse row, without the choices that other rows need. Results of many tokens, which are more than caches
// would keep until they are used, go past them: stores through caches read from memory first what they replace.
#pragma once

#include "engine/finish-inl.h"

namespace acl_attn::engine {
namespace {

// As finish_row; false, and nothing is done, where the processor or the row's place is not suited.
template <class T, bool kPastCaches>
inline bool finish_whole_row(const RowBlock& block, int64_t row, const float* sums, const RowState& seen) {
#if defined(__AVX512F__)
    const RowSink& sink = block.sink;
    const int64_t token = row / block.group, head = row % block.group;
    char* out = sink.out + token * sink.out_token_stride + head * sink.out_head_stride;
    const bool is_suited = sink.partial_out == nullptr && sink.out_scale == nullptr &&
                           block.dim_v % (2 * kLanes) == 0 &&
                           (!kPastCaches || reinterpret_cast<uintptr_t>(out) % 64 == 0);
    if (!is_suited) return false;
    const bool empty = seen.sum == 0.0f;
    float weight;
    const RowState state = join_sink(sink, head, seen, weight);
    const vf factor = splat(empty ? 0.0f : weight / state.headroom / state.sum);
    for (int d = 0; d < block.dim_v; d += 2 * kLanes) {
        // + 0: see store_row.
        const vh low = narrow(T{}, load<vf>(sums + d) * factor + splat(0.0f));
        const vh high = narrow(T{}, load<vf>(sums + d + kLanes) * factor + splat(0.0f));
        const __m512i both = _mm512_inserti64x4(_mm512_castsi256_si512(reinterpret_cast<__m256i>(low)),
                                                reinterpret_cast<__m256i>(high), 1);
        if constexpr (kPastCaches) {
            _mm512_stream_si512(reinterpret_cast<__m512i*>(out + 2 * d), both);
        } else {
            _mm512_storeu_si512(out + 2 * d, both);
        }
    }
    store_lse(sink, token, head, state);
    return true;
#else
    (void)block, (void)row, (void)sums, (void)seen;
    return false;
#endif
}

// Before others are told that rows are written.
inline void complete_stores() {
#if defined(__AVX512F__)
    _mm_sfence();
#endif
}

}  // namespace
}  // namespace acl_attn::engine
