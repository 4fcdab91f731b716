/* SPDX-FileCopyrightText: The acl_attn authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the C and C++ tests check with. A failed check is printed and counted, and the test goes on. Main ends with
 * `return check_result();`. The counters are not for several threads: let threads count, and check after they ended.
 */
#ifndef ACL_ATTN_TESTS_CHECK_H_
#define ACL_ATTN_TESTS_CHECK_H_

#include <stdio.h>
#include <string.h>

#include "acl/acl_rt.h"

static int check_count = 0;
static int check_failures = 0;

static inline int check_that(int ok, const char *what, const char *file, int line) {
    ++check_count;
    if (!ok) {
        ++check_failures;
        printf("%s:%d: FAILED: %s\n", file, line, what);
    }
    return ok;
}

static inline void check_equal(long long got, long long want, const char *what, const char *file, int line) {
    if (!check_that(got == want, what, file, line)) printf("    got %lld, expected %lld\n", got, want);
}

/* A call that must succeed. */
static inline void check_status(long long got, const char *what, const char *file, int line) {
    if (!check_that(got == 0, what, file, line)) {
        const char *message = aclGetRecentErrMsg();
        printf("    status %lld: %s\n", got, message == NULL ? "(no message)" : message);
    }
}

/* A call that must fail with this status and a message that contains `needle`. */
static inline void check_failure(long long got, long long want, const char *needle, const char *what, const char *file,
                                 int line) {
    const char *message = aclGetRecentErrMsg();
    const int says_so = message != NULL && strstr(message, needle) != NULL;
    if (!check_that(got == want && says_so, what, file, line)) {
        printf("    status %lld, expected %lld\n    message %s\n    expected to contain %s\n", got, want,
               message == NULL ? "(none)" : message, needle);
    }
}

static inline int check_result(void) {
    printf("%d checks, %d failures\n", check_count, check_failures);
    return check_failures == 0 && check_count > 0 ? 0 : 1;
}

#define CHECK(condition) check_that(!!(condition), #condition, __FILE__, __LINE__)
#define CHECK_EQUAL(got, want) check_equal((long long)(got), (long long)(want), #got, __FILE__, __LINE__)
#define CHECK_OK(call) check_status((call), #call, __FILE__, __LINE__)
#define CHECK_FAILS(call, status, needle) check_failure((call), (status), (needle), #call, __FILE__, __LINE__)

#endif /* ACL_ATTN_TESTS_CHECK_H_ */
