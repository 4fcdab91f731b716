// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Calls with quantised operands in terms of what their codes stand for, and how far roundings of weights may move them.
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "two_phase_scenario.h"

namespace two_phase {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A type of at most 8 bits by some of its codes, from the documentation and not from the library.
struct Format {
    aclDataType type;
    struct {
        uint8_t code;
        double number;
    } known[6];
    uint8_t poison;         // NaN where the type has one
    double relative, step;  // error of a rounded weight: of itself, and of the largest one
};
inline const Format kInt8{ACL_INT8, {{0, 0}, {1, 1}, {2, 2}, {3, 3}, {4, 4}, {6, 6}}, 0x80, 0.0, 0.5 / 127};
inline const Format kE4m3{ACL_FLOAT8_E4M3FN,
                          {{0x00, 0}, {0x30, 0.5}, {0x38, 1}, {0x3c, 1.5}, {0x40, 2}, {0x44, 3}},
                          0x7f, 1.0 / 16, 0x1p-10};
inline const Format kHif8{ACL_HIFLOAT8,
                          {{0x00, 0}, {0x18, 0.5}, {0x08, 1}, {0x0c, 1.5}, {0x10, 2}, {0x14, 3}},
                          0x80, 0.25, 0x1p-16};
inline const Format kE2m1{ACL_FLOAT4_E2M1, {{0, 0}, {1, 0.5}, {2, 1}, {3, 1.5}, {4, 2}, {5, 3}}, 0, 0.0, 0.0};
inline const Format kInt4{ACL_INT4, {{0, 0}, {1, 1}, {2, 2}, {3, 3}, {4, 4}, {6, 6}}, 0, 0.0, 0.0};
// Weights of calls whose queries are not quantised, which some kernels round to bf16.
inline const Format kFloats{ACL_BF16, {}, 0, 0x1p-8, 0.0};

// Any number of a place, always the same.
inline uint32_t noise(int64_t tensor, int64_t b, int64_t token, int64_t head, int64_t d) {
    uint32_t x = static_cast<uint32_t>((((tensor * 29 + b) * 1009 + token) * 37 + head) * 521 + d);
    x ^= x >> 16, x *= 0x7feb352dU, x ^= x >> 15, x *= 0x846ca68bU, x ^= x >> 16;
    return x;
}

// Query and key have signs; values do not, so that a wrong scale cannot hide in a mean of about 0.
inline uint8_t code_at(const Format& f, int64_t tensor, int64_t b, int64_t token, int64_t head, int64_t d) {
    const uint32_t x = noise(tensor, b, token, head, d);
    const uint8_t code = f.known[x % 6].code;
    if (tensor == 2 || x / 6 % 2 == 0 || code == 0) return code;
    if (f.type == ACL_INT4) return (16 - code) & 15;
    if (f.type == ACL_FLOAT4_E2M1) return code | 8;
    return f.type == ACL_INT8 ? static_cast<uint8_t>(-code) : static_cast<uint8_t>(code | 0x80);
}
inline double number_at(const Format& f, int64_t tensor, int64_t b, int64_t token, int64_t head, int64_t d) {
    const uint32_t x = noise(tensor, b, token, head, d);
    const double number = f.known[x % 6].number;
    return tensor == 2 || x / 6 % 2 == 0 ? number : -number;
}

// Buffers of a call that live as long as it does.
class Buffers {
public:
    // Elements between the strides, and those for which `element` says so, are poison.
    template <class T>
    const aclTensor* tensor(Objects& objects, const Dims& dims, aclDataType type,
                            const std::function<T(const Dims&)>& element, const Dims& strides = {}, T poison = {}) {
        Dims steps = strides;
        if (steps.empty()) {
            steps.assign(dims.size(), 1);
            for (size_t axis = dims.size(); axis-- > 1;) steps[axis - 1] = steps[axis] * dims[axis];
        }
        int64_t size = 1;
        for (size_t axis = 0; axis < dims.size(); ++axis) size += (dims[axis] - 1) * steps[axis];
        auto kept = std::make_shared<std::vector<T>>(static_cast<size_t>(std::max<int64_t>(size, 1)), poison);
        kept_.push_back(kept);
        last_ = kept->data();
        Dims at(dims.size(), 0);
        for (int64_t n = count(dims); n > 0; --n) {
            int64_t place = 0;
            for (size_t axis = 0; axis < dims.size(); ++axis) place += at[axis] * steps[axis];
            (*kept)[static_cast<size_t>(place)] = element(at);
            for (size_t axis = dims.size(); axis-- > 0;) {
                if (++at[axis] < dims[axis]) break;
                at[axis] = 0;
            }
        }
        if (strides.empty()) return objects.tensor(dims, type, kept->data());
        return objects.strided(dims, steps, 0, static_cast<int64_t>(kept->size()), type, kept->data());
    }

    // What the newest tensor's elements are in.
    void* last() const { return last_; }

private:
    std::vector<std::shared_ptr<void>> kept_;
    void* last_ = nullptr;
};

// Which token stands where in a cache whose blocks are used from the last one on.
struct Pages {
    Pages(const std::vector<int64_t>& lengths, int64_t block_size) : keys(lengths), size(block_size) {
        for (const int64_t length : keys) columns = std::max(columns, (length + size - 1) / size + 1);
        blocks = static_cast<int64_t>(keys.size()) * columns;
        table.assign(blocks, -1);
        for (int64_t b = 0; b < static_cast<int64_t>(keys.size()); ++b) {
            for (int64_t c = 0; c * size < keys[b]; ++c) {
                table[b * columns + c] = static_cast<int32_t>(blocks - 1 - (b * columns + c));
            }
        }
    }
    // False: the row belongs to nobody.
    bool find(int64_t block, int64_t row, int64_t* b, int64_t* token) const {
        const int64_t place = blocks - 1 - block;
        *b = place / columns;
        *token = place % columns * size + row;
        return *token < keys[*b];
    }

    std::vector<int64_t> keys;
    int64_t size, columns = 1, blocks = 0;
    std::vector<int32_t> table;
};

// One of four scales of a place.
inline double scale_at(int64_t tensor, int64_t b, int64_t token, int64_t head, int64_t d = 0) {
    return 0.25 * double(1 + noise(tensor, b, token, head, d) % 4);
}
// An E8M0 code of a place, and what it stands for.
inline uint8_t power_at(int64_t tensor, int64_t b, int64_t token, int64_t head, int64_t group) {
    return static_cast<uint8_t>(126 + noise(tensor, b, token, head, group) % 3);
}
inline double number_of(uint8_t power) { return std::ldexp(1.0, power - 127); }

// What a call means.
struct Truth {
    int64_t heads, kv_heads, dim_v;
    std::vector<int64_t> rows, keys;
    bool causal = false;
    std::function<double(int64_t b, int64_t h, int64_t i, int64_t j)> logit;
    std::function<double(int64_t b, int64_t hk, int64_t j, int64_t d)> value;
    double lse_shift = 0.0, logit_error = 0.0;
};

// `out(b, h, i, d)` and `lse(b, h, i)` are what the call gave.
inline void hold(const Truth& t, const Format& weights, const std::string& what,
                 const std::function<double(int64_t, int64_t, int64_t, int64_t)>& out,
                 const std::function<double(int64_t, int64_t, int64_t)>& lse) {
    double worst = 0.0, lse_error = 0.0;
    for (int64_t b = 0; b < static_cast<int64_t>(t.rows.size()); ++b) {
        for (int64_t h = 0; h < t.heads; ++h) {
            for (int64_t i = 0; i < t.rows[b]; ++i) {
                std::vector<double> p(t.keys[b]);
                double top = -kInfinity, sum = 0.0;
                for (int64_t j = 0; j < t.keys[b]; ++j) {
                    const bool seen = !t.causal || j <= i + t.keys[b] - t.rows[b];
                    p[j] = seen ? t.logit(b, h, i, j) : -kInfinity;
                    top = std::max(top, p[j]);
                }
                const bool blind = std::isinf(top);
                for (double& x : p) sum += x = blind ? 0.0 : std::exp(x - top);
                const double got = lse(b, h, i), wanted = blind ? kInfinity : top + std::log(sum) + t.lse_shift;
                if (got != wanted) lse_error = std::max(lse_error, std::fabs(got - wanted));
                for (int64_t d = 0; d < t.dim_v; ++d) {
                    double mean = 0.0, size = 0.0, all = 0.0;
                    for (size_t j = 0; j < p.size() && !blind; ++j) {
                        const double v = t.value(b, h / (t.heads / t.kv_heads), static_cast<int64_t>(j), d);
                        mean += p[j] * v / sum;
                        size += p[j] * std::fabs(v) / sum;
                        all += p[j] > 0 ? std::fabs(v) / sum : 0.0;
                    }
                    const double grant = blind ? 0.0
                                               : (weights.relative + 2 * t.logit_error) * size + weights.step * all +
                                                     0x1p-8 * std::fabs(mean) + 1e-6;
                    const double x = out(b, h, i, d);
                    const double excess = std::fabs(x - mean) - grant;
                    worst = std::max(worst, std::isnan(x) ? kInfinity : excess);
                }
            }
        }
    }
    expect(worst <= 0.0, what + ": output beyond the roundings by " + std::to_string(worst));
    expect(lse_error <= 1e-4 + t.logit_error, what + ": LSE error " + std::to_string(lse_error));
}

}  // namespace two_phase
