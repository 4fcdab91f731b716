// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Launches on the caller's stream: the plan's copy, then the kernel behind it.
#include "ascendc/launch/launcher.h"

#include "npu/cann.h"
#include "npu/device.h"
#include "npu/kernels.h"
#include "npu/plan_copies.h"

namespace acl_attn::ascendc {
namespace {

// A graph would replay the copy from memory that later runs use.
bool is_captured(const npu::Cann& c, aclrtStream stream) {
    aclmdlRICaptureStatus status = ACL_MODEL_RI_CAPTURE_STATUS_NONE;
    aclmdlRI graph = nullptr;
    if (c.aclmdlRICaptureGetInfo == nullptr) return false;
    if (c.aclmdlRICaptureGetInfo(stream, &status, &graph) == ACL_SUCCESS) {
        return status != ACL_MODEL_RI_CAPTURE_STATUS_NONE;
    }
    c.aclGetRecentErrMsg();  // a runtime that captures nothing says so, and it is no failure
    return false;
}

// The launch itself returns nothing.
aclError pending_error(const npu::Cann& c) {
    return c.aclrtPeekAtLastError == nullptr ? ACL_SUCCESS : c.aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL);
}

}  // namespace

bool shares_memory() { return false; }

std::string launch(const Instantiation& instantiation, const FlashAttentionParams& params, int32_t cores,
                   const LaunchMemory& memory) {
    const npu::Cann& c = npu::cann();
    const npu::Device device = npu::current_device();
    const npu::Kernels kernels = npu::kernels_for(device);
    if (!kernels.problem.empty()) return kernels.problem;
    if (device.chip.architecture != instantiation.architecture) {
        return "stream: expected one of a device like the one of phase one, got one of " + std::string(device.name);
    }
    const aclrtStream stream = npu::stream_of_task();
    if (is_captured(c, stream)) return "stream: expected one that no graph captures, which is not supported yet";
    std::string failure =
        npu::copy_plan(const_cast<void*>(memory.plan.begin), memory.image, memory.plan.bytes, stream);
    if (!failure.empty()) return failure;
    const aclError before = pending_error(c);
    if (kernels.launch(instantiation.name, &params, static_cast<uint32_t>(cores), stream) != 0) {
        return std::string(instantiation.name) + ": the kernels' library is of another version and has no such kernel";
    }
    const aclError after = pending_error(c);
    return before == ACL_SUCCESS && after != ACL_SUCCESS ? npu::failure_of(instantiation.name, after) : std::string();
}

}  // namespace acl_attn::ascendc
