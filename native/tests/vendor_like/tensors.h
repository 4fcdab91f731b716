// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Tensors. On the device a local one has a number for an address, in the CPU-debug branch a pointer; so a kernel casts
// what it gets. There, too, copies are no copies of bytes.
#pragma once

#include "structs.h"

#if defined(ASCENDC_CPU_DEBUG)
#include <sstream>
#endif

namespace AscendC {

namespace strict {
// A value of S is stored as an element of T would be.
template <class S, class T>
constexpr bool stored_alike =
    std::is_same_v<S, T> || (std::is_integral_v<S> && std::is_integral_v<T> && sizeof(S) == sizeof(T));
}  // namespace strict

template <typename T>
class LocalTensor {
public:
    using PrimType = T;
    __aicore__ LocalTensor() {}
    __aicore__ LocalTensor(TPosition pos, uint32_t addr, uint32_t tileSize);
#if defined(ASCENDC_CPU_DEBUG)
    ~LocalTensor();
    LocalTensor(const LocalTensor<T>& other);
    LocalTensor<T> operator=(const LocalTensor<T>& other);
    PrimType* GetPhyAddr() const;
    PrimType* GetPhyAddr(const uint32_t offset) const;
#else
    __aicore__ uint64_t GetPhyAddr() const;
    __aicore__ uint64_t GetPhyAddr(const uint32_t offset) const;
#endif
    __aicore__ PrimType GetValue(const uint32_t offset) const;
    template <typename S>
    __aicore__ void SetValue(const uint32_t, const S) const {
        static_assert(strict::stored_alike<S, T>, "SetValue: a value of another type is stored as that type");
    }
    __aicore__ LocalTensor operator[](const uint32_t offset) const;
    template <typename U>
    __aicore__ LocalTensor<U> ReinterpretCast() const;
    __aicore__ int32_t GetPosition() const;
    __aicore__ void SetSize(const uint32_t size);
    __aicore__ uint32_t GetSize() const;

#if defined(ASCENDC_CPU_DEBUG)
    std::ostringstream os_;
#endif
};

template <typename T>
class GlobalTensor {
public:
    using PrimType = T;
    __aicore__ GlobalTensor() {}
    __aicore__ void SetGlobalBuffer(__gm__ PrimType* buffer, uint64_t bufferSize);
    __aicore__ void SetGlobalBuffer(__gm__ PrimType* buffer);
    __aicore__ const __gm__ PrimType* GetPhyAddr() const;
    __aicore__ __gm__ PrimType* GetPhyAddr(const uint64_t offset) const;
    __aicore__ PrimType GetValue(const uint64_t offset) const;
    __aicore__ void SetValue(const uint64_t offset, PrimType value);
    __aicore__ uint64_t GetSize() const;
    __aicore__ GlobalTensor operator[](const uint64_t offset) const;
    template <CacheRwMode rwMode = CacheRwMode::RW>
    __aicore__ void SetL2CacheHint(CacheMode mode);
#if __NPU_ARCH__ == 3510
    template <typename U>
    __aicore__ GlobalTensor<U> ReinterpretCast() const;
#endif
};

}  // namespace AscendC
