// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Numbers at the edges: logits of +-1e4, one dominant key, constant rows, subnormals, values near the type's limits,
// visible infinities and NaN.
#include <functional>

#include "engine_reference.h"

using namespace engine_test;

namespace {

using Fill = std::function<float(Random&, int64_t token, int64_t channel)>;

float normal(Random& random, int64_t, int64_t) { return static_cast<float>(random.normal()); }

struct Numbers {
    const char* name;
    Fill q, k, v;
    float scale = 0;
};

Spec spec_for(Dtype dtype, int64_t q_len, int64_t kv_len) {
    Spec spec;
    spec.dtype = dtype;
    spec.heads = 2;
    spec.kv_heads = 1;
    spec.dim = spec.dim_v = 64;
    spec.sequences = Sequences{{q_len, kv_len}};
    return spec;
}

std::vector<Logical> fill(const Spec& spec, const Numbers& numbers) {
    std::vector<Logical> data = make_logical(spec, 21);
    Random random(99);
    const auto put = [&](std::vector<uint16_t>& to, int64_t width, const Fill& value) {
        for (size_t i = 0; i < to.size(); i++) {
            to[i] = encode(spec.dtype, value(random, static_cast<int64_t>(i) / width, static_cast<int64_t>(i) % width));
        }
    };
    for (Logical& d : data) {
        put(d.q, spec.heads * spec.dim, numbers.q);
        put(d.k, spec.kv_heads * spec.dim, numbers.k);
        put(d.v, spec.kv_heads * spec.dim_v, numbers.v);
    }
    return data;
}

void accuracy() {
    const Fill large = [](Random& r, int64_t, int64_t) { return static_cast<float>(r.normal() * 35); };
    const Fill dominant = [](Random& r, int64_t token, int64_t) {
        return static_cast<float>(r.normal() * 0.05 + (token == 37 ? 3.0 : 0.0));
    };
    const Fill ones = [](Random&, int64_t, int64_t) { return 1.0f; };
    const Fill minus_ones = [](Random&, int64_t, int64_t) { return -1.0f; };
    const Fill thirds = [](Random&, int64_t token, int64_t) { return static_cast<float>(token % 7) / 3.0f; };
    const std::vector<Numbers> both = {
        {"logits of +-1e4", large, large, normal, 1.0f},
        {"one dominant key", ones, dominant, normal},
        {"constant rows", ones, minus_ones, ones},
        {"constant values", normal, normal, thirds},
        {"zero scale", normal, normal, normal, 1e-38f},
        {"negative scale", normal, normal, normal, -1.0f},
    };
    const auto sized = [](double size) {
        return [size](Random& r, int64_t, int64_t) { return static_cast<float>((r.uniform() * 2 - 1) * size); };
    };
    const std::vector<Numbers> f16 = {
        {"subnormals", sized(6e-5), sized(6e-5), sized(6e-5), 1e8f},
        {"near the limit", sized(65504), sized(65504), sized(65504), 1e-10f},
        {"near the limit, positive", sized(65504), sized(65504), [](Random&, int64_t, int64_t) { return 65504.0f; }},
    };
    const std::vector<Numbers> bf16 = {
        {"subnormals", sized(1), sized(1), sized(1.1e-38)},
        {"subnormal keys", sized(1e36), sized(1e-38), normal, 30.0f},
        {"subnormal queries", sized(1e-38), sized(1e36), normal, 30.0f},
        {"tiny", sized(1e-15), sized(1e-15), sized(1e-37), 1e30f},
        {"near the limit", sized(1e18), sized(1e18), sized(3.3e38), 1e-36f},
        {"near the limit, positive", normal, normal, [](Random&, int64_t, int64_t) { return 3.38e38f; }},
        {"sums of splits beyond the limit", normal, normal, [](Random&, int64_t, int64_t) { return 5e35f; }, 1e-38f},
        {"sometimes near the limit", normal, normal, [](Random& r, int64_t, int64_t) {
             return static_cast<float>(r.uniform() * 2 - 1) * (r.below(50) == 0 ? 3.3e38f : 1.0f);
         }},
        {"wide range", normal, normal, [](Random& r, int64_t token, int64_t) {
             return static_cast<float>(r.normal() * std::pow(10.0, static_cast<double>(token % 70) - 35));
         }},
    };
    for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
        std::vector<Numbers> cases = both;
        const std::vector<Numbers>& more = dtype == Dtype::f16 ? f16 : bf16;
        cases.insert(cases.end(), more.begin(), more.end());
        for (const Numbers& numbers : cases) {
            for (const int64_t q_len : {1, 40}) {
                for (const int64_t kv_len : {5, 100, 900}) {
                    Spec spec = spec_for(dtype, q_len, kv_len);
                    spec.scale = numbers.scale;
                    const std::vector<Logical> data = fill(spec, numbers);
                    const Result got = run(spec, data);
                    const int before = g_failures;
                    check_against_reference(spec, data, got, kv_len < 10 ? 1.3 : 1.0);
                    if (g_failures != before) std::fprintf(stderr, "  with %s\n", numbers.name);
                }
            }
        }
    }
}

// Accuracy does not fall with the number of keys.
void long_rows() {
    for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
        for (const int64_t kv_len : {1024, 8192, 65536}) {
            for (const int64_t q_len : {1, 20}) {
                Spec spec = spec_for(dtype, q_len, kv_len);
                const std::vector<Logical> data = make_logical(spec, 22);
                check_against_reference(spec, data, run(spec, data));
            }
        }
    }
}

// A visible infinity or NaN in V reaches its channel of the rows that see it, and no other; in K it makes the row NaN.
void visible_specials() {
    for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
        const uint16_t inf = dtype == Dtype::f16 ? 0x7c00 : 0x7f80, nan = 0xffff;
        for (const int64_t q_len : {1, 2, 40}) {
            Spec spec = spec_for(dtype, q_len, 300);
            spec.sequences[0].band = {kOpenFirst, 270};
            std::vector<Logical> data = make_logical(spec, 23);
            data[0].v[280 * 64 + 3] = inf;
            data[0].v[280 * 64 + 4] = nan;
            data[0].v[5 * 64 + 6] = static_cast<uint16_t>(inf | 0x8000);
            const Result got = run(spec, data);
            for (int64_t row = 0; row < q_len * 2; row++) {
                const bool sees_late = row / 2 + 270 >= 280;
                for (int64_t c = 0; c < 64; c++) {
                    const float x = decode(dtype, got.out[static_cast<size_t>(row * 64 + c)]);
                    bool good = std::isfinite(x);
                    if (c == 6) good = x == -INFINITY;
                    if (c == 3 && sees_late) good = x == INFINITY;
                    if (c == 4 && sees_late) good = std::isnan(x);
                    expect(good, spec.name() + ": channel " + std::to_string(c) + " of row " + std::to_string(row));
                }
                expect(std::isfinite(got.lse[static_cast<size_t>(row)]), "LSE knows nothing of V");
            }
            data[0].k[280 * 64 + 9] = nan;
            const Result broken = run(spec, data);
            for (int64_t row = 0; row < q_len * 2; row++) {
                const bool sees_late = row / 2 + 270 >= 280;
                expect(std::isnan(broken.lse[static_cast<size_t>(row)]) == sees_late, "NaN in K makes the LSE NaN");
                expect(std::isnan(decode(dtype, broken.out[static_cast<size_t>(row * 64)])) == sees_late,
                       "NaN in K makes the row NaN");
            }
        }
    }
}

}  // namespace

int main() {
    for_each_target([](int) {
        accuracy();
        visible_specials();
        long_rows();
    });
    return finish("engine_hostile");
}
