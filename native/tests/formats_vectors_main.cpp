// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "formats_vectors.h"

// 77: ctest's code for a test that this processor can't run.
int main() {
#if defined(FORMATS_TARGET_AVX512)
    if (!__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vl")) return 77;
#elif defined(FORMATS_TARGET_AVX2)
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("f16c")) return 77;
#endif
    return check_vectors();
}
