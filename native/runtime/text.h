// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Joins the parts of a message.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>

namespace acl_attn {

inline void append_part(std::string& out, std::string_view part) { out += part; }
// Without this overload a literal would rather become an address than a string_view.
inline void append_part(std::string& out, const char* part) { out += part; }
inline void append_part(std::string& out, const void* address) {
    char digits[24];
    std::snprintf(digits, sizeof digits, "%p", address);
    out += digits;
}
template <class Integer, class = std::enable_if_t<std::is_integral_v<Integer>>>
void append_part(std::string& out, Integer value) {
    out += std::to_string(value);
}

// text("stride[", axis, "]"): the parts one behind the other.
template <class... Parts>
std::string text(const Parts&... parts) {
    std::string out;
    (append_part(out, parts), ...);
    return out;
}

}  // namespace acl_attn
