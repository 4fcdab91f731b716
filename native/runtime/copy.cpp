// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Copying and filling memory. Plain and two-dimensional copies are one thing: rows of bytes.
#include <algorithm>
#include <cstring>

#include "runtime/api.h"
#include "runtime/memory.h"
#include "runtime/stream.h"

namespace acl_attn::runtime {
namespace {

// `rows` rows of `width` bytes.
struct Copy {
    void* dst = nullptr;
    size_t dst_pitch = 0;
    const void* src = nullptr;
    size_t src_pitch = 0;
    size_t width = 0;
    size_t rows = 0;

    bool is_empty() const { return width == 0 || rows == 0; }
    size_t dst_span() const { return (rows - 1) * dst_pitch + width; }
    size_t src_span() const { return (rows - 1) * src_pitch + width; }
    bool overlaps_itself() const {
        const uintptr_t to = reinterpret_cast<uintptr_t>(dst), from = reinterpret_cast<uintptr_t>(src);
        if (to < from ? from - to >= dst_span() : to - from >= src_span()) return false;
        // Columns of one matrix may be copied to other columns of it.
        if (rows == 1 || dst_pitch != src_pitch) return true;
        const uintptr_t shift = (to < from ? from - to : to - from) % dst_pitch;
        return shift < width || dst_pitch - shift < width;
    }
    void run() const noexcept {
        if (is_empty()) return;  // the addresses may be null
        for (size_t row = 0; row < rows; ++row) {
            const char* from = static_cast<const char*>(src) + row * src_pitch;
            std::memcpy(static_cast<char*>(dst) + row * dst_pitch, from, width);
        }
    }
};

struct Fill {
    void* dst = nullptr;
    int value = 0;
    size_t count = 0;
    void run() const noexcept {
        if (count > 0) std::memset(dst, value, count);
    }
};

template <class Work>
class MemoryTask : public Task {
public:
    explicit MemoryTask(const Work& work) : work_(work) {}
    TaskResult run() noexcept override {
        work_.run();
        return {};
    }

private:
    const Work work_;
};

aclError check_address(const char* parameter, const void* address) {
    if (address != nullptr) return ACL_SUCCESS;
    return fail(ACL_ERROR_INVALID_PARAM, text(parameter, ": expected an address, got null"));
}

aclError check_kind(aclrtMemcpyKind kind) {
    if (kind >= ACL_MEMCPY_HOST_TO_HOST && kind <= ACL_MEMCPY_INTER_DEVICE_TO_DEVICE) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                text("kind: expected a value of aclrtMemcpyKind, got ", static_cast<int>(kind)));
}

aclError check_context() {
    std::shared_ptr<Context> context;
    return current_context(&context);
}

// The ranges of a copy that is not empty.
aclError check_ranges(const Copy& copy) {
    if (const aclError error = check_address("dst", copy.dst)) return error;
    if (const aclError error = check_address("src", copy.src)) return error;
    if (const aclError error = check_room("dst", copy.dst, copy.dst_span())) return error;
    if (const aclError error = check_room("src", copy.src, copy.src_span())) return error;
    if (copy.overlaps_itself()) {
        return fail(ACL_ERROR_INVALID_PARAM, text("dst: expected a range apart from src, got ", copy.dst_span(),
                                                  " bytes from ", copy.dst, " overlapping ", copy.src_span(),
                                                  " bytes from ", copy.src));
    }
    return ACL_SUCCESS;
}

aclError plain_copy(void* dst, size_t room, const void* src, size_t count, aclrtMemcpyKind kind, Copy* copy) {
    if (const aclError error = check_kind(kind)) return error;
    if (const aclError error = check_context()) return error;
    if (count > room) {
        return fail(ACL_ERROR_INVALID_PARAM, text("count: expected at most destMax = ", room, " bytes, got ", count));
    }
    *copy = {dst, count, src, count, count, 1};
    return copy->is_empty() ? ACL_SUCCESS : check_ranges(*copy);
}

aclError pitched_copy(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
                      aclrtMemcpyKind kind, Copy* copy) {
    if (const aclError error = check_kind(kind)) return error;
    if (const aclError error = check_context()) return error;
    if (width > dpitch || width > spitch) {
        return fail(ACL_ERROR_INVALID_PARAM, text("width: expected at most dpitch = ", dpitch, " and spitch = ", spitch,
                                                  " bytes, got ", width));
    }
    *copy = {dst, dpitch, src, spitch, width, height};
    if (copy->is_empty()) return ACL_SUCCESS;
    size_t end = 0;
    if (__builtin_mul_overflow(std::max(dpitch, spitch), height, &end)) {
        return fail(ACL_ERROR_INVALID_PARAM, text("height: ", height, " rows do not fit in memory"));
    }
    return check_ranges(*copy);
}

aclError fill(void* memory, size_t room, int32_t value, size_t count, Fill* work) {
    if (const aclError error = check_context()) return error;
    if (count > room) {
        return fail(ACL_ERROR_INVALID_PARAM, text("count: expected at most maxCount = ", room, " bytes, got ", count));
    }
    *work = {memory, value, count};
    if (count == 0) return ACL_SUCCESS;
    if (const aclError error = check_address("devPtr", memory)) return error;
    return check_room("devPtr", memory, count);
}

// Ordinary memory may be gone as soon as the call returns, so the call then waits for the stream.
template <class Work>
aclError enqueue(const Work& work, bool may_outlive_call, aclrtStream stream) {
    auto task = std::make_unique<MemoryTask<Work>>(work);
    return may_outlive_call ? submit(stream, std::move(task)) : run_now(stream, std::move(task));
}

aclError enqueue_copy(const Copy& copy, aclrtStream stream) {
    const bool known = copy.is_empty() || (is_known_memory(copy.dst) && is_known_memory(copy.src));
    return enqueue(copy, known, stream);
}

}  // namespace
}  // namespace acl_attn::runtime

extern "C" {
using namespace acl_attn;
using namespace acl_attn::runtime;

aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind) {
    return entry("aclrtMemcpy", [&]() -> aclError {
        Copy copy;
        if (const aclError error = plain_copy(dst, destMax, src, count, kind, &copy)) return error;
        copy.run();
        return ACL_SUCCESS;
    });
}

aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind,
                          aclrtStream stream) {
    return entry("aclrtMemcpyAsync", [&]() -> aclError {
        Copy copy;
        if (const aclError error = plain_copy(dst, destMax, src, count, kind, &copy)) return error;
        return enqueue_copy(copy, stream);
    });
}

aclError aclrtMemcpy2d(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
                       aclrtMemcpyKind kind) {
    return entry("aclrtMemcpy2d", [&]() -> aclError {
        Copy copy;
        if (const aclError error = pitched_copy(dst, dpitch, src, spitch, width, height, kind, &copy)) return error;
        copy.run();
        return ACL_SUCCESS;
    });
}

aclError aclrtMemcpy2dAsync(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
                            aclrtMemcpyKind kind, aclrtStream stream) {
    return entry("aclrtMemcpy2dAsync", [&]() -> aclError {
        Copy copy;
        if (const aclError error = pitched_copy(dst, dpitch, src, spitch, width, height, kind, &copy)) return error;
        return enqueue_copy(copy, stream);
    });
}

aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count) {
    return entry("aclrtMemset", [&]() -> aclError {
        Fill work;
        if (const aclError error = fill(devPtr, maxCount, value, count, &work)) return error;
        work.run();
        return ACL_SUCCESS;
    });
}

aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value, size_t count, aclrtStream stream) {
    return entry("aclrtMemsetAsync", [&]() -> aclError {
        Fill work;
        if (const aclError error = fill(devPtr, maxCount, value, count, &work)) return error;
        return enqueue(work, count == 0 || is_known_memory(devPtr), stream);
    });
}

}  // extern "C"
