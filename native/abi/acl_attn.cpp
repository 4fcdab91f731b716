// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "acl_attn/acl_attn.h"

#include <cstring>

#include "abi/text_result.h"
#include "engine/attention.h"
#include "meta/api.h"
#include "meta/executor.h"
#include "ops/profile.h"
#include "ops/sparse_attention/device.h"
#include "runtime/api.h"
#include "runtime/memory.h"

namespace {

using acl_attn::fail;
using acl_attn::text;
namespace engine = acl_attn::engine;
namespace meta = acl_attn::meta;
namespace ops = acl_attn::ops;
namespace runtime = acl_attn::runtime;

constexpr int32_t kMaxThreads = 1024;

aclError unknown_target(const char* name) {
    std::string usable;
    for (int i = 0; i < engine::target_count(); ++i) {
        if (engine::target_usable(i)) usable += text(usable.empty() ? "" : ", ", engine::target_name(i));
    }
    return fail(ACL_ERROR_INVALID_PARAM,
                text("name: expected a target that this processor can run (", usable, "), got \"", name, "\""));
}

}  // namespace

extern "C" {

const char* aclAttnGetVersion(void) { return ACL_ATTN_VERSION; }

int32_t aclAttnGetCpuTargetCount(void) { return engine::target_count(); }

const char* aclAttnGetCpuTargetName(int32_t index) {
    return index >= 0 && index < engine::target_count() ? engine::target_name(index) : nullptr;
}

bool aclAttnIsCpuTargetUsable(int32_t index) {
    return index >= 0 && index < engine::target_count() && engine::target_usable(index);
}

const char* aclAttnGetCpuTarget(void) { return engine::target_name(engine::target_in_use()); }

aclError aclAttnSetCpuTarget(const char* name) {
    return runtime::entry("aclAttnSetCpuTarget", [&]() -> aclError {
        if (name == nullptr) {
            engine::force_target(-1);
            return ACL_SUCCESS;
        }
        for (int i = 0; i < engine::target_count(); ++i) {
            if (std::strcmp(engine::target_name(i), name) == 0 && engine::force_target(i)) return ACL_SUCCESS;
        }
        return unknown_target(name);
    });
}

const char* aclAttnGetCpuFeatures(void) {
    static const std::string* const features = new std::string(engine::cpu_features());
    return features->c_str();
}

int32_t aclAttnGetNumThreads(void) { return engine::thread_count(); }

aclError aclAttnSetNumThreads(int32_t count) {
    return runtime::entry("aclAttnSetNumThreads", [&]() -> aclError {
        if (engine::set_thread_count(count)) return ACL_SUCCESS;
        return fail(ACL_ERROR_INVALID_PARAM, text("count: expected 0 to ", kMaxThreads, ", got ", count));
    });
}

aclnnStatus aclAttnRun(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor, aclrtStream stream) {
    return meta::launch(nullptr, workspace, workspaceSize, executor, stream, true);
}

aclnnStatus aclAttnRunAt(const aclAttnTensorPlace* places, void* const* addresses, size_t count, void* workspace,
                         uint64_t workspaceSize, aclOpExecutor* executor, aclrtStream stream) {
    return meta::launch(nullptr, workspace, workspaceSize, executor, stream, true, {places, addresses, count});
}

uint64_t aclAttnGetSettings(void) {
    if (ops::wrong_environment() != nullptr) return 0;
    const ops::Profile profile = ops::current_profile();
    const ops::sparse::PlanningDevice device = ops::sparse::planning_device(profile);
    uint64_t settings = 1;  // never 0
    const auto add = [&](int bits, int64_t part) { settings = settings << bits | static_cast<uint64_t>(part); };
    add(4, static_cast<int>(profile));
    add(4, static_cast<int>(ops::current_revision()));
    add(8, engine::target_in_use());
    add(12, engine::thread_count());
    add(12, device.cores.cube);
    add(12, device.cores.vector);
    add(1, device.is_batch_consistent);
    return settings;
}

aclnnStatus aclAttnDescribeExecutor(const aclOpExecutor* executor, char* text, size_t size, size_t* needed) {
    return meta::entry("aclAttnDescribeExecutor", [&]() -> aclnnStatus {
        if (text == nullptr && size > 0) return meta::null_result("text");
        if (runtime::find_handle(runtime::Kind::executor, executor) == nullptr) {
            return meta::bad_handle("executor", runtime::Kind::executor, executor);
        }
        acl_attn::abi::copy_text(meta::describe_call(executor), text, size, needed);
        return ACLNN_SUCCESS;
    });
}

int64_t aclAttnGetLiveObjects(aclAttnObjectKind kind) {
    switch (kind) {
        case ACL_ATTN_OBJECT_TENSOR: return runtime::live_handles(runtime::Kind::tensor);
        case ACL_ATTN_OBJECT_SCALAR: return runtime::live_handles(runtime::Kind::scalar);
        case ACL_ATTN_OBJECT_INT_ARRAY: return runtime::live_handles(runtime::Kind::int_array);
        case ACL_ATTN_OBJECT_FLOAT_ARRAY: return runtime::live_handles(runtime::Kind::float_array);
        case ACL_ATTN_OBJECT_BOOL_ARRAY: return runtime::live_handles(runtime::Kind::bool_array);
        case ACL_ATTN_OBJECT_TENSOR_LIST: return runtime::live_handles(runtime::Kind::tensor_list);
        case ACL_ATTN_OBJECT_SCALAR_LIST: return runtime::live_handles(runtime::Kind::scalar_list);
        case ACL_ATTN_OBJECT_EXECUTOR: return runtime::live_handles(runtime::Kind::executor);
        case ACL_ATTN_OBJECT_CONTEXT: return runtime::live_handles(runtime::Kind::context);
        case ACL_ATTN_OBJECT_STREAM: return runtime::live_handles(runtime::Kind::stream);
        case ACL_ATTN_OBJECT_EVENT: return runtime::live_handles(runtime::Kind::event);
        case ACL_ATTN_OBJECT_DEVICE_MEMORY: return runtime::live_blocks(runtime::MemoryKind::device);
        case ACL_ATTN_OBJECT_HOST_MEMORY: return runtime::live_blocks(runtime::MemoryKind::pinned);
        case ACL_ATTN_OBJECT_REPORT: return runtime::live_handles(runtime::Kind::report);
        case ACL_ATTN_OBJECT_KIND_COUNT: break;
    }
    return -1;
}

uint64_t aclAttnGetLiveBytes(void) { return runtime::live_bytes(); }

}  // extern "C"
