// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The library of kernels that CANN's compiler would make, for the stand-in's device: a launch puts a task on the
// stand-in's stream, which runs the kernel in the simulator, on the real memory behind the device's. What goes wrong
// there is printed, which no test passes over.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "acl/acl_rt.h"
#include "ascendc/launch/sim_entry.h"
#include "standin.h"

namespace {

using acl_attn::ascendc::FlashAttentionParams;

struct Launch {
    std::string name;
    FlashAttentionParams params;
    uint32_t cores;
};

decltype(&acl_attn_sim_launch) simulator() {
    static void* const library = dlopen(SIM_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    return library == nullptr ? nullptr
                              : reinterpret_cast<decltype(&acl_attn_sim_launch)>(dlsym(library, "acl_attn_sim_launch"));
}

// Whatever is the address of live memory of the device becomes the real one. No stride or length is such a number.
void translate(uint64_t* words, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        if (void* real = standin_real_address(reinterpret_cast<void*>(words[i]))) {
            words[i] = reinterpret_cast<uint64_t>(real);
        }
    }
}

void add(void* real, size_t bytes, void* data) {
    static_cast<acl_attn::engine::MemoryRanges*>(data)->push_back({real, bytes, "device memory", true});
}

void run(void* argument) {
    const std::unique_ptr<Launch> launch(static_cast<Launch*>(argument));
    FlashAttentionParams& params = launch->params;
    translate(reinterpret_cast<uint64_t*>(&params), sizeof params / sizeof(uint64_t));
    // Sequences name the addresses of their keys and values. A copy is changed: the device's memory stays as it is.
    std::vector<uint64_t> sequences((params.items - params.sequences) / sizeof(uint64_t));
    std::memcpy(sequences.data(), reinterpret_cast<void*>(params.sequences), sequences.size() * sizeof(uint64_t));
    translate(sequences.data(), sequences.size());
    params.sequences = reinterpret_cast<uint64_t>(sequences.data());
    acl_attn::engine::MemoryRanges ranges;
    standin_each_allocation(add, &ranges);
    ranges.push_back({sequences.data(), sequences.size() * sizeof(uint64_t), "sequences", false});
    const char* failure = simulator() == nullptr ? "the simulator's library could not be loaded"
                                                 : simulator()(launch->name.c_str(), &params, launch->cores,
                                                               ranges.data(), ranges.size());
    if (failure != nullptr) std::fprintf(stderr, "%s\n", failure);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int acl_attn_npu_launch(const char* name,
                                                                          const FlashAttentionParams* params,
                                                                          uint32_t cores, void* stream) {
    const auto host_task = reinterpret_cast<decltype(&aclrtLaunchHostFunc)>(standin_find("aclrtLaunchHostFunc"));
    return host_task(stream, run, new Launch{name, *params, cores}) == ACL_SUCCESS ? 0 : 1;
}
