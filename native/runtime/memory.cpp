// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <mutex>

#include "runtime/api.h"
#include "runtime/device.h"
#include "runtime/fork.h"
#include "runtime/stream_queue.h"

namespace acl_attn::runtime {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kHugePage = size_t{2} << 20;

struct Block {
    uint64_t size = 0;
    MemoryKind kind = MemoryKind::device;
    int32_t device = 0;
};

struct Registry {
    std::mutex mutex;
    std::map<uintptr_t, Block> blocks;  // by start, disjoint
    int64_t count[3] = {};
    uint64_t bytes = 0;
};
Registry& registry() {
    static Registry* const instance = [] {
        prepare_for_fork();
        return new Registry;
    }();
    return *instance;
}

using Found = std::map<uintptr_t, Block>::iterator;

// Registry lock held. The block that contains the address, or end().
Found containing(uintptr_t address) {
    auto& blocks = registry().blocks;
    auto next = blocks.upper_bound(address);
    if (next == blocks.begin()) return blocks.end();
    --next;
    return address - next->first < next->second.size ? next : blocks.end();
}

// False if the range overlaps a known one.
bool add(uintptr_t start, const Block& block) {
    Registry& all = registry();
    std::lock_guard<std::mutex> lock(all.mutex);
    if (containing(start) != all.blocks.end()) return false;
    const auto next = all.blocks.lower_bound(start);
    if (next != all.blocks.end() && next->first - start < block.size) return false;
    all.blocks.emplace_hint(next, start, block);
    ++all.count[static_cast<int>(block.kind)];
    if (block.kind != MemoryKind::registered) all.bytes += block.size;
    return true;
}

// Takes the block that starts at `address` out of the registry. False if there is none of this kind.
bool remove(MemoryKind kind, const void* address) {
    Registry& all = registry();
    std::lock_guard<std::mutex> lock(all.mutex);
    const auto found = all.blocks.find(reinterpret_cast<uintptr_t>(address));
    if (found == all.blocks.end() || found->second.kind != kind) return false;
    --all.count[static_cast<int>(kind)];
    if (kind != MemoryKind::registered) all.bytes -= found->second.size;
    all.blocks.erase(found);
    return true;
}

const char* kind_text(MemoryKind kind) {
    static const char* const texts[] = {"device memory", "pinned host memory", "registered host memory"};
    return texts[static_cast<int>(kind)];
}

std::string describe_address(const void* address) {
    std::lock_guard<std::mutex> lock(registry().mutex);
    const auto found = containing(reinterpret_cast<uintptr_t>(address));
    if (found == registry().blocks.end()) return text(address, ", which is not allocated (any more)");
    const uint64_t inside = reinterpret_cast<uintptr_t>(address) - found->first;
    if (inside > 0) return text(address, ", which is ", inside, " bytes inside ", kind_text(found->second.kind));
    return text(address, ", which is ", kind_text(found->second.kind));
}

aclError allocate(const char* parameter, void** result, size_t size, MemoryKind kind, bool huge_pages) {
    if (result == nullptr) return null_result(parameter);
    if (size == 0) return fail(ACL_ERROR_INVALID_PARAM, "size: expected at least 1 byte, got 0");
    std::shared_ptr<Context> context;
    if (const aclError error = current_context(&context)) return error;
    const size_t alignment = huge_pages && size >= kHugePage ? kHugePage : kAlignment;
    void* memory = nullptr;
    // More than the machine has is refused here: the system might promise it, and kill the process when it is touched.
    if (size <= total_memory()) {
        memory = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    }
    if (memory == nullptr) {
        return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, text("size: no room for ", size, " bytes of ", kind_text(kind)));
    }
    if (alignment == kHugePage) madvise(memory, size, MADV_HUGEPAGE);
    try {
        add(reinterpret_cast<uintptr_t>(memory), {size, kind, context->device});
    } catch (...) {
        std::free(memory);
        throw;
    }
    *result = memory;
    return ACL_SUCCESS;
}

// Tasks that are queued may still use the memory. Waiting for them could deadlock and freeing under them would corrupt
// the process, so the memory is handed to the streams that are busy, and the last of them frees it.
aclError release(const char* parameter, void* memory, MemoryKind kind, const char* creator) {
    if (memory == nullptr) return fail(ACL_ERROR_INVALID_PARAM, text(parameter, ": expected an address, got null"));
    if (!remove(kind, memory)) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, text(parameter, ": expected an address that ", creator,
                                                     " returned, got ", describe_address(memory)));
    }
    const std::shared_ptr<void> keepsake(memory, std::free);
    Lock lock(state().mutex);
    for (const auto& stream : state().streams) {
        if (!stream->is_idle()) stream->keep(keepsake);
    }
    return ACL_SUCCESS;
}

}  // namespace

bool is_known_memory(const void* address) noexcept {
    std::lock_guard<std::mutex> lock(registry().mutex);
    return containing(reinterpret_cast<uintptr_t>(address)) != registry().blocks.end();
}

size_t known_room(const void* address) noexcept {
    std::lock_guard<std::mutex> lock(registry().mutex);
    const auto found = containing(reinterpret_cast<uintptr_t>(address));
    if (found == registry().blocks.end()) return SIZE_MAX - reinterpret_cast<uintptr_t>(address);
    return found->first + found->second.size - reinterpret_cast<uintptr_t>(address);
}

aclError check_room(const char* parameter, const void* address, size_t bytes) {
    std::lock_guard<std::mutex> lock(registry().mutex);
    const auto found = containing(reinterpret_cast<uintptr_t>(address));
    if (found == registry().blocks.end()) return ACL_SUCCESS;
    const uint64_t room = found->first + found->second.size - reinterpret_cast<uintptr_t>(address);
    if (bytes <= room) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_PARAM_INVALID, text(parameter, ": expected room for ", bytes, " bytes, got an address ",
                                                 room, " bytes before the end of ", kind_text(found->second.kind)));
}

int64_t live_blocks(MemoryKind kind) noexcept {
    std::lock_guard<std::mutex> lock(registry().mutex);
    return registry().count[static_cast<int>(kind)];
}

uint64_t live_bytes() noexcept {
    std::lock_guard<std::mutex> lock(registry().mutex);
    return registry().bytes;
}

void lock_memory() noexcept { registry().mutex.lock(); }
void unlock_memory() noexcept { registry().mutex.unlock(); }

}  // namespace acl_attn::runtime

extern "C" {
using namespace acl_attn;
using namespace acl_attn::runtime;

aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
    return entry("aclrtMalloc", [&]() -> aclError {
        const int number = static_cast<int>(policy);
        const bool is_page_policy = number >= ACL_MEM_MALLOC_HUGE_FIRST && number <= ACL_MEM_MALLOC_HUGE1G_ONLY_P2P;
        constexpr int kModifiers =
            ACL_MEM_TYPE_LOW_BAND_WIDTH | ACL_MEM_TYPE_HIGH_BAND_WIDTH | ACL_MEM_ACCESS_USER_SPACE_READONLY;
        if (!is_page_policy && (number & ~(kModifiers | 0x7)) != 0) {
            return fail(ACL_ERROR_RT_PARAM_INVALID,
                        text("policy: expected a value of aclrtMemMallocPolicy, got ", number));
        }
        const int pages = number & 0x7;
        const bool huge = pages != ACL_MEM_MALLOC_NORMAL_ONLY && pages != ACL_MEM_MALLOC_NORMAL_ONLY_P2P;
        return allocate("devPtr", devPtr, size, MemoryKind::device, huge);
    });
}

aclError aclrtFree(void* devPtr) {
    return entry("aclrtFree", [&] { return release("devPtr", devPtr, MemoryKind::device, "aclrtMalloc"); });
}

aclError aclrtFreeWithDevSync(void* devPtr) {
    return entry("aclrtFreeWithDevSync", [&]() -> aclError {
        // A failed task is no reason to keep the memory; its report wins over success, not over a failure to free.
        const aclError synchronized = aclrtSynchronizeDevice();
        if (synchronized == ACL_ERROR_RT_CONTEXT_NULL || synchronized == ACL_ERROR_RT_FEATURE_NOT_SUPPORT) {
            return synchronized;
        }
        const aclError freed = aclrtFree(devPtr);
        return freed != ACL_SUCCESS ? freed : synchronized;
    });
}

aclError aclrtMallocHost(void** hostPtr, size_t size) {
    return entry("aclrtMallocHost", [&] { return allocate("hostPtr", hostPtr, size, MemoryKind::pinned, true); });
}

aclError aclrtFreeHost(void* hostPtr) {
    return entry("aclrtFreeHost", [&] { return release("hostPtr", hostPtr, MemoryKind::pinned, "aclrtMallocHost"); });
}

aclError aclrtPointerGetAttributes(const void* ptr, aclrtPtrAttributes* attributes) {
    return entry("aclrtPointerGetAttributes", [&]() -> aclError {
        if (ptr == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "ptr: expected an address, got null");
        if (attributes == nullptr) return null_result("attributes");
        aclrtPtrAttributes answer = {};
        answer.location.type = ACL_MEM_LOCATION_TYPE_UNREGISTERED;
        std::lock_guard<std::mutex> lock(registry().mutex);
        const auto found = containing(reinterpret_cast<uintptr_t>(ptr));
        if (found != registry().blocks.end()) {
            const Block& block = found->second;
            answer.location.id = static_cast<uint32_t>(block.device);
            answer.location.type =
                block.kind == MemoryKind::device ? ACL_MEM_LOCATION_TYPE_DEVICE : ACL_MEM_LOCATION_TYPE_HOST;
            answer.pageSize = static_cast<uint32_t>(sysconf(_SC_PAGESIZE));
        }
        *attributes = answer;
        return ACL_SUCCESS;
    });
}

aclError aclrtHostRegister(void* ptr, uint64_t size, aclrtHostRegisterType type, void** devPtr) {
    return entry("aclrtHostRegister", [&]() -> aclError {
        if (ptr == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "ptr: expected an address, got null");
        if (devPtr == nullptr) return null_result("devPtr");
        const uintptr_t start = reinterpret_cast<uintptr_t>(ptr);
        if (size == 0 || size > UINTPTR_MAX - start) {
            return fail(ACL_ERROR_INVALID_PARAM, text("size: expected the size of the memory at ptr, got ", size));
        }
        if (type != ACL_HOST_REGISTER_MAPPED && type != ACL_HOST_REGISTER_IOMEMORY &&
            type != ACL_HOST_REGISTER_READONLY) {
            return fail(ACL_ERROR_RT_PARAM_INVALID,
                        text("type: expected a value of aclrtHostRegisterType, got ", static_cast<int>(type)));
        }
        std::shared_ptr<Context> context;
        if (const aclError error = current_context(&context)) return error;
        if (!add(start, {size, MemoryKind::registered, context->device})) {
            return fail(ACL_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
                        text("ptr: expected memory that the runtime does not know, got ", size, " bytes from ", ptr,
                             ", which overlap memory that was allocated or registered before"));
        }
        *devPtr = ptr;
        return ACL_SUCCESS;
    });
}

aclError aclrtHostUnregister(void* ptr) {
    return entry("aclrtHostUnregister", [&]() -> aclError {
        if (ptr == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "ptr: expected an address, got null");
        if (remove(MemoryKind::registered, ptr)) return ACL_SUCCESS;
        return fail(ACL_ERROR_HOST_MEMORY_NOT_REGISTERED,
                    text("ptr: expected an address given to aclrtHostRegister, got ", describe_address(ptr)));
    });
}

}  // extern "C"
