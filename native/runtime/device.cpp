// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What can be asked about devices.
#include "runtime/device.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "runtime/api.h"
#include "runtime/soc.h"

namespace acl_attn::runtime {
namespace {

int32_t count_devices() {
    const char* asked = std::getenv("ACL_ATTN_DEVICE_COUNT");
    if (asked == nullptr) return 1;
    char* end = nullptr;
    const long count = std::strtol(asked, &end, 10);
    return end != asked && *end == '\0' && count >= 1 && count <= kMaxDevices ? static_cast<int32_t>(count) : 1;
}

// Memory that the machine can still give without swapping.
uint64_t available_memory() {
    unsigned long long kib = 0;
    if (std::FILE* file = std::fopen("/proc/meminfo", "r")) {
        char line[128];
        while (std::fgets(line, sizeof line, file) != nullptr) {
            if (std::sscanf(line, "MemAvailable: %llu kB", &kib) == 1) break;
        }
        std::fclose(file);
    }
    if (kib > 0) return kib << 10;
    const long pages = sysconf(_SC_AVPHYS_PAGES);
    return pages > 0 ? static_cast<uint64_t>(pages) * sysconf(_SC_PAGESIZE) : 0;
}

}  // namespace

int32_t device_count() noexcept {
    static const int32_t count = count_devices();
    return count;
}

aclError check_device(const char* parameter, int64_t device) {
    if (device >= 0 && device < device_count()) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_INVALID_DEVICEID,
                text(parameter, ": expected a device in 0..", device_count() - 1, ", got ", device));
}

uint64_t total_memory() noexcept {
    const long pages = sysconf(_SC_PHYS_PAGES);
    return pages > 0 ? static_cast<uint64_t>(pages) * sysconf(_SC_PAGESIZE) : 0;
}

}  // namespace acl_attn::runtime

extern "C" {
using namespace acl_attn;
using namespace acl_attn::runtime;

aclError aclrtGetDeviceCount(uint32_t* count) {
    return entry("aclrtGetDeviceCount", [&]() -> aclError {
        if (count == nullptr) return null_result("count");
        *count = static_cast<uint32_t>(device_count());
        return ACL_SUCCESS;
    });
}

aclError aclrtGetRunMode(aclrtRunMode* runMode) {
    return entry("aclrtGetRunMode", [&]() -> aclError {
        if (runMode == nullptr) return null_result("runMode");
        *runMode = ACL_HOST;
        return ACL_SUCCESS;
    });
}

aclError aclrtGetDeviceInfo(uint32_t deviceId, aclrtDevAttr attr, int64_t* value) {
    return entry("aclrtGetDeviceInfo", [&]() -> aclError {
        if (value == nullptr) return null_result("value");
        if (const aclError error = check_device("deviceId", deviceId)) return error;
        const Soc& chip = soc();
        int64_t answer = 0;
        switch (attr) {
            case ACL_DEV_ATTR_AICPU_CORE_NUM: answer = chip.aicpus; break;
            case ACL_DEV_ATTR_AICORE_CORE_NUM:
            case ACL_DEV_ATTR_CUBE_CORE_NUM: answer = chip.cube_cores; break;
            case ACL_DEV_ATTR_VECTOR_CORE_NUM: answer = chip.vector_cores; break;
            case ACL_DEV_ATTR_UBUF_PER_VECTOR_CORE: answer = chip.vector_buffer; break;
            case ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE: answer = chip.memory; break;
            case ACL_DEV_ATTR_L2_CACHE_SIZE: answer = chip.l2_cache; break;
            case ACL_DEV_ATTR_NPU_ARCH: answer = chip.architecture; break;
            case ACL_DEV_ATTR_WARP_SIZE:
            case ACL_DEV_ATTR_MAX_THREAD_PER_VECTOR_CORE: break;
            default:
                return fail(ACL_ERROR_RT_PARAM_INVALID,
                            text("attr: expected a value of aclrtDevAttr, got ", static_cast<int>(attr)));
        }
        if (answer == 0) {
            return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                        text("attr: ", static_cast<int>(attr), " is not known for ", chip.name));
        }
        *value = answer;
        return ACL_SUCCESS;
    });
}

aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t* free, size_t* total) {
    return entry("aclrtGetMemInfo", [&]() -> aclError {
        if (free == nullptr) return null_result("free");
        if (total == nullptr) return null_result("total");
        if (attr < ACL_DDR_MEM || attr > ACL_MEM_P2P_HUGE1G) {
            return fail(ACL_ERROR_RT_PARAM_INVALID,
                        text("attr: expected a value of aclrtMemAttr, got ", static_cast<int>(attr)));
        }
        std::shared_ptr<Context> context;
        if (const aclError error = current_context(&context)) return error;
        *free = available_memory();
        *total = total_memory();
        return ACL_SUCCESS;
    });
}

}  // extern "C"
