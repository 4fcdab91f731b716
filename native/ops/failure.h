// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "ops/finding.h"
#include "runtime/stream.h"

namespace acl_attn::ops {

// A run that is known to end with this.
std::unique_ptr<runtime::Task> make_failure(Finding finding);

}  // namespace acl_attn::ops
