// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// DataCopy, DataCopyPad and Copy.
#pragma once

#include "ascendc/copy_nz.h"
#include "ascendc/tensor.h"

namespace AscendC {
inline namespace ACL_ATTN_SIM_CHIP {
namespace detail {

// `count` rows from source to destination. Steps in bytes, start to start.
inline void copy_rows(uint8_t* dst, int64_t dst_step, const uint8_t* src, int64_t src_step, uint32_t count,
                      uint64_t row_bytes) {
    for (uint32_t row = 0; row < count; row++) {
        std::memcpy(dst + row * dst_step, src + row * src_step, row_bytes);
    }
}

struct RowCopy {
    uint32_t count;
    uint64_t row_bytes;
    int64_t dst_step;
    int64_t src_step;

    explicit RowCopy(const DataCopyParams& params)
        : count(params.blockCount),
          row_bytes(uint64_t{params.blockLen} * acl_attn::sim::kBlockBytes),
          dst_step((int64_t{params.blockLen} + params.dstGap) * acl_attn::sim::kBlockBytes),
          src_step((int64_t{params.blockLen} + params.srcGap) * acl_attn::sim::kBlockBytes) {}

    void describe(Operation& operation, Path path) const {
        operation.work.path = path;
        operation.work.bytes = count * row_bytes;
        operation.work.bursts = count;
    }
    Piece source() const { return {0, row_bytes, count, src_step}; }
    Piece target() const { return {0, row_bytes, count, dst_step}; }
};

template <class Target, class Source>
inline void issue_blocks(const char* name, Unit& unit, Pipe pipe, Path path, const Target& dst, const Source& src,
                         const DataCopyParams& params) {
    const RowCopy rows(params);
    acl_attn::sim::issue(
        unit, pipe, name,
        [&](Operation& operation) {
            rows.describe(operation, path);
            reads(operation, src, rows.source());
            writes(operation, dst, rows.target());
        },
        [=] { copy_rows(dst.data(), rows.dst_step, src.data(), rows.src_step, rows.count, rows.row_bytes); });
}

inline void check_block_count(const char* name, uint32_t count) {
    require(count >= 1 && count <= 4095, name, "blockCount: expected 1 to 4095");
}

inline void check_copy_address(const char* name, uint64_t address, bool source) {
    require(address % acl_attn::sim::kBlockBytes == 0, name,
            source ? "src: expected an address on 32 bytes" : "dst: expected an address on 32 bytes");
}

inline DataCopyParams one_block(const char* name, uint64_t bytes) {
    require(bytes % acl_attn::sim::kBlockBytes == 0, name, "count: expected a multiple of 32 bytes; use DataCopyPad");
    require(bytes / acl_attn::sim::kBlockBytes <= UINT16_MAX, name, "count: expected at most 65535 blocks of 32 bytes");
    DataCopyParams params;
    params.blockLen = static_cast<uint16_t>(bytes / acl_attn::sim::kBlockBytes);
    return params;
}

// The pipe and path of a copy inside a core.
inline bool local_route(Space dst, Space src, acl_attn::sim::Role role, Pipe* pipe, Path* path) {
    const bool cube = role == acl_attn::sim::Role::cube;
    if (src == Space::ub && dst == Space::ub && !cube) return *pipe = Pipe::v, *path = Path::ub_to_ub, true;
    if (src == Space::l1 && dst == Space::bias && cube) return *pipe = Pipe::mte1, *path = Path::l1_to_bias, true;
    if (src == Space::l1 && dst == Space::fixpipe && cube) return *pipe = Pipe::fix, *path = Path::l1_to_fixpipe, true;
    if (kIs3510 && src == Space::ub && dst == Space::l1 && !cube) {
        return *pipe = Pipe::mte3, *path = Path::ub_to_l1, true;
    }
    return false;
}

}  // namespace detail

// GM to UB or L1.
template <class T>
inline void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& repeatParams) {
    constexpr const char* kName = "DataCopy";
    detail::Unit& unit = detail::Unit::current();
    const bool vector = unit.role() == acl_attn::sim::Role::vector;
    if (unit.checking()) {
        detail::check_block_count(kName, repeatParams.blockCount);
        detail::check_copy_address(kName, dst.address(), false);
        detail::require(dst.space() == (vector ? detail::Space::ub : detail::Space::l1), kName,
                        "dst: expected UB on a vector core and L1 on a cube core");
    }
    detail::issue_blocks(kName, unit, detail::Pipe::mte2, vector ? detail::Path::gm_to_ub : detail::Path::gm_to_l1, dst,
                         src, repeatParams);
}

template <class T>
inline void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const uint32_t count) {
    DataCopy(dst, src, detail::one_block("DataCopy", detail::bytes_of<T>(count)));
}

// UB to GM, on dav-2201 also L1 to GM.
template <class T>
inline void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& repeatParams) {
    constexpr const char* kName = "DataCopy";
    detail::Unit& unit = detail::Unit::current();
    const bool vector = unit.role() == acl_attn::sim::Role::vector;
    if (unit.checking()) {
        detail::check_block_count(kName, repeatParams.blockCount);
        detail::check_copy_address(kName, src.address(), true);
        detail::require(
            vector ? src.space() == detail::Space::ub : src.space() == detail::Space::l1 && !detail::kIs3510, kName,
            "src: expected UB on a vector core; L1 on a cube core of dav-2201 only");
    }
    detail::issue_blocks(kName, unit, detail::Pipe::mte3, vector ? detail::Path::ub_to_gm : detail::Path::l1_to_gm, dst,
                         src, repeatParams);
}

template <class T>
inline void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count) {
    DataCopy(dst, src, detail::one_block("DataCopy", detail::bytes_of<T>(count)));
}

// Inside a core: UB to UB; L1 to the bias table or the Fixpipe buffer; on dav-3510 UB to L1.
template <class T>
inline void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& repeatParams) {
    constexpr const char* kName = "DataCopy";
    detail::Unit& unit = detail::Unit::current();
    detail::Pipe pipe = detail::Pipe::v;
    detail::Path path = detail::Path::none;
    if (!detail::local_route(dst.space(), src.space(), unit.role(), &pipe, &path)) {
        unit.fault(kName, std::string("dst and src: expected a route of this chip and core, got ") +
                              acl_attn::sim::space_name(src.space()) + " to " + acl_attn::sim::space_name(dst.space()));
    }
    if (unit.checking()) {
        detail::check_block_count(kName, repeatParams.blockCount);
        detail::check_copy_address(kName, src.address(), true);
        detail::check_copy_address(kName, dst.address(), false);
    }
    detail::issue_blocks(kName, unit, pipe, path, dst, src, repeatParams);
}

template <class T>
inline void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count) {
    DataCopy(dst, src, detail::one_block("DataCopy", detail::bytes_of<T>(count)));
}

// ND in GM to NZ in L1. Columns beyond dValue within the last 32 bytes become zero; rows beyond nValue stay as they
// are.
template <class T>
inline void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const Nd2NzParams& intriParams) {
    static_assert(detail::kIs3510 || sizeof(T) <= 4, "DataCopy(Nd2NzParams): expected elements of at most 32 bits");
    constexpr const char* kName = "DataCopy(Nd2NzParams)";
    detail::Unit& unit = detail::Unit::current();
    if (unit.checking()) {
        detail::require(dst.space() == detail::Space::l1 && unit.role() == acl_attn::sim::Role::cube, kName,
                        "dst: expected L1, on a cube core");
        detail::check_copy_address(kName, dst.address(), false);
        detail::require(intriParams.nValue <= 16384, kName, "nValue: expected at most 16384");
        detail::require(intriParams.dstNzNStride >= 1 || intriParams.nValue <= 1, kName,
                        "dstNzNStride: expected at least 1");
    }
    if (intriParams.ndNum == 0 || intriParams.nValue == 0 || intriParams.dValue == 0) return;
    const detail::NzLoad<T> load(intriParams);
    acl_attn::sim::issue(
        unit, detail::Pipe::mte2, kName, [&](detail::Operation& operation) { load.describe(operation, dst, src); },
        [=] { load.run(dst.data(), src.data()); });
}

// Rows of any length. Each row fills whole 32 bytes in UB; the filler behind it is `paddingValue` with isPad, else the
// row's first element.
template <class T>
inline void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyExtParams& dataCopyParams,
                        const DataCopyPadExtParams<T>& padParams) {
    static_assert(!std::is_same_v<T, int4b_t>, "DataCopyPad: expected elements of whole bytes");
    constexpr const char* kName = "DataCopyPad";
    constexpr uint64_t kBlock = acl_attn::sim::kBlockBytes;
    detail::Unit& unit = detail::Unit::current();
    const uint64_t left = padParams.isPad ? padParams.leftPadding * sizeof(T) : 0;
    const uint64_t right = padParams.isPad ? padParams.rightPadding * sizeof(T) : 0;
    const uint64_t length = dataCopyParams.blockLen;
    const uint64_t target = (left + length + right + kBlock - 1) / kBlock * kBlock;
    const uint32_t count = dataCopyParams.blockCount;
    if (unit.checking()) {
        detail::check_block_count(kName, count);
        detail::require(length <= 2097151, kName, "blockLen: expected at most 2097151");
        detail::require(left <= kBlock && right <= kBlock, kName,
                        "leftPadding, rightPadding: expected at most 32 bytes");
        detail::require(dst.space() == detail::Space::ub && unit.role() == acl_attn::sim::Role::vector, kName,
                        "dst: expected UB, on a vector core");
        detail::check_copy_address(kName, dst.address(), false);
    }
    const int64_t src_step = static_cast<int64_t>(length) + static_cast<int64_t>(dataCopyParams.srcStride);
    const int64_t dst_step = static_cast<int64_t>(target) + static_cast<int64_t>(dataCopyParams.dstStride) * 32;
    acl_attn::sim::issue(
        unit, detail::Pipe::mte2, kName,
        [&](detail::Operation& operation) {
            operation.work.path = detail::Path::gm_to_ub;
            operation.work.bytes = count * length;
            operation.work.bursts = count;
            detail::reads(operation, src, {0, length, count, src_step});
            detail::writes(operation, dst, {0, target, count, dst_step});
        },
        [=] {
            for (uint32_t row = 0; row < count; row++) {
                uint8_t* out = dst.data() + row * dst_step;
                const uint8_t* in = src.data() + row * src_step;
                uint8_t filler[sizeof(T)] = {};
                if (padParams.isPad) std::memcpy(filler, &padParams.paddingValue, sizeof filler);
                else if (length >= sizeof(T)) std::memcpy(filler, in, sizeof filler);
                for (uint64_t at = 0; at + sizeof(T) <= target; at += sizeof(T)) {
                    if (at < left || at >= left + length) std::memcpy(out + at, filler, sizeof(T));
                }
                std::memcpy(out + left, in, length);
            }
        });
}

template <class T>
inline void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src,
                        const DataCopyExtParams& dataCopyParams) {
    static_assert(!std::is_same_v<T, int4b_t>, "DataCopyPad: expected elements of whole bytes");
    constexpr const char* kName = "DataCopyPad";
    constexpr uint64_t kBlock = acl_attn::sim::kBlockBytes;
    detail::Unit& unit = detail::Unit::current();
    const uint64_t length = dataCopyParams.blockLen;
    const uint32_t count = dataCopyParams.blockCount;
    if (unit.checking()) {
        detail::check_block_count(kName, count);
        detail::require(length <= 2097151, kName, "blockLen: expected at most 2097151");
        detail::require(src.space() == detail::Space::ub && unit.role() == acl_attn::sim::Role::vector, kName,
                        "src: expected UB, on a vector core");
        detail::check_copy_address(kName, src.address(), true);
    }
    const int64_t src_step = static_cast<int64_t>((length + kBlock - 1) / kBlock * kBlock) +
                             static_cast<int64_t>(dataCopyParams.srcStride) * 32;
    const int64_t dst_step = static_cast<int64_t>(length) + static_cast<int64_t>(dataCopyParams.dstStride);
    acl_attn::sim::issue(
        unit, detail::Pipe::mte3, kName,
        [&](detail::Operation& operation) {
            operation.work.path = detail::Path::ub_to_gm;
            operation.work.bytes = count * length;
            operation.work.bursts = count;
            detail::reads(operation, src, {0, length, count, src_step});
            detail::writes(operation, dst, {0, length, count, dst_step});
        },
        [=] { detail::copy_rows(dst.data(), dst_step, src.data(), src_step, count, length); });
}

}  // namespace ACL_ATTN_SIM_CHIP
}  // namespace AscendC
