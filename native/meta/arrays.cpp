// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Arrays of numbers, and scalars.
#include <cstring>
#include <vector>

#include "aclnn/acl_meta.h"
#include "meta/api.h"
#include "runtime/elements.h"

namespace acl_attn::meta {
namespace {

struct Scalar {
    aclDataType dtype = ACL_DT_UNDEFINED;
    std::vector<unsigned char> bytes;
};

// bool is kept as bytes: std::vector<bool> is a bitset. Any non-zero byte that a foreign caller passes is true.
template <class Stored, class Given>
std::shared_ptr<std::vector<Stored>> copy_of(const Given* value, uint64_t size) {
    if (value == nullptr && size > 0) {
        fail(ACLNN_ERR_PARAM_NULLPTR, text("value: expected ", size, " values, got null; null goes with size 0"));
        return nullptr;
    }
    auto copy = std::make_shared<std::vector<Stored>>();
    if (size > copy->max_size()) throw std::bad_alloc();
    if (size > 0) copy->assign(value, value + size);
    return copy;
}

template <class Stored>
aclnnStatus size_of(const char* api, Kind kind, const void* handle, uint64_t* size) noexcept {
    return entry(api, [&]() -> aclnnStatus {
        if (size == nullptr) return null_result("size");
        const auto found = runtime::find<const std::vector<Stored>>(kind, handle);
        if (found == nullptr) return bad_handle("array", kind, handle);
        *size = found->size();
        return ACLNN_SUCCESS;
    });
}

template <class Handle, class Stored, class Given>
Handle* create_array(const char* api, Kind kind, const Given* value, uint64_t size) noexcept {
    return create_entry<Handle>(api, [&]() -> void* {
        auto copy = copy_of<Stored>(value, size);
        return copy == nullptr ? nullptr : runtime::insert(kind, std::move(copy));
    });
}

}  // namespace
}  // namespace acl_attn::meta

extern "C" {
using namespace acl_attn;
using namespace acl_attn::meta;

aclIntArray* aclCreateIntArray(const int64_t* value, uint64_t size) {
    return create_array<aclIntArray, int64_t>("aclCreateIntArray", Kind::int_array, value, size);
}

aclFloatArray* aclCreateFloatArray(const float* value, uint64_t size) {
    return create_array<aclFloatArray, float>("aclCreateFloatArray", Kind::float_array, value, size);
}

aclBoolArray* aclCreateBoolArray(const bool* value, uint64_t size) {
    return create_array<aclBoolArray, unsigned char>("aclCreateBoolArray", Kind::bool_array,
                                                     reinterpret_cast<const unsigned char*>(value), size);
}

aclScalar* aclCreateScalar(void* value, aclDataType dataType) {
    return create_entry<aclScalar>("aclCreateScalar", [&]() -> void* {
        const size_t size = aclDataTypeSize(dataType);
        if (value == nullptr) {
            fail(ACLNN_ERR_PARAM_NULLPTR, "value: expected the address of a value, got null");
            return nullptr;
        }
        if (size == 0) {
            fail(ACLNN_ERR_PARAM_INVALID, text("dataType: expected a type of whole bytes, got ", element_name(dataType),
                                               " (", static_cast<int>(dataType), ")"));
            return nullptr;
        }
        auto scalar = std::make_shared<Scalar>();
        scalar->dtype = dataType;
        scalar->bytes.resize(size);
        std::memcpy(scalar->bytes.data(), value, size);
        return runtime::insert(Kind::scalar, std::move(scalar));
    });
}

aclnnStatus aclDestroyIntArray(const aclIntArray* array) {
    return destroy<void>("aclDestroyIntArray", "array", Kind::int_array, array);
}

aclnnStatus aclDestroyFloatArray(const aclFloatArray* array) {
    return destroy<void>("aclDestroyFloatArray", "array", Kind::float_array, array);
}

aclnnStatus aclDestroyBoolArray(const aclBoolArray* array) {
    return destroy<void>("aclDestroyBoolArray", "array", Kind::bool_array, array);
}

aclnnStatus aclDestroyScalar(const aclScalar* scalar) {
    return destroy<void>("aclDestroyScalar", "scalar", Kind::scalar, scalar);
}

aclnnStatus aclGetIntArraySize(const aclIntArray* array, uint64_t* size) {
    return size_of<int64_t>("aclGetIntArraySize", Kind::int_array, array, size);
}

aclnnStatus aclGetFloatArraySize(const aclFloatArray* array, uint64_t* size) {
    return size_of<float>("aclGetFloatArraySize", Kind::float_array, array, size);
}

aclnnStatus aclGetBoolArraySize(const aclBoolArray* array, uint64_t* size) {
    return size_of<unsigned char>("aclGetBoolArraySize", Kind::bool_array, array, size);
}

}  // extern "C"
