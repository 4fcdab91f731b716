// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Tensors, scalars, arrays and lists: what they accept and refuse, and who owns what.
#include <climits>
#include <cstdint>
#include <memory>
#include <vector>

#include "acl_attn/acl_attn.h"
#include "aclnn/acl_meta.h"
#include "check.h"

static int64_t live(aclAttnObjectKind kind) { return aclAttnGetLiveObjects(kind); }

using Dims = std::vector<int64_t>;

static aclTensor* make(const Dims& view, const Dims* stride, int64_t offset, const Dims& storage,
                       aclDataType dtype = ACL_FLOAT16, aclFormat format = ACL_FORMAT_ND, void* data = nullptr) {
    const int64_t* strides = stride == nullptr ? nullptr : stride->data();
    return aclCreateTensor(view.data(), view.size(), dtype, strides, offset, format, storage.data(), storage.size(),
                           data);
}

static void refuse(aclTensor* tensor, int status, const char* needle, int line) {
    check_that(tensor == nullptr, "refused", __FILE__, line);
    check_failure(aclrtGetLastError(ACL_RT_THREAD_LEVEL), status, needle, needle, __FILE__, line);
}
#define REFUSES(tensor, needle) refuse((tensor), ACLNN_ERR_PARAM_INVALID, (needle), __LINE__)

template <class Getter>
static Dims ask(Getter getter, const aclTensor* tensor) {
    int64_t* values = nullptr;
    uint64_t count = 0;
    CHECK_OK(getter(tensor, &values, &count));
    const std::unique_ptr<int64_t[]> owner(values);  // delete[], as the contract says
    return Dims(values, values + count);
}

static void test_tensor() {
    int data = 0;
    const Dims stride{24, 4, 1};
    aclTensor* dense = make({2, 3, 4}, nullptr, 0, {2, 3, 4}, ACL_BF16, ACL_FORMAT_ND, &data);
    aclTensor* strided = make({2, 3, 4}, &stride, 5, {100});
    CHECK(dense != nullptr && strided != nullptr && dense != strided);
    CHECK(ask(aclGetViewShape, dense) == Dims({2, 3, 4}));
    CHECK(ask(aclGetViewStrides, dense) == Dims({12, 4, 1}));
    CHECK(ask(aclGetStorageShape, dense) == Dims({2, 3, 4}));
    CHECK(ask(aclGetViewStrides, strided) == stride);
    CHECK(ask(aclGetStorageShape, strided) == Dims({100}));
    int64_t offset = -1;
    aclFormat format = ACL_FORMAT_UNDEFINED;
    aclDataType dtype = ACL_DT_UNDEFINED;
    void* address = nullptr;
    CHECK_OK(aclGetViewOffset(strided, &offset));
    CHECK_EQUAL(offset, 5);
    CHECK_OK(aclGetFormat(dense, &format));
    CHECK_EQUAL(format, ACL_FORMAT_ND);
    CHECK_OK(aclGetDataType(dense, &dtype));
    CHECK_EQUAL(dtype, ACL_BF16);
    CHECK_OK(aclGetRawTensorAddr(dense, &address));
    CHECK(address == &data);
    CHECK_OK(aclSetRawTensorAddr(dense, nullptr));
    CHECK_OK(aclGetRawTensorAddr(dense, &address));
    CHECK(address == nullptr);
    const int64_t other[] = {7};
    CHECK_OK(aclInitTensor(dense, other, 1, ACL_INT32, nullptr, 0, ACL_FORMAT_ND, other, 1, &data));
    CHECK(ask(aclGetViewShape, dense) == Dims({7}));
    CHECK_FAILS(aclInitTensor(dense, other, 9, ACL_INT32, nullptr, 0, ACL_FORMAT_ND, other, 1, &data),
                ACLNN_ERR_PARAM_INVALID, "viewDimsNum");
    CHECK(ask(aclGetViewShape, dense) == Dims({7}));
    CHECK_FAILS(aclGetViewOffset(dense, nullptr), ACLNN_ERR_PARAM_NULLPTR, "offset");
    CHECK_FAILS(aclGetViewOffset(nullptr, &offset), ACLNN_ERR_PARAM_NULLPTR, "tensor");
    CHECK_OK(aclDestroyTensor(dense));
    CHECK_OK(aclDestroyTensor(strided));
    CHECK_FAILS(aclDestroyTensor(dense), ACLNN_ERR_PARAM_INVALID, "a destroyed aclTensor");
    CHECK_FAILS(aclGetViewOffset(dense, &offset), ACLNN_ERR_PARAM_INVALID, "a destroyed aclTensor");
    CHECK_FAILS(aclSetRawTensorAddr(dense, &data), ACLNN_ERR_PARAM_INVALID, "a destroyed aclTensor");
    CHECK_FAILS(aclInitTensor(dense, other, 1, ACL_INT32, nullptr, 0, ACL_FORMAT_ND, other, 1, &data),
                ACLNN_ERR_PARAM_INVALID, "a destroyed aclTensor");
    CHECK_OK(aclDestroyTensor(nullptr));
    CHECK_EQUAL(live(ACL_ATTN_OBJECT_TENSOR), 0);
}

static void test_accepted_tensors() {
    const Dims zero_stride{0, 1}, ragged{8, 2};
    std::vector<aclTensor*> tensors = {
        aclCreateTensor(nullptr, 0, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, nullptr),  // a scalar
        make({0}, nullptr, 0, {0}),
        make({0, INT64_MAX, INT64_MAX}, nullptr, 0, {0}),
        make({1, 1, 1, 1, 1, 1, 1, 1}, nullptr, 0, {1}),
        make({5, 4}, &zero_stride, 0, {4}),                 // a row broadcast
        make({3, 4}, &ragged, 1, {24}),                     // last element at 1 + 2 * 8 + 3 * 2 = 23
        make({3, 4}, nullptr, 12, {2, 12}),
        make({2, 3}, nullptr, 0, {}),                       // storage not told
        make({8}, nullptr, 0, {8}, ACL_INT4),
        make({8}, nullptr, 0, {8}, ACL_FLOAT4_E2M1, ACL_FORMAT_FRACTAL_NZ),
    };
    for (aclTensor* tensor : tensors) CHECK(tensor != nullptr);
    CHECK_EQUAL(live(ACL_ATTN_OBJECT_TENSOR), tensors.size());
    for (aclTensor* tensor : tensors) CHECK_OK(aclDestroyTensor(tensor));
}

static void test_refused_tensors() {
    const Dims negative{-1, 1}, far{9, 2}, huge{INT64_MAX / 2, 1}, one{1};
    REFUSES(make({2, -3}, nullptr, 0, {6}), "viewDims[1]: expected an extent of at least 0, got -3");
    REFUSES(make({2, 3}, nullptr, 0, {-6}), "storageDims[0]");
    REFUSES(make({1, 1, 1, 1, 1, 1, 1, 1, 1}, nullptr, 0, {1}), "viewDimsNum: expected 0 to 8 axes, got 9");
    REFUSES(make({2, 3}, &negative, 0, {6}), "stride[0]");
    REFUSES(make({2, 3}, nullptr, -1, {6}), "offset");
    REFUSES(make({2, 3}, nullptr, 1, {6}), "storageDims: expected room for the view's last element, at 6");
    REFUSES(make({2, 3}, nullptr, 0, {5}), "storageDims");
    REFUSES(make({3, 4}, &far, 0, {24}), "at 24");
    REFUSES(make({INT64_MAX, 2}, nullptr, 0, {6}), "viewDims: expected a product");
    REFUSES(make({6}, nullptr, 0, {INT64_MAX, 3}), "storageDims: expected a product");
    REFUSES(make({4, 1}, &huge, 0, {6}), "stride[0]");
    REFUSES(make({2}, &one, INT64_MAX, {6}), "stride[0]");
    REFUSES(make({INT64_MAX}, nullptr, 0, {INT64_MAX}, ACL_DOUBLE), "2^63 bits");
    REFUSES(make({1}, nullptr, 0, {1}, ACL_DT_UNDEFINED), "dataType");
    REFUSES(make({1}, nullptr, 0, {1}, ACL_STRING), "dataType");
    REFUSES(make({1}, nullptr, 0, {1}, static_cast<aclDataType>(5)), "dataType");
    REFUSES(make({1}, nullptr, 0, {1}, static_cast<aclDataType>(-77)), "dataType");
    REFUSES(make({1}, nullptr, 0, {1}, ACL_FLOAT, static_cast<aclFormat>(77)), "format");
    refuse(aclCreateTensor(nullptr, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, nullptr),
           ACLNN_ERR_PARAM_NULLPTR, "viewDims", __LINE__);
    refuse(aclCreateTensor(nullptr, UINT64_MAX, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, nullptr),
           ACLNN_ERR_PARAM_INVALID, "viewDimsNum", __LINE__);
    CHECK_EQUAL(live(ACL_ATTN_OBJECT_TENSOR), 0);
}

static void test_arrays() {
    const int64_t ints[] = {1, 2, 3};
    const float floats[] = {1.0f};
    const bool bools[] = {true, false};
    double value = 2.5;
    uint64_t size = 99;
    aclIntArray* int_array = aclCreateIntArray(ints, 3);
    aclFloatArray* float_array = aclCreateFloatArray(floats, 1);
    aclBoolArray* bool_array = aclCreateBoolArray(bools, 2);
    aclIntArray* empty = aclCreateIntArray(nullptr, 0);
    aclScalar* scalar = aclCreateScalar(&value, ACL_DOUBLE);
    CHECK(int_array != nullptr && float_array != nullptr && bool_array != nullptr && empty != nullptr);
    CHECK(scalar != nullptr);
    CHECK_OK(aclGetIntArraySize(int_array, &size));
    CHECK_EQUAL(size, 3);
    CHECK_OK(aclGetFloatArraySize(float_array, &size));
    CHECK_EQUAL(size, 1);
    CHECK_OK(aclGetBoolArraySize(bool_array, &size));
    CHECK_EQUAL(size, 2);
    CHECK_OK(aclGetIntArraySize(empty, &size));
    CHECK_EQUAL(size, 0);
    CHECK_FAILS(aclGetIntArraySize(nullptr, &size), ACLNN_ERR_PARAM_NULLPTR, "null");
    CHECK_FAILS(aclGetIntArraySize(int_array, nullptr), ACLNN_ERR_PARAM_NULLPTR, "size");
    // A handle of another kind.
    CHECK_FAILS(aclGetIntArraySize(reinterpret_cast<aclIntArray*>(float_array), &size), ACLNN_ERR_PARAM_INVALID,
                "an aclFloatArray");
    CHECK_FAILS(aclDestroyIntArray(reinterpret_cast<aclIntArray*>(bool_array)), ACLNN_ERR_PARAM_INVALID,
                "an aclBoolArray");

    CHECK(aclCreateIntArray(nullptr, 3) == nullptr);
    CHECK_FAILS(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACLNN_ERR_PARAM_NULLPTR, "value: expected 3 values, got null");
    CHECK(aclCreateIntArray(ints, UINT64_MAX) == nullptr);
    CHECK_FAILS(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACLNN_ERR_INNER, "out of host memory");
    CHECK(aclCreateScalar(nullptr, ACL_DOUBLE) == nullptr);
    CHECK_FAILS(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACLNN_ERR_PARAM_NULLPTR, "value");
    CHECK(aclCreateScalar(&value, ACL_INT4) == nullptr);
    CHECK_FAILS(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACLNN_ERR_PARAM_INVALID, "INT4");

    CHECK_OK(aclDestroyIntArray(int_array));
    CHECK_FAILS(aclDestroyIntArray(int_array), ACLNN_ERR_PARAM_INVALID, "a destroyed aclIntArray");
    CHECK_OK(aclDestroyIntArray(empty));
    CHECK_OK(aclDestroyFloatArray(float_array));
    CHECK_OK(aclDestroyBoolArray(bool_array));
    CHECK_OK(aclDestroyScalar(scalar));
    CHECK_FAILS(aclDestroyScalar(scalar), ACLNN_ERR_PARAM_INVALID, "a destroyed aclScalar");
    CHECK_OK(aclDestroyIntArray(nullptr));
    CHECK_OK(aclDestroyFloatArray(nullptr));
    CHECK_OK(aclDestroyBoolArray(nullptr));
    CHECK_OK(aclDestroyScalar(nullptr));
}

static void test_lists() {
    aclTensor* first = make({1}, nullptr, 0, {1});
    aclTensor* second = make({2}, nullptr, 0, {2});
    aclTensor* dead = make({3}, nullptr, 0, {3});
    CHECK_OK(aclDestroyTensor(dead));
    uint64_t size = 0;

    // Refused, and nothing changes hands.
    const aclTensor* with_null[] = {first, nullptr};
    const aclTensor* with_dead[] = {first, dead};
    const aclTensor* twice[] = {first, second, first};
    CHECK(aclCreateTensorList(with_null, 2) == nullptr);
    CHECK_FAILS(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACLNN_ERR_PARAM_NULLPTR, "value[1]");
    CHECK(aclCreateTensorList(with_dead, 2) == nullptr);
    CHECK_FAILS(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACLNN_ERR_PARAM_INVALID, "value[1]: expected a live aclTensor");
    CHECK(aclCreateTensorList(twice, 3) == nullptr);
    CHECK_FAILS(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACLNN_ERR_PARAM_INVALID, "stands in the list already");
    CHECK(aclCreateTensorList(nullptr, 2) == nullptr);
    CHECK_FAILS(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACLNN_ERR_PARAM_NULLPTR, "value: expected 2 handles, got null");

    const aclTensor* both[] = {first, second};
    aclTensorList* list = aclCreateTensorList(both, 2);
    aclTensorList* empty = aclCreateTensorList(nullptr, 0);
    CHECK(list != nullptr && empty != nullptr);
    CHECK_OK(aclGetTensorListSize(list, &size));
    CHECK_EQUAL(size, 2);
    CHECK(aclCreateTensorList(both, 1) == nullptr);
    CHECK_FAILS(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACLNN_ERR_PARAM_INVALID, "a member of another list");

    // A member first and then the list, as sample programs do: one error, no harm.
    CHECK_FAILS(aclDestroyTensor(first), ACLNN_ERR_PARAM_INVALID, "a member of a list");
    CHECK_EQUAL(live(ACL_ATTN_OBJECT_TENSOR), 2);
    CHECK_OK(aclDestroyTensorList(list));
    CHECK_EQUAL(live(ACL_ATTN_OBJECT_TENSOR), 0);
    // The list first and then a member.
    CHECK_FAILS(aclDestroyTensor(second), ACLNN_ERR_PARAM_INVALID, "a destroyed aclTensor");
    CHECK_FAILS(aclDestroyTensorList(list), ACLNN_ERR_PARAM_INVALID, "a destroyed aclTensorList");
    CHECK_FAILS(aclGetTensorListSize(list, &size), ACLNN_ERR_PARAM_INVALID, "a destroyed aclTensorList");
    CHECK_OK(aclDestroyTensorList(empty));
    CHECK_OK(aclDestroyTensorList(nullptr));

    float value = 1.0f;
    const aclScalar* scalars[] = {aclCreateScalar(&value, ACL_FLOAT), aclCreateScalar(&value, ACL_FLOAT)};
    aclScalarList* scalar_list = aclCreateScalarList(scalars, 2);
    CHECK(scalar_list != nullptr);
    CHECK_OK(aclGetScalarListSize(scalar_list, &size));
    CHECK_EQUAL(size, 2);
    CHECK_FAILS(aclDestroyScalar(scalars[0]), ACLNN_ERR_PARAM_INVALID, "a member of a list");
    CHECK_OK(aclDestroyScalarList(scalar_list));
    CHECK_FAILS(aclDestroyScalar(scalars[0]), ACLNN_ERR_PARAM_INVALID, "a destroyed aclScalar");
    CHECK_OK(aclDestroyScalarList(nullptr));
}

int main() {
    test_tensor();
    test_accepted_tensors();
    test_refused_tensors();
    test_arrays();
    test_lists();
    for (int kind = 0; kind < ACL_ATTN_OBJECT_KIND_COUNT; ++kind) {
        CHECK_EQUAL(live(static_cast<aclAttnObjectKind>(kind)), 0);
    }
    return check_result();
}
