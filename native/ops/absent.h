// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// A row of the vendor's catalogue that no rule of ours stands for, and why.
#pragma once

namespace acl_attn::ops {

struct Absent {
    const char* id;
    const char* parameter;
    const char* text;
    const char* reason;
};

}  // namespace acl_attn::ops
