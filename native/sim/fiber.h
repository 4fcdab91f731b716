// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// A function with a stack of its own that can stop in the middle. Cooperative: it runs on the thread that resumes it,
// which has to be always the same one.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace acl_attn::sim {

class Fiber {
public:
    // `body` must not let exceptions out.
    explicit Fiber(std::function<void()> body);
    ~Fiber();  // the body has to have ended, or never to have started
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    void resume();  // from outside: runs the body until it yields or ends
    void yield();   // from inside
    bool ended() const;
    bool started() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace acl_attn::sim
