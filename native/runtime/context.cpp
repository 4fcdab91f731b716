// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Devices and contexts: which of them the calling thread uses.
#include <algorithm>

#include "runtime/api.h"
#include "runtime/device.h"
#include "runtime/stream_queue.h"

namespace acl_attn::runtime {
namespace {

// A handle, not an object: it must not keep a context alive that another thread destroys.
thread_local aclrtContext current = nullptr;

// State lock held. Neither the context nor its stream counts as a live object if it is the device's default.
std::shared_ptr<Context> open_context(Lock& lock, int32_t device, bool is_default) {
    auto context = std::make_shared<Context>();
    context->device = device;
    context->is_default = is_default;
    context->default_stream = open_stream(context, device);
    try {
        context->default_stream_handle = insert(Kind::stream, context->default_stream, false);
        context->handle = insert(Kind::context, context, !is_default);
    } catch (...) {
        std::shared_ptr<Stream> ended;
        take(Kind::stream, context->default_stream_handle, &ended);
        close_stream(lock, context->default_stream, true);
        throw;
    }
    return context;
}

// The context's handle has been taken already. Returns an unreported failure of its default stream.
aclError close_context(Lock& lock, const std::shared_ptr<Context>& context) {
    std::shared_ptr<Stream> stream;
    take(Kind::stream, context->default_stream_handle, &stream);
    close_stream(lock, context->default_stream, false);
    return report(context->default_stream->take_failure());
}

// Waits for every stream of the device. False if `timeout_ms` (-1: none) ran out first.
bool drain(Lock& lock, int32_t device, int32_t timeout_ms, aclError* error) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
    const std::vector<std::shared_ptr<Stream>> streams = state().streams;  // may change while we wait
    TaskResult first;
    for (const auto& stream : streams) {
        if (stream->device() != device) continue;
        int32_t left = -1;
        if (timeout_ms >= 0) {
            const auto rest = deadline - std::chrono::steady_clock::now();
            left = std::max<int32_t>(0, std::chrono::duration_cast<std::chrono::milliseconds>(rest).count());
        }
        if (!stream->wait_until(lock, stream->submitted(), left)) return false;
        TaskResult failure = stream->take_failure();
        if (first.code == 0) first = std::move(failure);
    }
    *error = report(std::move(first));
    return true;
}

aclError synchronize_device(const char* api, int32_t timeout) {
    std::shared_ptr<Context> context;
    if (const aclError error = check_timeout(timeout)) return error;
    if (const aclError error = current_context(&context)) return error;
    if (const aclError error = check_may_wait(api)) return error;
    Lock lock(state().mutex);
    aclError error = ACL_SUCCESS;
    if (drain(lock, context->device, timeout, &error)) return error;
    return fail(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT,
                text("device ", context->device, ": not done within ", timeout, " ms"));
}

aclError reset(const char* api, int32_t device, bool force) {
    if (const aclError error = check_device("deviceId", device)) return error;
    if (const aclError error = check_may_wait(api)) return error;
    Lock lock(state().mutex);
    auto& devices = state().devices;
    if (devices.empty() || devices[device].set_count == 0) {
        return fail(ACL_ERROR_RT_CONTEXT_NULL,
                    text("deviceId: device ", device, " is not set; call aclrtSetDevice once for each reset"));
    }
    int64_t& set_count = devices[device].set_count;
    set_count = force ? 0 : set_count - 1;
    if (set_count > 0) return ACL_SUCCESS;
    const std::shared_ptr<Context> context = std::exchange(devices[device].default_context, nullptr);
    std::shared_ptr<Context> ended;
    take(Kind::context, context->handle, &ended);
    aclError failure = ACL_SUCCESS;
    drain(lock, device, -1, &failure);
    const aclError late = close_context(lock, context);
    return failure != ACL_SUCCESS ? failure : late;
}

}  // namespace

int32_t current_device() noexcept {
    if (device_count() == 1 || current == nullptr) return 0;
    const auto context = find<Context>(Kind::context, current);
    return context == nullptr ? 0 : context->device;
}

aclError current_context(std::shared_ptr<Context>* context) {
    *context = find<Context>(Kind::context, current);
    if (*context != nullptr) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_CONTEXT_NULL,
                text("context: the calling thread has no current context (",
                     current == nullptr ? "none was set" : "it was destroyed or its device was reset",
                     "); call aclrtSetDevice or aclrtSetCurrentContext in this thread"));
}

}  // namespace acl_attn::runtime

extern "C" {
using namespace acl_attn;
using namespace acl_attn::runtime;

aclError aclrtSetDevice(int32_t deviceId) {
    return entry("aclrtSetDevice", [&]() -> aclError {
        if (const aclError error = check_device("deviceId", deviceId)) return error;
        Lock lock(state().mutex);
        auto& devices = state().devices;
        if (devices.empty()) devices.resize(device_count());
        Device& device = devices[deviceId];
        if (device.default_context == nullptr) device.default_context = open_context(lock, deviceId, true);
        ++device.set_count;
        current = device.default_context->handle;
        return ACL_SUCCESS;
    });
}

aclError aclrtResetDevice(int32_t deviceId) {
    return entry("aclrtResetDevice", [&] { return reset("aclrtResetDevice", deviceId, false); });
}

aclError aclrtResetDeviceForce(int32_t deviceId) {
    return entry("aclrtResetDeviceForce", [&] { return reset("aclrtResetDeviceForce", deviceId, true); });
}

aclError aclrtGetDevice(int32_t* deviceId) {
    return entry("aclrtGetDevice", [&]() -> aclError {
        if (deviceId == nullptr) return null_result("deviceId");
        std::shared_ptr<Context> context;
        if (const aclError error = current_context(&context)) return error;
        *deviceId = context->device;
        return ACL_SUCCESS;
    });
}

aclError aclrtSynchronizeDevice(void) {
    return entry("aclrtSynchronizeDevice", [&] { return synchronize_device("aclrtSynchronizeDevice", -1); });
}

aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout) {
    return entry("aclrtSynchronizeDeviceWithTimeout",
                 [&] { return synchronize_device("aclrtSynchronizeDeviceWithTimeout", timeout); });
}

aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId) {
    return entry("aclrtCreateContext", [&]() -> aclError {
        if (context == nullptr) return null_result("context");
        if (const aclError error = check_device("deviceId", deviceId)) return error;
        Lock lock(state().mutex);
        *context = current = open_context(lock, deviceId, false)->handle;
        return ACL_SUCCESS;
    });
}

aclError aclrtDestroyContext(aclrtContext context) {
    return entry("aclrtDestroyContext", [&]() -> aclError {
        std::shared_ptr<Context> found = find<Context>(Kind::context, context);
        if (found == nullptr) return bad_handle("context", Kind::context, context);
        if (found->is_default) {
            return fail(ACL_ERROR_RT_PARAM_INVALID,
                        "context: expected one made by aclrtCreateContext, got a device's default context; it ends "
                        "with aclrtResetDevice");
        }
        if (const aclError error = check_may_wait("aclrtDestroyContext")) return error;
        if (take(Kind::context, context, &found) != Taken::ok) return bad_handle("context", Kind::context, context);
        Lock lock(state().mutex);
        return close_context(lock, found);
    });
}

aclError aclrtSetCurrentContext(aclrtContext context) {
    return entry("aclrtSetCurrentContext", [&]() -> aclError {
        if (context != nullptr && find<Context>(Kind::context, context) == nullptr) {
            return bad_handle("context", Kind::context, context);
        }
        current = context;
        return ACL_SUCCESS;
    });
}

aclError aclrtGetCurrentContext(aclrtContext* context) {
    return entry("aclrtGetCurrentContext", [&]() -> aclError {
        if (context == nullptr) return null_result("context");
        std::shared_ptr<Context> found;
        if (const aclError error = current_context(&found)) return error;
        *context = current;
        return ACL_SUCCESS;
    });
}

aclError aclrtCtxGetCurrentDefaultStream(aclrtStream* stream) {
    return entry("aclrtCtxGetCurrentDefaultStream", [&]() -> aclError {
        if (stream == nullptr) return null_result("stream");
        std::shared_ptr<Context> found;
        if (const aclError error = current_context(&found)) return error;
        *stream = found->default_stream_handle;
        return ACL_SUCCESS;
    });
}

}  // extern "C"
