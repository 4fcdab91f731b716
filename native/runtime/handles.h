// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Handles of the C interface: numbers (kind, generation, slot) disguised as pointers that no valid address equals.
// Looking one up never follows it, so that a destroyed, foreign or random handle is told apart from a live one, also
// while other threads create and destroy. Slots live in chunks that are never freed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace acl_attn::runtime {

enum class Kind : uint8_t {
    tensor,
    scalar,
    int_array,
    float_array,
    bool_array,
    tensor_list,
    scalar_list,
    executor,
    context,
    stream,
    event,
    report,
    count_
};
const char* kind_name(Kind kind);  // "aclTensor", ...

enum class Taken { ok, absent, owned };

// Type-erased; use the typed functions below. An uncounted object is left out of live_handles.
void* insert_handle(Kind kind, std::shared_ptr<void> object, bool counted);
std::shared_ptr<void> find_handle(Kind kind, const void* handle) noexcept;
Taken take_handle(Kind kind, const void* handle, bool owned_too, std::shared_ptr<void>* object) noexcept;
bool replace_handle(Kind kind, const void* handle, std::shared_ptr<void> (*change)(void* argument, const void* object),
                    void* argument);

// Throws std::bad_alloc.
template <class T>
void* insert(Kind kind, std::shared_ptr<T> object, bool counted = true) {
    return insert_handle(kind, std::move(object), counted);
}

// Null for anything but a live handle of this kind.
template <class T>
std::shared_ptr<T> find(Kind kind, const void* handle) noexcept {
    return std::static_pointer_cast<T>(find_handle(kind, handle));
}

// Ends the handle and hands out its object: exactly one of several concurrent callers gets it. An object that a list
// owns is left alone (Taken::owned) unless `owned_too`.
template <class T>
Taken take(Kind kind, const void* handle, std::shared_ptr<T>* object, bool owned_too = false) noexcept {
    std::shared_ptr<void> erased;
    const Taken taken = take_handle(kind, handle, owned_too, &erased);
    *object = std::static_pointer_cast<T>(std::move(erased));
    return taken;
}

// Puts `change(object)`, a new object, in place of the object that is there. False if the handle is not live.
template <class T, class Change>
bool replace(Kind kind, const void* handle, Change&& change) {
    auto call = [](void* argument, const void* object) -> std::shared_ptr<void> {
        return (*static_cast<std::remove_reference_t<Change>*>(argument))(*static_cast<const T*>(object));
    };
    return replace_handle(kind, handle, call, &change);
}

// Ownership by a list: claim fails on anything but a live handle of this kind that no list owns.
bool claim(Kind kind, const void* handle) noexcept;
void disclaim(Kind kind, const void* handle) noexcept;
bool is_claimed(Kind kind, const void* handle) noexcept;

int64_t live_handles(Kind kind) noexcept;

// For messages, after "got ": "null", "a destroyed aclTensor", "an aclIntArray", "no handle of this library (0x7f..)".
std::string describe_handle(const void* handle);

// Around fork(): see fork.h.
void lock_handles() noexcept;
void unlock_handles() noexcept;

}  // namespace acl_attn::runtime
