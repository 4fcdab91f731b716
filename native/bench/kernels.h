// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The loops that keep one unit of the processor as busy as it can be. Each returns the operations that it did.
#pragma once

#include <cstddef>

namespace acl_attn::bench {

struct Unit {
    const char* name;
    bool (*usable)();
    double (*block)();  // some tens of microseconds of work
};

// The units of this architecture; ends with a null name.
const Unit* units();

// Ways to read memory, of which another one may be the fastest at another size; ends with null.
using Reader = void(const char* data, size_t bytes);
Reader* const* readers();

}  // namespace acl_attn::bench
