// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// 4-bit elements in memory, and INT4 (two's complement, -8..7). Two elements share a byte, the even one in its low
// half; so the eight elements of a little-endian INT32 are its hexadecimal digits from the last to the first, and
// memory looks the same through either view.
#pragma once

#include <cstddef>
#include <cstdint>

namespace acl_attn::formats {

inline uint8_t nibble_at(const uint8_t* bytes, int64_t element) {
    return static_cast<uint8_t>(bytes[element >> 1] >> (4 * (element & 1)) & 15);
}

inline void set_nibble(uint8_t* bytes, int64_t element, uint8_t code) {
    const int shift = 4 * static_cast<int>(element & 1);
    uint8_t& byte = bytes[element >> 1];
    byte = static_cast<uint8_t>((byte & (0xf0 >> shift)) | (code & 15) << shift);
}

inline int decode_i4(uint8_t nibble) { return (nibble ^ 8) - 8; }

// To nearest, ties to even, saturating; NaN becomes 0.
inline uint8_t encode_i4(float value) {
    if (value != value) return 0;
    const float inside = value < -8.0f ? -8.0f : value > 7.0f ? 7.0f : value;
    const float rounded = (inside + 0x1.8p23f) - 0x1.8p23f;
    return static_cast<uint8_t>(static_cast<int>(rounded) & 15);
}

}  // namespace acl_attn::formats
