// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/failure.h"

#include <utility>

namespace acl_attn::ops {
namespace {

class FailingTask final : public runtime::Task {
public:
    explicit FailingTask(const Finding& finding) : result_{finding->code, finding->sentence()} {}
    runtime::TaskResult run() noexcept override { return std::move(result_); }

private:
    runtime::TaskResult result_;
};

}  // namespace

std::unique_ptr<runtime::Task> make_failure(Finding finding) { return std::make_unique<FailingTask>(finding); }

}  // namespace acl_attn::ops
