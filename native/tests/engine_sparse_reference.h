// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The obvious computation of a sparse problem.
#pragma once

#include <algorithm>

#include "engine_sparse_data.h"

namespace engine_test {

// The rows that a token sees, in order.
inline std::vector<const uint8_t*> seen_rows(const SparseSpec& spec, const SparseData& data, size_t n, int64_t i) {
    std::vector<const uint8_t*> rows;
    const SparseSequenceSpec& s = spec.sequences[n];
    const SparseLogical& d = data.sequences[n];
    const auto add = [&](const std::vector<uint8_t>& pool, int64_t t) {
        rows.push_back(pool.data() + t * spec.row_bytes());
    };
    const auto walk = [&](const std::vector<uint8_t>& pool, const std::vector<int32_t>& lists,
                          const std::vector<int32_t>& lengths, int64_t topk, int64_t visible) {
        int64_t looked_at = std::min(topk, visible);
        if (spec.has_topk_length) looked_at = std::min<int64_t>(looked_at, lengths[static_cast<size_t>(i)]);
        for (int64_t e = 0; e < looked_at; e++) {
            const int32_t row = lists[static_cast<size_t>(i * topk + e)];
            if (row < 0) break;
            if (row < visible) add(pool, row);
        }
    };
    const int64_t p = position(s, i);
    if (spec.ori_topk > 0) {
        walk(d.ori, d.ori_list, d.ori_length, spec.ori_topk, s.ori_len);
    } else {
        for (int64_t j = 0; j < s.ori_len; j++) {
            if ((spec.left < 0 || j >= p - spec.left) && (spec.right < 0 || j <= p + spec.right)) add(d.ori, j);
        }
    }
    if (spec.cmp_topk > 0) {
        walk(d.cmp, d.cmp_list, d.cmp_length, spec.cmp_topk, visible_cmp(spec, n, i));
    } else {
        for (int64_t j = 0; j < visible_cmp(spec, n, i); j++) add(d.cmp, j);
    }
    return rows;
}

inline Exact sparse_reference(const SparseSpec& spec, const SparseData& data) {
    Exact r;
    for (size_t n = 0; n < spec.sequences.size(); n++) {
        for (int64_t i = 0; i < spec.sequences[n].q_len; i++) {
            const std::vector<const uint8_t*> rows = seen_rows(spec, data, n, i);
            std::vector<std::vector<double>> wide;
            for (const uint8_t* row : rows) {
                wide.emplace_back();
                for (int64_t d = 0; d < kDim; d++) wide.back().push_back(read_row(spec, row, d));
            }
            for (int64_t h = 0; h < spec.heads; h++) {
                const uint16_t* q = data.sequences[n].q.data() + (i * spec.heads + h) * kDim;
                std::vector<double> score;
                double top = spec.has_sink ? data.sinks[static_cast<size_t>(h)] : -INFINITY;
                std::vector<double> query;
                for (int64_t d = 0; d < kDim; d++) query.push_back(decode(spec.dtype, q[d]));
                for (const auto& x : wide) {
                    double dot = 0;
                    for (size_t d = 0; d < x.size(); d++) dot += query[d] * x[d];
                    score.push_back(dot * spec.scale);
                    top = std::max(top, score.back());
                }
                std::vector<double> out(static_cast<size_t>(kDim), 0.0);
                double sum = spec.has_sink ? std::exp(data.sinks[static_cast<size_t>(h)] - top) : 0.0;
                for (size_t k = 0; k < wide.size(); k++) {
                    const double weight = std::exp(score[k] - top);
                    sum += weight;
                    for (size_t d = 0; d < out.size(); d++) out[d] += weight * wide[k][d];
                }
                for (const double x : out) r.out.push_back(rows.empty() ? 0.0 : x / sum);
                r.lse.push_back(rows.empty() ? 0.0 : top + std::log(sum));
            }
        }
    }
    return r;
}

}  // namespace engine_test
