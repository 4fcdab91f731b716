// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Handles that are no handles, and handles that die while they are used.
#include <atomic>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#include "acl_attn/acl_attn.h"
#include "aclnn/acl_meta.h"
#include "check.h"

template <class Handle>
static Handle* as(uint64_t bits) {
    return reinterpret_cast<Handle*>(bits);
}

// Every function that takes a handle, with a number that is none. Counts the calls that did not refuse it.
static int call_everything(uint64_t bits) {
    int accepted = 0;
    int64_t* values = nullptr;
    int64_t offset = 0;
    uint64_t size = 0;
    int32_t id = 0;
    void* address = nullptr;
    aclFormat format;
    aclDataType dtype;
    aclrtStreamStatus status;
    aclrtEventRecordedStatus recorded;
    const int64_t dims[] = {1};
    size_t needed = 0;
    accepted += aclDestroyTensor(as<aclTensor>(bits)) == 0;
    accepted += aclDestroyScalar(as<aclScalar>(bits)) == 0;
    accepted += aclDestroyIntArray(as<aclIntArray>(bits)) == 0;
    accepted += aclDestroyFloatArray(as<aclFloatArray>(bits)) == 0;
    accepted += aclDestroyBoolArray(as<aclBoolArray>(bits)) == 0;
    accepted += aclDestroyTensorList(as<aclTensorList>(bits)) == 0;
    accepted += aclDestroyScalarList(as<aclScalarList>(bits)) == 0;
    accepted += aclGetViewShape(as<aclTensor>(bits), &values, &size) == 0;
    accepted += aclGetStorageShape(as<aclTensor>(bits), &values, &size) == 0;
    accepted += aclGetViewStrides(as<aclTensor>(bits), &values, &size) == 0;
    accepted += aclGetViewOffset(as<aclTensor>(bits), &offset) == 0;
    accepted += aclGetFormat(as<aclTensor>(bits), &format) == 0;
    accepted += aclGetDataType(as<aclTensor>(bits), &dtype) == 0;
    accepted += aclGetIntArraySize(as<aclIntArray>(bits), &size) == 0;
    accepted += aclGetFloatArraySize(as<aclFloatArray>(bits), &size) == 0;
    accepted += aclGetBoolArraySize(as<aclBoolArray>(bits), &size) == 0;
    accepted += aclGetTensorListSize(as<aclTensorList>(bits), &size) == 0;
    accepted += aclGetScalarListSize(as<aclScalarList>(bits), &size) == 0;
    aclTensor* tensor = as<aclTensor>(bits);
    accepted += aclInitTensor(tensor, dims, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, dims, 1, nullptr) == 0;
    accepted += aclSetRawTensorAddr(as<aclTensor>(bits), nullptr) == 0;
    accepted += aclGetRawTensorAddr(as<aclTensor>(bits), &address) == 0;
    const aclTensor* tensors[] = {as<aclTensor>(bits)};
    const aclScalar* scalars[] = {as<aclScalar>(bits)};
    accepted += aclCreateTensorList(tensors, 1) != nullptr;
    accepted += aclCreateScalarList(scalars, 1) != nullptr;
    accepted += aclSetAclOpExecutorRepeatable(as<aclOpExecutor>(bits)) == 0;
    accepted += aclDestroyAclOpExecutor(as<aclOpExecutor>(bits)) == 0;
    accepted += aclSetTensorAddr(as<aclOpExecutor>(bits), 0, as<aclTensor>(bits), &size) == 0;
    accepted += aclSetDynamicTensorAddr(as<aclOpExecutor>(bits), 0, 0, as<aclTensorList>(bits), &size) == 0;
    accepted += aclAttnRun(nullptr, 0, as<aclOpExecutor>(bits), nullptr) == 0;
    accepted += aclAttnDescribeExecutor(as<aclOpExecutor>(bits), nullptr, 0, &needed) == 0;
    accepted += aclrtSetCurrentContext(as<void>(bits)) == 0;
    accepted += aclrtDestroyContext(as<void>(bits)) == 0;
    accepted += aclrtDestroyStream(as<void>(bits)) == 0;
    accepted += aclrtDestroyStreamForce(as<void>(bits)) == 0;
    accepted += aclrtSynchronizeStream(as<void>(bits)) == 0;
    accepted += aclrtStreamQuery(as<void>(bits), &status) == 0;
    accepted += aclrtStreamGetId(as<void>(bits), &id) == 0;
    accepted += aclrtDestroyEvent(as<void>(bits)) == 0;
    accepted += aclrtRecordEvent(as<void>(bits), nullptr) == 0;
    accepted += aclrtStreamWaitEvent(nullptr, as<void>(bits)) == 0;
    accepted += aclrtSynchronizeEvent(as<void>(bits)) == 0;
    accepted += aclrtQueryEventStatus(as<void>(bits), &recorded) == 0;
    accepted += aclrtFree(as<void>(bits)) == 0;
    accepted += aclrtFreeHost(as<void>(bits)) == 0;
    return accepted;
}

static void test_garbage() {
    std::mt19937_64 random(20240607);
    std::vector<uint64_t> numbers = {1, 8, 64, 4096, UINT64_MAX, UINT64_MAX - 7, uint64_t{1} << 63};
    int local = 0;
    numbers.push_back(reinterpret_cast<uint64_t>(&local));
    for (int i = 0; i < 500; ++i) numbers.push_back(random());
    // Near misses of a live tensor handle: single bits changed.
    const int64_t dims[] = {1};
    aclTensor* tensor = aclCreateTensor(dims, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, dims, 1, nullptr);
    for (int bit = 0; bit < 64; ++bit) numbers.push_back(reinterpret_cast<uint64_t>(tensor) ^ (uint64_t{1} << bit));
    int accepted = 0;
    for (uint64_t number : numbers) accepted += call_everything(number);
    CHECK_EQUAL(accepted, 0);
    CHECK_OK(aclDestroyTensor(tensor));
    CHECK_EQUAL(call_everything(reinterpret_cast<uint64_t>(tensor)), 0);
}

// A handle never becomes live again, however often its slot is used.
static void test_reuse() {
    const int64_t dims[] = {1};
    const aclTensor* old = aclCreateTensor(dims, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, dims, 1, nullptr);
    CHECK_OK(aclDestroyTensor(old));
    int repeated = 0, revived = 0;
    for (int i = 0; i < 20000; ++i) {
        int64_t offset = 0;
        const aclTensor* tensor = aclCreateTensor(dims, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, dims, 1, nullptr);
        repeated += tensor == old;
        revived += aclGetViewOffset(old, &offset) == 0;
        aclDestroyTensor(tensor);
    }
    CHECK_EQUAL(repeated, 0);
    CHECK_EQUAL(revived, 0);
    // More objects at once than one chunk of slots has.
    std::vector<aclIntArray*> arrays;
    for (int64_t i = 0; i < 5000; ++i) arrays.push_back(aclCreateIntArray(&i, 1));
    CHECK_EQUAL(aclAttnGetLiveObjects(ACL_ATTN_OBJECT_INT_ARRAY), 5000);
    int failures = 0;
    for (aclIntArray* array : arrays) failures += aclDestroyIntArray(array) != 0;
    CHECK_EQUAL(failures, 0);
    CHECK_EQUAL(aclAttnGetLiveObjects(ACL_ATTN_OBJECT_INT_ARRAY), 0);
}

// Threads look up, change, put in lists and destroy the same tensors: each is destroyed by exactly one of them.
static void test_races() {
    constexpr int kThreads = 4, kRounds = 300, kTensors = 8;
    for (int round = 0; round < kRounds; ++round) {
        std::vector<aclTensor*> tensors;
        const int64_t dims[] = {2, 3};
        for (int i = 0; i < kTensors; ++i) {
            tensors.push_back(aclCreateTensor(dims, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, dims, 2, nullptr));
        }
        std::atomic<int> destroyed{0}, odd{0}, ready{0};
        std::vector<std::thread> threads;
        for (int t = 0; t < kThreads; ++t) {
            threads.emplace_back([&, t] {
                ++ready;
                while (ready < kThreads) std::this_thread::yield();
                for (int i = 0; i < kTensors; ++i) {
                    aclTensor* tensor = tensors[(i + t) % kTensors];
                    int64_t* values = nullptr;
                    uint64_t count = 0;
                    if (aclGetViewShape(tensor, &values, &count) == 0) {
                        odd += count != 2 || values[0] != 2 || values[1] != 3;
                        delete[] values;
                    }
                    aclSetRawTensorAddr(tensor, &odd);
                    if (t % 2 == 0) {
                        const aclTensor* members[] = {tensor};
                        aclTensorList* list = aclCreateTensorList(members, 1);
                        if (list != nullptr) destroyed += aclDestroyTensorList(list) == 0;
                    } else {
                        destroyed += aclDestroyTensor(tensor) == 0;
                    }
                }
            });
        }
        for (std::thread& thread : threads) thread.join();
        // A list that owned a tensor for a moment may have turned a destroyer away, but it destroyed the tensor itself.
        if (destroyed != kTensors || odd != 0) CHECK(!"each tensor is destroyed once");
    }
    CHECK_EQUAL(aclAttnGetLiveObjects(ACL_ATTN_OBJECT_TENSOR), 0);
    CHECK_EQUAL(aclAttnGetLiveObjects(ACL_ATTN_OBJECT_TENSOR_LIST), 0);
}

int main() {
    CHECK_OK(aclrtSetDevice(0));
    test_garbage();
    test_reuse();
    test_races();
    CHECK_OK(aclrtResetDevice(0));
    return check_result();
}
