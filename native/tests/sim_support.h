// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the simulator share: a launch with all checks, in order and in random orders.
#pragma once

#include <functional>
#include <string>

#include "check.h"
#include "kernel_operator.h"
#include "sim/launch.h"

namespace sim_test {

namespace sim = acl_attn::sim;

constexpr sim::Arch kArch = __NPU_ARCH__ == 3510 ? sim::Arch::dav3510 : sim::Arch::dav2201;

inline sim::LaunchOptions checked(uint32_t blocks = 1) {
    sim::LaunchOptions options;
    options.arch = kArch;
    options.blocks = blocks;
    options.checks = true;
    return options;
}

inline void expect_clean(const char* what, const sim::LaunchOptions& options, const std::function<void()>& kernel) {
    const sim::LaunchResult result = sim::launch(options, kernel);
    if (!check_that(result.ok, what, __FILE__, __LINE__)) printf("    %s\n", result.error.c_str());
}

// In order, and in a few random orders.
inline void expect_clean_in_any_order(const char* what, sim::LaunchOptions options,
                                      const std::function<void()>& kernel) {
    for (options.seed = 0; options.seed < 6; options.seed++) expect_clean(what, options, kernel);
}

inline void expect_fault(const char* what, const sim::LaunchOptions& options, const char* needle,
                         const std::function<void()>& kernel) {
    const sim::LaunchResult result = sim::launch(options, kernel);
    if (!check_that(!result.ok && result.error.find(needle) != std::string::npos, what, __FILE__, __LINE__)) {
        printf("    got \"%s\"\n    expected to contain \"%s\"\n", result.error.c_str(), needle);
    }
}

}  // namespace sim_test
