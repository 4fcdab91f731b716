// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "ops/finding.h"

namespace acl_attn::ops::compute {

// The refusal of what no kernel is compiled for.
inline Finding lacking(const std::string& feature) {
    return uncomputed("what a kernel is compiled for", text(feature, ", which no kernel instantiation serves"),
                      "not supported yet; the host target computes it");
}

}  // namespace acl_attn::ops::compute
