// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Device and pinned memory: allocation, release, copies, and every misuse that the runtime can see.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "acl_attn/acl_attn.h"
#include "check.h"
#include "gate.h"

static void test_allocation() {
    void *device = nullptr, *pinned = nullptr, *huge = nullptr;
    CHECK_OK(aclrtMalloc(&device, 100, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_OK(aclrtMallocHost(&pinned, 7));
    CHECK_OK(aclrtMalloc(&huge, 5 << 20, ACL_MEM_MALLOC_HUGE_ONLY));
    CHECK_EQUAL(reinterpret_cast<uintptr_t>(device) % 64, 0);
    CHECK_EQUAL(reinterpret_cast<uintptr_t>(pinned) % 64, 0);
    CHECK_EQUAL(reinterpret_cast<uintptr_t>(huge) % 64, 0);
    std::memset(huge, 1, 5 << 20);
    CHECK_EQUAL(aclAttnGetLiveObjects(ACL_ATTN_OBJECT_DEVICE_MEMORY), 2);
    CHECK_EQUAL(aclAttnGetLiveObjects(ACL_ATTN_OBJECT_HOST_MEMORY), 1);
    CHECK_EQUAL(aclAttnGetLiveBytes(), 107 + (5 << 20));

    void* none = &device;
    CHECK_FAILS(aclrtMalloc(&none, 0, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_INVALID_PARAM, "size");
    CHECK(none == &device);  // results are written on success only
    CHECK_FAILS(aclrtMallocHost(&none, 0), ACL_ERROR_INVALID_PARAM, "size");
    CHECK_FAILS(aclrtMalloc(nullptr, 1, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_INVALID_PARAM, "devPtr");
    CHECK_FAILS(aclrtMalloc(&none, SIZE_MAX, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_MEMORY_ALLOCATION, "no room");
    CHECK_FAILS(aclrtMalloc(&none, SIZE_MAX / 4, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_ERROR_RT_MEMORY_ALLOCATION,
                "no room");
    CHECK_FAILS(aclrtMallocHost(&none, SIZE_MAX), ACL_ERROR_RT_MEMORY_ALLOCATION, "no room");
    CHECK_FAILS(aclrtMalloc(&none, 1, static_cast<aclrtMemMallocPolicy>(0x50)), ACL_ERROR_RT_PARAM_INVALID, "policy");

    int local = 0;
    char* inside = static_cast<char*>(device) + 1;
    CHECK_FAILS(aclrtFree(nullptr), ACL_ERROR_INVALID_PARAM, "devPtr");
    CHECK_FAILS(aclrtFree(&local), ACL_ERROR_RT_PARAM_INVALID, "not allocated");
    CHECK_FAILS(aclrtFree(inside), ACL_ERROR_RT_PARAM_INVALID, "1 bytes inside device memory");
    CHECK_FAILS(aclrtFree(pinned), ACL_ERROR_RT_PARAM_INVALID, "pinned host memory");
    CHECK_FAILS(aclrtFreeHost(device), ACL_ERROR_RT_PARAM_INVALID, "device memory");
    CHECK_OK(aclrtFree(device));
    CHECK_FAILS(aclrtFree(device), ACL_ERROR_RT_PARAM_INVALID, "any more");
    CHECK_OK(aclrtFreeHost(pinned));
    CHECK_FAILS(aclrtFreeHost(pinned), ACL_ERROR_RT_PARAM_INVALID, "any more");
    CHECK_OK(aclrtFreeWithDevSync(huge));
    CHECK_EQUAL(aclAttnGetLiveBytes(), 0);
}

static void test_pointers() {
    char* device = nullptr;
    CHECK_OK(aclrtMalloc(reinterpret_cast<void**>(&device), 100, ACL_MEM_MALLOC_HUGE_FIRST));
    void* pinned = nullptr;
    CHECK_OK(aclrtMallocHost(&pinned, 64));
    std::vector<char> ordinary(64);
    aclrtPtrAttributes attributes;
    CHECK_OK(aclrtPointerGetAttributes(device + 99, &attributes));
    CHECK_EQUAL(attributes.location.type, ACL_MEM_LOCATION_TYPE_DEVICE);
    CHECK_EQUAL(attributes.location.id, 0);
    CHECK_OK(aclrtPointerGetAttributes(device + 100, &attributes));
    CHECK(attributes.location.type != ACL_MEM_LOCATION_TYPE_DEVICE);
    CHECK_OK(aclrtPointerGetAttributes(pinned, &attributes));
    CHECK_EQUAL(attributes.location.type, ACL_MEM_LOCATION_TYPE_HOST);
    CHECK_OK(aclrtPointerGetAttributes(ordinary.data(), &attributes));
    CHECK_EQUAL(attributes.location.type, ACL_MEM_LOCATION_TYPE_UNREGISTERED);
    CHECK_FAILS(aclrtPointerGetAttributes(nullptr, &attributes), ACL_ERROR_INVALID_PARAM, "ptr");

    void* mapped = nullptr;
    CHECK_OK(aclrtHostRegister(ordinary.data(), ordinary.size(), ACL_HOST_REGISTER_MAPPED, &mapped));
    CHECK(mapped == ordinary.data());
    CHECK_OK(aclrtPointerGetAttributes(ordinary.data() + 63, &attributes));
    CHECK_EQUAL(attributes.location.type, ACL_MEM_LOCATION_TYPE_HOST);
    CHECK_FAILS(aclrtHostRegister(ordinary.data() + 10, 4, ACL_HOST_REGISTER_MAPPED, &mapped),
                ACL_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "overlap");
    CHECK_FAILS(aclrtHostRegister(device, 4, ACL_HOST_REGISTER_MAPPED, &mapped),
                ACL_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "overlap");
    CHECK_FAILS(aclrtHostRegister(&mapped, 0, ACL_HOST_REGISTER_MAPPED, &mapped), ACL_ERROR_INVALID_PARAM, "size");
    CHECK_FAILS(aclrtHostRegister(&mapped, UINT64_MAX, ACL_HOST_REGISTER_MAPPED, &mapped), ACL_ERROR_INVALID_PARAM,
                "size");
    CHECK_FAILS(aclrtFree(ordinary.data()), ACL_ERROR_RT_PARAM_INVALID, "registered host memory");
    CHECK_OK(aclrtHostUnregister(ordinary.data()));
    CHECK_FAILS(aclrtHostUnregister(ordinary.data()), ACL_ERROR_HOST_MEMORY_NOT_REGISTERED, "ptr");
    CHECK_OK(aclrtFree(device));
    CHECK_OK(aclrtFreeHost(pinned));
}

static void test_copies() {
    std::vector<unsigned char> source(256), back(256);
    for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<unsigned char>(i);
    unsigned char* device = nullptr;
    CHECK_OK(aclrtMalloc(reinterpret_cast<void**>(&device), 256, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_OK(aclrtMemcpy(device, 256, source.data(), 256, ACL_MEMCPY_HOST_TO_DEVICE));
    CHECK_OK(aclrtMemcpy(back.data(), 256, device, 256, ACL_MEMCPY_DEVICE_TO_HOST));
    CHECK(back == source);
    CHECK_OK(aclrtMemcpy(device, 0, nullptr, 0, ACL_MEMCPY_DEFAULT));
    CHECK_FAILS(aclrtMemcpy(device, 10, source.data(), 11, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_INVALID_PARAM,
                "destMax = 10");
    CHECK_FAILS(aclrtMemcpy(nullptr, 10, source.data(), 1, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_INVALID_PARAM, "dst");
    CHECK_FAILS(aclrtMemcpy(device, 10, nullptr, 1, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_INVALID_PARAM, "src");
    CHECK_FAILS(aclrtMemcpy(device, 1000, source.data(), 257, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID,
                "dst: expected room for 257 bytes");
    CHECK_FAILS(aclrtMemcpy(back.data(), 256, device + 200, 57, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID,
                "src: expected room for 57 bytes");
    CHECK_FAILS(aclrtMemcpy(device, 256, device + 10, 20, ACL_MEMCPY_DEVICE_TO_DEVICE), ACL_ERROR_INVALID_PARAM,
                "overlapping");
    CHECK_FAILS(aclrtMemcpy(device, 256, source.data(), 1, static_cast<aclrtMemcpyKind>(8)), ACL_ERROR_RT_PARAM_INVALID,
                "kind");

    CHECK_OK(aclrtMemset(device, 256, 0x1ab, 256));
    CHECK_OK(aclrtMemset(device, 256, 0, 0));
    CHECK(device[0] == 0xab && device[255] == 0xab);
    CHECK_FAILS(aclrtMemset(device, 4, 0, 5), ACL_ERROR_INVALID_PARAM, "maxCount = 4");
    CHECK_FAILS(aclrtMemset(device + 1, 256, 0, 256), ACL_ERROR_RT_PARAM_INVALID, "devPtr");
    CHECK_FAILS(aclrtMemset(nullptr, 4, 0, 4), ACL_ERROR_INVALID_PARAM, "devPtr");

    // 8 rows of 5 bytes out of a pitch of 16 into one of 32.
    CHECK_OK(aclrtMemcpy2d(device, 32, source.data(), 16, 5, 8, ACL_MEMCPY_HOST_TO_DEVICE));
    bool rows_right = true;
    for (int row = 0; row < 8; ++row) {
        rows_right = rows_right && std::memcmp(device + row * 32, source.data() + row * 16, 5) == 0 &&
                     device[row * 32 + 5] == 0xab;
    }
    CHECK(rows_right);
    CHECK_OK(aclrtMemcpy2d(device + 16, 32, device, 32, 16, 8, ACL_MEMCPY_DEVICE_TO_DEVICE));  // columns of one matrix
    CHECK(std::memcmp(device + 16, device, 16) == 0);
    CHECK_FAILS(aclrtMemcpy2d(device + 8, 32, device, 32, 16, 8, ACL_MEMCPY_DEVICE_TO_DEVICE), ACL_ERROR_INVALID_PARAM,
                "overlapping");
    CHECK_FAILS(aclrtMemcpy2d(device, 4, source.data(), 16, 5, 8, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_INVALID_PARAM,
                "dpitch = 4");
    CHECK_FAILS(aclrtMemcpy2d(device, 32, source.data(), 16, 5, 9, ACL_MEMCPY_HOST_TO_DEVICE),
                ACL_ERROR_RT_PARAM_INVALID, "dst: expected room");
    CHECK_FAILS(aclrtMemcpy2d(device, SIZE_MAX, source.data(), 16, 5, 9, ACL_MEMCPY_HOST_TO_DEVICE),
                ACL_ERROR_INVALID_PARAM, "height");
    CHECK_OK(aclrtMemcpy2d(device, 32, source.data(), 16, 5, 0, ACL_MEMCPY_HOST_TO_DEVICE));
    CHECK_OK(aclrtFree(device));
}

static void test_asynchronous_copies() {
    aclrtStream stream = nullptr;
    int *device = nullptr, *pinned = nullptr;
    CHECK_OK(aclrtCreateStream(&stream));
    CHECK_OK(aclrtMalloc(reinterpret_cast<void**>(&device), 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_OK(aclrtMallocHost(reinterpret_cast<void**>(&pinned), 4096));
    for (int i = 0; i < 1024; ++i) pinned[i] = i;
    Gate gate;
    CHECK_OK(aclrtLaunchHostFunc(stream, Gate::hold, &gate));
    CHECK_OK(aclrtMemsetAsync(device, 4096, 0xff, 4096, stream));
    CHECK_OK(aclrtMemcpyAsync(device, 4096, pinned, 2048, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    CHECK_OK(aclrtMemcpy2dAsync(device + 512, 64, pinned, 64, 64, 32, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    gate.open();
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(std::memcmp(device, pinned, 2048) == 0 && std::memcmp(device + 512, pinned, 2048) == 0);

    // Ordinary memory may be gone when the call returns: the copy must have been made.
    {
        std::vector<int> ordinary(1024, 7);
        CHECK_OK(aclrtMemcpyAsync(device, 4096, ordinary.data(), 4096, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    }
    CHECK(device[0] == 7 && device[1023] == 7);
    std::vector<int> ordinary(1024);
    CHECK_OK(aclrtMemcpyAsync(ordinary.data(), 4096, device, 4096, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    CHECK_EQUAL(ordinary[512], 7);

    // Memory freed while tasks that use it are queued stays until they have run; the address is dead at once.
    Gate second_gate;
    CHECK_OK(aclrtLaunchHostFunc(stream, Gate::hold, &second_gate));
    CHECK_OK(aclrtMemcpyAsync(device, 4096, pinned, 4096, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    CHECK_OK(aclrtFree(device));
    CHECK_OK(aclrtFreeHost(pinned));
    CHECK_FAILS(aclrtFree(device), ACL_ERROR_RT_PARAM_INVALID, "any more");
    CHECK_EQUAL(aclAttnGetLiveBytes(), 0);
    second_gate.open();
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclrtDestroyStream(stream));
}

static void test_threads() {
    std::vector<std::thread> threads;
    std::vector<int> errors(8);
    for (int t = 0; t < 8; ++t) {
        threads.emplace_back([t, &errors] {
            errors[t] += aclrtSetDevice(0) != ACL_SUCCESS;
            for (int i = 1; i < 300; ++i) {
                void* memory = nullptr;
                errors[t] += aclrtMalloc(&memory, i * 3, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS;
                errors[t] += aclrtMemset(memory, i * 3, t, i * 3) != ACL_SUCCESS;
                errors[t] += aclrtFree(memory) != ACL_SUCCESS;
            }
            errors[t] += aclrtResetDevice(0) != ACL_SUCCESS;
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (int t = 0; t < 8; ++t) CHECK_EQUAL(errors[t], 0);
}

int main() {
    CHECK_OK(aclrtSetDevice(0));
    test_allocation();
    test_pointers();
    test_copies();
    test_asynchronous_copies();
    test_threads();
    CHECK_EQUAL(aclAttnGetLiveObjects(ACL_ATTN_OBJECT_DEVICE_MEMORY), 0);
    CHECK_EQUAL(aclAttnGetLiveObjects(ACL_ATTN_OBJECT_HOST_MEMORY), 0);
    CHECK_OK(aclrtResetDevice(0));
    return check_result();
}
