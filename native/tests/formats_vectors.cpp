// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The vector conversions of one instruction set against the scalar ones: all codes, and numbers where rounding decides.
#include "formats_vectors.h"

#include "formats/e8m0.h"
#include "formats/float4.h"
#include "formats/float8.h"
#include "formats/hifloat8_narrow-inl.h"
#include "formats/int4.h"
#include "formats/int8.h"
#include "formats/round-inl.h"
#include "formats_support.h"

using namespace formats_test;
using namespace acl_attn::engine;
namespace formats = acl_attn::formats;

namespace {

float decode_i8(uint8_t code) { return static_cast<float>(static_cast<int8_t>(code)); }
float decode_i4(uint8_t code) { return static_cast<float>(formats::decode_i4(code)); }

// Every code at every place of a vector, and every length of the last vector; nothing beyond it is read or written.
template <class T>
void decoding(const char* what, float (*decode)(uint8_t)) {
    constexpr int kCodes = 1 << T::kBits;
    for (int first = 0; first < kCodes; first++) {
        const int count = first % (3 * kLanes + 1);
        const int bytes = (count * T::kBits + 7) / 8;
        std::vector<uint8_t> codes(static_cast<size_t>(bytes));  // exact, for the address sanitizer
        for (int i = 0; i < count; i++) {
            const uint8_t code = static_cast<uint8_t>((first + i * 37) % kCodes);
            if (T::kBits == 4) {
                formats::set_nibble(codes.data(), i, code);
            } else {
                codes[static_cast<size_t>(i)] = code;
            }
        }
        if (T::kBits == 4 && count % 2 != 0) formats::set_nibble(codes.data(), count, 15);  // not ours
        std::vector<float> wide(static_cast<size_t>(count) + 1, 12345.0f);
        widen_codes<T>(codes.data(), wide.data(), count);
        for (int i = 0; i < count; i++) {
            const float want = decode(static_cast<uint8_t>((first + i * 37) % kCodes));
            expect(same(wide[static_cast<size_t>(i)], want), what, first + i * 37, wide[static_cast<size_t>(i)], want);
        }
        expect(wide.back() == 12345.0f, what, count);
    }
}

template <class T, class Encode, class Decode>
void encoding(const char* what, Encode encode, Decode decode) {
    const std::vector<float> inputs = probes(256, decode);
    std::vector<uint8_t> codes(inputs.size() + 1, 0xa5);
    narrow_codes<T>(inputs.data(), codes.data(), static_cast<int>(inputs.size()));
    expect(codes.back() == 0xa5, what);
    for (size_t i = 0; i < inputs.size(); i++) {
        expect(codes[i] == encode(inputs[i]), what, inputs[i], codes[i], encode(inputs[i]));
        vf x = {};
        x[0] = inputs[i];
        const float rounded = round_to(T{}, x)[0];
        // An integer has no NaN and no negative zero, its number in a register may have the latter.
        const float want = decode(encode(inputs[i]));
        expect(same(rounded, want) || (rounded == 0 && want == 0), what, inputs[i], rounded, want);
    }
}

// The short way for finite numbers gives the same codes.
void encoding_finite_hifloat8() {
    for (const float input : probes(256, formats::decode_hifloat8)) {
        const uint8_t want = formats::encode_hifloat8(input);
        const bool is_finite = input - input == 0;
        if (!is_finite) continue;
        expect(narrow_finite(HiFloat8{}, splat(input))[0] == want, "encode finite HIFLOAT8", input, want);
    }
}

}  // namespace

int check_vectors() {
    decoding<I8>("decode INT8", decode_i8);
    decoding<I4>("decode INT4", decode_i4);
    decoding<E4M3>("decode E4M3", formats::decode_e4m3);
    decoding<HiFloat8>("decode HIFLOAT8", formats::decode_hifloat8);
    decoding<E2M1>("decode E2M1", formats::decode_e2m1);
    decoding<E8M0>("decode E8M0", formats::decode_e8m0);
    encoding<I8>("encode INT8", [](float x) { return static_cast<uint8_t>(formats::encode_i8(x)); }, decode_i8);
    encoding<E4M3>("encode E4M3", [](float x) { return formats::encode_e4m3(x); }, formats::decode_e4m3);
    const auto nearest = [](float x) { return formats::encode_hifloat8(x); };
    encoding<HiFloat8>("encode HIFLOAT8", nearest, formats::decode_hifloat8);
    const auto hybrid = [](float x) { return formats::encode_hifloat8(x, formats::HiFloat8Rounding::hybrid); };
    encoding<HiFloat8Hybrid>("encode HIFLOAT8, hybrid", hybrid, formats::decode_hifloat8);
    encoding_finite_hifloat8();
    return finish("formats_vectors");
}
