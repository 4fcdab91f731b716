// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Every feature once through the C interface, on small BNSD calls, against plain loops over what the numbers stand for.
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>

#include "aclnnop/aclnn_fused_infer_attention_score.h"
#include "aclnnop/aclnn_fused_infer_attention_score_v2.h"
#include "aclnnop/aclnn_fused_infer_attention_score_v3.h"
#include "aclnnop/aclnn_fused_infer_attention_score_v4.h"
#include "two_phase_scenario.h"

using namespace two_phase;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kBatch = 2, kHeads = 4, kKvHeads = 2, kRows = 3, kKeys = 7;

using At = std::function<double(int64_t b, int64_t head, int64_t token, int64_t d)>;

// What a call means.
struct Meaning {
    int64_t dim = 32, dim_v = 32, rope = 0, kv_heads = kKvHeads;
    double scale = 0.25;
    At query, key, value, query_rope, key_rope;
    At bias = [](int64_t, int64_t, int64_t, int64_t) { return 0.0; };  // (b, head, row, key)
    std::vector<double> sink;
    std::vector<int64_t> rows{kRows, kRows}, keys{kKeys, kKeys};
};

Meaning sampled(int64_t dim = 32, int64_t dim_v = 32) {
    Meaning m;
    m.dim = dim;
    m.dim_v = dim_v;
    m.query = [](int64_t b, int64_t h, int64_t t, int64_t d) { return double(sample(0, b, t, h, d)); };
    m.key = [](int64_t b, int64_t h, int64_t t, int64_t d) { return double(sample(1, b, t, h, d)); };
    m.value = [](int64_t b, int64_t h, int64_t t, int64_t d) { return double(sample(2, b, t, h, d)); };
    m.query_rope = [](int64_t b, int64_t h, int64_t t, int64_t d) { return double(sample(3, b, t, h, d)); };
    m.key_rope = [](int64_t b, int64_t h, int64_t t, int64_t d) { return double(sample(3, b, t, h + 50, d)); };
    return m;
}

// [b][h][row][d] of rows in use, and their LSE.
Answer answer_of(const Meaning& m) {
    Answer answer;
    for (int64_t b = 0; b < kBatch; ++b) {
        for (int64_t h = 0; h < kHeads; ++h) {
            const int64_t hk = h / (kHeads / m.kv_heads);
            for (int64_t i = 0; i < m.rows[b]; ++i) {
                std::vector<double> logits;
                for (int64_t j = 0; j < m.keys[b]; ++j) {
                    double dot = 0.0;
                    for (int64_t d = 0; d < m.dim; ++d) dot += m.query(b, h, i, d) * m.key(b, hk, j, d);
                    for (int64_t d = 0; d < m.rope; ++d) dot += m.query_rope(b, h, i, d) * m.key_rope(b, hk, j, d);
                    logits.push_back(dot * m.scale + m.bias(b, h, i, j));
                }
                double top = m.sink.empty() ? -kInfinity : m.sink[h];
                for (const double x : logits) top = std::max(top, x);
                const bool blind = logits.empty();
                double sum = m.sink.empty() ? 0.0 : std::exp(m.sink[h] - top);
                std::vector<double> row(m.dim_v, 0.0);
                for (size_t j = 0; j < logits.size(); ++j) {
                    const double p = std::exp(logits[j] - top);
                    sum += p;
                    for (int64_t d = 0; d < m.dim_v; ++d) row[d] += p * m.value(b, hk, static_cast<int64_t>(j), d);
                }
                for (const double x : row) answer.out.push_back(blind ? 0.0 : x / sum);
                answer.lse.push_back(blind ? kInfinity : top + std::log(sum));
            }
        }
    }
    return answer;
}

// A call and its buffers. `row_axis` and `key_axis`: token axes, of which the used tokens begin at `row_first` and
// `key_first`.
struct Plan {
    explicit Plan(const Meaning& meaning, aclDataType type = ACL_FLOAT16) : m(meaning), type(type) {
        a.num_heads = kHeads;
        a.num_key_value_heads = m.kv_heads;
        a.scale_value = m.scale;
        a.input_layout = "BNSD";
        a.softmax_lse_flag = true;
    }

    const aclTensor* halves(const Dims& dims, const std::function<double(const Dims&)>& number) {
        auto& buffer = *halves_.emplace_back(std::make_unique<std::vector<uint16_t>>());
        each(dims, [&](const Dims& at) { buffer.push_back(encode(static_cast<float>(number(at)), type)); });
        return objects.tensor(dims, type, buffer.data());
    }
    const aclTensor* floats(const Dims& dims, const std::function<double(const Dims&)>& number) {
        auto& buffer = *floats_.emplace_back(std::make_unique<std::vector<float>>());
        each(dims, [&](const Dims& at) { buffer.push_back(static_cast<float>(number(at))); });
        return objects.tensor(dims, ACL_FLOAT, buffer.data());
    }
    const aclTensor* bytes(const Dims& dims, aclDataType dtype, const std::function<int64_t(const Dims&)>& number) {
        auto& buffer = *bytes_.emplace_back(std::make_unique<std::vector<int8_t>>());
        each(dims, [&](const Dims& at) { buffer.push_back(static_cast<int8_t>(number(at))); });
        return objects.tensor(dims, dtype, buffer.data());
    }
    std::vector<int32_t>& words() { return *words_.emplace_back(std::make_unique<std::vector<int32_t>>()); }
    const aclTensor* long_number(int64_t value) {
        numbers_.push_back(std::make_unique<int64_t>(value));
        return objects.tensor({1}, ACL_INT64, numbers_.back().get());
    }
    static void each(const Dims& dims, const std::function<void(const Dims&)>& visit) {
        Dims at(dims.size(), 0);
        for (int64_t n = count(dims); n > 0; --n) {
            visit(at);
            for (size_t axis = dims.size(); axis-- > 0;) {
                if (++at[axis] < dims[axis]) break;
                at[axis] = 0;
            }
        }
    }

    // Query, key, value and outputs as they are without any feature; what was set before stays.
    void fill() {
        const auto tokens = [](const At& from, int64_t first) {
            return [from, first](const Dims& at) {
                return at[2] < first ? 0.0 : from(at[0], at[1], at[2] - first, at[3]);
            };
        };
        if (a.query == nullptr) a.query = halves({kBatch, kHeads, row_axis, m.dim}, tokens(m.query, row_first));
        const Dims key_dims{kBatch, m.kv_heads, key_axis, m.dim}, value_dims{kBatch, m.kv_heads, key_axis, m.dim_v};
        if (a.key == nullptr) a.key = objects.list({halves(key_dims, tokens(m.key, key_first))});
        if (a.value == nullptr) a.value = objects.list({halves(value_dims, tokens(m.value, key_first))});
        const int64_t elements = kBatch * kHeads * row_axis * m.dim_v;
        out.assign(elements, kPoison);
        small_out.assign(elements, 77);
        lse.assign(kBatch * kHeads * row_axis, -1.0f);
        if (a.attention_out == nullptr) {
            const Dims dims{kBatch, kHeads, row_axis, m.dim_v};
            a.attention_out = out_type == ACL_DT_UNDEFINED ? objects.tensor(dims, type, out.data())
                                                           : objects.tensor(dims, out_type, small_out.data());
        }
        a.softmax_lse = objects.tensor({kBatch, kHeads, row_axis, 1}, ACL_FLOAT, lse.data());
    }

    void check(const char* what, double tolerance = 4e-3) {
        fill();
        const aclnnStatus status = call(a);
        expect(status == 0, std::string(what) + ": " + (status == 0 ? "" : recent_message()));
        if (status != 0) return;
        const Answer want = answer_of(m);
        double out_error = 0.0, lse_error = 0.0;
        size_t o = 0, l = 0;
        for (int64_t b = 0; b < kBatch; ++b) {
            for (int64_t h = 0; h < kHeads; ++h) {
                for (int64_t i = 0; i < m.rows[b]; ++i, ++l) {
                    const int64_t row = (b * kHeads + h) * row_axis + row_first + i;
                    const double got = lse[row];
                    lse_error = std::max(lse_error, got == want.lse[l] ? 0.0 : std::fabs(got - want.lse[l]));
                    for (int64_t d = 0; d < m.dim_v; ++d, ++o) {
                        const double x = out_type == ACL_INT8 ? small_out[row * m.dim_v + d]
                                                              : decode(out[row * m.dim_v + d], type);
                        const double y = out_type == ACL_INT8 ? quantised(want.out[o], h, d) : want.out[o];
                        out_error = std::isnan(x) ? kInfinity : std::max(out_error, std::fabs(x - y));
                    }
                }
            }
        }
        expect(out_error <= tolerance, std::string(what) + ": output error " + std::to_string(out_error));
        expect(lse_error <= 1e-4, std::string(what) + ": LSE error " + std::to_string(lse_error));
    }

    Meaning m;
    aclDataType type;
    aclDataType out_type = ACL_DT_UNDEFINED;
    std::function<double(double, int64_t, int64_t)> quantised;
    int64_t row_axis = kRows, key_axis = kKeys, row_first = 0, key_first = 0;
    Arguments a;
    Objects objects;
    std::vector<uint16_t> out;
    std::vector<int8_t> small_out;
    std::vector<float> lse;

private:
    std::vector<std::unique_ptr<std::vector<uint16_t>>> halves_;
    std::vector<std::unique_ptr<std::vector<float>>> floats_;
    std::vector<std::unique_ptr<std::vector<int8_t>>> bytes_;
    std::vector<std::unique_ptr<std::vector<int32_t>>> words_;
    std::vector<std::unique_ptr<int64_t>> numbers_;
};

void test_bias() {
    Meaning m = sampled();
    m.bias = [](int64_t b, int64_t h, int64_t i, int64_t j) { return double(sample(2, b + 9, i, h, j)); };
    Plan full(m);
    full.a.pse_shift = full.halves({kBatch, kHeads, kRows + 1, kKeys + 5},
                                   [&](const Dims& at) { return m.bias(at[0], at[1], at[2], at[3]); });
    full.check("pseShift for each row");
    m.bias = [](int64_t, int64_t h, int64_t, int64_t j) { return double(sample(2, 9, 0, h, j)); };
    Plan shared(m);
    shared.a.pse_shift =
        shared.halves({1, kHeads, 1, kKeys}, [&](const Dims& at) { return m.bias(0, at[1], 0, at[3]); });
    shared.check("pseShift of one row for all");
    for (const int64_t pse_type : {2, 3}) {
        m.bias = [=](int64_t, int64_t h, int64_t i, int64_t j) {
            const double distance = std::fabs(double(j + 5) - double(i + 2));
            return -0.125 * double(h + 1) * (pse_type == 2 ? distance : std::sqrt(distance));
        };
        Plan slopes(m);
        slopes.a.pse_type = pse_type;
        slopes.a.pse_shift = slopes.floats({kHeads}, [](const Dims& at) { return 0.125 * double(at[0] + 1); });
        slopes.a.q_start_idx = slopes.objects.ints({2});
        slopes.a.kv_start_idx = slopes.objects.ints({5});
        slopes.check(pse_type == 2 ? "slopes" : "slopes of roots");
    }
}

void test_sink() {
    Plan p(sampled());
    p.m.sink = {0.5, -1.0, 2.0, 0.0};
    p.a.learnable_sink = p.halves({kHeads}, [&](const Dims& at) { return p.m.sink[at[0]]; });
    p.check("learnableSink");
}

void test_rope() {
    for (const bool decode : {false, true}) {
        Meaning m = sampled(decode ? 512 : 128, decode ? 512 : 128);
        m.rope = 64;
        m.scale = 0.0625;
        m.kv_heads = decode ? 1 : kKvHeads;
        if (decode) m.value = m.key;
        Plan p(m);
        const auto number = [](const At& from) {
            return [from](const Dims& at) { return from(at[0], at[1], at[2], at[3]); };
        };
        p.a.query_rope = p.halves({kBatch, kHeads, kRows, 64}, number(m.query_rope));
        p.a.key_rope = p.halves({kBatch, m.kv_heads, kKeys, 64}, number(m.key_rope));
        if (decode) {  // the value tensor has a shape, and no memory that could be read
            const aclTensor* unread = p.objects.tensor({kBatch, 1, kKeys, 512}, ACL_FLOAT16, nullptr);
            p.a.value = p.objects.list({unread});
        }
        p.check(decode ? "decode MLA" : "prefill MLA", 8e-3);
    }
}

void test_prefix() {
    constexpr int64_t prefix = 4;
    Meaning m = sampled();
    const Meaning own = m;
    m.keys = {kKeys + prefix, kKeys + prefix};
    m.key = [=](int64_t b, int64_t h, int64_t t, int64_t d) {
        return t < prefix ? double(sample(1, 40, t, h, d)) : own.key(b, h, t - prefix, d);
    };
    m.value = [=](int64_t b, int64_t h, int64_t t, int64_t d) {
        return t < prefix ? double(sample(2, 40, t, h, d)) : own.value(b, h, t - prefix, d);
    };
    Plan p(m);
    const auto numbers = [&](const At& from, int64_t shift) {
        return [=](const Dims& at) { return from(at[0], at[1], at[2] + shift, at[3]); };
    };
    p.a.key = p.objects.list({p.halves({kBatch, kKvHeads, kKeys, m.dim}, numbers(m.key, prefix))});
    p.a.value = p.objects.list({p.halves({kBatch, kKvHeads, kKeys, m.dim_v}, numbers(m.value, prefix))});
    p.a.key_shared_prefix = p.halves({1, kKvHeads, prefix + 2, m.dim}, numbers(m.key, 0));  // longer than used
    p.a.value_shared_prefix = p.halves({1, kKvHeads, prefix + 2, m.dim_v}, numbers(m.value, 0));
    p.a.actual_shared_prefix_len = p.objects.ints({prefix});
    p.check("shared prefix");
}

void test_left_padding() {
    Plan p(sampled());
    p.m.rows = {2, 2};
    p.m.keys = {5, 5};
    p.row_axis = 6, p.row_first = 6 - 1 - 2;
    p.key_axis = 9, p.key_first = 9 - 3 - 5;
    p.m.bias = [](int64_t b, int64_t h, int64_t i, int64_t j) { return double(sample(2, b + 9, i, h, j)); };
    p.a.pse_shift = p.halves({kBatch, kHeads, 6, 9}, [&](const Dims& at) {  // physical rows and columns
        return at[2] < p.row_first || at[3] < p.key_first
                   ? 0.0
                   : p.m.bias(at[0], at[1], at[2] - p.row_first, at[3] - p.key_first);
    });
    p.a.query_padding_size = p.long_number(1);
    p.a.kv_padding_size = p.long_number(3);
    p.a.actual_seq_lengths = p.objects.ints({2});
    p.a.actual_seq_lengths_kv = p.objects.ints({5});
    p.check("left padding");
    bool clean = true;
    for (int64_t row = 0; row < kBatch * kHeads * 6; ++row) {
        const int64_t i = row % 6;
        if (i >= p.row_first && i < p.row_first + 2) continue;
        clean = clean && std::isinf(p.lse[row]) && p.out[row * p.m.dim_v] == 0;
    }
    expect(clean, "rows around the tokens are 0");

    Plan beyond(sampled());  // more padding than there is room
    beyond.m.keys = {0, 0};
    beyond.a.kv_padding_size = beyond.long_number(INT64_MAX);
    beyond.a.actual_seq_lengths_kv = beyond.objects.ints({5});
    beyond.check("left padding without room");
}

// Stored numbers as a function of what they belong to.
int64_t stored(int tensor, const Dims& at) {
    return static_cast<int64_t>(std::lround(sample(tensor, at[0], at[2], at[1], at[3]) * 7.0f));
}

void test_antiquant() {
    struct Mode {
        int64_t key, value;
        Dims shape, value_shape;  // of the scales
    };
    const Mode modes[] = {
        {0, 0, {1}, {1}},
        {0, 0, {kKvHeads, 32}, {kKvHeads, 32}},
        {1, 1, {kBatch, kKeys + 1}, {kBatch, kKeys + 1}},
        {2, 2, {kKvHeads}, {kKvHeads}},
        {3, 3, {kBatch, kKvHeads, kKeys}, {kBatch, kKvHeads, kKeys}},
        {0, 1, {1, kKvHeads, 1, 32}, {kBatch, kKeys}},
    };
    // Scales and offsets as numbers of the position in their own tensor.
    const auto scale = [](const Dims& at) {
        int64_t sum = 1;
        for (const int64_t i : at) sum = sum * 5 + i;
        return 0.125 * double(1 + sum % 3);
    };
    const auto offset = [](const Dims& at) { return double((at.back() + 1) % 3) - 1.0; };
    const auto place = [](int64_t mode, const Dims& shape, int64_t b, int64_t h, int64_t t, int64_t d) -> Dims {
        switch (mode) {
            case 0: return shape.size() == 1 ? Dims{0} : shape.size() == 2 ? Dims{h, d} : Dims{0, h, 0, d};
            case 1: return {b, t};
            case 2: return {h};
            default: return {b, h, t};
        }
    };
    for (const bool packed : {false, true}) {
        for (const Mode& mode : modes) {
            Meaning m = sampled();
            const auto meant = [=](int tensor, int64_t kind, const Dims& shape) -> At {
                return [=](int64_t b, int64_t h, int64_t t, int64_t d) {
                    const Dims at = place(kind, shape, b, h, t, d);
                    return (double(stored(tensor, {b, h, t, d})) + offset(at)) * scale(at);
                };
            };
            m.key = meant(1, mode.key, mode.shape);
            m.value = meant(2, mode.value, mode.value_shape);
            Plan p(m);
            const auto make = [&](int tensor) {
                if (!packed) {
                    return p.bytes({kBatch, kKvHeads, kKeys, 32}, ACL_INT8,
                                   [=](const Dims& at) { return stored(tensor, at); });
                }
                std::vector<int32_t>& words = p.words();
                Plan::each({kBatch, kKvHeads, kKeys, 4}, [&](const Dims& at) {  // eight to a word, the first lowest
                    uint32_t word = 0;
                    for (int64_t e = 0; e < 8; ++e) {
                        const int64_t x = stored(tensor, {at[0], at[1], at[2], at[3] * 8 + e});
                        word |= (static_cast<uint32_t>(x) & 15u) << (4 * e);
                    }
                    words.push_back(static_cast<int32_t>(word));
                });
                return p.objects.tensor({kBatch, kKvHeads, kKeys, 4}, ACL_INT32, words.data());
            };
            p.a.key = p.objects.list({make(1)});
            p.a.value = p.objects.list({make(2)});
            const auto tensor = [&](int64_t kind, const Dims& shape, const std::function<double(const Dims&)>& number) {
                return kind == 0 || kind == 2 ? p.halves(shape, number) : p.floats(shape, number);
            };
            p.a.key_antiquant_mode = mode.key;
            p.a.value_antiquant_mode = mode.value;
            p.a.key_antiquant_scale = tensor(mode.key, mode.shape, scale);
            p.a.key_antiquant_offset = tensor(mode.key, mode.shape, offset);
            p.a.value_antiquant_scale = tensor(mode.value, mode.value_shape, scale);
            p.a.value_antiquant_offset = tensor(mode.value, mode.value_shape, offset);
            const std::string what = std::string(packed ? "INT4 in INT32" : "INT8") + ", modes " +
                                     std::to_string(mode.key) + " and " + std::to_string(mode.value);
            p.check(what.c_str());
        }
    }
}

void test_post_quant() {
    Plan p(sampled());
    p.out_type = ACL_INT8;
    p.a.quant_scale2 = p.floats({kHeads, 32}, [](const Dims& at) { return 40.0 + double(at[0] + at[1]); });
    p.a.quant_offset2 = p.floats({kHeads, 32}, [](const Dims& at) { return double(at[1] % 5); });
    p.quantised = [](double x, int64_t h, int64_t d) {
        return std::fmax(-128.0, std::fmin(127.0, x * (40.0 + double(h + d)) + double(d % 5)));
    };
    p.check("INT8 output", 0.6);
}

// sparseMode 9 of the fourth version.
void test_tree() {
    Plan p(sampled());
    const auto hides = [](const Dims& at) { return at[2] > at[1] || (at[1] + at[2] + at[0]) % 3 == 1; };
    p.m.bias = [=](int64_t b, int64_t, int64_t i, int64_t j) {
        const int64_t in_tree = j - (kKeys - kRows);
        return in_tree >= 0 && hides({b, i, in_tree}) ? -kInfinity : 0.0;
    };
    p.fill();
    const aclTensor* mask = p.bytes({kBatch, kRows, kRows}, ACL_BOOL, hides);
    const Answer want = answer_of(p.m);
    const Arguments& a = p.a;
    std::string layout = a.input_layout;
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    const aclnnStatus status = aclnnFusedInferAttentionScoreV4GetWorkspaceSize(
        a.query, a.key, a.value, nullptr, mask, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
        nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
        nullptr, nullptr, nullptr, nullptr, kHeads, a.scale_value, INT_MAX, INT_MAX, layout.data(), kKvHeads, 9, 1, 0,
        0, true, 0, 0, 0, a.attention_out, a.softmax_lse, &size, &executor);
    expect(status == 0, "tree: " + (status == 0 ? std::string() : recent_message()));
    std::vector<char> workspace(size);
    expect(aclAttnRun(workspace.data(), size, executor, nullptr) == 0, "tree runs");
    double error = 0.0;
    for (size_t o = 0; o < want.out.size(); ++o) {
        error = std::max(error, std::fabs(decode(p.out[o], p.type) - want.out[o]));
    }
    expect(error < 4e-3, "tree: output error " + std::to_string(error));
    p.a.sparse_mode = 9;
    p.a.atten_mask = mask;
    expect(call(p.a) == 561002, "the newest version has no trees");
}

// The older entry points give the newest one's bits.
void test_versions() {
    Plan p(sampled());
    p.check("the newest");
    const std::vector<uint16_t> want = p.out;
    Arguments& a = p.a;
    for (int version = 1; version <= 4; ++version) {
        std::fill(p.out.begin(), p.out.end(), kPoison);
        uint64_t size = 0;
        aclOpExecutor* executor = nullptr;
        aclnnStatus status = -1;
        std::string layout = a.input_layout;
#define NONE nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr
#define TWO nullptr, nullptr
#define THREE nullptr, nullptr, nullptr
#define FIRST a.query, a.key, a.value, NONE, NONE
#define ATTRIBUTES kHeads, a.scale_value, INT_MAX, INT_MAX, layout.data(), kKvHeads, 0, 1, 0, 0, true
#define LAST a.attention_out, a.softmax_lse, &size, &executor
        if (version == 1) status = aclnnFusedInferAttentionScoreGetWorkspaceSize(FIRST, ATTRIBUTES, LAST);
        if (version == 2) {
            status = aclnnFusedInferAttentionScoreV2GetWorkspaceSize(FIRST, NONE, ATTRIBUTES, 0, 0, LAST);
        }
        if (version == 3) {
            status = aclnnFusedInferAttentionScoreV3GetWorkspaceSize(FIRST, NONE, THREE, ATTRIBUTES, 0, 0, LAST);
        }
        if (version == 4) {
            status =
                aclnnFusedInferAttentionScoreV4GetWorkspaceSize(FIRST, NONE, THREE, TWO, ATTRIBUTES, 0, 0, 0, LAST);
        }
#undef NONE
#undef TWO
#undef THREE
#undef FIRST
#undef ATTRIBUTES
#undef LAST
        expect(status == 0, "version " + std::to_string(version) + ": " + (status == 0 ? "" : recent_message()));
        std::vector<char> workspace(size);
        aclnnStatus (*const run[])(void*, uint64_t, aclOpExecutor*, aclrtStream) = {
            aclnnFusedInferAttentionScore, aclnnFusedInferAttentionScoreV2, aclnnFusedInferAttentionScoreV3,
            aclnnFusedInferAttentionScoreV4};
        expect(run[version - 1](workspace.data(), size, executor, nullptr) == 0, "phase two of an older version");
        expect(aclrtSynchronizeStream(nullptr) == 0 && p.out == want, "bits of version " + std::to_string(version));
    }
}

// Scales of key and value behind one another, as the first version has them, give the bits of two tensors.
void test_merged_scales() {
    Plan p(sampled());
    const auto scale = [](const Dims& at) { return 0.125 * double(1 + (at[0] * 2 + at[1] + at[2]) % 3); };
    Meaning& m = p.m;
    m.key = [=](int64_t b, int64_t h, int64_t t, int64_t d) { return stored(1, {b, h, t, d}) * scale({0, h, d}); };
    m.value = [=](int64_t b, int64_t h, int64_t t, int64_t d) { return stored(2, {b, h, t, d}) * scale({1, h, d}); };
    const Dims dims{kBatch, kKvHeads, kKeys, 32};
    p.a.key = p.objects.list({p.bytes(dims, ACL_INT8, [](const Dims& at) { return stored(1, at); })});
    p.a.value = p.objects.list({p.bytes(dims, ACL_INT8, [](const Dims& at) { return stored(2, at); })});
    p.a.key_antiquant_scale = p.halves({kKvHeads, 32}, [&](const Dims& at) { return scale({0, at[0], at[1]}); });
    p.a.value_antiquant_scale = p.halves({kKvHeads, 32}, [&](const Dims& at) { return scale({1, at[0], at[1]}); });
    p.check("scales apart");
    const std::vector<uint16_t> want = p.out;
    const aclTensor* merged = p.halves({2, kKvHeads, 32}, scale);
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    std::string layout = p.a.input_layout;
    const Arguments& a = p.a;
    std::fill(p.out.begin(), p.out.end(), kPoison);
    const aclnnStatus status = aclnnFusedInferAttentionScoreGetWorkspaceSize(
        a.query, a.key, a.value, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
        merged, nullptr, nullptr, nullptr, nullptr, kHeads, a.scale_value, INT_MAX, INT_MAX, layout.data(), kKvHeads, 0,
        1, 0, 0, true, a.attention_out, a.softmax_lse, &size, &executor);
    expect(status == 0, "merged scales: " + (status == 0 ? std::string() : recent_message()));
    std::vector<char> workspace(size);
    expect(aclAttnRun(workspace.data(), size, executor, nullptr) == 0 && p.out == want, "bits with merged scales");
}

void test_largest_workspace() {
    Plan p(sampled());
    p.fill();
    Arguments& a = p.a;
    uint64_t most = 0, size = 0;
    aclOpExecutor* executor = nullptr;
    const aclnnStatus status = a.largest(&most, &executor);
    expect(status == 0, "greatest workspace: " + (status == 0 ? std::string() : recent_message()));
    std::vector<char> workspace(most);
    expect(aclAttnRun(workspace.data(), most, executor, nullptr) != 0, "an executor without lengths does not run");
    for (int64_t rows = 0; rows <= kRows; ++rows) {
        for (int64_t keys = 0; keys <= kKeys; ++keys) {
            a.actual_seq_lengths = p.objects.ints({rows, kRows});
            a.actual_seq_lengths_kv = p.objects.ints({keys, kKeys});
            expect(a.phase_one(&size, &executor) == 0 && size <= most, "a call within the greatest workspace");
            expect(aclDestroyAclOpExecutor(executor) == 0, "destroy");
        }
    }
}

}  // namespace

int main() {
    if (aclInit(nullptr) != 0 || aclrtSetDevice(0) != 0) return 2;
    test_bias();
    test_sink();
    test_rope();
    test_prefix();
    test_left_padding();
    test_antiquant();
    test_post_quant();
    test_tree();
    test_versions();
    test_merged_scales();
    test_largest_workspace();
    return check_result();
}
