// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/kernels.h"

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif

namespace acl_attn::bench {

namespace {

constexpr int kChains = 16;  // independent sums, more than any unit's latency times its throughput
constexpr int kRounds = 20000;
using Vector = float __attribute__((vector_size(64)));
using Words = int32_t __attribute__((vector_size(64)));

template <class T>
void keep(const T& value) {
    asm volatile("" : : "r"(&value) : "memory");
}

bool always() { return true; }

// The chains start at different numbers, or the compiler would make one of them.
#define ACL_ATTN_BENCH_CHAINS(Type, operations, step)                                          \
    Type sums[kChains];                                                                         \
    for (int c = 0; c < kChains; c++) sums[c] = Type{} + static_cast<decltype(sums[0][0] + 0)>(c); \
    for (int i = 0; i < kRounds; i++) {                                                         \
        _Pragma("GCC unroll 16") for (int c = 0; c < kChains; c++) sums[c] = step;              \
    }                                                                                           \
    keep(sums);                                                                                 \
    return 1.0 * kRounds * kChains * (operations)

// The softmax's inner step over 16 KiB: exp(x - m) by a polynomial of degree 5, stored and summed.
#define ACL_ATTN_BENCH_EXP                                                                     \
    constexpr int kCount = 4096 / 16, kRepeats = 16;                                            \
    alignas(64) static thread_local Vector x[kCount], y[kCount];                                \
    Vector sum[4] = {};                                                                         \
    for (int i = 0; i < kCount; i++) x[i] = Vector{} - 0.002f * static_cast<float>(i);          \
    keep(x);                                                                                    \
    for (int r = 0; r < kRepeats; r++) {                                                        \
        for (int i = 0; i < kCount; i += 4) {                                                   \
            _Pragma("GCC unroll 4") for (int k = 0; k < 4; k++) {                               \
                const Vector t = (x[i + k] - 0.5f) * 1.44269504f + 12582912.0f;                 \
                const Vector f = (x[i + k] - 0.5f) * 1.44269504f - (t - 12582912.0f);           \
                Vector p = f * 1.3333558e-3f + 9.6181291e-3f;                                   \
                p = p * f + 5.5504109e-2f;                                                      \
                p = p * f + 2.4022651e-1f;                                                      \
                p = p * f + 6.9314718e-1f;                                                      \
                p = p * f + 1.0f;                                                               \
                y[i + k] = reinterpret_cast<Vector>(reinterpret_cast<Words>(p) + (reinterpret_cast<Words>(t) << 23)); \
                sum[k] += y[i + k];                                                             \
            }                                                                                   \
        }                                                                                       \
        keep(y);                                                                                \
    }                                                                                           \
    keep(sum);                                                                                  \
    return 1.0 * kRepeats * kCount * 16

double fma_portable() {
    const Vector x = Vector{} + 0.01f;
    ACL_ATTN_BENCH_CHAINS(Vector, 32, sums[c] * x + x);
}
double exp_portable() { ACL_ATTN_BENCH_EXP; }

#if defined(__x86_64__)

bool has_avx512() { return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw"); }
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
bool has_bf16_dot() { return has_avx512() && __builtin_cpu_supports("avx512bf16"); }
bool has_int8_dot() { return has_avx512() && __builtin_cpu_supports("avx512vnni"); }

__attribute__((target("avx512f"), noinline)) double fma_avx512() {
    const __m512 x = _mm512_set1_ps(0.01f);
    ACL_ATTN_BENCH_CHAINS(__m512, 32, _mm512_fmadd_ps(sums[c], x, x));
}
__attribute__((target("avx2,fma"), noinline)) double fma_avx2() {
    const __m256 x = _mm256_set1_ps(0.01f);
    ACL_ATTN_BENCH_CHAINS(__m256, 16, _mm256_fmadd_ps(sums[c], x, x));
}
__attribute__((target("avx512f,avx512bw,avx512bf16"), noinline)) double bf16_dot() {
    const __m512bh x = reinterpret_cast<__m512bh>(_mm512_set1_epi32(0x3c003c00));
    ACL_ATTN_BENCH_CHAINS(__m512, 64, _mm512_dpbf16_ps(sums[c], x, x));
}
__attribute__((target("avx512f,avx512vnni"), noinline)) double int8_dot() {
    const Words ones = Words{} + 0x01010101;
    const __m512i x = reinterpret_cast<__m512i>(ones);
    ACL_ATTN_BENCH_CHAINS(Words, 128,
                           reinterpret_cast<Words>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sums[c]), x, x)));
}
__attribute__((target("avx512f,avx512bw"), noinline)) double exp_avx512() { ACL_ATTN_BENCH_EXP; }
__attribute__((target("avx2,fma"), noinline)) double exp_avx2() { ACL_ATTN_BENCH_EXP; }

double fma_best() { return has_avx512() ? fma_avx512() : has_avx2() ? fma_avx2() : fma_portable(); }
double exp_best() { return has_avx512() ? exp_avx512() : has_avx2() ? exp_avx2() : exp_portable(); }

// The kernel keeps the tiles' state only for processes that ask.
bool may_use_tiles() {
#ifdef __linux__
    constexpr long kRequestPermission = 0x1023, kTileData = 18;
    static const bool granted = syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
    return granted;
#else
    return false;
#endif
}
bool has_amx_bf16() { return __builtin_cpu_supports("amx-bf16") && may_use_tiles(); }
bool has_amx_int8() { return __builtin_cpu_supports("amx-int8") && may_use_tiles(); }

struct TileConfig {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t columns[16] = {};
    uint8_t rows[16] = {};
};
TileConfig full_tiles() {
    TileConfig config;
    for (int t = 0; t < 8; t++) config.columns[t] = 64, config.rows[t] = 16;
    return config;
}

// Four sums of two left and two right tiles: as a matrix product would use them.
#define ACL_ATTN_BENCH_TILES(product, operations)                 \
    const TileConfig config = full_tiles();                        \
    keep(config); /* the intrinsic only says that 8 bytes of it are read */ \
    _tile_loadconfig(&config);                                     \
    _tile_zero(0);                                                \
    _tile_zero(1);                                                \
    _tile_zero(2);                                                \
    _tile_zero(3);                                                \
    _tile_zero(4);                                                \
    _tile_zero(5);                                                \
    _tile_zero(6);                                                \
    _tile_zero(7);                                                \
    for (int i = 0; i < kRounds / 10; i++) {                       \
        product(0, 4, 6);                                          \
        product(1, 4, 7);                                          \
        product(2, 5, 6);                                          \
        product(3, 5, 7);                                          \
    }                                                              \
    _tile_release();                                               \
    return kRounds / 10 * 4.0 * (operations)

__attribute__((target("amx-tile,amx-bf16"), noinline)) double bf16_amx() {
    ACL_ATTN_BENCH_TILES(_tile_dpbf16ps, 16.0 * 16 * 32 * 2);
}
__attribute__((target("amx-tile,amx-int8"), noinline)) double int8_amx() {
    ACL_ATTN_BENCH_TILES(_tile_dpbssd, 16.0 * 16 * 64 * 2);
}

__attribute__((target("avx512f"), noinline)) void read_avx512(const char* data, size_t bytes) {
    __m512i all[8] = {};
    for (size_t i = 0; i + 512 <= bytes; i += 512) {
        for (size_t k = 0; k < 8; k++) all[k] = _mm512_xor_si512(all[k], _mm512_loadu_si512(data + i + 64 * k));
    }
    keep(all);
}

// In several places in turns, with lines asked for ahead: more requests are open than one stream of loads keeps.
__attribute__((target("avx512f"), noinline)) void read_avx512_streams(const char* data, size_t bytes) {
    constexpr size_t kStreams = 4, kAhead = 1024;
    const size_t part = bytes / kStreams / 128 * 128;
    __m512i all[2 * kStreams] = {};
    for (size_t i = 0; i < part; i += 128) {
        for (size_t s = 0; s < kStreams; s++) {
            const char* from = data + s * part + i;
            _mm_prefetch(from + kAhead, _MM_HINT_T0);
            _mm_prefetch(from + kAhead + 64, _MM_HINT_T0);
            all[2 * s] = _mm512_xor_si512(all[2 * s], _mm512_loadu_si512(from));
            all[2 * s + 1] = _mm512_xor_si512(all[2 * s + 1], _mm512_loadu_si512(from + 64));
        }
    }
    keep(all);
    read_avx512(data + kStreams * part, bytes - kStreams * part);
}
#endif

void read_portable(const char* data, size_t bytes) {
    Words all[4] = {};
    for (size_t i = 0; i + 256 <= bytes; i += 256) {
        Words loaded[4];
        std::memcpy(loaded, data + i, sizeof loaded);
        for (int k = 0; k < 4; k++) all[k] ^= loaded[k];
    }
    keep(all);
}

}  // namespace

#if defined(__x86_64__)
const Unit* units() {
    static const Unit found[] = {{"fp32_fma", always, fma_best},       {"bf16_dot", has_bf16_dot, bf16_dot},
                                 {"bf16_amx", has_amx_bf16, bf16_amx}, {"int8_dot", has_int8_dot, int8_dot},
                                 {"int8_amx", has_amx_int8, int8_amx}, {"fp32_exp", always, exp_best},
                                 {nullptr, nullptr, nullptr}};
    return found;
}
Reader* const* readers() {
    static Reader* const avx512[] = {read_avx512, read_avx512_streams, nullptr};
    static Reader* const portable[] = {read_portable, nullptr};
    return has_avx512() ? avx512 : portable;
}
#else
const Unit* units() {
    static const Unit found[] = {
        {"fp32_fma", always, fma_portable}, {"fp32_exp", always, exp_portable}, {nullptr, nullptr, nullptr}};
    return found;
}
Reader* const* readers() {
    static Reader* const portable[] = {read_portable, nullptr};
    return portable;
}
#endif

}  // namespace acl_attn::bench
