// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The stream functions of acl_rt.h, and what operators use of a stream.
#include "runtime/api.h"
#include "runtime/stream_queue.h"

namespace acl_attn::runtime {
namespace {

constexpr uint32_t kLeastPriority = 7;
constexpr uint32_t kStreamFlags = ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC | ACL_STREAM_PERSISTENT |
                                  ACL_STREAM_HUGE | ACL_STREAM_CPU_SCHEDULE | ACL_STREAM_DEVICE_USE_ONLY;

aclError check_open(const Stream& stream) {
    if (!stream.is_closed()) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_INVALID_HANDLE,
                "stream: expected a live aclrtStream, got one that another thread is destroying");
}

// Leaves its result with the caller instead of with the stream.
class ReportingTask : public Task {
public:
    ReportingTask(std::unique_ptr<Task> task, std::shared_ptr<TaskResult> result)
        : task_(std::move(task)), result_(std::move(result)) {}
    TaskResult run() noexcept override {
        *result_ = task_->run();
        return {};
    }

private:
    std::unique_ptr<Task> task_;
    std::shared_ptr<TaskResult> result_;
};

aclError synchronize(aclrtStream handle, int32_t timeout) {
    std::shared_ptr<Stream> stream;
    if (const aclError error = check_timeout(timeout)) return error;
    if (const aclError error = usable_stream(handle, &stream)) return error;
    Lock lock(state().mutex);
    if (stream->waits_for_this_thread()) return check_may_wait("aclrtSynchronizeStream");
    if (!stream->wait_until(lock, stream->submitted(), timeout)) {
        return fail(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, text("stream: not done within ", timeout, " ms"));
    }
    return report(stream->take_failure());
}

aclError destroy(aclrtStream handle, bool drop) {
    std::shared_ptr<Stream> stream = find<Stream>(Kind::stream, handle);
    if (stream == nullptr) return bad_handle("stream", Kind::stream, handle);
    {
        Lock lock(state().mutex);
        if (stream->waits_for_this_thread()) return check_may_wait("aclrtDestroyStream");
        const std::shared_ptr<Context> context = stream->context().lock();
        if (context != nullptr && context->default_stream == stream) {
            return fail(ACL_ERROR_RT_PARAM_INVALID,
                        "stream: expected a stream made by aclrtCreateStream, got a context's default stream; it ends "
                        "with its context");
        }
    }
    if (take(Kind::stream, handle, &stream) != Taken::ok) return bad_handle("stream", Kind::stream, handle);
    Lock lock(state().mutex);
    close_stream(lock, stream, drop);
    return report(stream->take_failure());
}

}  // namespace

aclError check_may_wait(const char* api) {
    if (!is_inside_task()) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                text(api, ": called from inside a task of a stream, which cannot wait for itself, nor for a stream "
                          "that waits for it; call it from another thread, or after the task"));
}

aclError report(TaskResult result) {
    return result.code == 0 ? ACL_SUCCESS : fail(result.code, std::move(result.message));
}

aclError usable_stream(aclrtStream handle, std::shared_ptr<Stream>* stream) {
    std::shared_ptr<Context> context;
    if (const aclError error = current_context(&context)) return error;
    if (handle == nullptr) {
        *stream = context->default_stream;
        return ACL_SUCCESS;
    }
    *stream = find<Stream>(Kind::stream, handle);
    if (*stream == nullptr) return bad_handle("stream", Kind::stream, handle);
    if ((*stream)->context().lock() == context) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_STREAM_CONTEXT,
                "stream: expected one of the calling thread's current context, got one of another; make the stream's "
                "context current with aclrtSetCurrentContext");
}

int submit(aclrtStream handle, std::unique_ptr<Task> task) noexcept {
    return entry("stream", [&] {
        std::shared_ptr<Stream> stream;
        if (const aclError error = usable_stream(handle, &stream)) return error;
        Lock lock(state().mutex);
        if (const aclError error = check_open(*stream)) return error;
        return stream->push(std::move(task));
    });
}

int run_now(aclrtStream handle, std::unique_ptr<Task> task) noexcept {
    return entry("stream", [&] {
        std::shared_ptr<Stream> stream;
        if (const aclError error = usable_stream(handle, &stream)) return error;
        Lock lock(state().mutex);
        if (const aclError error = check_open(*stream)) return error;
        if (stream->waits_for_this_thread()) return check_may_wait("stream");
        TaskResult own;
        if (stream->is_idle()) {
            own = stream->run_inline(lock, std::move(task));
        } else {
            auto result = std::make_shared<TaskResult>();
            task = std::make_unique<ReportingTask>(std::move(task), result);
            if (const aclError error = stream->push(std::move(task))) return error;
            stream->wait_until(lock, stream->submitted(), -1);
            own = std::move(*result);
        }
        TaskResult earlier = stream->take_failure();
        lock.unlock();
        return report(own.code != 0 ? std::move(own) : std::move(earlier));
    });
}

}  // namespace acl_attn::runtime

extern "C" {
using namespace acl_attn;
using namespace acl_attn::runtime;

aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority, uint32_t flag) {
    return entry("aclrtCreateStreamWithConfig", [&]() -> aclError {
        if (stream == nullptr) return null_result("stream");
        if (priority > kLeastPriority) {
            return fail(ACL_ERROR_RT_PARAM_INVALID,
                        text("priority: expected 0 to ", kLeastPriority, ", got ", priority));
        }
        if ((flag & ~kStreamFlags) != 0) {
            return fail(ACL_ERROR_RT_PARAM_INVALID,
                        text("flag: expected a combination of ACL_STREAM_..., got ", flag));
        }
        std::shared_ptr<Context> context;
        if (const aclError error = current_context(&context)) return error;
        Lock lock(state().mutex);
        const std::shared_ptr<Stream> opened = open_stream(context, context->device);
        try {
            *stream = insert(Kind::stream, opened);
        } catch (...) {
            close_stream(lock, opened, false);
            throw;
        }
        return ACL_SUCCESS;
    });
}

aclError aclrtCreateStream(aclrtStream* stream) { return aclrtCreateStreamWithConfig(stream, 0, 0); }

aclError aclrtDestroyStream(aclrtStream stream) {
    return entry("aclrtDestroyStream", [&] { return destroy(stream, false); });
}

aclError aclrtDestroyStreamForce(aclrtStream stream) {
    return entry("aclrtDestroyStreamForce", [&] { return destroy(stream, true); });
}

aclError aclrtSynchronizeStream(aclrtStream stream) {
    return entry("aclrtSynchronizeStream", [&] { return synchronize(stream, -1); });
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout) {
    return entry("aclrtSynchronizeStreamWithTimeout", [&] { return synchronize(stream, timeout); });
}

aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status) {
    return entry("aclrtStreamQuery", [&]() -> aclError {
        if (status == nullptr) return null_result("status");
        std::shared_ptr<Stream> found;
        if (const aclError error = usable_stream(stream, &found)) return error;
        Lock lock(state().mutex);
        *status = found->is_idle() ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
        return ACL_SUCCESS;
    });
}

aclError aclrtStreamGetId(aclrtStream stream, int32_t* streamId) {
    return entry("aclrtStreamGetId", [&]() -> aclError {
        if (streamId == nullptr) return null_result("streamId");
        std::shared_ptr<Stream> found;
        if (const aclError error = usable_stream(stream, &found)) return error;
        *streamId = found->id();
        return ACL_SUCCESS;
    });
}

aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode) {
    return entry("aclrtSetStreamFailureMode", [&]() -> aclError {
        if (mode != ACL_CONTINUE_ON_FAILURE && mode != ACL_STOP_ON_FAILURE) {
            return fail(ACL_ERROR_RT_PARAM_INVALID,
                        text("mode: expected ACL_CONTINUE_ON_FAILURE (0) or ACL_STOP_ON_FAILURE (1), got ", mode));
        }
        std::shared_ptr<Stream> found;
        if (const aclError error = usable_stream(stream, &found)) return error;
        Lock lock(state().mutex);
        found->stop_on_failure(mode == ACL_STOP_ON_FAILURE);
        return ACL_SUCCESS;
    });
}

aclError aclrtDeviceGetStreamPriorityRange(int32_t* leastPriority, int32_t* greatestPriority) {
    return entry("aclrtDeviceGetStreamPriorityRange", [&]() -> aclError {
        if (leastPriority == nullptr) return null_result("leastPriority");
        if (greatestPriority == nullptr) return null_result("greatestPriority");
        *leastPriority = kLeastPriority;
        *greatestPriority = 0;
        return ACL_SUCCESS;
    });
}

}  // extern "C"
