// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The number formats, one number at a time: all codes against the definition, rounding against a search of all codes.
#include "formats/e8m0.h"
#include "formats/float4.h"
#include "formats/float8.h"
#include "formats/hifloat8.h"
#include "formats/int4.h"
#include "formats/int8.h"
#include "formats/scale_word.h"
#include "formats_support.h"

using namespace formats_test;
using namespace acl_attn::formats;

namespace {

// The definition of a float with `bits` of mantissa and an ordinary exponent field.
double plain_float(int code, int exponent_bits, int bits, int bias) {
    const int exponent = code >> bits & ((1 << exponent_bits) - 1);
    const double fraction = (code & ((1 << bits) - 1)) / std::ldexp(1.0, bits);
    const double size = exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias);
    return code >> (exponent_bits + bits) != 0 ? -size : size;
}

// HIFLOAT8 read bit by bit, from the left.
double hifloat8_by_bits(int code) {
    if (code == 0x80) return NAN;
    const double sign = code & 0x80 ? -1 : 1;
    if ((code & 0x7f) == 0x6f) return sign * INFINITY;
    int position = 6;
    const auto take = [&](int count) {
        int value = 0;
        while (count-- > 0) value = value * 2 + (code >> position-- & 1);
        return value;
    };
    int width = 0;  // of the exponent
    int zeros = 0;
    if (take(1) == 1) {
        width = take(1) == 1 ? 4 : 3;
    } else {
        while (zeros < 3 && take(1) == 0) zeros++;
        if (zeros == 3) {
            const int m = take(3);
            return m == 0 ? 0.0 : sign * std::ldexp(1.0, m - 23);
        }
        width = 2 - zeros;
    }
    int exponent = 0;
    if (width > 0) {
        const bool negative = take(1) == 1;
        const int size = (1 << (width - 1)) + take(width - 1);
        exponent = negative ? -size : size;
    }
    const int bits = position + 1;
    return sign * std::ldexp(1 + take(bits) / std::ldexp(1.0, bits), exponent);
}

template <class Decode>
double nearest(double x, int codes, Decode decode, bool ties_away, int* best_code) {
    double best = 0;
    *best_code = -1;
    for (int code = 0; code < codes; code++) {
        const double y = decode(static_cast<uint8_t>(code));
        if (!std::isfinite(y) || (y == 0 && code != 0) || (x < 0) != (y < 0 || (y == 0 && x < 0))) continue;
        const double now = std::fabs(x - y), before = std::fabs(x - best);
        const bool wins_tie = ties_away ? std::fabs(y) > std::fabs(best) : (code & 1) == 0;
        if (*best_code < 0 || now < before || (now == before && wins_tie)) {
            best = y;
            *best_code = code;
        }
    }
    return best;
}

void float8() {
    for (int code = 0; code < 256; code++) {
        const float x = decode_e4m3(static_cast<uint8_t>(code));
        if ((code & 0x7f) == 0x7f) {
            expect(std::isnan(x), "E4M3 NaN", code);
            continue;
        }
        expect(x == plain_float(code, 4, 3, 7), "E4M3 value", code, x, plain_float(code, 4, 3, 7));
        expect(encode_e4m3(x) == code, "E4M3 round trip", code);
    }
    for (const float x : probes(256, decode_e4m3)) {
        const float got = decode_e4m3(encode_e4m3(x));
        const float loud = decode_e4m3(encode_e4m3(x, Overflow::special));
        if (std::isnan(x)) {
            expect(std::isnan(got) && std::isnan(loud), "E4M3 of NaN");
            continue;
        }
        int code = 0;
        const double want = nearest(std::fmin(std::fmax(x, -448.0f), 448.0f), 256, decode_e4m3, false, &code);
        expect(got == want && std::signbit(got) == std::signbit(x), "E4M3 nearest", x, got, want);
        expect(std::fabs(x) <= 464 ? loud == got : std::isnan(loud), "E4M3 beyond", x, loud);
    }
}

void hifloat8() {
    int positive = 0;
    for (int code = 0; code < 256; code++) {
        const float x = decode_hifloat8(static_cast<uint8_t>(code));
        const double want = hifloat8_by_bits(code);
        expect(std::isnan(want) ? std::isnan(x) : x == want, "HIFLOAT8 value", code, x, want);
        expect(code == 0 || x != 0, "HIFLOAT8 has one zero", code);
        positive += x > 0;
        for (const HiFloat8Rounding rounding : {HiFloat8Rounding::nearest, HiFloat8Rounding::hybrid}) {
            expect(encode_hifloat8(x, rounding, Overflow::special) == code, "HIFLOAT8 round trip", code,
                   encode_hifloat8(x, rounding, Overflow::special));
        }
    }
    expect(positive == 127, "HIFLOAT8 positive codes", 0, positive, 127);
    const struct { int code; float value; } known[] = {
        {0x08, 1.0f}, {0x0f, 1.875f}, {0x10, 2.0f}, {0x17, 3.75f}, {0x18, 0.5f}, {0x1f, 0.9375f}, {0x20, 4}, {0x28, 8},
        {0x30, 0.25f}, {0x38, 0.125f}, {0x40, 16}, {0x4c, 128}, {0x50, 0.0625f}, {0x5c, 0x1p-7f}, {0x60, 256},
        {0x6d, 24576}, {0x6e, 32768}, {0x70, 0x1p-8f}, {0x7e, 0x1p-15f}, {0x7f, 0x1.8p-15f}, {0x07, 0x1p-16f},
        {0x01, 0x1p-22f}};
    for (const auto& k : known) {
        expect(decode_hifloat8(static_cast<uint8_t>(k.code)) == k.value, "HIFLOAT8 check value", k.code);
    }
    const auto special = [](float x) { return encode_hifloat8(x, HiFloat8Rounding::nearest, Overflow::special); };
    expect(special(40959.0f) == 0x6e && special(40960.0f) == 0x6f && special(-1e30f) == 0xef, "HIFLOAT8 overflow");
    expect(encode_hifloat8(40960.0f) == 0x6e && encode_hifloat8(-INFINITY) == 0xee, "HIFLOAT8 saturation");
    expect(special(0x1p-23f) == 0x01 && special(std::nextafter(0x1p-23f, 0.0f)) == 0, "HIFLOAT8 underflow");
    expect(special(-0.0f) == 0 && special(-1e-30f) == 0, "HIFLOAT8 has no negative zero");
    expect(special(NAN) == 0x80, "HIFLOAT8 NaN");

    for (const float x : probes(256, decode_hifloat8)) {
        if (std::isnan(x)) continue;
        const float got = decode_hifloat8(encode_hifloat8(x));
        int code = 0;
        const double inside = std::fmin(std::fmax(x, -32768.0f), 32768.0f);
        const double want = nearest(inside, 256, decode_hifloat8, true, &code);
        expect(got == want && !(got == 0 && std::signbit(got)), "HIFLOAT8 nearest", x, got, want);
        // The hybrid: one of the two neighbours; the nearest for small exponents and for exact numbers.
        const float other = decode_hifloat8(encode_hifloat8(x, HiFloat8Rounding::hybrid));
        const double step = std::fabs(other - inside);
        const int exponent = x == 0 ? 0 : std::ilogb(x);
        expect(std::fabs(x) > 32768 || std::abs(exponent) > 3 || other == got, "HIFLOAT8 hybrid near 1", x, other, got);
        expect(got != x || other == x, "HIFLOAT8 hybrid exact", x, other, got);
        const double unit = std::abs(exponent) < 8 ? 0.25 : std::abs(exponent) < 16 ? 0.5 : 1.0;
        expect(step < std::ldexp(unit, exponent < -22 ? -22 : exponent) || step <= 0x1p-23 || std::fabs(x) > 32768,
               "HIFLOAT8 hybrid is a neighbour", x, other, got);
    }
    // By hand: |E| = 4, two bits of mantissa, so 21 discarded bits; up if the upper 14 are at least the lower 14.
    const auto hybrid = [](uint32_t fraction) {
        return encode_hifloat8(float_of((131u << 23) | fraction), HiFloat8Rounding::hybrid);
    };
    expect(hybrid(0x000001) == 0x40 && hybrid(0x000080) == 0x40 && hybrid(0x000081) == 0x40, "HIFLOAT8 hybrid down");
    expect(hybrid(0x100000) == 0x41 && hybrid(0x1fffff) == 0x41 && hybrid(0x010000) == 0x41, "HIFLOAT8 hybrid up");
    expect(hybrid(0x00ff81) == 0x40, "HIFLOAT8 hybrid by the lower bits");
}

void four_bits() {
    for (int code = 0; code < 16; code++) {
        const uint8_t c = static_cast<uint8_t>(code);
        const float x = decode_e2m1(c);
        expect(x == plain_float(code, 2, 1, 1) && std::signbit(x) == (code >= 8), "E2M1 value", code, x);
        expect(encode_e2m1(x) == code, "E2M1 round trip", code);
        const int i = code < 8 ? code : code - 16;
        expect(decode_i4(c) == i && encode_i4(static_cast<float>(i)) == code, "INT4 value", code, decode_i4(c), i);
    }
    for (const float x : probes(16, decode_e2m1)) {
        if (std::isnan(x)) continue;
        int code = 0;
        const double want = nearest(std::fmin(std::fmax(x, -6.0f), 6.0f), 16, decode_e2m1, false, &code);
        const float got = decode_e2m1(encode_e2m1(x));
        expect(got == want && std::signbit(got) == std::signbit(x), "E2M1 nearest", x, got, want);
        const double integer = std::nearbyint(std::fmin(std::fmax(x, -8.0f), 7.0f));
        expect(decode_i4(encode_i4(x)) == integer, "INT4 nearest", x, decode_i4(encode_i4(x)), integer);
    }
    expect(encode_i4(NAN) == 0, "INT4 of NaN");
    uint8_t bytes[4] = {0xff, 0xff, 0xff, 0xff};
    for (int e = 0; e < 8; e++) set_nibble(bytes, e, static_cast<uint8_t>(e + 1));
    uint32_t word = 0;
    for (int i = 3; i >= 0; i--) word = word << 8 | bytes[i];
    expect(word == 0x87654321u, "nibble order", 0, word);
    for (int e = 0; e < 8; e++) expect(nibble_at(bytes, e) == e + 1, "nibble", e, nibble_at(bytes, e), e + 1);
}

void scales() {
    for (int code = 0; code < 255; code++) {
        const uint8_t c = static_cast<uint8_t>(code);
        expect(decode_e8m0(c) == std::ldexp(1.0, code - 127), "E8M0 value", code, decode_e8m0(c));
        expect(encode_e8m0(decode_e8m0(c)) == code, "E8M0 round trip", code);
        const float tie = decode_e8m0(c) * 1.5f;
        expect(encode_e8m0(tie) == (code < 254 ? code + 1 : 254), "E8M0 tie", code, encode_e8m0(tie));
        expect(encode_e8m0(std::nextafter(tie, 0.0f)) == code, "E8M0 below the tie", code);
    }
    expect(std::isnan(decode_e8m0(0xff)), "E8M0 NaN");
    for (const float x : {NAN, INFINITY, 0.0f, -0.0f, -1.0f}) expect(encode_e8m0(x) == 0xff, "E8M0 of no scale", x);
    expect(truncate_fp19(1.0f + 0x1p-10f + 0x1p-11f) == 1.0f + 0x1p-10f, "fp19 keeps 10 bits");
    expect(decode_scale_word(0xdeadbeef3f801fffu) == 1.0f && decode_scale_word(0x3f802000u) == 1.0f + 0x1p-10f,
           "the scale word's lower half");
}

void int8() {
    for (const float x : probes(256, [](uint8_t code) { return static_cast<float>(static_cast<int8_t>(code)); })) {
        if (std::isnan(x)) continue;
        const float half = decode_f16(encode_f16(x));
        const double want = std::nearbyint(std::fmin(std::fmax(half, -128.0f), 127.0f));
        expect(encode_i8(x) == want, "INT8", x, encode_i8(x), want);
    }
    expect(encode_i8(NAN) == 0, "INT8 of NaN");
    expect(encode_i8(2.5004f) == 2 && round_i8(2.5004f) == 3, "INT8 goes by way of fp16");
}

}  // namespace

int main() {
    float8();
    hifloat8();
    four_bits();
    scales();
    int8();
    return finish("formats");
}
