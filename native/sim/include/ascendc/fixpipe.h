// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Fixpipe: a tile of L0C to GM, L1 or (dav-3510) UB, with a conversion on the way.
#pragma once

#include <cmath>

#include "ascendc/tensor.h"

namespace AscendC {
inline namespace ACL_ATTN_SIM_CHIP {
namespace detail {

// What both chips' parameters mean, in elements of the destination.
struct Outlet {
    CO2Layout format;
    uint32_t n;
    uint32_t m;
    uint32_t src_step;  // elements of 16 columns of L0C, in units of 16
    uint64_t dst_step;  // elements: between rows, columns, or column groups
    uint32_t group;     // columns of a group of NZ
    QuantMode_t mode;
    uint64_t scale;                    // bits of an fp32 number
    const uint64_t* scales = nullptr;  // the same per column
    bool relu;
    uint8_t unit_flag;

    uint64_t position(uint32_t row, uint32_t column) const {
        switch (format) {
            case CO2Layout::ROW_MAJOR: return row * dst_step + column;
            case CO2Layout::COLUMN_MAJOR: return column * dst_step + row;
            case CO2Layout::NZ: break;
        }
        return column / group * dst_step + uint64_t{row} * group + column % group;
    }
    Piece target(uint64_t element_bytes) const {
        const int64_t step = static_cast<int64_t>(dst_step * element_bytes);
        switch (format) {
            case CO2Layout::ROW_MAJOR: return {0, n * element_bytes, m, step};
            case CO2Layout::COLUMN_MAJOR: return {0, m * element_bytes, n, step};
            case CO2Layout::NZ: break;
        }
        return {0, uint64_t{m} * group * element_bytes, (n + group - 1) / group, step};
    }
};

inline float scale_of(uint64_t bits) { return acl_attn::formats::float_of(static_cast<uint32_t>(bits)); }

template <class T, class U>
constexpr bool is_outlet() {
    if constexpr (std::is_same_v<U, float>) {
#if __NPU_ARCH__ == 3510
        if (is_any_of<T, fp8_e4m3fn_t, hifloat8_t>) return true;
#endif
        return is_any_of<T, float, half, bfloat16_t, int8_t, uint8_t>;
    } else {
        return std::is_same_v<U, int32_t> && is_any_of<T, int32_t, half, int8_t, uint8_t>;
    }
}

template <class T, class U>
inline bool mode_fits(QuantMode_t mode) {
    if constexpr (std::is_same_v<T, U>) return mode == QuantMode_t::NoQuant;
    else if constexpr (std::is_same_v<U, float> && std::is_same_v<T, half>) return mode == QuantMode_t::F322F16;
    else if constexpr (std::is_same_v<U, float> && std::is_same_v<T, bfloat16_t>) return mode == QuantMode_t::F322BF16;
    else if constexpr (std::is_same_v<U, int32_t> && std::is_same_v<T, half>) {
        return mode == QuantMode_t::DEQF16 || mode == QuantMode_t::VDEQF16;
    } else if constexpr (is_any_of<T, int8_t, uint8_t>) {
        return std::is_same_v<U, float> ? mode == QuantMode_t::QF322B8_PRE || mode == QuantMode_t::VQF322B8_PRE
                                        : mode == QuantMode_t::REQ8 || mode == QuantMode_t::VREQ8;
    } else {
#if __NPU_ARCH__ == 3510
        if (std::is_same_v<T, fp8_e4m3fn_t>) return mode == QuantMode_t::QF322FP8_PRE;
        if (std::is_same_v<T, hifloat8_t>) return mode == QuantMode_t::QF322HIF8_PRE;
#endif
        return false;
    }
}

template <class T, class U>
inline T convert_out(U value, float scale, bool relu) {
    if (relu && value < 0) value = 0;
    if constexpr (std::is_same_v<T, U>) return value;
    else if constexpr (std::is_same_v<T, half> && std::is_same_v<U, float>) return half(value);
    else if constexpr (std::is_same_v<T, bfloat16_t>) return ToBfloat16(value);
    else if constexpr (std::is_same_v<T, half>) return half(static_cast<float>(value) * scale);
    else if constexpr (is_any_of<T, int8_t, uint8_t>) {
        constexpr float kLow = std::is_same_v<T, int8_t> ? -128.0f : 0.0f;
        constexpr float kHigh = std::is_same_v<T, int8_t> ? 127.0f : 255.0f;
        const float scaled = std::nearbyintf(static_cast<float>(value) * scale);
        return static_cast<T>(scaled < kLow ? kLow : scaled > kHigh ? kHigh : scaled == scaled ? scaled : 0.0f);
    } else {
        T result;
#if __NPU_ARCH__ == 3510
        if constexpr (std::is_same_v<T, fp8_e4m3fn_t>) result.code = acl_attn::formats::encode_e4m3(value * scale);
        else result.code = acl_attn::formats::encode_hifloat8(value * scale);
#endif
        return result;
    }
}

// Rows and columns [first, first + count) of the tile, as if they were the whole one.
template <class T, class U>
inline void run_outlet(const Outlet& outlet, uint8_t* dst, const uint8_t* src, uint32_t row0, uint32_t rows,
                       uint32_t column0, uint32_t columns) {
    for (uint32_t column = 0; column < columns; column++) {
        const uint32_t n = column0 + column;
        const float scale = scale_of(outlet.scales != nullptr ? outlet.scales[n] : outlet.scale);
        for (uint32_t row = 0; row < rows; row++) {
            U value;
            std::memcpy(&value, src + ((uint64_t{n / 16} * outlet.src_step + row0 + row) * 16 + n % 16) * sizeof(U),
                        sizeof value);
            const T result = convert_out<T, U>(value, scale, outlet.relu);
            std::memcpy(dst + outlet.position(row, column) * sizeof(T), &result, sizeof result);
        }
    }
}

inline Piece tile_source(const Outlet& outlet, uint64_t element_bytes) {
    return {0, uint64_t{outlet.m} * 16 * element_bytes, (outlet.n + 15u) / 16,
            static_cast<int64_t>(uint64_t{outlet.src_step} * 16 * element_bytes)};
}

template <class T, class U>
inline void check_outlet(const char* name, const Outlet& outlet, const LocalTensor<U>& src, uint32_t matrices) {
    static_assert(is_outlet<T, U>(), "Fixpipe: expected a conversion that this chip has");
    Unit& unit = Unit::current();
    if (!unit.checking()) return;
    require(unit.role() == acl_attn::sim::Role::cube && src.space() == Space::l0c, name,
            "src: expected L0C, on a cube core");
    require(mode_fits<T, U>(outlet.mode), name, "quantPre: expected a mode that makes dst's type of src's");
    require(outlet.m >= 1 && outlet.m <= 8192, name, "mSize: expected 1 to 8192");
    require(outlet.n >= 1 && outlet.n <= 4095, name, "nSize: expected 1 to 4095");
    require(outlet.src_step % 16 == 0, name, "srcStride: expected a multiple of 16");
    require(outlet.unit_flag == 0 || outlet.unit_flag == 3, name, "unitFlag: expected 0 or 3");
    require(matrices == 1, name, "ndNum: expected 1; more are not supported yet");
}

template <class U>
inline void describe_outlet(Operation& operation, const Outlet& outlet, const LocalTensor<U>& src, Path path,
                            uint64_t element_bytes) {
    operation.unit_flag = outlet.unit_flag;
    operation.work.path = path;
    operation.work.bytes = uint64_t{outlet.m} * outlet.n * element_bytes;
    operation.work.bursts = outlet.format == CO2Layout::ROW_MAJOR ? outlet.m : outlet.target(element_bytes).rows;
    reads(operation, src, tile_source(outlet, sizeof(U)));
}

template <class T, class U, class Target>
inline void issue_outlet(const char* name, const Outlet& outlet, const Target& dst, const LocalTensor<U>& src,
                         Path path) {
    acl_attn::sim::issue(
        Unit::current(), Pipe::fix, name,
        [&](Operation& operation) {
            describe_outlet(operation, outlet, src, path, sizeof(T));
            writes(operation, dst, outlet.target(sizeof(T)));
        },
        [=] { run_outlet<T, U>(outlet, dst.data(), src.data(), 0, outlet.m, 0, outlet.n); });
}

// The columns' scales as they lie in the Fixpipe buffer or L1 now.
inline const uint64_t* scales_of(const LocalTensor<uint64_t>& scales) {
    return reinterpret_cast<const uint64_t*>(scales.data());
}

template <class T>
constexpr uint32_t nz_group(bool channel_split) {
    return sizeof(T) == 4 ? (channel_split ? 8 : 16) : kBlockElements<T>;
}

#if __NPU_ARCH__ == 2201
template <class T>
inline Outlet outlet_of(CO2Layout format, const FixpipeParamsV220& params) {
    const bool nz = format == CO2Layout::NZ;
    return {format,
            params.nSize,
            params.mSize,
            params.srcStride,
            nz ? uint64_t{params.dstStride} * 32 / sizeof(T) : params.dstStride,
            nz_group<T>(params.isChannelSplit),
            params.quantPre,
            params.deqScalar,
            nullptr,
            params.reluEn,
            params.unitFlag};
}
#else
template <class T, CO2Layout format>
inline Outlet outlet_of(const FixpipeParamsArch3510<format>& params) {
    return {format,           params.nSize,     params.mSize,
            params.srcStride, params.dstStride, nz_group<T>(params.isChannelSplit),
            params.quantPre,  params.deqScalar, nullptr,
            params.reluEn,    params.unitFlag};
}
template <CO2Layout format>
inline uint32_t matrices_of(const FixpipeParamsArch3510<format>& params) {
    if constexpr (format == CO2Layout::ROW_MAJOR) return params.params.ndNum;
    else if constexpr (format == CO2Layout::COLUMN_MAJOR) return params.params.dnNum;
    else return 1;
}

// To the UB of one vector core, or of both: halves of the rows (dualDstCtl 1) or of the columns (2).
template <class T, class U>
inline void issue_outlet_to_ub(const char* name, const Outlet& outlet, const LocalTensor<T>& dst,
                               const LocalTensor<U>& src, uint8_t dual, bool sub_block) {
    Unit& unit = Unit::current();
    if (unit.checking()) {
        require(dual <= 2, name, "dualDstCtl: expected 0, 1 or 2");
        require(dual != 1 || outlet.m % 2 == 0, name, "mSize: expected an even number with dualDstCtl 1");
        require(dual != 2 || outlet.n % 32 == 0, name, "nSize: expected a multiple of 32 with dualDstCtl 2");
        require(outlet.format != CO2Layout::ROW_MAJOR || outlet.n * sizeof(T) % 32 == 0, name,
                "nSize: expected rows of a multiple of 32 bytes in UB");
    }
    Outlet half = outlet;
    if (dual == 1) half.m /= 2;
    if (dual == 2) half.n /= 2;
    const int first = dual == 0 ? sub_block : 0;
    const int last = dual == 0 ? sub_block : 1;
    acl_attn::sim::issue(
        unit, Pipe::fix, name,
        [&](Operation& operation) {
            describe_outlet(operation, outlet, src, Path::l0c_to_ub, sizeof(T));
            for (int core = first; core <= last; core++) writes(operation, dst, half.target(sizeof(T)), core);
        },
        [=] {
            for (int core = first; core <= last; core++) {
                const uint32_t part = static_cast<uint32_t>(core - first);
                run_outlet<T, U>(outlet, dst.data(core), src.data(), dual == 1 ? part * half.m : 0, half.m,
                                 dual == 2 ? part * half.n : 0, half.n);
            }
        });
}
#endif

}  // namespace detail

#if __NPU_ARCH__ == 2201
template <class T, class U, const FixpipeConfig& config = CFG_ROW_MAJOR>
inline void Fixpipe(const GlobalTensor<T>& dst, const LocalTensor<U>& src, const FixpipeParamsV220& intriParams) {
    const detail::Outlet outlet = detail::outlet_of<T>(config.format, intriParams);
    detail::check_outlet<T, U>("Fixpipe", outlet, src, intriParams.ndNum);
    detail::issue_outlet<T, U>("Fixpipe", outlet, dst, src, detail::Path::l0c_to_gm);
}

// With a scale per column.
template <class T, class U, const FixpipeConfig& config = CFG_ROW_MAJOR>
inline void Fixpipe(const GlobalTensor<T>& dst, const LocalTensor<U>& src, const LocalTensor<uint64_t>& cbufWorkspace,
                    const FixpipeParamsV220& intriParams) {
    detail::Outlet outlet = detail::outlet_of<T>(config.format, intriParams);
    outlet.scales = detail::scales_of(cbufWorkspace);
    detail::check_outlet<T, U>("Fixpipe", outlet, src, intriParams.ndNum);
    detail::issue_outlet<T, U>("Fixpipe", outlet, dst, src, detail::Path::l0c_to_gm);
}

template <class T, class U, const FixpipeConfig& config = CFG_ROW_MAJOR>
inline void Fixpipe(const LocalTensor<T>& dst, const LocalTensor<U>& src, const FixpipeParamsV220& intriParams) {
    static_assert(config.format == CO2Layout::NZ, "Fixpipe to L1: expected CFG_NZ");
    const detail::Outlet outlet = detail::outlet_of<T>(config.format, intriParams);
    detail::check_outlet<T, U>("Fixpipe", outlet, src, intriParams.ndNum);
    detail::require(dst.space() == detail::Space::l1, "Fixpipe", "dst: expected GM or L1");
    detail::issue_outlet<T, U>("Fixpipe", outlet, dst, src, detail::Path::l0c_to_l1);
}
#else
template <class T, class U, const FixpipeConfig& config = CFG_ROW_MAJOR>
inline void Fixpipe(const GlobalTensor<T>& dst, const LocalTensor<U>& src,
                    const FixpipeParamsArch3510<config.format>& intriParams) {
    static_assert(!config.isToUB, "Fixpipe to GM: expected a configuration without isToUB");
    const detail::Outlet outlet = detail::outlet_of<T>(intriParams);
    detail::check_outlet<T, U>("Fixpipe", outlet, src, detail::matrices_of(intriParams));
    detail::issue_outlet<T, U>("Fixpipe", outlet, dst, src, detail::Path::l0c_to_gm);
}

template <class T, class U, const FixpipeConfig& config = CFG_ROW_MAJOR>
inline void Fixpipe(const LocalTensor<T>& dst, const LocalTensor<U>& src,
                    const FixpipeParamsArch3510<config.format>& intriParams) {
    const detail::Outlet outlet = detail::outlet_of<T>(intriParams);
    detail::check_outlet<T, U>("Fixpipe", outlet, src, detail::matrices_of(intriParams));
    if constexpr (config.isToUB) {
        detail::require(dst.space() == detail::Space::ub, "Fixpipe", "dst: expected UB with isToUB");
        detail::issue_outlet_to_ub<T, U>("Fixpipe", outlet, dst, src, intriParams.dualDstCtl, intriParams.subBlockId);
    } else {
        static_assert(config.isToUB || config.format == CO2Layout::NZ, "Fixpipe to L1: expected CFG_NZ");
        detail::require(dst.space() == detail::Space::l1, "Fixpipe", "dst: expected L1 without isToUB");
        detail::issue_outlet<T, U>("Fixpipe", outlet, dst, src, detail::Path::l0c_to_l1);
    }
}
#endif

}  // namespace ACL_ATTN_SIM_CHIP
}  // namespace AscendC
