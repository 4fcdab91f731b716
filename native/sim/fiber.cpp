// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/fiber.h"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdint>
#include <new>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#define ACL_ATTN_SIM_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#define ACL_ATTN_SIM_TSAN 1
#endif

namespace acl_attn::sim {

namespace {
constexpr size_t kStackBytes = 512 * 1024;  // untouched pages cost nothing
}

struct Fiber::State {
    std::function<void()> body;
    ucontext_t inside;
    ucontext_t outside;
    void* stack = MAP_FAILED;
    bool started = false;
    bool ended = false;
#if ACL_ATTN_SIM_ASAN
    const void* outside_bottom = nullptr;
    size_t outside_size = 0;
    void* fake_outside = nullptr;
    void* fake_inside = nullptr;
#endif
#if ACL_ATTN_SIM_TSAN
    void* tsan_inside = nullptr;
    void* tsan_outside = nullptr;
#endif

    ~State() {
        if (stack != MAP_FAILED) munmap(stack, kStackBytes);
#if ACL_ATTN_SIM_TSAN
        if (tsan_inside != nullptr) __tsan_destroy_fiber(tsan_inside);
#endif
    }

    // makecontext passes ints only, so the address comes in two halves.
    static void enter(unsigned high, unsigned low) {
        State* state = reinterpret_cast<State*>(static_cast<uintptr_t>(high) << 32 | low);
#if ACL_ATTN_SIM_ASAN
        __sanitizer_finish_switch_fiber(nullptr, &state->outside_bottom, &state->outside_size);
#endif
        state->body();
        state->ended = true;
        state->leave(true);
    }

    void leave([[maybe_unused]] bool for_good) {
#if ACL_ATTN_SIM_ASAN
        __sanitizer_start_switch_fiber(for_good ? nullptr : &fake_inside, outside_bottom, outside_size);
#endif
#if ACL_ATTN_SIM_TSAN
        __tsan_switch_to_fiber(tsan_outside, 0);
#endif
        swapcontext(&inside, &outside);
#if ACL_ATTN_SIM_ASAN
        __sanitizer_finish_switch_fiber(fake_inside, &outside_bottom, &outside_size);
#endif
    }
};

Fiber::Fiber(std::function<void()> body) : state_(std::make_unique<State>()) { state_->body = std::move(body); }
Fiber::~Fiber() = default;

bool Fiber::ended() const { return state_->ended; }
bool Fiber::started() const { return state_->started; }

void Fiber::resume() {
    State& state = *state_;
    if (!state.started) {
        state.stack =
            mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (state.stack == MAP_FAILED) throw std::bad_alloc();
        // The lowest page is a fence: a kernel that overflows its stack stops there.
        mprotect(state.stack, static_cast<size_t>(sysconf(_SC_PAGESIZE)), PROT_NONE);
        getcontext(&state.inside);
        state.inside.uc_stack.ss_sp = state.stack;
        state.inside.uc_stack.ss_size = kStackBytes;
        state.inside.uc_link = nullptr;
        const uintptr_t address = reinterpret_cast<uintptr_t>(&state);
        makecontext(&state.inside, reinterpret_cast<void (*)()>(&State::enter), 2, static_cast<unsigned>(address >> 32),
                    static_cast<unsigned>(address));
        state.started = true;
#if ACL_ATTN_SIM_TSAN
        state.tsan_inside = __tsan_create_fiber(0);
#endif
    }
#if ACL_ATTN_SIM_TSAN
    state.tsan_outside = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(state.tsan_inside, 0);
#endif
#if ACL_ATTN_SIM_ASAN
    __sanitizer_start_switch_fiber(&state.fake_outside, state.stack, kStackBytes);
#endif
    swapcontext(&state.outside, &state.inside);
#if ACL_ATTN_SIM_ASAN
    __sanitizer_finish_switch_fiber(state.fake_outside, nullptr, nullptr);
#endif
}

void Fiber::yield() { state_->leave(false); }

}  // namespace acl_attn::sim
