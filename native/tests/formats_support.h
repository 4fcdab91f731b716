// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What the tests of number formats share: reporting, random fp32 numbers, and the nearest code by looking at all codes.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace formats_test {

inline int g_failures = 0;

inline void expect(bool holds, const char* what, double input = 0, double got = 0, double want = 0) {
    if (holds) return;
    std::fprintf(stderr, "FAILED: %s: input %.9g, got %.9g, want %.9g\n", what, input, got, want);
    if (++g_failures > 20) std::exit(1);
}

inline int finish(const char* name) {
    std::printf("%s: %s\n", name, g_failures == 0 ? "all passed" : "FAILURES");
    return g_failures == 0 ? 0 : 1;
}

inline bool same(float a, float b) { return std::memcmp(&a, &b, 4) == 0 || (std::isnan(a) && std::isnan(b)); }

// Numbers of all sizes that a format of 8 bits can tell apart, and some beyond; both signs.
class Floats {
public:
    float next() {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        const double fraction = 1 + static_cast<double>(state_ >> 40) * 0x1p-24;
        const int exponent = static_cast<int>(state_ % 46) - 26;
        return static_cast<float>(std::ldexp((state_ >> 20 & 1) != 0 ? -fraction : fraction, exponent));
    }

private:
    uint64_t state_ = 0x9e3779b97f4a7c15u;
};

// A number, its neighbours, and what else is worth a look around it.
inline void add_with_neighbours(std::vector<float>& to, double number) {
    const float x = static_cast<float>(number);
    for (const float y : {x, std::nextafter(x, INFINITY), std::nextafter(x, -INFINITY)}) {
        to.push_back(y);
        to.push_back(-y);
    }
}

// Inputs where rounding decides: the numbers of all finite codes and the midpoints between them, with neighbours;
// special numbers; random ones.
template <class Decode>
std::vector<float> probes(int codes, Decode decode) {
    std::vector<double> numbers;
    for (int code = 0; code < codes; code++) {
        if (std::isfinite(decode(static_cast<uint8_t>(code)))) numbers.push_back(decode(static_cast<uint8_t>(code)));
    }
    std::vector<float> inputs;
    for (const double a : numbers) {
        add_with_neighbours(inputs, a);
        double above = INFINITY;
        for (const double b : numbers) {
            if (b > a && b < above) above = b;
        }
        if (std::isfinite(above)) add_with_neighbours(inputs, (a + above) / 2);
    }
    for (const float special : {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 3.4e38f, -3.4e38f, 1e-45f, -1e-45f, 1e-38f}) {
        inputs.push_back(special);
    }
    Floats random;
    for (int i = 0; i < 200000; i++) inputs.push_back(random.next());
    return inputs;
}

}  // namespace formats_test
