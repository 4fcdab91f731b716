// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What only the device's branch refuses, one per CASE; CASE 0 compiles.
#include "kernel_operator.h"

using namespace AscendC;

inline float of_the_host() { return 1.0f; }
constexpr float constant_of_the_host() { return 1.0f; }
struct Counter {
    uint32_t next() { return count++; }
    uint32_t count = 0;
};

extern "C" __global__ __mix__(1, 2) void refused(GM_ADDR address) {
    LocalTensor<float> numbers(TPosition::VECCALC, 0, 256);
    [[maybe_unused]] __ubuf__ float* memory = reinterpret_cast<__ubuf__ float*>(numbers.GetPhyAddr());
    if ASCEND_IS_AIV {
        numbers.SetValue(0, 1.0f);
    }
#if CASE == 1  // a pointer that does not say of which memory
    [[maybe_unused]] float* anywhere = memory;
#elif CASE == 2  // UB taken for L1
    [[maybe_unused]] __cbuf__ float* other = memory;
#elif CASE == 3  // an address is a number
    [[maybe_unused]] __ubuf__ float* again = numbers.GetPhyAddr();
#elif CASE == 4  // the test of the kind of core has its parentheses
    if (ASCEND_IS_AIC) numbers.SetValue(1, 1.0f);
#elif CASE == 5  // a function of the host
    numbers.SetValue(1, of_the_host());
#elif CASE == 6  // a method of the host
    Counter counter;
    numbers.SetValue(counter.next(), 1.0f);
#elif CASE == 7  // a constant function of the host
    numbers.SetValue(1, constant_of_the_host());
#elif CASE == 8  // UB taken for global memory
    GlobalTensor<float> rows;
    rows.SetGlobalBuffer(memory);
#endif
    GlobalTensor<float> gm;
    gm.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(address));
}
