// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// A program that loads the library when it needs it, computes on several threads and unloads it, again and again, as
// plug-ins do. No thread of the library may run on in memory that is unmapped. Argument: the library.
#include <dlfcn.h>

#include <cstdio>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "acl_attn/acl_attn.h"
#include "aclnnop/aclnn_fused_infer_attention_score_v5.h"

namespace {

int failures = 0;

void expect(bool ok, const char* what, int round) {
    if (ok) return;
    std::printf("FAILED: %s (round %d)\n", what, round);
    failures++;
}

#define FIND(library, name) reinterpret_cast<decltype(&name)>(dlsym(library, #name))

// One run on a stream; leaves the stream, the device and messages as they are with `tidy` false.
std::vector<aclFloat16> run(void* library, bool tidy, int round) {
    const int64_t shape[] = {1, 300, 4, 32};
    constexpr size_t kCount = 300 * 4 * 32;
    std::vector<aclFloat16> data(kCount), out(kCount);
    for (size_t i = 0; i < kCount; i++) data[i] = static_cast<aclFloat16>(0x3000 + i % 1024);
    expect(FIND(library, aclrtSetDevice)(0) == 0, "set the device", round);
    expect(FIND(library, aclAttnSetNumThreads)(3) == 0, "three threads", round);
    aclrtStream stream = nullptr;
    expect(FIND(library, aclrtCreateStream)(&stream) == 0, "a stream", round);
    const auto tensor = [&](std::vector<aclFloat16>& memory) {
        return FIND(library, aclCreateTensor)(shape, 4, ACL_FLOAT16, nullptr, 0, ACL_FORMAT_ND, shape, 4,
                                              memory.data());
    };
    const aclTensor* query = tensor(data);
    const aclTensor* members[] = {tensor(data)};
    const aclTensorList* key = FIND(library, aclCreateTensorList)(members, 1);
    const aclTensor* result = tensor(out);
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    char layout[] = "BSND";
    const aclnnStatus planned = FIND(library, aclnnFusedInferAttentionScoreV5GetWorkspaceSize)(
        query, key, key, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
        nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
        nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, 4, 0.1, INT32_MAX, INT32_MAX, layout, 4, 0, 0, 0, 0,
        false, 0, 0, 0, 0, result, nullptr, &size, &executor);
    expect(planned == 0, "phase one", round);
    std::vector<uint64_t> workspace(size / 8 + 1);
    expect(FIND(library, aclnnFusedInferAttentionScoreV5)(workspace.data(), size, executor, stream) == 0, "phase two",
           round);
    expect(FIND(library, aclrtSynchronizeStream)(stream) == 0, "wait", round);
    if (tidy) {
        FIND(library, aclDestroyTensor)(query);
        FIND(library, aclDestroyTensor)(result);
        FIND(library, aclDestroyTensorList)(key);
        expect(FIND(library, aclrtDestroyStream)(stream) == 0, "destroy the stream", round);
        expect(FIND(library, aclrtResetDevice)(0) == 0, "reset the device", round);
    } else {
        FIND(library, aclrtSynchronizeStream)(&stream);  // no stream: a message that nobody asks for
    }
    return out;
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<aclFloat16> first;
    for (int round = 0; round < 8; round++) {
        void* library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : nullptr;
        if (library == nullptr) {
            std::printf("FAILED: %s\n", argc > 1 ? dlerror() : "expected the library as argument");
            return 1;
        }
        std::vector<aclFloat16> out;
        const bool tidy = round % 2 == 0;
        if (round % 4 < 2) {
            out = run(library, tidy, round);
        } else {
            std::thread([&] { out = run(library, tidy, round); }).join();
        }
        if (round == 0) first = out;
        expect(out == first, "the same result", round);
        expect(dlclose(library) == 0, "unload", round);
        std::this_thread::sleep_for(std::chrono::milliseconds(10));  // what would run on, does
    }
    std::printf("two_phase_unload: %d failures\n", failures);
    return failures == 0 ? 0 : 1;
}
