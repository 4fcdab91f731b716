// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs a problem by the kernels, and measures how close a result is to what it should be.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "ascendc/launch/attention.h"
#include "ascendc_support.h"
#include "engine_problem.h"

namespace engine_test {

// `ranges`: the memory that the simulator is to hold the run to; empty: it watches none.
inline Fault fault_on(const Chip& chip, const Problem& problem, Operands operands, const MemoryRanges& ranges) {
    const auto plan = acl_attn::ascendc::plan(problem, chip);
    std::vector<unsigned char> memory(plan->workspace_bytes() + 4, 0xff);
    if (!ranges.empty()) operands.ranges = &ranges;
    return plan->run(operands, memory.data() + 4);
}

// False, with a message, if the run failed.
inline bool run_on(const Chip& chip, const Problem& problem, const Operands& operands, const MemoryRanges& ranges,
                   const std::string& name) {
    const Fault fault = fault_on(chip, problem, operands, ranges);
    if (!fault.failed && !fault.found) return true;
    fail(name + ": " + (fault.found ? "a fault in the block table" : fault.failure));
    return false;
}

struct Closeness {
    double square = 0, error = 0, lse = 0;
    bool shape = true;

    void add(double got, double want) {
        shape = shape && std::isfinite(got);
        square += want * want;
        error += (got - want) * (got - want);
    }
    void add_lse(double got, double want) {
        if (std::isinf(want) || !std::isfinite(got)) {
            shape = shape && got == want;
        } else {
            lse = std::max(lse, std::fabs(got - want) / std::max(1.0, std::fabs(want)));
        }
    }
    void expect_below(double rms, double lse_limit, const std::string& name) const {
        const double relative = square > 0 ? std::sqrt(error / square) : error > 0 ? INFINITY : 0;
        char text[120];
        std::snprintf(text, sizeof text, ": rms %.6f, lse %.2e, shape %s", relative, lse, shape ? "ok" : "wrong");
        if (std::getenv("ACL_ATTN_TEST_VERBOSE") != nullptr) std::printf("%s%s\n", name.c_str(), text);
        expect(shape && relative <= rms && lse <= lse_limit, name + text);
    }
};

}  // namespace engine_test
