// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// exp within its promised error; conversions on all codes, and on the numbers where rounding decides.
#include <algorithm>
#include <cstring>
#include <limits>

#include "engine/targets.h"
#include "engine_support.h"

using namespace engine_test;
namespace formats = acl_attn::formats;

namespace {

void exponential(const Kernels& kernels) {
    std::vector<float> x;
    for (float v = -87.33f; v < 0; v += 0.00037f) x.push_back(v);
    for (int e = -40; e < 0; e++) x.push_back(-std::ldexp(1.0f, e));
    std::vector<float> y(x.size());
    kernels.exp(x.data(), y.data(), x.size());
    double worst = 0;
    for (size_t i = 0; i < x.size(); i++) {
        const double want = std::exp(static_cast<double>(x[i]));
        const double ulp = std::ldexp(1.0, std::ilogb(want) - 23);
        worst = std::max(worst, std::fabs(y[i] - want) / ulp);
    }
    std::printf("%s: exp within %.2f units in the last place\n", kernels.name, worst);
    expect(worst <= 2.0, "exp error");
    const float special[] = {0.0f, -0.0f, -88.0f, -1000.0f, -3e38f, -INFINITY, NAN};
    float got[7];
    kernels.exp(special, got, 7);
    expect(got[0] == 1.0f && got[1] == 1.0f, "exp(0) is 1");
    for (int i = 2; i < 6; i++) expect(got[i] == 0.0f, "exp vanishes at " + std::to_string(special[i]));
    expect(std::isnan(got[6]), "exp(NaN) is NaN");
}

bool same(float a, float b) { return std::memcmp(&a, &b, 4) == 0 || (std::isnan(a) && std::isnan(b)); }

void conversions(const Kernels& kernels) {
    std::vector<uint16_t> codes(65536);
    for (size_t i = 0; i < codes.size(); i++) codes[i] = static_cast<uint16_t>(i);
    for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
        const int d = static_cast<int>(dtype);
        std::vector<float> wide(codes.size());
        kernels.widen[d](codes.data(), wide.data(), codes.size());
        std::vector<float> probes;
        for (size_t i = 0; i < codes.size(); i++) {
            expect(same(wide[i], decode(dtype, codes[i])), "widen code " + std::to_string(i));
            if (!std::isfinite(wide[i])) continue;
            // The number, its neighbours, the midpoint to the next code and the midpoint's neighbours.
            const float next = decode(dtype, static_cast<uint16_t>(codes[i] + 1));
            probes.push_back(wide[i]);
            probes.push_back(std::nextafter(wide[i], INFINITY));
            if (!std::isfinite(next)) continue;
            const float middle = wide[i] + (next - wide[i]) / 2;
            for (const float p : {middle, std::nextafter(middle, INFINITY), std::nextafter(middle, -INFINITY)}) {
                probes.push_back(p);
            }
        }
        for (const float p : {65519.0f, 65519.996f, 65520.0f, 1e30f, -1e30f, 3.4e38f, -3.4e38f, INFINITY, -INFINITY}) {
            probes.push_back(p);
        }
        std::vector<uint16_t> narrow(probes.size());
        kernels.narrow[d](probes.data(), narrow.data(), probes.size());
        for (size_t i = 0; i < probes.size(); i++) {
            expect(narrow[i] == encode(dtype, probes[i]), "narrow " + std::to_string(probes[i]));
        }
        const float nan = NAN;
        uint16_t code = 0;
        kernels.narrow[d](&nan, &code, 1);
        expect(std::isnan(decode(dtype, code)), "NaN stays NaN");
    }
}

// The scalar conversions, against the definition: the nearest code, the even one of two.
void scalar_conversions() {
    for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
        const uint16_t infinity = dtype == Dtype::f16 ? 0x7c00 : 0x7f80;
        for (int i = 0; i < 65536; i++) {
            const uint16_t code = static_cast<uint16_t>(i);
            const float x = decode(dtype, code);
            if (std::isnan(x)) {
                expect(std::isnan(decode(dtype, encode(dtype, x))), "NaN round trip");
                continue;
            }
            expect(encode(dtype, x) == code, "round trip of " + std::to_string(i));
            if ((code & 0x7fff) >= infinity) continue;
            const int exponent = code >> (dtype == Dtype::f16 ? 10 : 7) & (dtype == Dtype::f16 ? 31 : 255);
            const int bits = dtype == Dtype::f16 ? 10 : 7, bias = dtype == Dtype::f16 ? 15 : 127;
            const double fraction = (code & ((1 << bits) - 1)) / std::ldexp(1.0, bits);
            const double magnitude = exponent == 0 ? std::ldexp(fraction, 1 - bias)
                                                   : std::ldexp(1 + fraction, exponent - bias);
            expect(x == (code & 0x8000 ? -magnitude : magnitude), "value of code " + std::to_string(i));
            const double step = std::ldexp(1.0, (exponent == 0 ? 1 : exponent) - bias - bits);
            const double half = std::fabs(static_cast<double>(x)) + step / 2;
            const float middle = static_cast<float>(code & 0x8000 ? -half : half);
            const uint16_t even = static_cast<uint16_t>((code & 1) == 0 ? code : code + 1);
            expect(encode(dtype, middle) == even, "tie above " + std::to_string(i));
            expect(encode(dtype, std::nextafter(middle, 0.0f)) == code, "below the tie above " + std::to_string(i));
        }
    }
}

}  // namespace

int main() {
    scalar_conversions();
    for_each_target([](int i) {
        exponential(target_kernels(i));
        conversions(target_kernels(i));
    });
    return finish("engine_primitives");
}
