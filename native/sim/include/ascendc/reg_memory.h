// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Loads and stores between UB and vector registers.
#pragma once

#include "ascendc/reg_types.h"

namespace AscendC {
inline namespace ACL_ATTN_SIM_CHIP {
namespace Reg {
namespace impl {

template <class T>
inline void access(const char* name, T* address, uint32_t bytes, uint32_t alignment, bool write) {
    detail::Unit& unit = detail::Unit::current();
    if (unit.plain(detail::Pipe::v)) return;
    if (reinterpret_cast<uintptr_t>(address) % alignment != 0) {
        unit.fault(name, "address: expected a multiple of " + std::to_string(alignment));
    }
    unit.vector_function_access(address, bytes, write, name);
}

// Elements of `size` bytes, each into a slot of `slot` bytes, upper bytes zero.
inline void unpack(uint8_t* reg, const void* address, uint32_t size, uint32_t slot) {
    std::memset(reg, 0, kRegBytes);
    for (uint32_t i = 0; i < kRegBytes / slot; i++) {
        std::memcpy(reg + i * slot, static_cast<const uint8_t*>(address) + i * size, size);
    }
}

// Each of `count` pieces of `size` bytes, `times` times in a row.
inline void spread(uint8_t* reg, const void* address, uint32_t size, uint32_t times) {
    for (uint32_t at = 0; at < kRegBytes; at += size) {
        std::memcpy(reg + at, static_cast<const uint8_t*>(address) + at / size / times * size, size);
    }
}

template <LoadDist dist, class T>
inline void load(uint8_t* reg, T* address) {
    constexpr const char* kName = "LoadAlign";
    const auto read = [&](uint32_t bytes, uint32_t alignment) { access(kName, address, bytes, alignment, false); };
    if constexpr (dist == LoadDist::DIST_NORM) {
        read(kRegBytes, 32);
        std::memcpy(reg, address, kRegBytes);
    } else if constexpr (dist == LoadDist::DIST_BRC_B8) {
        read(1, 1), spread(reg, address, 1, kRegBytes);
    } else if constexpr (dist == LoadDist::DIST_BRC_B16) {
        read(2, 2), spread(reg, address, 2, kRegBytes);
    } else if constexpr (dist == LoadDist::DIST_BRC_B32) {
        read(4, 4), spread(reg, address, 4, kRegBytes);
    } else if constexpr (dist == LoadDist::DIST_BLK) {
        read(32, 32);
        for (uint32_t block = 0; block < 8; block++) std::memcpy(reg + block * 32, address, 32);
    } else if constexpr (dist == LoadDist::DIST_E2B_B16) {
        read(16, 16), spread(reg, address, 2, 16);
    } else if constexpr (dist == LoadDist::DIST_E2B_B32) {
        read(32, 32), spread(reg, address, 4, 8);
    } else if constexpr (dist == LoadDist::DIST_UNPACK_B8) {
        read(kRegBytes / 2, 32), unpack(reg, address, 1, 2);
    } else if constexpr (dist == LoadDist::DIST_UNPACK_B16) {
        read(kRegBytes / 2, 32), unpack(reg, address, 2, 4);
    } else if constexpr (dist == LoadDist::DIST_UNPACK_B32) {
        read(kRegBytes / 2, 32), unpack(reg, address, 4, 8);
    } else if constexpr (dist == LoadDist::DIST_UNPACK4_B8) {
        read(kRegBytes / 4, 32), unpack(reg, address, 1, 4);
    } else if constexpr (dist == LoadDist::DIST_US_B8) {
        read(kRegBytes / 2, 32), spread(reg, address, 1, 2);
    } else if constexpr (dist == LoadDist::DIST_US_B16) {
        read(kRegBytes / 2, 32), spread(reg, address, 2, 2);
    } else if constexpr (dist == LoadDist::DIST_DS_B8 || dist == LoadDist::DIST_DS_B16) {
        constexpr uint32_t kSize = dist == LoadDist::DIST_DS_B8 ? 1 : 2;
        read(kRegBytes * 2, 32);
        for (uint32_t at = 0; at < kRegBytes; at += kSize) {
            std::memcpy(reg + at, reinterpret_cast<const uint8_t*>(address) + at * 2, kSize);
        }
    } else {
        static_assert(dist == LoadDist::DIST_NORM, "LoadAlign: this distribution fills two registers");
    }
}

template <LoadDist dist, class T>
inline void load_two(uint8_t* even, uint8_t* odd, T* address) {
    static_assert(
        dist == LoadDist::DIST_DINTLV_B8 || dist == LoadDist::DIST_DINTLV_B16 || dist == LoadDist::DIST_DINTLV_B32,
        "LoadAlign: expected DIST_DINTLV_B8, B16 or B32 with two registers");
    constexpr uint32_t kSize = dist == LoadDist::DIST_DINTLV_B8 ? 1 : dist == LoadDist::DIST_DINTLV_B16 ? 2 : 4;
    access("LoadAlign", address, 2 * kRegBytes, 32, false);
    for (uint32_t at = 0; at < kRegBytes; at += kSize) {
        const uint8_t* pair = reinterpret_cast<const uint8_t*>(address) + at * 2;
        std::memcpy(even + at, pair, kSize);
        std::memcpy(odd + at, pair + kSize, kSize);
    }
}

// Slots of `slot` bytes whose mask bit is set: their first `size` bytes, one behind the other.
inline void store_slots(uint8_t* address, const uint8_t* reg, uint32_t size, uint32_t slot, const MaskReg& mask) {
    for (uint32_t i = 0; i < kRegBytes / slot; i++) {
        if (mask.test(i * slot)) std::memcpy(address + i * size, reg + i * slot, size);
    }
}

// One past the last byte that store_slots writes.
inline uint32_t stored_bytes(uint32_t size, uint32_t slot, const MaskReg& mask) {
    for (uint32_t i = kRegBytes / slot; i-- > 0;) {
        if (mask.test(i * slot)) return (i + 1) * size;
    }
    return 0;
}

template <StoreDist dist, class T>
inline void store(T* address, const uint8_t* reg, const MaskReg& mask) {
    constexpr const char* kName = "StoreAlign";
    uint8_t* out = reinterpret_cast<uint8_t*>(address);
    const auto write = [&](uint32_t size, uint32_t slot) {
        const uint32_t bytes = stored_bytes(size, slot, mask);
        if (bytes == 0) return;
        access(kName, address, bytes, 32, true);
        store_slots(out, reg, size, slot, mask);
    };
    const auto first = [&](uint32_t size) {
        access(kName, address, size, size, true);
        std::memcpy(out, reg, size);
    };
    if constexpr (dist == StoreDist::DIST_NORM) write(sizeof(T), sizeof(T));
    else if constexpr (dist == StoreDist::DIST_NORM_B8) write(1, 1);
    else if constexpr (dist == StoreDist::DIST_NORM_B16) write(2, 2);
    else if constexpr (dist == StoreDist::DIST_NORM_B32) write(4, 4);
    else if constexpr (dist == StoreDist::DIST_PACK_B16) write(1, 2);
    else if constexpr (dist == StoreDist::DIST_PACK_B32) write(2, 4);
    else if constexpr (dist == StoreDist::DIST_PACK_B64) write(4, 8);
    else if constexpr (dist == StoreDist::DIST_PACK4_B32) write(1, 4);
    else if constexpr (dist == StoreDist::DIST_FIRST_ELEMENT_B8) first(1);
    else if constexpr (dist == StoreDist::DIST_FIRST_ELEMENT_B16) first(2);
    else if constexpr (dist == StoreDist::DIST_FIRST_ELEMENT_B32) first(4);
    else static_assert(dist == StoreDist::DIST_NORM, "StoreAlign: this distribution takes two registers");
}

template <class T>
inline T* after(T* address, int64_t elements) {
    return address + elements;
}

}  // namespace impl

template <class T = DefaultType, LoadDist dist = LoadDist::DIST_NORM, class U>
inline void LoadAlign(U& dstReg, __ubuf__ T* srcAddr) {
    static_assert(impl::names_element<T, U>, "LoadAlign: expected the register's element type");
    impl::load<dist>(dstReg.bytes, srcAddr);
}
template <class T = DefaultType, PostLiteral postMode, LoadDist dist = LoadDist::DIST_NORM, class U>
inline void LoadAlign(U& dstReg, __ubuf__ T*& srcAddr, int32_t postUpdateStride) {
    static_assert(impl::names_element<T, U>, "LoadAlign: expected the register's element type");
    impl::load<dist>(dstReg.bytes, srcAddr);
    if constexpr (postMode == PostLiteral::POST_MODE_UPDATE) srcAddr = impl::after(srcAddr, postUpdateStride);
}
template <class T = DefaultType, LoadDist dist, class U>
inline void LoadAlign(U& dstReg0, U& dstReg1, __ubuf__ T* srcAddr) {
    static_assert(impl::names_element<T, U>, "LoadAlign: expected the register's element type");
    impl::load_two<dist>(dstReg0.bytes, dstReg1.bytes, srcAddr);
}
template <class T = DefaultType, PostLiteral postMode, LoadDist dist, class U>
inline void LoadAlign(U& dstReg0, U& dstReg1, __ubuf__ T*& srcAddr, int32_t postUpdateStride) {
    static_assert(impl::names_element<T, U>, "LoadAlign: expected the register's element type");
    impl::load_two<dist>(dstReg0.bytes, dstReg1.bytes, srcAddr);
    if constexpr (postMode == PostLiteral::POST_MODE_UPDATE) srcAddr = impl::after(srcAddr, postUpdateStride);
}

template <class T = DefaultType, StoreDist dist = StoreDist::DIST_NORM, class U>
inline void StoreAlign(__ubuf__ T* dstAddr, U& srcReg, MaskReg& mask) {
    static_assert(impl::names_element<T, U>, "StoreAlign: expected the register's element type");
    impl::store<dist>(dstAddr, srcReg.bytes, mask);
}
template <class T = DefaultType, PostLiteral postMode, StoreDist dist = StoreDist::DIST_NORM, class U>
inline void StoreAlign(__ubuf__ T*& dstAddr, U& srcReg, int32_t postUpdateStride, MaskReg& mask) {
    static_assert(impl::names_element<T, U>, "StoreAlign: expected the register's element type");
    impl::store<dist>(dstAddr, srcReg.bytes, mask);
    if constexpr (postMode == PostLiteral::POST_MODE_UPDATE) dstAddr = impl::after(dstAddr, postUpdateStride);
}
// Two registers, element by element in turn; the mask is that of either.
template <class T = DefaultType, StoreDist dist, class U>
inline void StoreAlign(__ubuf__ T* dstAddr, U& srcReg0, U& srcReg1, MaskReg& mask) {
    static_assert(impl::names_element<T, U>, "StoreAlign: expected the register's element type");
    static_assert(
        dist == StoreDist::DIST_INTLV_B8 || dist == StoreDist::DIST_INTLV_B16 || dist == StoreDist::DIST_INTLV_B32,
        "StoreAlign: expected DIST_INTLV_B8, B16 or B32 with two registers");
    constexpr uint32_t kSize = dist == StoreDist::DIST_INTLV_B8 ? 1 : dist == StoreDist::DIST_INTLV_B16 ? 2 : 4;
    const uint32_t bytes = impl::stored_bytes(2 * kSize, kSize, mask);
    if (bytes == 0) return;
    impl::access("StoreAlign", dstAddr, bytes, 32, true);
    for (uint32_t i = 0; i < kRegBytes / kSize; i++) {
        if (!mask.test(i * kSize)) continue;
        uint8_t* pair = reinterpret_cast<uint8_t*>(dstAddr) + i * 2 * kSize;
        std::memcpy(pair, srcReg0.bytes + i * kSize, kSize);
        std::memcpy(pair + kSize, srcReg1.bytes + i * kSize, kSize);
    }
}

// The 8 blocks of 32 bytes, dataBlockStride blocks apart; blocks whose first byte is masked out are left out.
template <class T = DefaultType, DataCopyMode dataMode, class U>
inline void StoreAlign(__ubuf__ T* dstAddr, U& srcReg, uint32_t dataBlockStride, MaskReg& mask) {
    static_assert(impl::names_element<T, U> && sizeof(T) <= 4,
                  "StoreAlign(DATA_BLOCK_COPY): expected the register's element type, of 1 to 4 bytes");
    for (uint32_t block = 0; block < 8; block++) {
        if (!mask.test(block * 32)) continue;
        uint8_t* out = reinterpret_cast<uint8_t*>(dstAddr) + uint64_t{block} * dataBlockStride * 32;
        impl::access("StoreAlign(DATA_BLOCK_COPY)", out, 32, 32, true);
        std::memcpy(out, srcReg.bytes + block * 32, 32);
    }
}
template <class T = DefaultType, DataCopyMode dataMode, PostLiteral postMode, class U>
inline void StoreAlign(__ubuf__ T*& dstAddr, U& srcReg, uint32_t dataBlockStride, uint32_t repeatStride,
                       MaskReg& mask) {
    StoreAlign<T, dataMode>(dstAddr, srcReg, dataBlockStride, mask);
    if constexpr (postMode == PostLiteral::POST_MODE_UPDATE) {
        dstAddr = impl::after(dstAddr, static_cast<int64_t>(repeatStride) * 32 / static_cast<int64_t>(sizeof(T)));
    }
}
template <class T = DefaultType, DataCopyMode dataMode, class U>
inline void LoadAlign(U& dstReg, __ubuf__ T* srcAddr, uint32_t dataBlockStride, MaskReg& mask) {
    static_assert(impl::names_element<T, U>, "LoadAlign: expected the register's element type");
    for (uint32_t block = 0; block < 8; block++) {
        uint8_t* out = dstReg.bytes + block * 32;
        if (!mask.test(block * 32)) {
            std::memset(out, 0, 32);
            continue;
        }
        const uint8_t* in = reinterpret_cast<const uint8_t*>(srcAddr) + uint64_t{block} * dataBlockStride * 32;
        impl::access("LoadAlign(DATA_BLOCK_COPY)", in, 32, 32, false);
        std::memcpy(out, in, 32);
    }
}

// Loads after it see the stores before it.
template <MemType src, MemType dst>
inline void LocalMemBar() {
    detail::Unit& unit = detail::Unit::current();
    if (!unit.plain(detail::Pipe::v) && src == MemType::VEC_STORE && dst == MemType::VEC_LOAD)
        unit.vector_function_barrier();
}

}  // namespace Reg
}  // namespace ACL_ATTN_SIM_CHIP
}  // namespace AscendC
