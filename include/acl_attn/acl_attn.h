/* SPDX-FileCopyrightText: The acl_attn authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What libacl_attn offers beyond the vendor's interfaces. A program that uses nothing from this file also builds and
 * runs against CANN. Every function may be called from any thread. Returned strings are owned by the library and stay
 * valid until the process ends, unless said otherwise.
 */
#ifndef ACL_ATTN_ACL_ATTN_H_
#define ACL_ATTN_ACL_ATTN_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acl/acl_base.h"
#include "acl/acl_rt.h"
#include "aclnn/acl_meta.h"
#include "aclnn/opdev/op_errno.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The library's version, "major.minor.patch". */
ACL_FUNC_VISIBILITY const char *aclAttnGetVersion(void);

/* --- Processor targets: instruction sets compiled into the library, worst ("portable") first. -------------------- */

ACL_FUNC_VISIBILITY int32_t aclAttnGetCpuTargetCount(void);
/* NULL for an index out of range. */
ACL_FUNC_VISIBILITY const char *aclAttnGetCpuTargetName(int32_t index);
/* Whether this processor and operating system can run it. */
ACL_FUNC_VISIBILITY bool aclAttnIsCpuTargetUsable(int32_t index);
/* The target that calls planned from now on will use. */
ACL_FUNC_VISIBILITY const char *aclAttnGetCpuTarget(void);
/* Forces a target by name for calls planned from now on; NULL goes back to automatic choice (which honours the
 * environment variable ACL_ATTN_CPU). ACL_ERROR_INVALID_PARAM for an unknown or unusable name. */
ACL_FUNC_VISIBILITY aclError aclAttnSetCpuTarget(const char *name);
/* Detected processor features, separated by spaces. */
ACL_FUNC_VISIBILITY const char *aclAttnGetCpuFeatures(void);

/* --- Threads ------------------------------------------------------------------------------------------------------ */

/* Threads that one operator may use, the executing one included. Default: the processors the process may run on, or
 * the environment variable ACL_ATTN_NUM_THREADS. Results do not depend on it. */
ACL_FUNC_VISIBILITY int32_t aclAttnGetNumThreads(void);
/* 0 goes back to the default. ACL_ERROR_INVALID_PARAM if negative or above 1024. */
ACL_FUNC_VISIBILITY aclError aclAttnSetNumThreads(int32_t count);

/* --- Executors ---------------------------------------------------------------------------------------------------- */

/* Phase two of any operator of this library, followed by waiting for the stream. Runs on the calling thread when the
 * stream is idle. Ownership of the executor as in the operator's own phase two. Returns the call's own status. */
ACL_FUNC_VISIBILITY aclnnStatus aclAttnRun(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor,
                                           aclrtStream stream);
/* Where a tensor stands among those of an executor: `index` counts the operator's inputs, or its outputs, in header
 * order, absent optional ones included; `member` is the position in a tensor list, -1 for a plain tensor. */
typedef struct {
    bool isOutput;
    size_t index;
    int64_t member;
} aclAttnTensorPlace;

/* Gives `count` tensors of a repeatable executor new addresses, as aclSetInputTensorAddr and its like do one by one,
 * and then does what aclAttnRun does. A tensor without elements may have a null address. */
ACL_FUNC_VISIBILITY aclnnStatus aclAttnRunAt(const aclAttnTensorPlace *places, void *const *addresses, size_t count,
                                             void *workspace, uint64_t workspaceSize, aclOpExecutor *executor,
                                             aclrtStream stream);
/* A number that stands for everything outside of a call's arguments that phase one goes by: the product profile of the
 * calling thread's device, the edition of rules, the processor target, the number of threads; the thread's limits on
 * cores, and ACL_OPT_DETERMINISTIC. While it stays the same, a repeatable executor is as good as a new one of the same
 * arguments, addresses aside. 0 if the environment asks for something unknown, which phase one refuses. */
ACL_FUNC_VISIBILITY uint64_t aclAttnGetSettings(void);
/* Describes a prepared call for people. Writes at most `size` bytes including the terminating zero to `text` and the
 * size needed to `needed` (may be NULL). `text` may be NULL if `size` is 0. */
ACL_FUNC_VISIBILITY aclnnStatus aclAttnDescribeExecutor(const aclOpExecutor *executor, char *text, size_t size,
                                                        size_t *needed);

/* --- Live objects: so that a program can prove that it leaks nothing. --------------------------------------------- */

typedef enum {
    ACL_ATTN_OBJECT_TENSOR = 0,
    ACL_ATTN_OBJECT_SCALAR = 1,
    ACL_ATTN_OBJECT_INT_ARRAY = 2,
    ACL_ATTN_OBJECT_FLOAT_ARRAY = 3,
    ACL_ATTN_OBJECT_BOOL_ARRAY = 4,
    ACL_ATTN_OBJECT_TENSOR_LIST = 5,
    ACL_ATTN_OBJECT_SCALAR_LIST = 6,
    ACL_ATTN_OBJECT_EXECUTOR = 7,
    ACL_ATTN_OBJECT_CONTEXT = 8,
    ACL_ATTN_OBJECT_STREAM = 9,
    ACL_ATTN_OBJECT_EVENT = 10,
    ACL_ATTN_OBJECT_DEVICE_MEMORY = 11,
    ACL_ATTN_OBJECT_HOST_MEMORY = 12,
    ACL_ATTN_OBJECT_REPORT = 13,
    ACL_ATTN_OBJECT_KIND_COUNT = 14
} aclAttnObjectKind;

/* Objects of a kind that were created and not yet destroyed; the default context and its stream do not count.
 * -1 for an unknown kind. */
ACL_FUNC_VISIBILITY int64_t aclAttnGetLiveObjects(aclAttnObjectKind kind);
/* Bytes of live device and pinned host memory. */
ACL_FUNC_VISIBILITY uint64_t aclAttnGetLiveBytes(void);

#ifdef __cplusplus
}
#endif

#endif /* ACL_ATTN_ACL_ATTN_H_ */
