// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows of other sizes, which look like this operator's packed rows but are not.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/text.h"

namespace acl_attn::ops::sparse::kvq {

// What to do with rows of `bytes` bytes; empty if no converter knows them.
inline std::string converter_hint(int64_t bytes) {
    switch (bytes) {
        case 512: return "these look like rows without scales and rope; acl_attn.kvcache.pack makes packed ones";
        case 584:
        case 608:
        case 656: return text("acl_attn.kvcache.from_foreign_rows converts rows of ", bytes, " bytes");
        default: return {};
    }
}

}  // namespace acl_attn::ops::sparse::kvq
