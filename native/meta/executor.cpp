// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "meta/executor.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "meta/api.h"
#include "runtime/fork.h"
#include "runtime/memory.h"

namespace acl_attn::meta {
namespace {

struct Executor {
    const char* api = nullptr;
    std::unique_ptr<PreparedCall> call;  // not to be bound and retargeted at the same time
    bool is_repeatable = false;
    bool was_launched = false;
};

// Guards every executor: one lock that fork() can take. It is held for a bind at most, which copies addresses.
std::mutex& executors_mutex() {
    static std::mutex* const mutex = [] {
        auto* created = new std::mutex;
        runtime::lock_around_fork(created);
        return created;
    }();
    return *mutex;
}
using ExecutorsLock = std::lock_guard<std::mutex>;

aclnnStatus bad_executor(const aclOpExecutor* handle) {
    if (handle == nullptr) return bad_handle("executor", Kind::executor, handle);
    return fail(ACLNN_ERR_INNER,
                text("executor: expected one that phase one returned, got ", runtime::describe_handle(handle),
                     "; phase two consumes an executor unless aclSetAclOpExecutorRepeatable was called"));
}

// What phase two runs: the executor is out of the table afterwards unless it is repeatable. Of several concurrent
// phase twos of a single-use executor one gets it.
std::shared_ptr<Executor> acquire(aclOpExecutor* handle) {
    std::shared_ptr<Executor> executor = runtime::find<Executor>(Kind::executor, handle);
    if (executor == nullptr) return nullptr;
    {
        ExecutorsLock lock(executors_mutex());
        executor->was_launched = true;
        if (executor->is_repeatable) return executor;
    }
    std::shared_ptr<Executor> taken;
    runtime::take(Kind::executor, handle, &taken);
    return taken;
}

aclnnStatus check_call(const char* api, const Executor& executor, const void* workspace, uint64_t workspace_size) {
    if (api != nullptr && std::strcmp(api, executor.api) != 0) {
        return fail(ACLNN_ERR_INNER, text("executor: expected one of ", api, "GetWorkspaceSize, got one of ",
                                          executor.api, "GetWorkspaceSize"));
    }
    const uint64_t needed = executor.call->workspace_bytes();
    if (needed > 0 && workspace == nullptr) {
        return fail(ACLNN_ERR_PARAM_NULLPTR, text("workspace: expected ", needed, " bytes, got null"));
    }
    if (workspace_size < needed) {
        return fail(ACLNN_ERR_PARAM_INVALID, text("workspaceSize: expected at least ", needed, " bytes, got ",
                                                  workspace_size));
    }
    const size_t room = needed > 0 ? runtime::known_room(workspace) : SIZE_MAX;
    if (room < needed) {
        return fail(ACLNN_ERR_PARAM_INVALID, text("workspace: expected memory for ", needed, " bytes, got an address ",
                                                  room, " bytes before the end of its memory"));
    }
    return ACLNN_SUCCESS;
}

// aclnn has one code for all failures of the runtime. Codes of operators, which have x61 in front, pass.
aclnnStatus as_aclnn(int code) {
    if (code == ACL_SUCCESS || code / 1000 % 100 == 61) return code;
    const char* message = aclGetRecentErrMsg();
    return fail(ACLNN_ERR_RUNTIME_ERROR, text(message == nullptr ? "" : message, " (runtime status ", code, ")"));
}

// As set_address counts members; what no list can have stays out of range.
int64_t list_member(size_t index) { return static_cast<int64_t>(std::min<size_t>(index, INT64_MAX)); }

aclnnStatus check_repeatable(const Executor& executor) {
    if (executor.is_repeatable) return ACLNN_SUCCESS;
    return fail(ACLNN_ERR_PARAM_INVALID, "executor: expected a repeatable one, got a single-use one; call "
                                         "aclSetAclOpExecutorRepeatable first");
}

aclnnStatus no_tensor_at(const Executor& executor, size_t index, int64_t member) {
    const std::string place = member < 0 ? text(index) : text(index, "[", member, "]");
    return fail(ACLNN_ERR_PARAM_INVALID, text("index: expected a tensor that phase one of ", executor.api,
                                              " was given, got ", place, ", where there was none"));
}

aclnnStatus set_address(const char* api, aclOpExecutor* handle, Side side, size_t index, int64_t member,
                        const char* parameter, Kind kind, const void* tensor, void* addr) noexcept {
    return entry(api, [&]() -> aclnnStatus {
        const auto executor = runtime::find<Executor>(Kind::executor, handle);
        if (executor == nullptr) return bad_executor(handle);
        if (runtime::find_handle(kind, tensor) == nullptr) return bad_handle(parameter, kind, tensor);
        if (addr == nullptr) return fail(ACLNN_ERR_PARAM_NULLPTR, "addr: expected an address, got null");
        ExecutorsLock lock(executors_mutex());
        if (const aclnnStatus status = check_repeatable(*executor)) return status;
        return executor->call->set_address(side, index, member, addr) ? ACLNN_SUCCESS
                                                                      : no_tensor_at(*executor, index, member);
    });
}

// Unlike the vendor's functions this takes null for a tensor without elements. Executors' lock held.
aclnnStatus place(Executor& executor, const Placements& given) {
    if (given.count == 0) return ACLNN_SUCCESS;
    if (given.places == nullptr || given.addresses == nullptr) {
        return fail(ACLNN_ERR_PARAM_NULLPTR, text(given.places == nullptr ? "places" : "addresses", ": expected ",
                                                  given.count, " of them, got null"));
    }
    if (const aclnnStatus status = check_repeatable(executor)) return status;
    for (size_t i = 0; i < given.count; ++i) {
        const aclAttnTensorPlace& at = given.places[i];
        const Side side = at.isOutput ? Side::output : Side::input;
        if (executor.call->set_address(side, at.index, at.member, given.addresses[i])) continue;
        if (given.addresses[i] != nullptr) return no_tensor_at(executor, at.index, at.member);
        return fail(ACLNN_ERR_PARAM_NULLPTR, text("addresses[", i, "]: expected an address, got null"));
    }
    return ACLNN_SUCCESS;
}

}  // namespace

aclnnStatus publish(const char* api, std::unique_ptr<PreparedCall> call, uint64_t* workspace_size,
                    aclOpExecutor** executor) {
    return entry(api, [&]() -> aclnnStatus {
        if (workspace_size == nullptr) return null_result("workspaceSize");
        if (executor == nullptr) return null_result("executor");
        auto published = std::make_shared<Executor>();
        published->api = api;
        published->call = std::move(call);
        const uint64_t bytes = published->call->workspace_bytes();
        *executor = static_cast<aclOpExecutor*>(runtime::insert(Kind::executor, std::move(published)));
        *workspace_size = bytes;
        return ACLNN_SUCCESS;
    });
}

aclnnStatus launch(const char* api, void* workspace, uint64_t workspace_size, aclOpExecutor* handle, aclrtStream stream,
                   bool synchronous, const Placements& placements) noexcept {
    return entry(api == nullptr ? "executor" : api, [&]() -> aclnnStatus {
        const std::shared_ptr<Executor> executor = acquire(handle);
        if (executor == nullptr) return bad_executor(handle);
        if (const aclnnStatus status = check_call(api, *executor, workspace, workspace_size)) return status;
        std::unique_ptr<runtime::Task> task;
        {
            ExecutorsLock lock(executors_mutex());
            if (const aclnnStatus status = place(*executor, placements)) return status;
            task = executor->call->bind(workspace);
        }
        return as_aclnn(synchronous ? runtime::run_now(stream, std::move(task))
                                    : runtime::submit(stream, std::move(task)));
    });
}

std::string describe_call(const aclOpExecutor* handle) {
    const auto executor = runtime::find<Executor>(Kind::executor, handle);
    if (executor == nullptr) return {};
    ExecutorsLock lock(executors_mutex());
    return executor->call->describe();
}

}  // namespace acl_attn::meta

extern "C" {
using namespace acl_attn;
using namespace acl_attn::meta;

aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor* executor) {
    return entry("aclSetAclOpExecutorRepeatable", [&]() -> aclnnStatus {
        const auto found = runtime::find<Executor>(Kind::executor, executor);
        if (found == nullptr) return bad_executor(executor);
        ExecutorsLock lock(executors_mutex());
        if (found->was_launched && !found->is_repeatable) return bad_executor(executor);  // phase two is consuming it
        found->is_repeatable = true;
        return ACLNN_SUCCESS;
    });
}

aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor* executor) {
    return entry("aclDestroyAclOpExecutor", [&]() -> aclnnStatus {
        std::shared_ptr<Executor> found;
        if (executor == nullptr) return ACLNN_SUCCESS;
        return runtime::take(Kind::executor, executor, &found) == Taken::ok ? ACLNN_SUCCESS : bad_executor(executor);
    });
}

aclnnStatus aclSetInputTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor, void* addr) {
    return set_address("aclSetInputTensorAddr", executor, Side::input, index, -1, "tensor", Kind::tensor, tensor, addr);
}

aclnnStatus aclSetOutputTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor, void* addr) {
    return set_address("aclSetOutputTensorAddr", executor, Side::output, index, -1, "tensor", Kind::tensor, tensor,
                       addr);
}

aclnnStatus aclSetTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor, void* addr) {
    return set_address("aclSetTensorAddr", executor, Side::either, index, -1, "tensor", Kind::tensor, tensor, addr);
}

aclnnStatus aclSetDynamicInputTensorAddr(aclOpExecutor* executor, size_t irIndex, const size_t relativeIndex,
                                         aclTensorList* tensors, void* addr) {
    return set_address("aclSetDynamicInputTensorAddr", executor, Side::input, irIndex,
                       list_member(relativeIndex), "tensors", Kind::tensor_list, tensors, addr);
}

aclnnStatus aclSetDynamicOutputTensorAddr(aclOpExecutor* executor, size_t irIndex, const size_t relativeIndex,
                                          aclTensorList* tensors, void* addr) {
    return set_address("aclSetDynamicOutputTensorAddr", executor, Side::output, irIndex,
                       list_member(relativeIndex), "tensors", Kind::tensor_list, tensors, addr);
}

aclnnStatus aclSetDynamicTensorAddr(aclOpExecutor* executor, size_t irIndex, const size_t relativeIndex,
                                    aclTensorList* tensors, void* addr) {
    return set_address("aclSetDynamicTensorAddr", executor, Side::either, irIndex,
                       list_member(relativeIndex), "tensors", Kind::tensor_list, tensors, addr);
}

aclnnStatus AclSetInputTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor, void* addr) {
    return aclSetInputTensorAddr(executor, index, tensor, addr);
}

aclnnStatus AclSetOutputTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor, void* addr) {
    return aclSetOutputTensorAddr(executor, index, tensor, addr);
}

aclnnStatus AclSetTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor, void* addr) {
    return aclSetTensorAddr(executor, index, tensor, addr);
}

aclnnStatus AclSetDynamicInputTensorAddr(aclOpExecutor* executor, size_t irIndex, const size_t relativeIndex,
                                         aclTensorList* tensors, void* addr) {
    return aclSetDynamicInputTensorAddr(executor, irIndex, relativeIndex, tensors, addr);
}

aclnnStatus AclSetDynamicOutputTensorAddr(aclOpExecutor* executor, size_t irIndex, const size_t relativeIndex,
                                          aclTensorList* tensors, void* addr) {
    return aclSetDynamicOutputTensorAddr(executor, irIndex, relativeIndex, tensors, addr);
}

aclnnStatus AclSetDynamicTensorAddr(aclOpExecutor* executor, size_t irIndex, const size_t relativeIndex,
                                    aclTensorList* tensors, void* addr) {
    return aclSetDynamicTensorAddr(executor, irIndex, relativeIndex, tensors, addr);
}

}  // extern "C"
