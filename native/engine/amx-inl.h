// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The eight AMX tile registers, each 16 rows of 64 bytes, and the products of bf16 pairs and of four int8 in them.
// Where the compiler does not target AMX they are emulated in memory, so that what surrounds them can be tested on any
// machine.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/simd-inl.h"

namespace acl_attn::engine {
namespace {

constexpr int kAmxRows = 16;     // of a tile register
constexpr int kAmxColumns = 16;  // 32-bit elements of a row: fp32 sums, or pairs of bf16
constexpr int kAmxDepth = 2 * kAmxColumns;  // bf16 numbers of a row: multiply-adds behind an element of a product

// From each of kAmxRows rows to the next in bytes, if it is always as far, so that a register can load them where they
// lie; else 0.
inline ptrdiff_t common_stride(const void* const* rows) {
    const auto address = [&](int i) { return static_cast<const char*>(rows[i]); };
    const ptrdiff_t stride = address(1) - address(0);
    bool is_common = true;
    for (int i = 2; i < kAmxRows; i++) is_common &= address(i) - address(i - 1) == stride;
    return is_common ? stride : 0;
}

#if defined(__AMX_TILE__) && defined(__AMX_BF16__) && defined(__AMX_INT8__)

// The instructions are written out because GCC's intrinsics do not say that they touch memory.
template <int kTile>
inline void amx_load(const void* base, ptrdiff_t row_bytes) {
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(base), "r"(row_bytes), "i"(kTile) : "memory");
}
// Of what will not be used again soon: it should not drive out the rest of the first-level cache.
template <int kTile>
inline void amx_load_once(const void* base, ptrdiff_t row_bytes) {
    __asm__ volatile("tileloaddt1 (%0,%1,1), %%tmm%c2" : : "r"(base), "r"(row_bytes), "i"(kTile) : "memory");
}
template <int kTile>
inline void amx_store(void* base, ptrdiff_t row_bytes) {
    __asm__ volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(base), "r"(row_bytes), "i"(kTile) : "memory");
}
template <int kTile>
inline void amx_zero() {
    __asm__ volatile("tilezero %%tmm%c0" : : "i"(kTile));
}
// Adds to each element of kSum the products of kLeft's row with kRight's column, pair by pair. Subnormal factors and
// sums count as 0.
template <int kSum, int kLeft, int kRight>
inline void amx_multiply() {
    __asm__ volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSum), "i"(kLeft), "i"(kRight));
}
// The same for int8, four to an element, into int32.
template <int kSum, int kLeft, int kRight>
inline void amx_multiply_int8() {
    __asm__ volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSum), "i"(kLeft), "i"(kRight));
}
// The same for kLeft's bytes without a sign.
template <int kSum, int kLeft, int kRight>
inline void amx_multiply_unsigned() {
    __asm__ volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSum), "i"(kLeft), "i"(kRight));
}

// Registers exist where they are configured: while this lives, all eight at full size. The calling thread's own
// configuration returns at the end (tile data is the caller's to save, as with vector registers), or the
// registers are given up: threads that hold them cost the system more to switch.
class AmxSession {
public:
    AmxSession() {
        __asm__ volatile("sttilecfg %0" : "=m"(before_));
        Configuration ours = {};
        ours.palette = 1;
        for (int i = 0; i < 8; i++) {
            ours.row_bytes[i] = kAmxColumns * 4;
            ours.rows[i] = kAmxRows;
        }
        __asm__ volatile("ldtilecfg %0" : : "m"(ours));
    }
    ~AmxSession() {
        if (before_.palette != 0) {
            __asm__ volatile("ldtilecfg %0" : : "m"(before_));
        } else {
            __asm__ volatile("tilerelease");
        }
    }
    AmxSession(const AmxSession&) = delete;
    AmxSession& operator=(const AmxSession&) = delete;

private:
    struct Configuration {
        uint8_t palette, start_row, reserved[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    };
    static_assert(sizeof(Configuration) == 64, "the processor's format");

    Configuration before_;
};

#else

struct AmxRegister {
    uint32_t element[kAmxRows][kAmxColumns];
};
inline AmxRegister& amx_register(int tile) {
    thread_local AmxRegister registers[8];
    return registers[tile];
}
template <int kTile>
inline void amx_load(const void* base, ptrdiff_t row_bytes) {
    for (int r = 0; r < kAmxRows; r++) {
        __builtin_memcpy(amx_register(kTile).element[r], static_cast<const char*>(base) + r * row_bytes,
                         kAmxColumns * 4);
    }
}
template <int kTile>
inline void amx_load_once(const void* base, ptrdiff_t row_bytes) {
    amx_load<kTile>(base, row_bytes);
}
template <int kTile>
inline void amx_store(void* base, ptrdiff_t row_bytes) {
    for (int r = 0; r < kAmxRows; r++) {
        __builtin_memcpy(static_cast<char*>(base) + r * row_bytes, amx_register(kTile).element[r], kAmxColumns * 4);
    }
}
template <int kTile>
inline void amx_zero() {
    amx_register(kTile) = {};
}
template <int kSum, int kLeft, int kRight>
inline void amx_multiply() {
    const auto number = [](uint32_t bits) {
        if ((bits & 0x7f800000u) == 0) bits &= 0x80000000u;
        float x;
        __builtin_memcpy(&x, &bits, sizeof x);
        return x;
    };
    for (int r = 0; r < kAmxRows; r++) {
        for (int k = 0; k < kAmxColumns; k++) {
            const uint32_t left = amx_register(kLeft).element[r][k];
            for (int c = 0; c < kAmxColumns; c++) {
                const uint32_t right = amx_register(kRight).element[k][c];
                uint32_t& sum = amx_register(kSum).element[r][c];
                float x = number(sum);
                x += number(left << 16) * number(right << 16);
                x += number(left & 0xffff0000u) * number(right & 0xffff0000u);
                __builtin_memcpy(&sum, &x, sizeof sum);
            }
        }
    }
}
template <class Left, int kSum, int kLeft, int kRight>
inline void amx_multiply_bytes() {
    for (int r = 0; r < kAmxRows; r++) {
        for (int k = 0; k < kAmxColumns; k++) {
            for (int c = 0; c < kAmxColumns; c++) {
                Left left[4];
                int8_t right[4];
                __builtin_memcpy(left, &amx_register(kLeft).element[r][k], sizeof left);
                __builtin_memcpy(right, &amx_register(kRight).element[k][c], sizeof right);
                uint32_t& sum = amx_register(kSum).element[r][c];
                for (int i = 0; i < 4; i++) sum += static_cast<uint32_t>(left[i] * right[i]);
            }
        }
    }
}
template <int kSum, int kLeft, int kRight>
inline void amx_multiply_int8() {
    amx_multiply_bytes<int8_t, kSum, kLeft, kRight>();
}
template <int kSum, int kLeft, int kRight>
inline void amx_multiply_unsigned() {
    amx_multiply_bytes<uint8_t, kSum, kLeft, kRight>();
}
class AmxSession {
public:
    AmxSession() {}
    ~AmxSession() {}
};

#endif

}  // namespace
}  // namespace acl_attn::engine
