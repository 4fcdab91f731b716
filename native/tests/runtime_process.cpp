// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Initialisation, errors, devices, contexts, settings. Wants ACL_ATTN_DEVICE_COUNT=2 and ACL_ATTN_SOC_NAME=Ascend910B3
// in the environment.
#include <cstdio>
#include <string>
#include <thread>

#include "acl/acl.h"
#include "acl_attn/acl_attn.h"
#include "check.h"

static void test_initialisation() {
    uint64_t left = 99;
    CHECK_FAILS(aclFinalize(), ACL_ERROR_REPEAT_FINALIZE, "not initialised");
    for (const char* path : {"/nonexistent/acl.json", "/", "/dev/zero"}) {
        CHECK_FAILS(aclInit(path), ACL_ERROR_INVALID_FILE, "configPath");
    }
    CHECK_OK(aclInit(nullptr));
    CHECK_FAILS(aclInit(nullptr), ACL_ERROR_REPEAT_INITIALIZE, "counted");
    CHECK_OK(aclFinalizeReference(&left));
    CHECK_EQUAL(left, 1);
    CHECK_OK(aclFinalizeReference(nullptr));
    CHECK_FAILS(aclFinalizeReference(&left), ACL_ERROR_REPEAT_FINALIZE, "not initialised");
    CHECK_OK(aclInit(nullptr));
    CHECK_FAILS(aclInit(nullptr), ACL_ERROR_REPEAT_INITIALIZE, "counted");
    CHECK_OK(aclFinalize());
    CHECK_FAILS(aclInit("/proc/self/cmdline"), ACL_ERROR_INVALID_PARAM, "first initialised with");
    CHECK_FAILS(aclFinalize(), ACL_ERROR_REPEAT_FINALIZE, "not initialised");

    int32_t major = 0, minor = 0, patch = 0, number = 0;
    CHECK_OK(aclrtGetVersion(&major, &minor, &patch));
    CHECK(major == 1 && minor == 17 && patch == 0);
    char name[] = "acl_attn", other[] = "toolkit", version[128] = "";
    CHECK_OK(aclsysGetVersionStr(name, version));
    CHECK(std::string(version) == aclAttnGetVersion());
    CHECK_OK(aclsysGetVersionNum(name, &number));
    CHECK(number > 0);
    CHECK_FAILS(aclsysGetVersionStr(other, version), ACL_ERROR_INVALID_FILE, "toolkit");
    CHECK_FAILS(aclsysGetVersionStr(nullptr, version), ACL_ERROR_INVALID_PARAM, "pkgName");
}

static void test_errors() {
    CHECK(aclGetRecentErrMsg() == nullptr);
    aclrtGetLastError(ACL_RT_THREAD_LEVEL);
    CHECK_EQUAL(aclrtGetDeviceCount(nullptr), ACL_ERROR_INVALID_PARAM);
    CHECK_EQUAL(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_INVALID_PARAM);
    CHECK_EQUAL(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_INVALID_PARAM);
    CHECK_EQUAL(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACL_SUCCESS);
    // Another thread sees none of it, and its own errors stay there.
    std::thread([] {
        CHECK(aclGetRecentErrMsg() == nullptr);
        CHECK_EQUAL(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), ACL_SUCCESS);
        CHECK_EQUAL(aclrtSetDevice(-1), ACL_ERROR_RT_INVALID_DEVICEID);
    }).join();
    const char* message = aclGetRecentErrMsg();
    CHECK(message != nullptr && std::string(message) == "count: expected an address to write to, got null");
    CHECK(aclGetRecentErrMsg() == nullptr);
    CHECK_FAILS(aclrtGetLastError(static_cast<aclrtLastErrLevel>(7)), ACL_ERROR_RT_PARAM_INVALID, "level");
    CHECK_FAILS(aclmdlRICaptureBegin(nullptr, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                "not supported yet");
}

static void test_devices() {
    int32_t device = -1;
    uint32_t count = 0;
    size_t free_bytes = 0, total_bytes = 0;
    aclrtStream stream = nullptr;
    void* memory = nullptr;
    CHECK_FAILS(aclrtGetDevice(&device), ACL_ERROR_RT_CONTEXT_NULL, "aclrtSetDevice");
    CHECK_FAILS(aclrtCreateStream(&stream), ACL_ERROR_RT_CONTEXT_NULL, "aclrtSetDevice");
    CHECK_FAILS(aclrtMalloc(&memory, 1, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_CONTEXT_NULL, "aclrtSetDevice");
    CHECK_FAILS(aclrtSynchronizeStream(nullptr), ACL_ERROR_RT_CONTEXT_NULL, "aclrtSetDevice");
    CHECK_FAILS(aclrtResetDevice(0), ACL_ERROR_RT_CONTEXT_NULL, "not set");

    CHECK_OK(aclrtGetDeviceCount(&count));
    CHECK_EQUAL(count, 2);
    CHECK_FAILS(aclrtSetDevice(2), ACL_ERROR_RT_INVALID_DEVICEID, "0..1, got 2");
    CHECK_OK(aclrtSetDevice(1));
    CHECK_OK(aclrtSetDevice(1));
    CHECK_OK(aclrtGetDevice(&device));
    CHECK_EQUAL(device, 1);
    CHECK_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes));
    CHECK(free_bytes > 0 && free_bytes <= total_bytes);
    CHECK_FAILS(aclrtGetMemInfo(static_cast<aclrtMemAttr>(99), &free_bytes, &total_bytes), ACL_ERROR_RT_PARAM_INVALID,
                "attr");
    std::thread([] {
        int32_t own = -1;
        CHECK_FAILS(aclrtGetDevice(&own), ACL_ERROR_RT_CONTEXT_NULL, "none was set");
        CHECK_OK(aclrtSetDevice(0));
        CHECK_OK(aclrtGetDevice(&own));
        CHECK_EQUAL(own, 0);
        CHECK_OK(aclrtResetDevice(0));
        CHECK_FAILS(aclrtGetDevice(&own), ACL_ERROR_RT_CONTEXT_NULL, "reset");
    }).join();
    CHECK_OK(aclrtResetDevice(1));
    CHECK_OK(aclrtGetDevice(&device));  // set twice, reset once
    CHECK_OK(aclrtResetDeviceForce(1));
    CHECK_FAILS(aclrtGetDevice(&device), ACL_ERROR_RT_CONTEXT_NULL, "reset");
    CHECK_FAILS(aclrtResetDeviceForce(1), ACL_ERROR_RT_CONTEXT_NULL, "not set");

    aclrtRunMode mode = ACL_DEVICE;
    CHECK_OK(aclrtGetRunMode(&mode));
    CHECK_EQUAL(mode, ACL_HOST);
    CHECK(std::string(aclrtGetSocName()) == "Ascend910B3");
    int64_t value = 0;
    CHECK_OK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_CUBE_CORE_NUM, &value));
    CHECK_EQUAL(value, 20);
    CHECK_OK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_VECTOR_CORE_NUM, &value));
    CHECK_EQUAL(value, 40);
    CHECK_OK(aclrtGetDeviceInfo(1, ACL_DEV_ATTR_NPU_ARCH, &value));
    CHECK_EQUAL(value, 2201);
    CHECK_FAILS(aclrtGetDeviceInfo(2, ACL_DEV_ATTR_NPU_ARCH, &value), ACL_ERROR_RT_INVALID_DEVICEID, "deviceId");
    CHECK_FAILS(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_WARP_SIZE, &value), ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "attr");
    CHECK_FAILS(aclrtGetDeviceInfo(0, static_cast<aclrtDevAttr>(5), &value), ACL_ERROR_RT_PARAM_INVALID, "attr");
}

static void test_contexts() {
    CHECK_OK(aclrtSetDevice(0));
    aclrtContext ours = nullptr, first = nullptr, now = nullptr;
    aclrtStream stream = nullptr, first_default = nullptr, our_default = nullptr;
    CHECK_OK(aclrtGetCurrentContext(&first));
    CHECK_OK(aclrtCtxGetCurrentDefaultStream(&first_default));
    CHECK_OK(aclrtCreateStream(&stream));
    CHECK_OK(aclrtCreateContext(&ours, 1));
    CHECK_OK(aclrtGetCurrentContext(&now));
    CHECK(now == ours);
    CHECK_OK(aclrtCtxGetCurrentDefaultStream(&our_default));
    CHECK(our_default != first_default);
    CHECK_EQUAL(aclAttnGetLiveObjects(ACL_ATTN_OBJECT_CONTEXT), 1);
    CHECK_EQUAL(aclAttnGetLiveObjects(ACL_ATTN_OBJECT_STREAM), 1);
    CHECK_FAILS(aclrtSynchronizeStream(stream), ACL_ERROR_RT_STREAM_CONTEXT, "aclrtSetCurrentContext");
    CHECK_OK(aclrtSynchronizeStream(our_default));
    CHECK_FAILS(aclrtDestroyStream(our_default), ACL_ERROR_RT_PARAM_INVALID, "default stream");
    CHECK_FAILS(aclrtDestroyContext(first), ACL_ERROR_RT_PARAM_INVALID, "default context");
    CHECK_FAILS(aclrtSetCurrentContext(stream), ACL_ERROR_RT_INVALID_HANDLE, "an aclrtStream");
    CHECK_OK(aclrtDestroyContext(ours));
    CHECK_FAILS(aclrtDestroyContext(ours), ACL_ERROR_RT_INVALID_HANDLE, "a destroyed aclrtContext");
    CHECK_FAILS(aclrtSetCurrentContext(ours), ACL_ERROR_RT_INVALID_HANDLE, "a destroyed aclrtContext");
    CHECK_FAILS(aclrtGetCurrentContext(&now), ACL_ERROR_RT_CONTEXT_NULL, "destroyed");
    CHECK_OK(aclrtSetCurrentContext(first));
    CHECK_FAILS(aclrtSynchronizeStream(our_default), ACL_ERROR_RT_INVALID_HANDLE, "a destroyed aclrtStream");
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK_OK(aclrtSetCurrentContext(nullptr));
    CHECK_FAILS(aclrtSynchronizeDevice(), ACL_ERROR_RT_CONTEXT_NULL, "none was set");
    CHECK_OK(aclrtResetDevice(0));
    CHECK_FAILS(aclrtSetCurrentContext(first), ACL_ERROR_RT_INVALID_HANDLE, "a destroyed aclrtContext");
    CHECK_EQUAL(aclAttnGetLiveObjects(ACL_ATTN_OBJECT_CONTEXT), 0);
    CHECK_EQUAL(aclAttnGetLiveObjects(ACL_ATTN_OBJECT_STREAM), 0);
}

static void test_settings() {
    CHECK_OK(aclrtSetDevice(0));
    int64_t value = -1;
    CHECK_FAILS(aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value), ACL_ERROR_RT_SYSPARAMOPT_NOT_SET, "never set");
    CHECK_OK(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 3));
    CHECK_OK(aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
    CHECK_EQUAL(value, 3);
    CHECK_FAILS(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value), ACL_ERROR_RT_SYSPARAMOPT_NOT_SET, "never set");
    CHECK_OK(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1));
    CHECK_OK(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
    CHECK_EQUAL(value, 1);
    CHECK_FAILS(aclrtSetSysParamOpt(static_cast<aclSysParamOpt>(9), 1), ACL_ERROR_RT_PARAM_INVALID, "opt");

    aclrtStream stream = nullptr;
    uint32_t cores = 0;
    CHECK_OK(aclrtCreateStream(&stream));
    CHECK_FAILS(aclrtSetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, 21), ACL_ERROR_RT_PARAM_INVALID, "1 to 20");
    CHECK_OK(aclrtSetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, 8));
    CHECK_OK(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_CUBE_CORE, &cores));
    CHECK_EQUAL(cores, 20);
    CHECK_OK(aclrtUseStreamResInCurrentThread(stream));
    CHECK_OK(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_CUBE_CORE, &cores));
    CHECK_EQUAL(cores, 8);
    CHECK_OK(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_VECTOR_CORE, &cores));
    CHECK_EQUAL(cores, 40);
    CHECK_OK(aclrtUnuseStreamResInCurrentThread(stream));
    CHECK_OK(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_CUBE_CORE, &cores));
    CHECK_EQUAL(cores, 20);
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK_OK(aclrtResetDevice(0));
}

static void test_processor() {
    CHECK(aclAttnGetCpuTargetCount() >= 1);
    CHECK(std::string(aclAttnGetCpuTargetName(0)) == "portable");
    CHECK(aclAttnIsCpuTargetUsable(0) && !aclAttnIsCpuTargetUsable(-1) && !aclAttnIsCpuTargetUsable(1000));
    CHECK(aclAttnGetCpuTargetName(-1) == nullptr && aclAttnGetCpuTargetName(1000) == nullptr);
    CHECK_OK(aclAttnSetCpuTarget("portable"));
    CHECK(std::string(aclAttnGetCpuTarget()) == "portable");
    CHECK_FAILS(aclAttnSetCpuTarget("abacus"), ACL_ERROR_INVALID_PARAM, "portable");
    CHECK_OK(aclAttnSetCpuTarget(nullptr));
    CHECK(aclAttnGetCpuFeatures() != nullptr);
    CHECK_OK(aclAttnSetNumThreads(3));
    CHECK_EQUAL(aclAttnGetNumThreads(), 3);
    CHECK_FAILS(aclAttnSetNumThreads(-1), ACL_ERROR_INVALID_PARAM, "0 to 1024, got -1");
    CHECK_FAILS(aclAttnSetNumThreads(1025), ACL_ERROR_INVALID_PARAM, "0 to 1024, got 1025");
    CHECK_OK(aclAttnSetNumThreads(0));
    CHECK_EQUAL(aclAttnGetLiveObjects(static_cast<aclAttnObjectKind>(77)), -1);
}

int main() {
    test_initialisation();
    test_errors();
    test_devices();
    test_contexts();
    test_settings();
    test_processor();
    return check_result();
}
