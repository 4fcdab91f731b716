// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The process ends with streams alive and work queued, in the ways that programs do it; ctest checks the exit status
// and that it does not hang. Argument: which way.
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include "aclnn/acl_meta.h"
#include "check.h"
#include "gate.h"

static aclrtStream stream, other;
static aclrtEvent event;

static void nap(void*) { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }

// Destroyed after the library stopped its workers: calls must still return.
struct LateUser {
    bool active = false;
    ~LateUser() {
        if (!active) return;
        aclrtSetDevice(0);
        aclrtLaunchHostFunc(stream, nap, nullptr);
        aclrtSynchronizeStream(stream);
        aclrtSynchronizeEvent(event);
        aclrtDestroyEvent(event);
        aclrtDestroyStream(stream);
        aclrtDestroyStream(stream);
        aclDestroyTensor(reinterpret_cast<const aclTensor*>(stream));
        aclGetRecentErrMsg();
        aclrtResetDevice(0);
        std::puts("late user done");
    }
};
static LateUser late_user;

int main(int argc, char** argv) {
    const std::string way = argc > 1 ? argv[1] : "";
    CHECK_OK(aclrtSetDevice(0));
    CHECK_OK(aclrtCreateStream(&stream));
    CHECK_OK(aclrtCreateStream(&other));
    CHECK_OK(aclrtCreateEvent(&event));
    static Gate gate;
    if (way == "blocked") {  // a stream that waits for another that never gets there
        CHECK_OK(aclrtSubscribeReport(12345, other));
        CHECK_OK(aclrtLaunchCallback(nap, nullptr, ACL_CALLBACK_BLOCK, other));
        CHECK_OK(aclrtRecordEvent(event, other));
        CHECK_OK(aclrtStreamWaitEvent(stream, event));
    }
    for (int i = 0; i < 1000; ++i) CHECK_OK(aclrtLaunchHostFunc(stream, nap, nullptr));
    if (way == "thread") {  // another thread is waiting
        std::thread([] {
            aclrtSetDevice(0);
            aclrtSynchronizeStream(stream);
        }).detach();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    if (way == "task") {  // a task ends the process
        static const int result = check_result();
        if (aclrtLaunchHostFunc(other, [](void*) { std::exit(result); }, nullptr) != ACL_SUCCESS) return 1;
        for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
    }
    late_user.active = way == "late";
    return check_result();
}
