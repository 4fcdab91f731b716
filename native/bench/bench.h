/* SPDX-FileCopyrightText: The acl_attn authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the benchmark needs native code for: the machine's limits, and the cost of phase one. A library of its own,
 * because programs that compute have no use for it. Every function may be called from any thread; none throws or
 * prints.
 */
#ifndef ACL_ATTN_BENCH_H_
#define ACL_ATTN_BENCH_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Arithmetic units, by index. NULL for an index out of range. "fp32_fma" is always the first and always usable. */
const char *aclAttnBenchUnitName(int unit);
/* 1 if the processor has it and the operating system lets this process use it. */
int aclAttnBenchIsUnitUsable(int unit);
/* Operations a second of so many threads together, each timed by its own processor time for about so many seconds, so
 * that other processes hardly disturb: additions and multiplications count one each, exponentials ("fp32_exp", the
 * inner step of a softmax in cache: subtraction, exponential, store, sum) one. 0 for a unit that is not usable. */
double aclAttnBenchOperations(int unit, int threads, double seconds);
/* Bytes a second of so many threads together that each read their part of `data` again and again, in the fastest of
 * several ways, for about so many seconds in all. 0 if there are less than 4096 bytes a thread. */
double aclAttnBenchRead(const void *data, size_t bytes, int threads, double seconds);

/* Seconds that phase one of a small decode call takes, its rules (those of the profile in force) and the destruction of
 * its executor included: the median of so many rounds. Negative if the call is refused. */
double aclAttnBenchPhaseOne(int rounds);

#ifdef __cplusplus
}
#endif

#endif /* ACL_ATTN_BENCH_H_ */
