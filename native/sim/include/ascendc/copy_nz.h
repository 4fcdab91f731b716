// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The load that turns a row-major matrix into columns of fractals: element (n, d) lies at column group d / C0, row n.
#pragma once

#include "ascendc/tensor.h"

namespace AscendC {
inline namespace ACL_ATTN_SIM_CHIP {
namespace detail {

template <class T>
class NzLoad {
public:
    explicit NzLoad(const Nd2NzParams& params)
        : params_(params),
          row_bytes_(bytes_of<T>(params.dValue)),
          groups_((row_bytes_ + kBlock - 1) / kBlock),
          group_step_(uint64_t{params.dstNzC0Stride} * kBlock),
          token_step_(uint64_t{params.dstNzNStride} * kBlock),
          src_row_step_(bytes_of<T>(params.srcDValue)) {}

    void describe(Operation& operation, const LocalTensor<T>& dst, const GlobalTensor<T>& src) const {
        operation.work.path = Path::gm_to_l1;
        operation.work.bytes = params_.ndNum * params_.nValue * row_bytes_;
        const bool dense = src_row_step_ == row_bytes_;
        operation.work.bursts = dense ? params_.ndNum : uint64_t{params_.ndNum} * params_.nValue;
        for (uint32_t matrix = 0; matrix < params_.ndNum; matrix++) {
            reads(operation, src,
                  {matrix * src_matrix(), row_bytes_, params_.nValue, static_cast<int64_t>(src_row_step_)});
            writes(operation, dst,
                   {matrix * dst_matrix(), kBlock, params_.nValue, static_cast<int64_t>(token_step_), groups_,
                    static_cast<int64_t>(group_step_)});
        }
    }

    void run(uint8_t* dst, const uint8_t* src) const {
        for (uint32_t matrix = 0; matrix < params_.ndNum; matrix++) {
            for (uint32_t token = 0; token < params_.nValue; token++) {
                const uint8_t* row = src + matrix * src_matrix() + token * src_row_step_;
                uint8_t* out = dst + matrix * dst_matrix() + token * token_step_;
                for (uint64_t group = 0; group < groups_; group++) {
                    const uint64_t left = row_bytes_ - group * kBlock;
                    const uint64_t bytes = left < kBlock ? left : kBlock;
                    std::memcpy(out + group * group_step_, row + group * kBlock, bytes);
                    std::memset(out + group * group_step_ + bytes, 0, kBlock - bytes);
                }
            }
        }
    }

private:
    static constexpr uint64_t kBlock = acl_attn::sim::kBlockBytes;

    uint64_t src_matrix() const { return bytes_of<T>(params_.srcNdMatrixStride); }
    uint64_t dst_matrix() const { return bytes_of<T>(params_.dstNzMatrixStride); }

    Nd2NzParams params_;
    uint64_t row_bytes_;
    uint64_t groups_;
    uint64_t group_step_;
    uint64_t token_step_;
    uint64_t src_row_step_;
};

}  // namespace detail
}  // namespace ACL_ATTN_SIM_CHIP
}  // namespace AscendC
