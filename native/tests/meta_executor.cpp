// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The two-phase protocol with an operator of our own, which adds 1 to an int: single-use and repeatable executors,
// their errors, and that what is queued keeps its addresses. Linked with the sources: the C interface has no way in.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "aclnn/acl_meta.h"
#include "check.h"
#include "gate.h"
#include "meta/executor.h"
#include "runtime/handles.h"

using namespace acl_attn;
using runtime::Kind;

static std::atomic<int> live_calls{0};

class AddTask : public runtime::Task {
public:
    AddTask(const int* in, int* out) : in_(in), out_(out) {}
    runtime::TaskResult run() noexcept override {
        if (*in_ < 0) return {ACLNN_ERR_PARAM_INVALID, "in[0]: expected at least 0, got less"};
        *out_ = *in_ + 1;
        return {};
    }

private:
    const int* in_;
    int* out_;
};

class AddCall : public meta::PreparedCall {
public:
    AddCall(const int* in, int* out, uint64_t bytes) : in_(in), out_(out), bytes_(bytes) { ++live_calls; }
    ~AddCall() override { --live_calls; }
    uint64_t workspace_bytes() const noexcept override { return bytes_; }
    std::unique_ptr<runtime::Task> bind(void*) const override { return std::make_unique<AddTask>(in_, out_); }
    bool set_address(meta::Side side, size_t index, int64_t member, void* address) override {
        if (member >= 0 && !(side == meta::Side::input && index == 0 && member == 0)) return false;
        if (side == meta::Side::either) side = index == 0 ? meta::Side::input : meta::Side::output, index = index / 2;
        if (index != 0) return false;
        int* to = static_cast<int*>(address);
        side == meta::Side::input ? void(in_ = to) : void(out_ = to);
        return true;
    }
    std::string describe() const override { return "adds 1"; }

private:
    const int* in_;
    int* out_;
    uint64_t bytes_;
};

static aclOpExecutor* prepare(const int* in, int* out, uint64_t bytes = 16) {
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    CHECK_OK(meta::publish("aclnnAdd", std::make_unique<AddCall>(in, out, bytes), &size, &executor));
    CHECK_EQUAL(size, bytes);
    return executor;
}

static char workspace[16];

static void test_single_use() {
    int in = 1, out = 0;
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    CHECK_FAILS(meta::publish("aclnnAdd", std::make_unique<AddCall>(&in, &out, 0), nullptr, &executor),
                ACLNN_ERR_PARAM_NULLPTR, "workspaceSize");
    CHECK_FAILS(meta::publish("aclnnAdd", std::make_unique<AddCall>(&in, &out, 0), &size, nullptr),
                ACLNN_ERR_PARAM_NULLPTR, "executor");

    executor = prepare(&in, &out);
    CHECK(meta::describe_call(executor) == "adds 1");
    CHECK_OK(meta::launch("aclnnAdd", workspace, 16, executor, nullptr));
    CHECK_OK(aclrtSynchronizeStream(nullptr));
    CHECK_EQUAL(out, 2);
    CHECK_FAILS(meta::launch("aclnnAdd", workspace, 16, executor, nullptr), ACLNN_ERR_INNER,
                "a destroyed aclOpExecutor");
    CHECK_FAILS(aclDestroyAclOpExecutor(executor), ACLNN_ERR_INNER, "a destroyed aclOpExecutor");
    CHECK_FAILS(aclSetAclOpExecutorRepeatable(executor), ACLNN_ERR_INNER, "a destroyed aclOpExecutor");

    // A failed phase two consumes, too.
    executor = prepare(&in, &out);
    CHECK_FAILS(meta::launch("aclnnAdd", nullptr, 16, executor, nullptr), ACLNN_ERR_PARAM_NULLPTR,
                "16 bytes, got null");
    CHECK_FAILS(meta::launch("aclnnAdd", workspace, 16, executor, nullptr), ACLNN_ERR_INNER, "destroyed");
    executor = prepare(&in, &out);
    CHECK_FAILS(meta::launch("aclnnAdd", workspace, 15, executor, nullptr), ACLNN_ERR_PARAM_INVALID,
                "at least 16 bytes, got 15");
    executor = prepare(&in, &out);
    CHECK_FAILS(meta::launch("aclnnSub", workspace, 16, executor, nullptr), ACLNN_ERR_INNER, "aclnnAdd");
    executor = prepare(&in, &out);
    int no_stream = 0;
    CHECK_FAILS(meta::launch("aclnnAdd", workspace, 16, executor, &no_stream), ACLNN_ERR_RUNTIME_ERROR,
                "runtime status 107017");
    CHECK_FAILS(meta::launch("aclnnAdd", workspace, 16, nullptr, nullptr), ACLNN_ERR_PARAM_NULLPTR, "executor");
    CHECK_FAILS(meta::launch("aclnnAdd", workspace, 16, reinterpret_cast<aclOpExecutor*>(&in), nullptr),
                ACLNN_ERR_INNER, "no handle of this library");

    // Any operator, no workspace needed, synchronous.
    executor = prepare(&in, &out, 0);
    in = 6;
    CHECK_OK(meta::launch(nullptr, nullptr, 0, executor, nullptr, true));
    CHECK_EQUAL(out, 7);

    // Given up after phase one.
    executor = prepare(&in, &out);
    CHECK_OK(aclDestroyAclOpExecutor(executor));
    CHECK_OK(aclDestroyAclOpExecutor(nullptr));
    CHECK_EQUAL(live_calls.load(), 0);
}

static void test_failures_of_tasks() {
    int in = -1, out = 0;
    CHECK_OK(meta::launch("aclnnAdd", workspace, 16, prepare(&in, &out), nullptr));
    CHECK_FAILS(aclrtSynchronizeStream(nullptr), ACLNN_ERR_PARAM_INVALID, "in[0]: expected at least 0");
    CHECK_FAILS(meta::launch("aclnnAdd", workspace, 16, prepare(&in, &out), nullptr, true), ACLNN_ERR_PARAM_INVALID,
                "in[0]: expected at least 0");
    CHECK_OK(aclrtSynchronizeStream(nullptr));
    // Synchronous behind work that is queued.
    aclrtStream stream = nullptr;
    CHECK_OK(aclrtCreateStream(&stream));
    Gate gate;
    CHECK_OK(aclrtLaunchHostFunc(stream, Gate::hold, &gate));
    gate.wait_for_arrival();
    std::thread opener([&] { gate.open(); });
    CHECK_FAILS(meta::launch("aclnnAdd", workspace, 16, prepare(&in, &out), stream, true), ACLNN_ERR_PARAM_INVALID,
                "in[0]: expected at least 0");
    opener.join();
    CHECK_OK(aclrtDestroyStream(stream));
}

static void test_repeatable() {
    int in = 1, out = 0, other_in = 10, other_out = 0;
    const int64_t dims[] = {1};
    aclTensor* tensor = aclCreateTensor(dims, 1, ACL_INT32, nullptr, 0, ACL_FORMAT_ND, dims, 1, &in);
    const aclTensor* member = aclCreateTensor(dims, 1, ACL_INT32, nullptr, 0, ACL_FORMAT_ND, dims, 1, &in);
    aclTensorList* list = aclCreateTensorList(&member, 1);
    aclOpExecutor* executor = prepare(&in, &out);
    CHECK_FAILS(aclSetInputTensorAddr(executor, 0, tensor, &other_in), ACLNN_ERR_PARAM_INVALID, "single-use");
    CHECK_OK(aclSetAclOpExecutorRepeatable(executor));
    CHECK_OK(aclSetAclOpExecutorRepeatable(executor));

    // What is queued keeps its addresses.
    aclrtStream stream = nullptr;
    CHECK_OK(aclrtCreateStream(&stream));
    Gate gate;
    CHECK_OK(aclrtLaunchHostFunc(stream, Gate::hold, &gate));
    CHECK_OK(meta::launch("aclnnAdd", workspace, 16, executor, stream));
    CHECK_OK(aclSetInputTensorAddr(executor, 0, tensor, &other_in));
    CHECK_OK(aclSetOutputTensorAddr(executor, 0, tensor, &other_out));
    CHECK_OK(meta::launch("aclnnAdd", workspace, 16, executor, stream));
    CHECK_EQUAL(live_calls.load(), 1);
    CHECK_OK(aclDestroyAclOpExecutor(executor));  // what is queued goes on
    CHECK_EQUAL(live_calls.load(), 0);
    gate.open();
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(out == 2 && other_out == 11);
    CHECK_OK(aclrtDestroyStream(stream));

    executor = prepare(&in, &out);
    CHECK_OK(aclSetAclOpExecutorRepeatable(executor));
    CHECK_FAILS(meta::launch("aclnnAdd", nullptr, 0, executor, nullptr), ACLNN_ERR_PARAM_NULLPTR, "workspace");
    CHECK_OK(meta::launch("aclnnAdd", workspace, 16, executor, nullptr, true));  // a failure does not consume it
    CHECK_OK(aclSetTensorAddr(executor, 0, tensor, &other_in));
    CHECK_OK(aclSetTensorAddr(executor, 1, tensor, &in));
    CHECK_OK(AclSetTensorAddr(executor, 1, tensor, &other_out));
    CHECK_OK(aclSetDynamicInputTensorAddr(executor, 0, 0, list, &other_in));
    CHECK_FAILS(aclSetTensorAddr(executor, 2, tensor, &in), ACLNN_ERR_PARAM_INVALID, "index");
    CHECK_FAILS(aclSetInputTensorAddr(executor, SIZE_MAX, tensor, &in), ACLNN_ERR_PARAM_INVALID, "index");
    CHECK_FAILS(aclSetDynamicInputTensorAddr(executor, 0, 1, list, &in), ACLNN_ERR_PARAM_INVALID, "0[1]");
    CHECK_FAILS(aclSetDynamicInputTensorAddr(executor, 0, SIZE_MAX, list, &in), ACLNN_ERR_PARAM_INVALID, "index");
    CHECK_FAILS(aclSetDynamicInputTensorAddr(executor, 0, size_t{1} << 63, list, &in), ACLNN_ERR_PARAM_INVALID,
                "index");
    CHECK_FAILS(aclSetDynamicOutputTensorAddr(executor, 0, 0, list, &in), ACLNN_ERR_PARAM_INVALID, "index");
    CHECK_FAILS(aclSetDynamicTensorAddr(executor, 0, 0, list, &in), ACLNN_ERR_PARAM_INVALID, "index");
    CHECK_FAILS(aclSetTensorAddr(executor, 0, nullptr, &in), ACLNN_ERR_PARAM_NULLPTR, "tensor");
    CHECK_FAILS(aclSetTensorAddr(executor, 0, tensor, nullptr), ACLNN_ERR_PARAM_NULLPTR, "addr");
    CHECK_FAILS(aclSetDynamicTensorAddr(executor, 0, 0, nullptr, &in), ACLNN_ERR_PARAM_NULLPTR, "tensors");
    CHECK_OK(aclDestroyAclOpExecutor(executor));
    CHECK_FAILS(aclSetTensorAddr(executor, 0, tensor, &in), ACLNN_ERR_INNER, "a destroyed aclOpExecutor");
    CHECK_OK(aclDestroyTensor(tensor));
    CHECK_OK(aclDestroyTensorList(list));
}

static aclnnStatus launch_at(const aclAttnTensorPlace* places, void* const* addresses, size_t count, uint64_t size,
                             aclOpExecutor* executor) {
    return meta::launch(nullptr, workspace, size, executor, nullptr, true, {places, addresses, count});
}

static void test_launch_at_other_addresses() {
    int in = 1, out = 0, other_in = 10, other_out = 0;
    const aclAttnTensorPlace places[] = {{false, 0, -1}, {true, 0, -1}};
    void* addresses[] = {&other_in, &other_out};
    aclOpExecutor* executor = prepare(&in, &out);
    CHECK_FAILS(launch_at(places, addresses, 2, 16, executor), ACLNN_ERR_PARAM_INVALID, "single-use");
    CHECK_FAILS(launch_at(places, addresses, 2, 16, executor), ACLNN_ERR_INNER, "destroyed");
    executor = prepare(&in, &out);
    CHECK_OK(aclSetAclOpExecutorRepeatable(executor));
    CHECK_OK(launch_at(places, addresses, 2, 16, executor));
    CHECK(out == 0 && other_out == 11);
    addresses[0] = &in;
    CHECK_OK(launch_at(places, addresses, 1, 16, executor));
    CHECK_EQUAL(other_out, 2);
    CHECK_OK(launch_at(nullptr, nullptr, 0, 16, executor));
    CHECK_FAILS(launch_at(nullptr, addresses, 1, 16, executor), ACLNN_ERR_PARAM_NULLPTR,
                "places: expected 1 of them, got null");
    CHECK_FAILS(launch_at(places, nullptr, 1, 16, executor), ACLNN_ERR_PARAM_NULLPTR,
                "addresses: expected 1 of them, got null");
    CHECK_FAILS(launch_at(places, addresses, 2, 15, executor), ACLNN_ERR_PARAM_INVALID, "at least 16 bytes, got 15");
    const aclAttnTensorPlace nowhere[] = {{true, 1, -1}, {false, 0, 7}, {false, SIZE_MAX, INT64_MIN}};
    for (const aclAttnTensorPlace& place : nowhere) {
        CHECK_FAILS(launch_at(&place, addresses, 1, 16, executor), ACLNN_ERR_PARAM_INVALID, "where there was none");
    }
    CHECK_OK(aclDestroyAclOpExecutor(executor));
}

// Threads run the same executors at once: a single-use one runs once, a repeatable one every time.
static void test_threads() {
    constexpr int kThreads = 4;
    int in = 1;
    std::atomic<int> ran{0}, odd{0};
    for (int round = 0; round < 200; ++round) {
        int out = 0;
        aclOpExecutor* single = prepare(&in, &out);
        std::vector<std::thread> threads;
        for (int t = 0; t < kThreads; ++t) {
            threads.emplace_back([&] {
                aclrtSetDevice(0);
                const aclnnStatus status = meta::launch("aclnnAdd", workspace, 16, single, nullptr, true);
                ran += status == ACLNN_SUCCESS;
                odd += status != ACLNN_SUCCESS && status != ACLNN_ERR_INNER;
                aclrtResetDevice(0);
            });
        }
        for (std::thread& thread : threads) thread.join();
    }
    CHECK_EQUAL(ran.load(), 200);
    CHECK_EQUAL(odd.load(), 0);

    int outs[kThreads] = {}, spare = 0;
    aclOpExecutor* shared = prepare(&in, &spare);
    CHECK_OK(aclSetAclOpExecutorRepeatable(shared));
    const int64_t dims[] = {1};
    aclTensor* tensor = aclCreateTensor(dims, 1, ACL_INT32, nullptr, 0, ACL_FORMAT_ND, dims, 1, &in);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
            aclrtSetDevice(0);
            for (int i = 0; i < 200; ++i) {
                odd += aclSetOutputTensorAddr(shared, 0, tensor, &outs[t]) != ACLNN_SUCCESS;
                odd += meta::launch("aclnnAdd", workspace, 16, shared, nullptr, true) != ACLNN_SUCCESS;
            }
            aclrtResetDevice(0);
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK_EQUAL(odd.load(), 0);
    CHECK_OK(aclDestroyAclOpExecutor(shared));
    CHECK_OK(aclDestroyTensor(tensor));
}

int main() {
    CHECK_OK(aclrtSetDevice(0));
    test_single_use();
    test_failures_of_tasks();
    test_repeatable();
    test_launch_at_other_addresses();
    test_threads();
    CHECK_OK(aclrtResetDevice(0));
    CHECK_EQUAL(live_calls.load(), 0);
    CHECK_EQUAL(runtime::live_handles(Kind::executor), 0);
    return check_result();
}
