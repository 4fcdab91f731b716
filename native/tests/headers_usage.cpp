// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// How programs written for CANN spell things: what must keep compiling, and a few values that must not move.
#include <cmath>
#include <functional>
#include <limits>
#include <memory>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "aclnn/aclnn_base.h"
#include "aclnn/opdev/op_errno.h"
#include "check.h"

static_assert(aclFormat::ACL_FORMAT_ND == 2 && aclFormat::ACL_FORMAT_FRACTAL_NZ == 29);
static_assert(aclDataType::ACL_FLOAT16 == 1 && aclDataType::ACL_BF16 == 27 && aclDataType::ACL_FLOAT8_E4M3FN == 36);
static_assert(aclrtMemMallocPolicy::ACL_MEM_MALLOC_HUGE_FIRST == 0 && ACL_MEMCPY_DEVICE_TO_HOST == 2);
static_assert(ACL_ERROR_FAILURE == 500001 && ACL_ERROR_NONE == 0 && ACL_SUCCESS == 0);
static_assert(ACL_ERROR_REPEAT_INITIALIZE == 100002 && ACL_ERROR_RT_CONTEXT_NULL == 107002);
static_assert(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT == 507046 && ACLNN_ERR_PARAM_INVALID == 161002);
static_assert(sizeof(aclDataType) == 4 && sizeof(aclrtMemcpyKind) == 4 && sizeof(aclFloat16) == 2);
static_assert(sizeof(aclrtPtrAttributes) == 28);
static_assert(OK == 0);
static_assert(ACL_EVENT_RECORDED_STATUS_COMPLETE == 1 && ACL_EVENT_WAIT_STATUS_COMPLETE == 0);

// Owners with the destroy function in their type, and a table of them.
using TensorOwner = std::unique_ptr<aclTensor, aclnnStatus (*)(const aclTensor*)>;
using MemoryOwner = std::unique_ptr<void, aclError (*)(void*)>;
using ListDestroyer = aclnnStatus (*)(const aclTensorList*);

static aclError (*const allocate)(void**, size_t, aclrtMemMallocPolicy) = aclrtMalloc;
static const char* (*const message)() = aclGetRecentErrMsg;

int main() {
    const std::function<aclnnStatus(const aclTensor*)> destroy_tensor = aclDestroyTensor;
    const ListDestroyer destroy_list = aclDestroyTensorList;
    CHECK_OK(aclInit(nullptr));
    CHECK_OK(aclnnInit(nullptr));
    CHECK_OK(aclrtSetDevice(0));

    void* memory = nullptr;
    CHECK_OK(allocate(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    {
        MemoryOwner memory_owner(memory, aclrtFree);
        const int64_t shape[] = {2, 3};
        TensorOwner tensor(aclCreateTensor(shape, 2, aclDataType::ACL_FLOAT16, nullptr, 0, aclFormat::ACL_FORMAT_ND,
                                           shape, 2, memory),
                           aclDestroyTensor);
        CHECK(tensor != nullptr);
        // How samples spell an absent optional input.
        const int64_t zero[] = {0};
        const aclTensor* absent =
            aclCreateTensor(zero, 1, aclDataType::ACL_FLOAT16, nullptr, 0, aclFormat::ACL_FORMAT_ND, zero, 1, nullptr);
        CHECK(absent != nullptr);
        aclTensorList* list = aclCreateTensorList(&absent, 1);
        CHECK(list != nullptr);
        CHECK_OK(destroy_list(list));
        CHECK_FAILS(destroy_tensor(absent), ACLNN_ERR_PARAM_INVALID, "a destroyed aclTensor");
    }
    CHECK(message() == nullptr);

    CHECK_EQUAL(aclDataTypeSize(ACL_FLOAT16), 2);
    CHECK_EQUAL(aclDataTypeSize(ACL_BOOL), 1);
    CHECK_EQUAL(aclDataTypeSize(ACL_COMPLEX128), 16);
    CHECK_EQUAL(aclDataTypeSize(ACL_INT4), 0);
    CHECK_EQUAL(aclDataTypeSize(static_cast<aclDataType>(1000)), 0);

    // Every binary16 but the top binade survives the round trip; the top binade and beyond saturate, as on the device.
    int survived = 0;
    for (int bits = 0; bits < 0x10000; ++bits) {
        const float value = aclFloat16ToFloat(static_cast<aclFloat16>(bits));
        survived += (bits & 0x7c00) != 0x7c00 && aclFloatToFloat16(value) == bits;
    }
    CHECK_EQUAL(survived, 2 * 31 * 1024);
    CHECK(aclFloat16ToFloat(0x3c00) == 1.0f && aclFloat16ToFloat(0x0001) == std::ldexp(1.0f, -24));
    CHECK(aclFloat16ToFloat(0x7c00) == 65536.0f && aclFloat16ToFloat(0xfc00) == -65536.0f);
    CHECK_EQUAL(aclFloatToFloat16(std::numeric_limits<float>::infinity()), 0x7bff);
    CHECK_EQUAL(aclFloatToFloat16(-std::numeric_limits<float>::infinity()), 0xfbff);
    CHECK_EQUAL(aclFloatToFloat16(65519.0f), 0x7bff);
    CHECK_EQUAL(aclFloatToFloat16(1.0f + std::ldexp(1.0f, -11)), 0x3c00);                           // tie to even
    CHECK_EQUAL(aclFloatToFloat16(1.0f + std::ldexp(3.0f, -11)), 0x3c02);                           // tie to even
    CHECK_EQUAL(aclFloatToFloat16(std::nextafter(std::ldexp(1.0f, -25), 1.0f)), 0x0001);            // just above a tie
    CHECK_EQUAL(aclFloatToFloat16(std::ldexp(1.0f, -25)), 0x0000);
    CHECK_EQUAL(aclFloatToFloat16(std::ldexp(1023.5f, -24)), 0x0400);                               // carries over
    CHECK_EQUAL(aclFloatToFloat16(-0.0f), 0x8000);

    CHECK_OK(aclrtResetDevice(0));
    CHECK_OK(aclnnFinalize());
    CHECK_OK(aclFinalize());
    return check_result();
}
