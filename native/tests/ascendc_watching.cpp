// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The launcher of the sim target tells the simulator what memory a launch has: kernels with a planted fault, and their
// twins without it.
#include <algorithm>
#include <iterator>
#include <string>

#include "ascendc/launch/launcher.h"
#include "ascendc/launch/sim_settings.h"
#include "check.h"
#include "kernel_operator.h"

namespace {

using namespace AscendC;
using acl_attn::ascendc::FlashAttentionParams;
using Kernel = void (*)(FlashAttentionParams);

constexpr int64_t kNumbers = 64;
constexpr uint32_t kBytes = kNumbers * sizeof(float);

GlobalTensor<float> tensor_at(uint64_t address) {
    GlobalTensor<float> tensor;
    tensor.SetGlobalBuffer(reinterpret_cast<float*>(address));
    return tensor;
}

void copy(uint64_t to, uint64_t from, uint32_t bytes = kBytes) {
    const LocalTensor<float> here(TPosition::VECCALC, 0, 2 * kNumbers);
    DataCopyExtParams params;
    params.blockCount = 1;
    params.blockLen = bytes;
    DataCopyPad(here, tensor_at(from), params, DataCopyPadExtParams<float>{});
    SetFlag<HardEvent::MTE2_MTE3>(0);
    WaitFlag<HardEvent::MTE2_MTE3>(0);
    DataCopyPad(tensor_at(to), here, params);
    PipeBarrier<PIPE_ALL>();
}

// The first vector core does `body`.
template <class Body>
void kernel_of(Body body) {
    InitSocState();
    if ASCEND_IS_AIV {
        if (GetSubBlockIdx() == 0) body();
    }
    PipeBarrier<PIPE_ALL>();
}

void right(FlashAttentionParams p) {
    kernel_of([&] {
        copy(p.core_memory, p.query);
        copy(p.core_memory + kBytes, p.sequences);
        copy(p.out, p.core_memory, 2 * kBytes);
    });
}
void beyond_operand(FlashAttentionParams p) {
    kernel_of([&] { copy(p.out, p.query + sizeof(float)); });
}
void beyond_output(FlashAttentionParams p) {
    kernel_of([&] { copy(p.out + kBytes + sizeof(float), p.query); });
}
void elsewhere(FlashAttentionParams p) {
    kernel_of([&] { copy(p.out, p.key.prefix); });
}
void into_input(FlashAttentionParams p) {
    kernel_of([&] { copy(p.query, p.sequences); });
}
void into_plan(FlashAttentionParams p) {
    kernel_of([&] { copy(p.sequences, p.query); });
}
void unwritten(FlashAttentionParams p) {
    kernel_of([&] {
        copy(p.core_memory, p.query);
        copy(p.out, p.core_memory, 2 * kBytes);
    });
}

std::string run(Kernel kernel) {
    alignas(64) static float query[kNumbers], plan[kNumbers], work[2 * kNumbers], out[2 * kNumbers], foreign[kNumbers];
    std::fill(std::begin(query), std::end(query), 1.0f);
    std::fill(std::begin(plan), std::end(plan), 2.0f);
    FlashAttentionParams params = {};
    const auto at = [](const float* numbers) { return reinterpret_cast<uint64_t>(numbers); };
    params.query = at(query);
    params.key.prefix = at(foreign);
    params.sequences = at(plan);
    params.core_memory = at(work);
    params.out = at(out);
    const acl_attn::engine::MemoryRanges operands = {{query, sizeof query, "query", false},
                                                     {out, sizeof out, "attentionOut", true}};
    acl_attn::ascendc::LaunchMemory memory;
    memory.operands = &operands;
    memory.plan = {plan, sizeof plan, "the plan", false};
    memory.workspace = {work, sizeof work, "workspace", true};
    using acl_attn::engine::Dtype;
    using acl_attn::ascendc::Scheme;
    using acl_attn::ascendc::TileSize;
    const acl_attn::ascendc::Instantiation instantiation = {
        "planted", __NPU_ARCH__, Dtype::f16, Dtype::f16, TileSize::narrow, Scheme::none, kernel};
    std::string failure = acl_attn::ascendc::launch(instantiation, params, 1, memory);
    if (failure.empty()) CHECK(out[0] == 1.0f && out[kNumbers] == 2.0f);
    return failure;
}

void expect_found(Kernel kernel, const char* needle) {
    const std::string failure = run(kernel);
    if (!CHECK(failure.find(needle) != std::string::npos)) {
        std::printf("    got \"%s\"\n    expected to contain \"%s\"\n", failure.c_str(), needle);
    }
}

}  // namespace

int main() {
    acl_attn::ascendc::set_sim_settings({true, 0});
    const std::string failure = run(right);
    if (!CHECK(failure.empty())) std::printf("    %s\n", failure.c_str());
    expect_found(beyond_operand, "read of query: expected bytes within its 256, got 4 to 260");
    expect_found(beyond_output, "write to attentionOut: expected bytes within its 512, got 260 to 516");
    expect_found(elsewhere, "read of global memory: expected a buffer of the call, got another address");
    expect_found(into_input, "write to query: expected a buffer for results or workspace");
    expect_found(into_plan, "write to the plan: expected a buffer for results or workspace");
    expect_found(unwritten, "read of workspace bytes 0 to 512: expected what this launch has written, got byte 256");
    acl_attn::ascendc::set_sim_settings({false, 0});
    CHECK(run(right).empty());
    return check_result();
}
