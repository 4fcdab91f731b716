// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// An instantiation of the sparse kernels: flash attention's with the tile for shared rows, and what is its own.
#pragma once

#include "ascendc/flash_attention/traits.h"
#include "ascendc/sparse_attention/streams.h"
#include "formats/packed_row.h"

namespace acl_attn::ascendc {
inline namespace ACL_ATTN_KERNEL_ARCH {

// `Row`: what a row is stored in: `Element`, or the type of a packed row's codes.
template <class ElementT, class RowT>
struct SparseTraits : Traits<ElementT, ElementT, TileSize::shared> {
    using Base = Traits<ElementT, ElementT, TileSize::shared>;
    using Row = RowT;
    static constexpr bool kIsSparse = true;
    static constexpr int32_t kLead = 2;  // a step's rows take longer to bring together than to multiply
    static constexpr bool kIsPacked = !kIsSame<ElementT, RowT>;
    using Params = SparseAttentionParams;
    using Item = SparseItem<kIsPacked ? 1 : sizeof(ElementT), kIsPacked>;
    static constexpr ScaleType kSinkType = ScaleType::f32;
    static constexpr float kEmptyLse = 0.0f;
    __aicore__ static inline const FlashAttentionParams& Rows(const Params& params) { return params.rows; }

    // --- UB for rows on their way, where flash attention has bias and mask, and behind: a row of zeros, buffers of
    // stored rows and, if those are packed, of unpacked ones and of their scales.
    static constexpr int32_t kStoredColumns = kIsPacked ? formats::kPackedRow.bytes : Base::kDim;
    static constexpr uint32_t kStoredBytes = kStoredColumns * sizeof(Row);
    static constexpr uint32_t kRowBytes = Base::kDim * sizeof(ElementT);
    static constexpr uint32_t kUbZero = Base::kUbAux;
    static constexpr uint32_t kUbStored = kUbZero + kRowBytes;
    static constexpr int32_t kGatherBuffers = kIsPacked ? 2 : 3;
    static constexpr int32_t kGatherRows =  // of a buffer
        static_cast<int32_t>((kUbBytes - kUbStored) / kGatherBuffers /
                             (kStoredBytes + (kIsPacked ? kRowBytes + kBlockBytes : 0)));
    static constexpr uint32_t kUbUnpacked = kUbStored + kGatherBuffers * kGatherRows * kStoredBytes;
    static constexpr uint32_t kUbScales = kUbUnpacked + kGatherBuffers * kGatherRows * kRowBytes;
    static_assert(kGatherRows >= 8, "copies are long enough to hide their start");

    // --- GM: a slot of gathered rows for each step alive
    static constexpr uint32_t kGmEnd = Base::kGmKeys + kStepsAlive * Base::kKeyBytes;
    static_assert(kGmEnd <= sparse_core_bytes(), "the launch sets enough aside");
    static_assert(Base::kDim == Base::kDimV && Base::kValueIsKey, "rows are keys and values");
};

}  // namespace ACL_ATTN_KERNEL_ARCH
}  // namespace acl_attn::ascendc
