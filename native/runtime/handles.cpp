// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/handles.h"

#include <atomic>
#include <mutex>
#include <new>
#include <vector>

#include "runtime/fork.h"
#include "runtime/text.h"

namespace acl_attn::runtime {
namespace {

// 8 bits of magic | 4 of kind | 28 of generation | 24 of slot. The magic makes the number non-canonical as an address
// on 64-bit machines, and keeps it positive where a caller stores it as a signed integer.
static_assert(sizeof(void*) == 8, "handles need 64-bit pointers");
constexpr uint64_t kMagic = 0x5a;
constexpr uint32_t kLastGeneration = (1u << 28) - 1;
constexpr uint32_t kMaxSlots = 1u << 24;
constexpr uint32_t kChunkSlots = 1u << 10;
constexpr int kStripes = 32;  // fork() holds all; the thread sanitizer follows 64 locks of a thread
static_assert(static_cast<int>(Kind::count_) <= 16);

struct Slot {
    std::shared_ptr<void> object;
    uint32_t generation = 0;
    Kind kind = Kind::count_;
    bool counted = false;
    bool owned = false;
};

struct Key {
    Kind kind;
    uint32_t generation;
    uint32_t slot;
};

struct alignas(64) Stripe {
    std::mutex mutex;
};

std::atomic<Slot*> chunks[kMaxSlots / kChunkSlots];
std::atomic<uint32_t> slot_count{0};
std::atomic<int64_t> live[static_cast<int>(Kind::count_)];

// Never destroyed: threads may outlive static destructors.
struct Shared {
    std::mutex free_mutex;
    std::vector<uint32_t> free;  // capacity for every slot there is, so that giving one back cannot fail
    Stripe stripes[kStripes];    // stripe i guards the slots congruent to i
};
Shared& shared() {
    static Shared* const instance = new Shared;
    return *instance;
}

Slot& slot_at(uint32_t index) {
    return chunks[index / kChunkSlots].load(std::memory_order_acquire)[index % kChunkSlots];
}
std::mutex& mutex_of(uint32_t index) { return shared().stripes[index % kStripes].mutex; }

void* encode(const Key& key) {
    return reinterpret_cast<void*>(kMagic << 56 | static_cast<uint64_t>(key.kind) << 52 |
                                   static_cast<uint64_t>(key.generation) << 24 | key.slot);
}

// False for numbers that insert_handle never returned.
bool decode(const void* handle, Key* key) {
    const uint64_t bits = reinterpret_cast<uint64_t>(handle);
    key->kind = static_cast<Kind>(bits >> 52 & 0xf);
    key->generation = static_cast<uint32_t>(bits >> 24) & kLastGeneration;
    key->slot = static_cast<uint32_t>(bits) & (kMaxSlots - 1);
    return bits >> 56 == kMagic && key->kind < Kind::count_ && key->slot < slot_count.load(std::memory_order_acquire);
}

bool names(const Key& key, const Slot& slot) {
    return slot.object != nullptr && slot.kind == key.kind && slot.generation == key.generation;
}

// Runs `action(slot)` under the slot's lock if `handle` is live and of this kind.
template <class Action>
bool with_slot(Kind kind, const void* handle, Action&& action) {
    Key key;
    if (!decode(handle, &key) || key.kind != kind) return false;
    std::lock_guard<std::mutex> lock(mutex_of(key.slot));
    Slot& slot = slot_at(key.slot);
    if (!names(key, slot)) return false;
    action(slot);
    return true;
}

uint32_t free_slot() {
    Shared& table = shared();
    std::lock_guard<std::mutex> lock(table.free_mutex);
    if (table.free.empty()) {
        const uint32_t first = slot_count.load(std::memory_order_relaxed);
        if (first == kMaxSlots) throw std::bad_alloc();
        table.free.reserve(first + kChunkSlots);
        chunks[first / kChunkSlots].store(new Slot[kChunkSlots], std::memory_order_release);
        slot_count.store(first + kChunkSlots, std::memory_order_release);
        for (uint32_t i = kChunkSlots; i-- > 0;) table.free.push_back(first + i);
    }
    const uint32_t index = table.free.back();
    table.free.pop_back();
    return index;
}

}  // namespace

const char* kind_name(Kind kind) {
    static const char* const names[] = {"aclTensor",     "aclScalar",     "aclIntArray",   "aclFloatArray",
                                        "aclBoolArray",  "aclTensorList", "aclScalarList", "aclOpExecutor",
                                        "aclrtContext",  "aclrtStream",   "aclrtEvent",    "aclAttnReport"};
    static_assert(sizeof names / sizeof *names == static_cast<size_t>(Kind::count_));
    return names[static_cast<int>(kind)];
}

void* insert_handle(Kind kind, std::shared_ptr<void> object, bool counted) {
    prepare_for_fork();
    const uint32_t index = free_slot();
    std::lock_guard<std::mutex> lock(mutex_of(index));
    Slot& slot = slot_at(index);
    slot.object = std::move(object);
    slot.kind = kind;
    slot.counted = counted;
    slot.owned = false;
    if (counted) live[static_cast<int>(kind)].fetch_add(1, std::memory_order_relaxed);
    return encode({kind, slot.generation, index});
}

std::shared_ptr<void> find_handle(Kind kind, const void* handle) noexcept {
    std::shared_ptr<void> object;
    with_slot(kind, handle, [&](Slot& slot) { object = slot.object; });
    return object;
}

Taken take_handle(Kind kind, const void* handle, bool owned_too, std::shared_ptr<void>* object) noexcept {
    bool reusable = false, owned = false;
    const bool found = with_slot(kind, handle, [&](Slot& slot) {
        owned = slot.owned && !owned_too;
        if (owned) return;
        *object = std::move(slot.object);
        slot.object = nullptr;
        if (slot.counted) live[static_cast<int>(kind)].fetch_sub(1, std::memory_order_relaxed);
        // A slot whose generations are used up is retired: an old handle must never become live again.
        reusable = slot.generation < kLastGeneration;
        if (reusable) ++slot.generation;
    });
    if (!found) return Taken::absent;
    if (owned) return Taken::owned;
    if (reusable) {
        Key key;
        decode(handle, &key);
        std::lock_guard<std::mutex> lock(shared().free_mutex);
        shared().free.push_back(key.slot);
    }
    return Taken::ok;
}

bool replace_handle(Kind kind, const void* handle, std::shared_ptr<void> (*change)(void* argument, const void* object),
                    void* argument) {
    std::shared_ptr<void> old;  // released after the lock
    return with_slot(kind, handle, [&](Slot& slot) {
        std::shared_ptr<void> changed = change(argument, slot.object.get());
        old = std::move(slot.object);
        slot.object = std::move(changed);
    });
}

bool claim(Kind kind, const void* handle) noexcept {
    bool claimed = false;
    with_slot(kind, handle, [&](Slot& slot) {
        claimed = !slot.owned;
        slot.owned = true;
    });
    return claimed;
}

void disclaim(Kind kind, const void* handle) noexcept {
    with_slot(kind, handle, [](Slot& slot) { slot.owned = false; });
}

bool is_claimed(Kind kind, const void* handle) noexcept {
    bool owned = false;
    with_slot(kind, handle, [&](Slot& slot) { owned = slot.owned; });
    return owned;
}

int64_t live_handles(Kind kind) noexcept { return live[static_cast<int>(kind)].load(std::memory_order_relaxed); }

std::string describe_handle(const void* handle) {
    if (handle == nullptr) return "null";
    Key key;
    if (!decode(handle, &key)) return text("no handle of this library (", handle, ")");
    std::lock_guard<std::mutex> lock(mutex_of(key.slot));
    const Slot& slot = slot_at(key.slot);
    if (names(key, slot)) return text("an ", kind_name(key.kind));
    // Generations only grow: one that the slot has not reached was never given out.
    if (key.generation > slot.generation) return text("no handle of this library (", handle, ")");
    return text("a destroyed ", kind_name(key.kind));
}

void lock_handles() noexcept {
    shared().free_mutex.lock();
    for (Stripe& stripe : shared().stripes) stripe.mutex.lock();
}

void unlock_handles() noexcept {
    for (Stripe& stripe : shared().stripes) stripe.mutex.unlock();
    shared().free_mutex.unlock();
}

}  // namespace acl_attn::runtime
