// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "npu/plan_copies.h"

#include <cstring>
#include <mutex>
#include <vector>

#include "npu/cann.h"

namespace acl_attn::npu {
namespace {

struct Piece {
    void* memory = nullptr;
    size_t bytes = 0;
    aclrtEvent event = nullptr;
    aclrtContext context = nullptr;  // of both
};

constexpr size_t kSmallest = 4096;

class Pieces {
public:
    // One that is not in use. A context that its owner has destroyed takes its pieces with it: they answer with an
    // error, and are forgotten.
    std::string take(size_t bytes, Piece& piece) {
        const Cann& c = cann();
        aclrtContext context = nullptr;
        if (const aclError status = c.aclrtGetCurrentContext(&context)) {
            return failure_of("aclrtGetCurrentContext", status);
        }
        const std::lock_guard<std::mutex> hold(mutex_);
        for (size_t i = 0; i < given_.size(); ++i) {
            if (given_[i].context != context || given_[i].bytes < bytes) continue;
            aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
            const bool is_dead = c.aclrtQueryEventStatus(given_[i].event, &status) != ACL_SUCCESS;
            if (!is_dead && status != ACL_EVENT_RECORDED_STATUS_COMPLETE) continue;
            piece = given_[i];
            given_[i] = given_.back();
            given_.pop_back();
            if (!is_dead) return {};
            --i;
        }
        return make(bytes, context, piece);
    }

    void give_back(const Piece& piece) {
        const std::lock_guard<std::mutex> hold(mutex_);
        given_.push_back(piece);
    }

private:
    static std::string make(size_t bytes, aclrtContext context, Piece& piece) {
        const Cann& c = cann();
        piece = {};
        piece.context = context;
        piece.bytes = kSmallest;
        while (piece.bytes < bytes) piece.bytes *= 2;
        if (const aclError status = c.aclrtMallocHost(&piece.memory, piece.bytes)) {
            return failure_of("aclrtMallocHost", status);
        }
        if (const aclError status = c.aclrtCreateEvent(&piece.event)) {
            c.aclrtFreeHost(piece.memory);
            return failure_of("aclrtCreateEvent", status);
        }
        return {};
    }

    std::mutex mutex_;
    std::vector<Piece> given_;
};

Pieces& pieces() {
    static Pieces* const all = new Pieces;  // CANN may be gone when static objects end
    return *all;
}

}  // namespace

std::string copy_plan(void* to, const void* image, size_t bytes, aclrtStream stream) {
    const Cann& c = cann();
    Piece piece;
    if (std::string failure = pieces().take(bytes, piece); !failure.empty()) return failure;
    std::memcpy(piece.memory, image, bytes);
    if (const aclError status =
            c.aclrtMemcpyAsync(to, bytes, piece.memory, bytes, ACL_MEMCPY_HOST_TO_DEVICE, stream)) {
        std::string failure = failure_of("aclrtMemcpyAsync", status);
        c.aclrtDestroyEvent(piece.event);
        c.aclrtFreeHost(piece.memory);
        return failure;
    }
    // Without the event nobody would know when the copy has been made: the piece is left to it.
    if (const aclError status = c.aclrtRecordEvent(piece.event, stream)) return failure_of("aclrtRecordEvent", status);
    pieces().give_back(piece);
    return {};
}

}  // namespace acl_attn::npu
