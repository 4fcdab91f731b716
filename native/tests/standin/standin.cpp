// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "standin.h"

#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unordered_map>

#include "acl/acl.h"
#include "acl_attn/rules.h"
#include "aclnn/acl_meta.h"
#include "aclnn/opdev/op_errno.h"
#include "aclnnop/aclnn_fused_infer_attention_score.h"
#include "aclnnop/aclnn_fused_infer_attention_score_v2.h"
#include "aclnnop/aclnn_fused_infer_attention_score_v3.h"
#include "aclnnop/aclnn_fused_infer_attention_score_v4.h"
#include "aclnnop/aclnn_fused_infer_attention_score_v5.h"
#include "aclnnop/aclnn_kv_quant_sparse_attn_sharedkv.h"
#include "aclnnop/aclnn_kv_quant_sparse_attn_sharedkv_metadata.h"
#include "aclnnop/aclnn_sparse_flash_mla.h"
#include "aclnnop/aclnn_sparse_flash_mla_metadata.h"
#include "memory.h"

namespace standin {
namespace {

DeviceMemory memory;
thread_local std::string message;
thread_local std::string told;  // what the thread was handed last

// A copy of the host library of the stand-in's own, so that its objects are not those of target host.
void* host() {
    static void* const library = [] {
        void* const opened = dlopen(STANDIN_HOST_LIBRARY, RTLD_NOW | RTLD_LOCAL);
        // No product's rules: what is refused by such a rule was refused before it came here.
        reinterpret_cast<decltype(aclAttnSetProfile)*>(dlsym(opened, "aclAttnSetProfile"))(0, ACL_ATTN_PROFILE_HOST);
        return opened;
    }();
    return library;
}

template <typename Function>
Function* real(const char* name) {
    return reinterpret_cast<Function*>(dlsym(host(), name));
}
#define REAL(name) real<decltype(name)>(#name)

// --- Injected failures: a pool of functions that fit any prototype, since they look at no argument. -----------------

constexpr size_t kMostFaults = 8;
struct Fault {
    std::string function;
    int status = 0;
};
std::array<Fault, kMostFaults> faults;

template <size_t index>
int fail() {
    message = "EZ9999: " + faults[index].function + " was told to fail";
    return faults[index].status;
}

template <size_t... indices>
void* pick(size_t index, std::index_sequence<indices...>) {
    static int (*const pool[])() = {&fail<indices>...};
    return reinterpret_cast<void*>(pool[index]);
}

void* fault_of(const char* name) {
    static const bool is_read = [] {
        const char* text = std::getenv("STANDIN_FAULTS");
        for (size_t i = 0; text != nullptr && *text != '\0' && i < kMostFaults; ++i) {
            const char* equals = std::strchr(text, '=');
            if (equals == nullptr) break;
            faults[i] = {std::string(text, equals), std::atoi(equals + 1)};
            text = std::strchr(equals, ',');
            if (text != nullptr) ++text;
        }
        return true;
    }();
    for (size_t i = 0; is_read && i < kMostFaults; ++i) {
        if (faults[i].function == name) return pick(i, std::make_index_sequence<kMostFaults>());
    }
    return nullptr;
}

// --- Memory ----------------------------------------------------------------------------------------------------------

// Translates an address that the device will use. False, with a message, for one of the program's memory.
bool translate(const char* api, const char* parameter, void** address) {
    if (*address == nullptr || DeviceMemory::is_placeholder(*address)) return true;
    if (void* found = memory.find(*address)) {
        *address = found;
        return true;
    }
    char text[160];
    std::snprintf(text, sizeof text, "%s: %s: expected device memory, got the program's address %p", api, parameter,
                  *address);
    message = text;
    return false;
}

aclError malloc_device(void** address, size_t size, aclrtMemMallocPolicy policy) {
    const aclError status = REAL(aclrtMalloc)(address, size, policy);
    if (status != 0) return status;
    std::memset(*address, 0xA5, size);
    *address = memory.publish(*address, size);
    return 0;
}

aclError free_device(void* address) {
    void* found = memory.withdraw(address);
    if (found == nullptr) {
        message = "aclrtFree: devPtr: expected the beginning of device memory";
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    return REAL(aclrtFree)(found);
}

// Both ends on the side that the kind says.
bool translate_copy(void** to, const void** from, aclrtMemcpyKind kind) {
    const bool to_device = kind == ACL_MEMCPY_HOST_TO_DEVICE || kind == ACL_MEMCPY_DEVICE_TO_DEVICE;
    const bool from_device = kind == ACL_MEMCPY_DEVICE_TO_HOST || kind == ACL_MEMCPY_DEVICE_TO_DEVICE;
    if (to_device != DeviceMemory::is_device(*to) || from_device != DeviceMemory::is_device(*from)) {
        message = "aclrtMemcpy: kind: expected what the addresses are, got another direction";
        return false;
    }
    void* source = const_cast<void*>(*from);
    if ((to_device && !translate("aclrtMemcpy", "dst", to)) ||
        (from_device && !translate("aclrtMemcpy", "src", &source))) {
        return false;
    }
    *from = source;
    return true;
}

aclError copy(void* to, size_t most, const void* from, size_t count, aclrtMemcpyKind kind) {
    if (!translate_copy(&to, &from, kind)) return ACL_ERROR_RT_PARAM_INVALID;
    return REAL(aclrtMemcpy)(to, most, from, count, kind);
}

aclError copy_async(void* to, size_t most, const void* from, size_t count, aclrtMemcpyKind kind, aclrtStream stream) {
    if (!translate_copy(&to, &from, kind)) return ACL_ERROR_RT_PARAM_INVALID;
    return REAL(aclrtMemcpyAsync)(to, most, from, count, kind, stream);
}

// --- Tensors and executors -------------------------------------------------------------------------------------------

aclTensor* create_tensor(const int64_t* dims, uint64_t rank, aclDataType type, const int64_t* stride, int64_t offset,
                         aclFormat format, const int64_t* storage, uint64_t storage_rank, void* data) {
    if (!translate("aclCreateTensor", "tensorData", &data)) return nullptr;
    return REAL(aclCreateTensor)(dims, rank, type, stride, offset, format, storage, storage_rank, data);
}

aclnnStatus set_raw_address(aclTensor* tensor, void* address) {
    if (!translate("aclSetRawTensorAddr", "addr", &address)) return ACLNN_ERR_PARAM_INVALID;
    return REAL(aclSetRawTensorAddr)(tensor, address);
}

aclnnStatus set_input(aclOpExecutor* executor, const size_t index, aclTensor* tensor, void* address) {
    if (!translate("aclSetInputTensorAddr", "addr", &address)) return ACLNN_ERR_PARAM_INVALID;
    return REAL(aclSetInputTensorAddr)(executor, index, tensor, address);
}

aclnnStatus set_output(aclOpExecutor* executor, const size_t index, aclTensor* tensor, void* address) {
    if (!translate("aclSetOutputTensorAddr", "addr", &address)) return ACLNN_ERR_PARAM_INVALID;
    return REAL(aclSetOutputTensorAddr)(executor, index, tensor, address);
}

aclnnStatus set_member(aclOpExecutor* executor, size_t index, const size_t member, aclTensorList* list, void* address) {
    if (!translate("aclSetDynamicInputTensorAddr", "addr", &address)) return ACLNN_ERR_PARAM_INVALID;
    return REAL(aclSetDynamicInputTensorAddr)(executor, index, member, list, address);
}

// --- The rest --------------------------------------------------------------------------------------------------------

const char* soc_name() {
    const char* name = std::getenv("STANDIN_SOC");
    return name != nullptr ? name : "Ascend910B3";
}

const char* recent_message() {
    if (message.empty()) return REAL(aclGetRecentErrMsg)();
    told.swap(message);
    message.clear();
    return told.c_str();
}

#define PHASE_TWO(name)                                                                                       \
    aclnnStatus run_##name(void* workspace, uint64_t size, aclOpExecutor* executor, const aclrtStream stream) { \
        if (!translate(#name, "workspace", &workspace)) return ACLNN_ERR_PARAM_INVALID;                       \
        return REAL(name)(workspace, size, executor, stream);                                                 \
    }
#define OPERATORS(apply)                                                                                   \
    apply(aclnnFusedInferAttentionScore) apply(aclnnFusedInferAttentionScoreV2)                            \
    apply(aclnnFusedInferAttentionScoreV3) apply(aclnnFusedInferAttentionScoreV4)                          \
    apply(aclnnFusedInferAttentionScoreV5) apply(aclnnSparseFlashMla) apply(aclnnSparseFlashMlaMetadata)   \
    apply(aclnnKvQuantSparseAttnSharedkv) apply(aclnnKvQuantSparseAttnSharedkvMetadata)
OPERATORS(PHASE_TWO)
#undef PHASE_TWO

template <typename Function>
void* erased(Function* function) {
    return reinterpret_cast<void*>(function);
}

const std::unordered_map<std::string, void*>& own() {
    static const std::unordered_map<std::string, void*> functions = {
        {"aclrtMalloc", erased(malloc_device)},
        {"aclrtFree", erased(free_device)},
        {"aclrtMemcpy", erased(copy)},
        {"aclrtMemcpyAsync", erased(copy_async)},
        {"aclrtGetSocName", erased(soc_name)},
        {"aclGetRecentErrMsg", erased(recent_message)},
        {"aclCreateTensor", erased(create_tensor)},
        {"aclSetRawTensorAddr", erased(set_raw_address)},
        {"aclSetInputTensorAddr", erased(set_input)},
        {"aclSetOutputTensorAddr", erased(set_output)},
        {"aclSetDynamicInputTensorAddr", erased(set_member)},
#define RUN(name) {#name, erased(run_##name)},
        OPERATORS(RUN)
#undef RUN
    };
    return functions;
}

}  // namespace
}  // namespace standin

void* standin_real_address(const void* address) { return standin::memory.find(address); }

void standin_each_allocation(void (*visit)(void* real, size_t bytes, void* data), void* data) {
    standin::memory.each([&](void* real, size_t bytes) { visit(real, bytes, data); });
}

void* standin_find(const char* name) {
    if (void* fault = standin::fault_of(name)) return fault;
    const auto found = standin::own().find(name);
    return found != standin::own().end() ? found->second : dlsym(standin::host(), name);
}
