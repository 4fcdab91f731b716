// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The obvious computation in double, and comparison with it.
#pragma once

#include <algorithm>

#include "engine_problem.h"

namespace engine_test {

inline bool sees(const Spec& spec, size_t sequence, const Logical& d, int64_t i, int64_t j) {
    const SequenceSpec& s = spec.sequences[sequence];
    if (j < i + s.band.first || j > i + s.band.last) return false;
    return !spec.has_mask || d.mask[static_cast<size_t>(i * s.kv_len + j)] == 0;
}

struct Exact {
    std::vector<double> out, lse;
};

inline Exact reference(const Spec& spec, const std::vector<Logical>& data) {
    Exact r;
    const int64_t group = spec.heads / spec.kv_heads;
    const double scale = spec.used_scale();
    for (size_t n = 0; n < spec.sequences.size(); n++) {
        const SequenceSpec& s = spec.sequences[n];
        const Logical& d = data[n];
        const auto wide = [&](const std::vector<uint16_t>& codes) {
            std::vector<double> x;
            for (const uint16_t code : codes) x.push_back(decode(spec.dtype, code));
            return x;
        };
        const std::vector<double> q = wide(d.q), k = wide(d.k), v = wide(d.v);
        for (int64_t i = 0; i < s.q_len; i++) {
            for (int64_t h = 0; h < spec.heads; h++) {
                const int64_t hk = h / group;
                std::vector<double> score(static_cast<size_t>(s.kv_len), -INFINITY);
                double top = -INFINITY;
                for (int64_t j = 0; j < s.kv_len; j++) {
                    if (!sees(spec, n, d, i, j)) continue;
                    double dot = 0;
                    const double* a = q.data() + (i * spec.heads + h) * spec.dim;
                    const double* b = k.data() + (j * spec.kv_heads + hk) * spec.dim;
                    for (int64_t c = 0; c < spec.dim; c++) dot += a[c] * b[c];
                    score[static_cast<size_t>(j)] = dot * scale;
                    top = std::max(top, dot * scale);
                }
                double sum = 0;
                std::vector<double> acc(static_cast<size_t>(spec.dim_v), 0.0);
                for (int64_t j = 0; j < s.kv_len; j++) {
                    if (score[static_cast<size_t>(j)] == -INFINITY) continue;
                    const double e = std::exp(score[static_cast<size_t>(j)] - top);
                    sum += e;
                    const double* b = v.data() + (j * spec.kv_heads + hk) * spec.dim_v;
                    for (int64_t c = 0; c < spec.dim_v; c++) acc[static_cast<size_t>(c)] += e * b[c];
                }
                for (const double x : acc) r.out.push_back(sum > 0 ? x / sum : 0.0);
                r.lse.push_back(sum > 0 ? top + std::log(sum) : INFINITY);
            }
        }
    }
    return r;
}

struct Error {
    double rms = 0;      // of the output's error / of the output
    double ideal = 0;    // the same for the exact output rounded once: large where outputs are subnormal
    double worst = 0;    // largest error / RMS of the output
    double lse = 0;      // largest |error| / max(1, |lse|)
    bool shape = true;   // infinities and zeros where they belong
};

inline Error compare(const Spec& spec, const Result& got, const Exact& want) {
    Error e;
    double square = 0, error = 0, rounding = 0;
    for (size_t i = 0; i < want.out.size(); i++) {
        const double x = decode(spec.dtype, got.out[i]);
        if (!std::isfinite(x)) e.shape = false;
        square += want.out[i] * want.out[i];
        error += (x - want.out[i]) * (x - want.out[i]);
        const double rounded = decode(spec.dtype, encode(spec.dtype, static_cast<float>(want.out[i])));
        rounding += (rounded - want.out[i]) * (rounded - want.out[i]);
        e.worst = std::max(e.worst, std::fabs(x - want.out[i]));
    }
    if (square > 0) {
        e.rms = std::sqrt(error / square);
        e.ideal = std::sqrt(rounding / square);
        e.worst /= std::sqrt(square / static_cast<double>(want.out.size()));
    } else if (error != 0) {
        e.shape = false;
    }
    for (size_t i = 0; i < want.lse.size(); i++) {
        if (std::isinf(want.lse[i]) || !std::isfinite(got.lse[i])) {
            if (static_cast<double>(got.lse[i]) != want.lse[i]) e.shape = false;
            continue;
        }
        e.lse = std::max(e.lse, std::fabs(got.lse[i] - want.lse[i]) / std::max(1.0, std::fabs(want.lse[i])));
    }
    return e;
}

// The limits that the engine promises.
inline double rms_limit(Dtype dtype) { return dtype == Dtype::f16 ? 0.00030 : 0.0020; }
constexpr double kLseLimit = 2e-6;

inline void check_against_reference(const Spec& spec, const Exact& want, const Result& got, double slack = 1.0) {
    const Error e = compare(spec, got, want);
    const double limit = std::max(rms_limit(spec.dtype), 1.25 * e.ideal);
    if (e.shape && e.rms <= limit * slack && e.lse <= kLseLimit * slack) return;
    char text[200];
    std::snprintf(text, sizeof text, " [%s]: rms %.6f (rounding alone %.6f), worst %.4f, lse %.2e, shape %s",
                  target_name(target_in_use()), e.rms, e.ideal, e.worst, e.lse, e.shape ? "ok" : "wrong");
    fail(spec.name() + text);
}

inline void check_against_reference(const Spec& spec, const std::vector<Logical>& data, const Result& got,
                                    double slack = 1.0) {
    check_against_reference(spec, reference(spec, data), got, slack);
}

}  // namespace engine_test
