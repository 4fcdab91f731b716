// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/cpu_features.h"

#include <cstdint>
#include <cstring>

#ifdef ACL_ATTN_X86
#include <cpuid.h>
#endif

namespace acl_attn::engine {
namespace {

#ifdef ACL_ATTN_X86
struct Registers {
    uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(uint32_t leaf, uint32_t subleaf) {
    Registers r;
    __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);
    return r;
}

bool bit(uint32_t value, int index) { return (value >> index & 1u) != 0; }

// Register state that the operating system saves: without it vector registers are lost between time slices.
uint64_t enabled_state() {
    if (!bit(cpuid(1, 0).ecx, 27)) return 0;
    uint32_t low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return uint64_t{high} << 32 | low;
}

bool is_intel() {
    const Registers r = cpuid(0, 0);
    char vendor[12];
    std::memcpy(vendor, &r.ebx, 4);
    std::memcpy(vendor + 4, &r.edx, 4);
    std::memcpy(vendor + 8, &r.ecx, 4);
    return std::memcmp(vendor, "GenuineIntel", sizeof vendor) == 0;
}

CpuFeatures detect() {
    CpuFeatures found;
    const Registers basic = cpuid(1, 0), extended = cpuid(7, 0), more = cpuid(7, 1);
    const uint64_t state = enabled_state();
    const bool ymm = (state & 0x6) == 0x6;
    const bool zmm = (state & 0xe6) == 0xe6;
    const bool tiles = (state & 0x60000) == 0x60000;
    const auto add = [&](bool present, const char* name) {
        if (present) found.names += (found.names.empty() ? "" : " ") + std::string(name);
        return present;
    };
    add(bit(basic.edx, 26), "sse2");
    add(bit(basic.ecx, 20), "sse4_2");
    const bool avx = add(ymm && bit(basic.ecx, 28), "avx");
    const bool fma = add(avx && bit(basic.ecx, 12), "fma");
    const bool f16c = add(avx && bit(basic.ecx, 29), "f16c");
    const bool avx2 = add(avx && bit(extended.ebx, 5), "avx2");
    const bool f = add(zmm && bit(extended.ebx, 16), "avx512f");
    const bool dq = add(f && bit(extended.ebx, 17), "avx512dq");
    const bool bw = add(f && bit(extended.ebx, 30), "avx512bw");
    const bool vl = add(f && bit(extended.ebx, 31), "avx512vl");
    const bool vbmi = add(f && bit(extended.ecx, 1), "avx512_vbmi");
    const bool vnni = add(f && bit(extended.ecx, 11), "avx512_vnni");
    const bool bf16 = add(f && bit(more.eax, 5), "avx512_bf16");
    add(f && bit(extended.edx, 23), "avx512_fp16");
    add(avx && bit(more.eax, 4), "avx_vnni");
    const bool amx = add(tiles && bit(extended.edx, 24), "amx_tile");
    const bool amx_bf16 = add(amx && bit(extended.edx, 22), "amx_bf16");
    const bool amx_int8 = add(amx && bit(extended.edx, 25), "amx_int8");
    found.avx2 = avx2 && fma && f16c;
    found.avx512 = found.avx2 && f && dq && bw && vl;
    found.avx512_vnni = found.avx512 && vnni;
    // One generation has bf16 without permutations of bytes; fp32 is faster there anyway.
    found.avx512_bf16 = found.avx512_vnni && bf16 && vbmi;
    // Intel's cores start one VDPBF16PS every two cycles, half the multiply-adds of two fp32 FMA units (measured);
    // AMD's start as many as FMAs, twice the multiply-adds.
    found.fast_bf16_dot = found.avx512_bf16 && !is_intel();
    found.amx = found.avx512_bf16 && amx_bf16 && amx_int8;
    return found;
}
#else
CpuFeatures detect() {
    CpuFeatures found;
#if defined(__aarch64__)
    found.names = "neon";
#endif
    return found;
}
#endif

}  // namespace

const CpuFeatures& cpu_features_found() {
    static const CpuFeatures found = detect();
    return found;
}

}  // namespace acl_attn::engine
