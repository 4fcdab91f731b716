// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What the operators need of a runtime, on CANN's. A task's work is to put things on a stream, so it is run at once, on
// the calling thread; memory is CANN's business.
#include <algorithm>

#include "npu/cann.h"
#include "npu/device.h"
#include "runtime/chips.h"
#include "runtime/device.h"
#include "runtime/last_error.h"
#include "runtime/memory.h"
#include "runtime/settings.h"
#include "runtime/soc.h"
#include "runtime/state.h"
#include "runtime/stream.h"
#include "runtime/text.h"

namespace acl_attn::npu {
namespace {

thread_local aclrtStream current_stream = nullptr;

int64_t asked(const Cann& c, int32_t device, aclrtDevAttr attribute) {
    int64_t value = 0;
    const bool is_known = c.aclrtGetDeviceInfo != nullptr &&
                          c.aclrtGetDeviceInfo(static_cast<uint32_t>(device), attribute, &value) == ACL_SUCCESS;
    return is_known ? value : 0;
}

// Virtual devices and a thread's limits have fewer than the chip.
int32_t cores_of(const Cann& c, int32_t device, const runtime::Soc* known) {
    uint32_t usable = 0;
    if (c.aclrtGetResInCurrentThread != nullptr &&
        c.aclrtGetResInCurrentThread(ACL_RT_DEV_RES_CUBE_CORE, &usable) == ACL_SUCCESS && usable > 0) {
        return static_cast<int32_t>(usable);
    }
    const int64_t cores = asked(c, device, ACL_DEV_ATTR_CUBE_CORE_NUM);
    return static_cast<int32_t>(cores > 0 ? cores : known == nullptr ? 0 : known->cube_cores);
}

}  // namespace

Device current_device() {
    const Cann& c = cann();
    Device found;
    if (!c.problem.empty()) return found;
    const char* name = c.aclrtGetSocName();
    if (name != nullptr) found.name = name;
    const runtime::Soc* known = runtime::find_chip(found.name);
    const int32_t device = runtime::current_device();
    found.chip.architecture =
        known != nullptr ? known->architecture : static_cast<int32_t>(asked(c, device, ACL_DEV_ATTR_NPU_ARCH));
    found.chip.cores = cores_of(c, device, known);
    return found;
}

aclrtStream stream_of_task() noexcept { return current_stream; }

}  // namespace acl_attn::npu

namespace acl_attn::runtime {

int submit(aclrtStream stream, std::unique_ptr<Task> task) noexcept {
    const npu::Cann& c = npu::cann();
    if (!c.problem.empty()) return fail(ACL_ERROR_UNINITIALIZE, c.problem);
    if (stream == nullptr && c.aclrtCtxGetCurrentDefaultStream != nullptr) {
        const aclError status = c.aclrtCtxGetCurrentDefaultStream(&stream);
        if (status != ACL_SUCCESS) return fail(status, npu::failure_of("aclrtCtxGetCurrentDefaultStream", status));
    }
    npu::current_stream = stream;
    TaskResult result = task->run();
    npu::current_stream = nullptr;
    return result.code == 0 ? ACL_SUCCESS : fail(result.code, std::move(result.message));
}

int run_now(aclrtStream stream, std::unique_ptr<Task> task) noexcept {
    if (const int code = submit(stream, std::move(task))) return code;
    const aclError status = npu::cann().aclrtSynchronizeStream(stream);
    return status == ACL_SUCCESS ? ACL_SUCCESS : fail(status, npu::failure_of("aclrtSynchronizeStream", status));
}

int32_t current_device() noexcept {
    int32_t device = 0;
    const npu::Cann& c = npu::cann();
    const bool is_known = c.problem.empty() && c.aclrtGetDevice(&device) == ACL_SUCCESS;
    return is_known ? std::clamp(device, 0, kMaxDevices - 1) : 0;
}

int32_t device_count() noexcept { return kMaxDevices; }

aclError check_device(const char* parameter, int64_t device) {
    if (device >= 0 && device < kMaxDevices) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_INVALID_DEVICEID,
                text(parameter, ": expected a device in 0..", kMaxDevices - 1, ", got ", device));
}

const Soc& soc() noexcept {
    static const Soc none = {"", 0, 0, 0, 0, 0, 0, 0};
    const Soc* known = find_chip(npu::current_device().name);
    return known == nullptr ? none : *known;
}

int64_t system_parameter(aclSysParamOpt opt, int64_t otherwise) noexcept {
    const npu::Cann& c = npu::cann();
    int64_t value = 0;
    const bool is_set = c.problem.empty() && c.aclrtGetSysParamOpt != nullptr &&
                        c.aclrtGetSysParamOpt(opt, &value) == ACL_SUCCESS;
    return is_set ? value : otherwise;
}

size_t known_room(const void*) noexcept { return SIZE_MAX; }
int64_t live_blocks(MemoryKind) noexcept { return 0; }
uint64_t live_bytes() noexcept { return 0; }

// fork() meets no locks of this runtime: a child has no NPU.
void lock_memory() noexcept {}
void unlock_memory() noexcept {}
void lock_state() noexcept {}
void unlock_state() noexcept {}
void restart_state_in_child() noexcept {}

}  // namespace acl_attn::runtime

// Called by operators; this library does not export it.
aclError aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t* value) {
    const acl_attn::npu::Cann& c = acl_attn::npu::cann();
    const bool is_there = c.problem.empty() && c.aclrtGetResInCurrentThread != nullptr;
    return is_there ? c.aclrtGetResInCurrentThread(type, value) : ACL_ERROR_FEATURE_UNSUPPORTED;
}
