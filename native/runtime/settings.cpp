// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// System parameters, and limits on the cores that operators may count on.
#include "runtime/settings.h"

#include "runtime/api.h"
#include "runtime/soc.h"
#include "runtime/stream_queue.h"

namespace acl_attn::runtime {
namespace {

// The stream whose core limits the calling thread uses; a handle, see `current` in context.cpp.
thread_local aclrtStream limiting_stream = nullptr;

aclError check_opt(aclSysParamOpt opt) {
    if (opt >= ACL_OPT_DETERMINISTIC && opt <= ACL_OPT_ENABLE_KERNEL_EARLY_START) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                text("opt: expected a value of aclSysParamOpt, got ", static_cast<int>(opt)));
}

aclError read_param(const SysParams& params, aclSysParamOpt opt, int64_t* value) {
    const auto found = params.find(opt);
    if (found == params.end()) {
        return fail(ACL_ERROR_RT_SYSPARAMOPT_NOT_SET, text("opt: ", static_cast<int>(opt), " was never set"));
    }
    *value = found->second;
    return ACL_SUCCESS;
}

aclError device_cores(aclrtDevResLimitType type, uint32_t* cores) {
    switch (type) {
        case ACL_RT_DEV_RES_CUBE_CORE: *cores = soc().cube_cores; return ACL_SUCCESS;
        case ACL_RT_DEV_RES_VECTOR_CORE: *cores = soc().vector_cores; return ACL_SUCCESS;
    }
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                text("type: expected a value of aclrtDevResLimitType, got ", static_cast<int>(type)));
}

}  // namespace

int64_t system_parameter(aclSysParamOpt opt, int64_t otherwise) noexcept {
    Lock lock(state().mutex);
    const auto found = state().sys_params.find(opt);
    return found == state().sys_params.end() ? otherwise : found->second;
}

}  // namespace acl_attn::runtime

extern "C" {
using namespace acl_attn;
using namespace acl_attn::runtime;

aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
    return entry("aclrtSetSysParamOpt", [&]() -> aclError {
        if (const aclError error = check_opt(opt)) return error;
        Lock lock(state().mutex);
        state().sys_params[opt] = value;
        return ACL_SUCCESS;
    });
}

aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
    return entry("aclrtGetSysParamOpt", [&]() -> aclError {
        if (value == nullptr) return null_result("value");
        if (const aclError error = check_opt(opt)) return error;
        Lock lock(state().mutex);
        return read_param(state().sys_params, opt, value);
    });
}

aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
    return entry("aclrtCtxSetSysParamOpt", [&]() -> aclError {
        if (const aclError error = check_opt(opt)) return error;
        std::shared_ptr<Context> context;
        if (const aclError error = current_context(&context)) return error;
        Lock lock(state().mutex);
        context->sys_params[opt] = value;
        return ACL_SUCCESS;
    });
}

aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
    return entry("aclrtCtxGetSysParamOpt", [&]() -> aclError {
        if (value == nullptr) return null_result("value");
        if (const aclError error = check_opt(opt)) return error;
        std::shared_ptr<Context> context;
        if (const aclError error = current_context(&context)) return error;
        Lock lock(state().mutex);
        return read_param(context->sys_params, opt, value);
    });
}

aclError aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t* value) {
    return entry("aclrtGetResInCurrentThread", [&]() -> aclError {
        if (value == nullptr) return null_result("value");
        uint32_t cores = 0;
        if (const aclError error = device_cores(type, &cores)) return error;
        if (const auto stream = find<Stream>(Kind::stream, limiting_stream)) {
            Lock lock(state().mutex);
            const auto limit = stream->core_limits.find(type);
            if (limit != stream->core_limits.end()) cores = limit->second;
        }
        *value = cores;
        return ACL_SUCCESS;
    });
}

aclError aclrtSetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t value) {
    return entry("aclrtSetStreamResLimit", [&]() -> aclError {
        uint32_t cores = 0;
        if (const aclError error = device_cores(type, &cores)) return error;
        if (value == 0 || value > cores) {
            return fail(ACL_ERROR_RT_PARAM_INVALID, text("value: expected 1 to ", cores, ", got ", value));
        }
        std::shared_ptr<Stream> found;
        if (const aclError error = usable_stream(stream, &found)) return error;
        Lock lock(state().mutex);
        found->core_limits[type] = value;
        return ACL_SUCCESS;
    });
}

aclError aclrtUseStreamResInCurrentThread(aclrtStream stream) {
    return entry("aclrtUseStreamResInCurrentThread", [&]() -> aclError {
        std::shared_ptr<Stream> found;
        if (const aclError error = usable_stream(stream, &found)) return error;
        if (stream == nullptr) return aclrtCtxGetCurrentDefaultStream(&limiting_stream);
        limiting_stream = stream;
        return ACL_SUCCESS;
    });
}

aclError aclrtUnuseStreamResInCurrentThread(aclrtStream stream) {
    return entry("aclrtUnuseStreamResInCurrentThread", [&]() -> aclError {
        std::shared_ptr<Stream> found;
        if (const aclError error = usable_stream(stream, &found)) return error;
        limiting_stream = nullptr;
        return ACL_SUCCESS;
    });
}

}  // extern "C"
