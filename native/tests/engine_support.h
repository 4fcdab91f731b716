// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What all tests of the engine share: counting failures, random numbers, going through the instruction sets.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "engine/attention.h"
#include "formats/half.h"

namespace engine_test {

using namespace acl_attn::engine;

inline int g_failures = 0;

inline void fail(const std::string& what) {
    std::fprintf(stderr, "FAILED: %s\n", what.c_str());
    if (++g_failures > 20) std::exit(1);
}

inline void expect(bool holds, const std::string& what) {
    if (!holds) fail(what);
}

inline int finish(const char* name) {
    std::printf("%s: %s\n", name, g_failures == 0 ? "all passed" : "FAILURES");
    return g_failures == 0 ? 0 : 1;
}

class Random {
public:
    explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 0x1234567u) {}
    uint64_t bits() {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return state_ * 0x2545f4914f6cdd1du;
    }
    double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
    int64_t below(int64_t n) { return static_cast<int64_t>(bits() % static_cast<uint64_t>(n)); }
    double normal() {
        return std::sqrt(-2.0 * std::log(uniform() + 1e-300)) * std::cos(6.283185307179586 * uniform());
    }

private:
    uint64_t state_;
};

inline uint16_t encode(Dtype dtype, float x) {
    return dtype == Dtype::f16 ? acl_attn::formats::encode_f16(x) : acl_attn::formats::encode_bf16(x);
}
inline float decode(Dtype dtype, uint16_t x) {
    return dtype == Dtype::f16 ? acl_attn::formats::decode_f16(x) : acl_attn::formats::decode_bf16(x);
}

inline std::set<int> g_skipped;

template <class Body>
void for_each_target(Body body) {
    for (int i = 0; i < target_count(); i++) {
        if (!target_usable(i)) {
            if (g_skipped.insert(i).second) std::printf("skipped: %s is not usable here\n", target_name(i));
            continue;
        }
        expect(force_target(i), "forcing a usable target");
        body(i);
    }
    force_target(-1);
}

}  // namespace engine_test
