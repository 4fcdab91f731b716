// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Lists of tensors and of scalars, which own their members.
#include "meta/lists.h"

#include "aclnn/acl_meta.h"
#include "meta/api.h"

namespace acl_attn::meta {
namespace {

// Claims all members or none. Null and a message if one cannot be claimed.
std::shared_ptr<Members> claim_all(Kind kind, const void* const* value, uint64_t size) {
    if (value == nullptr && size > 0) {
        fail(ACLNN_ERR_PARAM_NULLPTR, text("value: expected ", size, " handles, got null; null goes with size 0"));
        return nullptr;
    }
    auto members = std::make_shared<Members>();
    if (size > members->handles.max_size()) throw std::bad_alloc();
    members->handles.reserve(size);
    for (uint64_t i = 0; i < size; ++i) {
        if (runtime::claim(kind, value[i])) {
            members->handles.push_back(value[i]);
            continue;
        }
        for (const void* claimed : members->handles) runtime::disclaim(kind, claimed);
        bool is_duplicate = false;
        for (uint64_t j = 0; j < i; ++j) is_duplicate = is_duplicate || value[j] == value[i];
        const bool is_owned = runtime::is_claimed(kind, value[i]);
        fail(value[i] == nullptr ? ACLNN_ERR_PARAM_NULLPTR : ACLNN_ERR_PARAM_INVALID,
             text("value[", i, "]: expected a live ", runtime::kind_name(kind), " that no list owns, got ",
                  is_duplicate ? "a handle that stands in the list already"
                  : is_owned   ? "a member of another list"
                               : runtime::describe_handle(value[i])));
        return nullptr;
    }
    return members;
}

template <class Handle>
Handle* create_list(const char* api, Kind list_kind, Kind member_kind, const void* const* value,
                    uint64_t size) noexcept {
    return create_entry<Handle>(api, [&]() -> void* {
        auto members = claim_all(member_kind, value, size);
        if (members == nullptr) return nullptr;
        try {
            return runtime::insert(list_kind, members);
        } catch (...) {
            for (const void* claimed : members->handles) runtime::disclaim(member_kind, claimed);
            throw;
        }
    });
}

aclnnStatus destroy_list(const char* api, Kind list_kind, Kind member_kind, const void* handle) noexcept {
    return entry(api, [&]() -> aclnnStatus {
        if (handle == nullptr) return ACLNN_SUCCESS;
        std::shared_ptr<Members> members;
        if (runtime::take(list_kind, handle, &members) != Taken::ok) return bad_handle("array", list_kind, handle);
        for (const void* member : members->handles) {
            std::shared_ptr<void> ended;
            runtime::take(member_kind, member, &ended, true);
        }
        return ACLNN_SUCCESS;
    });
}

aclnnStatus list_size(const char* api, const char* parameter, Kind kind, const void* handle, uint64_t* size) noexcept {
    return entry(api, [&]() -> aclnnStatus {
        if (size == nullptr) return null_result("size");
        const auto members = runtime::find<const Members>(kind, handle);
        if (members == nullptr) return bad_handle(parameter, kind, handle);
        *size = members->handles.size();
        return ACLNN_SUCCESS;
    });
}

}  // namespace
}  // namespace acl_attn::meta

extern "C" {
using namespace acl_attn::meta;

aclTensorList* aclCreateTensorList(const aclTensor* const* value, uint64_t size) {
    return create_list<aclTensorList>("aclCreateTensorList", Kind::tensor_list, Kind::tensor,
                                      reinterpret_cast<const void* const*>(value), size);
}

aclScalarList* aclCreateScalarList(const aclScalar* const* value, uint64_t size) {
    return create_list<aclScalarList>("aclCreateScalarList", Kind::scalar_list, Kind::scalar,
                                      reinterpret_cast<const void* const*>(value), size);
}

aclnnStatus aclDestroyTensorList(const aclTensorList* array) {
    return destroy_list("aclDestroyTensorList", Kind::tensor_list, Kind::tensor, array);
}

aclnnStatus aclDestroyScalarList(const aclScalarList* array) {
    return destroy_list("aclDestroyScalarList", Kind::scalar_list, Kind::scalar, array);
}

aclnnStatus aclGetTensorListSize(const aclTensorList* tensorList, uint64_t* size) {
    return list_size("aclGetTensorListSize", "tensorList", Kind::tensor_list, tensorList, size);
}

aclnnStatus aclGetScalarListSize(const aclScalarList* scalarList, uint64_t* size) {
    return list_size("aclGetScalarListSize", "scalarList", Kind::scalar_list, scalarList, size);
}

}  // extern "C"
