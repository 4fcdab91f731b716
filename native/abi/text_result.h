// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

namespace acl_attn::abi {

// How functions of acl_attn.h hand over a text: as much as fits, always terminated, and the size that all of it needs.
inline void copy_text(const std::string& from, char* to, size_t size, size_t* needed) {
    if (needed != nullptr) *needed = from.size() + 1;
    if (size == 0) return;
    const size_t length = std::min(size - 1, from.size());
    std::memcpy(to, from.data(), length);
    to[length] = '\0';
}

}  // namespace acl_attn::abi
