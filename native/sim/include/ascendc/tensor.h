// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// LocalTensor: a typed piece of one of a core's memories, placed by address. GlobalTensor: a pointer into global
// memory.
#pragma once

#include <cstring>

#include "ascendc/params.h"
#include "sim/unit.h"

namespace AscendC {
inline namespace ACL_ATTN_SIM_CHIP {
namespace detail {

using acl_attn::sim::Operation;
using acl_attn::sim::Path;
using acl_attn::sim::Pipe;
using acl_attn::sim::Region;
using acl_attn::sim::Space;
using acl_attn::sim::Unit;

// A value of S is stored as an element of T would be.
template <class S, class T>
constexpr bool stored_alike =
    std::is_same_v<S, T> || (std::is_integral_v<S> && std::is_integral_v<T> && sizeof(S) == sizeof(T));

constexpr Space space_of(TPosition position) {
    switch (position) {
        case TPosition::A1:
        case TPosition::B1:
        case TPosition::C1:
        case TPosition::TSCM: return Space::l1;
        case TPosition::A2: return Space::l0a;
        case TPosition::B2: return Space::l0b;
        case TPosition::CO1: return Space::l0c;
        case TPosition::C2: return Space::bias;
        case TPosition::C2PIPE2GM: return Space::fixpipe;
        case TPosition::VECIN:
        case TPosition::VECOUT:
        case TPosition::VECCALC: return Space::ub;
        default: return Space::gm;
    }
}

inline void require(bool ok, const char* name, const char* text) {
    if (!ok) Unit::current().fault(name, text);
}

}  // namespace detail

template <class T>
class LocalTensor {
public:
    using PrimType = T;

    LocalTensor() = default;
    LocalTensor(TPosition position, uint32_t address, uint32_t elements)
        : position_(position), address_(address), bytes_(static_cast<uint32_t>(detail::bytes_of<T>(elements))) {
        detail::Unit& unit = detail::Unit::current();
        if (!unit.checking()) return;
        const detail::Space memory = space();
        detail::require(memory != detail::Space::gm, "LocalTensor",
                        "position: expected a memory of the core, got GM or CO2");
        if (address % acl_attn::sim::space_alignment(memory) != 0) {
            unit.fault("LocalTensor", "address: expected a multiple of " +
                                          std::to_string(acl_attn::sim::space_alignment(memory)) + " in " +
                                          acl_attn::sim::space_name(memory) + ", got " + std::to_string(address));
        }
        const uint64_t end = uint64_t{address} + detail::bytes_of<T>(elements);
        const uint32_t size = acl_attn::sim::space_bytes(unit.arch(), memory);
        if (end > size) {
            unit.fault("LocalTensor", std::string("elements: expected an end within the ") + std::to_string(size) +
                                          " bytes of " + acl_attn::sim::space_name(memory) + ", got byte " +
                                          std::to_string(end));
        }
    }

    T* GetPhyAddr() const { return reinterpret_cast<T*>(detail::Unit::current().memory(space()) + address_); }
    T* GetPhyAddr(uint32_t offset) const { return (*this)[offset].GetPhyAddr(); }
    T GetValue(uint32_t index) const {
        T value;
        std::memcpy(&value, scalar_access(index, false), sizeof value);
        return value;
    }
    template <class S>
    void SetValue(uint32_t index, S value) const {
        static_assert(detail::stored_alike<S, T>, "SetValue: a value of another type is stored as that type");
        std::memcpy(scalar_access(index, true), &value, sizeof value);
    }
    LocalTensor operator[](uint32_t offset) const {
        LocalTensor result = *this;
        const uint64_t step = detail::bytes_of<T>(offset);
        if (step > bytes_) {
            detail::Unit::current().fault("LocalTensor::operator[]",
                                          "offset: expected at most the " + std::to_string(GetSize()) +
                                              " elements of the tensor, got " + std::to_string(offset));
        }
        result.address_ = static_cast<uint32_t>(address_ + step);
        result.bytes_ = static_cast<uint32_t>(bytes_ - step);
        return result;
    }
    template <class U>
    LocalTensor<U> ReinterpretCast() const {
        LocalTensor<U> result;
        result.place(position_, address_, bytes_);
        return result;
    }
    uint32_t GetSize() const { return static_cast<uint32_t>(uint64_t{bytes_} * 8 / detail::bits_of<T>); }
    void SetSize(uint32_t elements) { bytes_ = static_cast<uint32_t>(detail::bytes_of<T>(elements)); }
    int32_t GetPosition() const { return static_cast<int32_t>(position_); }

    // For the API's own use.
    detail::Space space() const { return detail::space_of(position_); }
    uint32_t address() const { return address_; }
    uint32_t bytes() const { return bytes_; }
    uint8_t* data(int vector_core = -1) const {
        return detail::Unit::current().memory(space(), vector_core) + address_;
    }
    void place(TPosition position, uint32_t address, uint32_t bytes) {
        position_ = position;
        address_ = address;
        bytes_ = bytes;
    }

private:
    uint8_t* scalar_access(uint32_t index, bool write) const {
        static_assert(!detail::is_packed4<T>, "the scalar unit has no 4-bit elements");
        detail::Unit& unit = detail::Unit::current();
        const char* name = write ? "LocalTensor::SetValue" : "LocalTensor::GetValue";
        if (index >= GetSize()) {
            unit.fault(name, "index: expected less than the " + std::to_string(GetSize()) +
                                 " elements of the tensor, got " + std::to_string(index));
        }
        detail::Region region;
        region.space = space();
        region.write = write;
        region.base = uint64_t{address_} + uint64_t{index} * sizeof(T);
        region.row_bytes = sizeof(T);
        unit.scalar_access(name, region);
        return data() + uint64_t{index} * sizeof(T);
    }

    TPosition position_ = TPosition::GM;
    uint32_t address_ = 0;
    uint32_t bytes_ = 0;
};

template <class T>
class GlobalTensor {
public:
    using PrimType = T;

    GlobalTensor() = default;
    void SetGlobalBuffer(__gm__ T* buffer, uint64_t elements) {
        buffer_ = reinterpret_cast<uint8_t*>(buffer);
        bytes_ = detail::bytes_of<T>(elements);
    }
    void SetGlobalBuffer(__gm__ T* buffer) {
        buffer_ = reinterpret_cast<uint8_t*>(buffer);
        bytes_ = UINT64_MAX;
    }
    const T* GetPhyAddr() const { return reinterpret_cast<T*>(buffer_); }
    T* GetPhyAddr(uint64_t offset) const { return reinterpret_cast<T*>((*this)[offset].buffer_); }
    T GetValue(uint64_t index) const {
        T value;
        std::memcpy(&value, scalar_access(index, false), sizeof value);
        return value;
    }
    void SetValue(uint64_t index, T value) { std::memcpy(scalar_access(index, true), &value, sizeof value); }
    GlobalTensor operator[](uint64_t offset) const {
        GlobalTensor result = *this;
        const uint64_t step = detail::bytes_of<T>(offset);
        if (step > bytes_) {
            detail::Unit::current().fault("GlobalTensor::operator[]",
                                          "offset: expected at most the " + std::to_string(GetSize()) +
                                              " elements of the tensor, got " + std::to_string(offset));
        }
        result.buffer_ += step;
        if (bytes_ != UINT64_MAX) result.bytes_ -= step;
        return result;
    }
    uint64_t GetSize() const { return bytes_ == UINT64_MAX ? bytes_ : bytes_ * 8 / detail::bits_of<T>; }
    void SetL2CacheHint(CacheMode) {}
#if __NPU_ARCH__ == 3510
    template <class U>
    GlobalTensor<U> ReinterpretCast() const {
        GlobalTensor<U> result;
        result.place(buffer_, bytes_);
        return result;
    }
#endif

    // For the API's own use.
    uint8_t* data() const { return buffer_; }
    uint64_t bytes() const { return bytes_; }
    void place(uint8_t* buffer, uint64_t bytes) {
        buffer_ = buffer;
        bytes_ = bytes;
    }

private:
    uint8_t* scalar_access(uint64_t index, bool write) const {
        static_assert(!detail::is_packed4<T>, "the scalar unit has no 4-bit elements");
        detail::Unit& unit = detail::Unit::current();
        const char* name = write ? "GlobalTensor::SetValue" : "GlobalTensor::GetValue";
        if (index >= GetSize()) {
            unit.fault(name, "index: expected less than the " + std::to_string(GetSize()) +
                                 " elements of the tensor, got " + std::to_string(index));
        }
        uint8_t* address = buffer_ + index * sizeof(T);
        detail::Region region;
        region.space = detail::Space::gm;
        region.write = write;
        region.base = reinterpret_cast<uint64_t>(address);
        region.row_bytes = sizeof(T);
        unit.scalar_access(name, region);
        return address;
    }

    uint8_t* buffer_ = nullptr;
    uint64_t bytes_ = 0;
};

namespace detail {

// A piece of a tensor for Operation::add, checked against the tensor's end. `offset` and steps in bytes.
struct Piece {
    uint64_t offset = 0;
    uint64_t row_bytes = 0;
    uint64_t rows = 1;
    int64_t row_step = 0;
    uint64_t outer = 1;
    int64_t outer_step = 0;

    // One past the last byte, for steps that are not negative.
    uint64_t end() const {
        if (row_bytes == 0 || rows == 0 || outer == 0) return 0;
        const int64_t far = static_cast<int64_t>(rows - 1) * (row_step > 0 ? row_step : 0) +
                            static_cast<int64_t>(outer - 1) * (outer_step > 0 ? outer_step : 0);
        return offset + static_cast<uint64_t>(far) + row_bytes;
    }
};

template <class Tensor>
inline void touch(Operation& operation, const Tensor& tensor, const Piece& piece, bool write, int vector_core = -1) {
    Unit& unit = Unit::current();
    if (piece.end() > tensor.bytes()) {
        unit.fault(operation.name, std::string(write ? "dst" : "src") + ": expected an end within the " +
                                       std::to_string(tensor.bytes()) + " bytes of the tensor, got byte " +
                                       std::to_string(piece.end()));
    }
    Region region;
    region.write = write;
    region.vector_core = static_cast<int8_t>(vector_core);
    region.row_bytes = static_cast<uint32_t>(piece.row_bytes);
    region.rows = static_cast<uint32_t>(piece.rows);
    region.row_step = piece.row_step;
    region.outer = static_cast<uint32_t>(piece.outer);
    region.outer_step = piece.outer_step;
    if constexpr (std::is_same_v<decltype(tensor.data()), uint8_t*> &&
                  std::is_same_v<Tensor, GlobalTensor<typename Tensor::PrimType>>) {
        region.space = Space::gm;
        region.base = reinterpret_cast<uint64_t>(tensor.data()) + piece.offset;
    } else {
        region.space = tensor.space();
        region.base = uint64_t{tensor.address()} + piece.offset;
    }
    operation.add(region);
}

template <class Tensor>
inline void reads(Operation& operation, const Tensor& tensor, const Piece& piece, int vector_core = -1) {
    touch(operation, tensor, piece, false, vector_core);
}
template <class Tensor>
inline void writes(Operation& operation, const Tensor& tensor, const Piece& piece, int vector_core = -1) {
    touch(operation, tensor, piece, true, vector_core);
}

}  // namespace detail
}  // namespace ACL_ATTN_SIM_CHIP
}  // namespace AscendC
