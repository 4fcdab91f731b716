// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/launch.h"

#include <exception>
#include <thread>

#include "sim/machine.h"

namespace acl_attn::sim {

void set_running(Unit* unit);

namespace {

constexpr uint32_t kMostBlocks = 1024;

// The units of some cores, on one host thread.
class Scheduler {
public:
    Scheduler(Machine& machine, uint32_t thread, uint32_t threads, std::vector<std::atomic<uint64_t>>& idle_since)
        : machine_(machine), thread_(thread), idle_since_(idle_since) {
        for (uint32_t core = thread; core < machine.options.blocks; core += threads) {
            for (const auto& unit : machine.cores[core]->units) units_.push_back(unit.get());
        }
    }

    void run() {
        for (Unit* unit : units_) make_fiber(*unit);
        while (!machine_.stopped) {
            const uint64_t before = machine_.progress;
            if (machine_.options.seed != 0) std::shuffle(units_.begin(), units_.end(), machine_.random);
            bool all_done = true;
            for (Unit* unit : units_) all_done = step(*unit) && all_done;
            if (all_done) break;
            if (machine_.progress != before) continue;
            idle_since_[thread_] = before;
            if (nobody_moves(before)) machine_.fail(deadlock_text());
            std::this_thread::yield();
        }
        idle_since_[thread_] = kNeverMoves;
        unwind();
        set_running(nullptr);
    }

private:
    static constexpr uint64_t kNeverMoves = ~uint64_t{0};

    void make_fiber(Unit& unit) {
        Machine& machine = machine_;
        unit.state().fiber = std::make_unique<Fiber>([&machine, &unit] {
            try {
                machine.kernel();
                UnitState& state = unit.state();
                state.wait_until("its pipes at the end of the kernel", [&state] { return state.idle(); });
                state.check_end();
            } catch (const Cancelled&) {
            } catch (const Fault& fault) {
                machine.fail(fault.text);
            } catch (const std::exception& error) {
                machine.fail(std::string("kernel: ") + error.what());
            }
            machine.progress++;
        });
    }

    // Whether the unit has ended.
    bool step(Unit& unit) {
        set_running(&unit);
        Fiber& fiber = *unit.state().fiber;
        if (!fiber.ended()) fiber.resume();
        return fiber.ended();
    }

    bool nobody_moves(uint64_t progress) const {
        for (const std::atomic<uint64_t>& since : idle_since_) {
            if (since != progress && since != kNeverMoves) return false;
        }
        return machine_.progress == progress;
    }

    std::string deadlock_text() const {
        std::string text = "deadlock: every core waits for another one";
        for (const auto& core : machine_.cores) {
            for (const auto& unit : core->units) text += "\n  " + unit->state().report();
        }
        return text;
    }

    // A stopped program is left by an exception, so that what it holds on its stack is given back.
    void unwind() {
        for (Unit* unit : units_) {
            Fiber& fiber = *unit->state().fiber;
            set_running(unit);
            if (fiber.started() && !fiber.ended()) fiber.resume();
        }
    }

    Machine& machine_;
    uint32_t thread_;
    std::vector<std::atomic<uint64_t>>& idle_since_;
    std::vector<Unit*> units_;
};

std::string problem_of(const LaunchOptions& options) {
    if (options.blocks == 0 || options.blocks > kMostBlocks) {
        return "blocks: expected 1 to " + std::to_string(kMostBlocks) + ", got " + std::to_string(options.blocks);
    }
    if (options.seed != 0 && !options.checks) return "seed: expected checks with a random order";
    if (options.dry && (options.checks || !options.counts)) return "dry: expected counts and no checks";
    return "";
}

void run_threads(Machine& machine, uint32_t threads) {
    std::vector<std::atomic<uint64_t>> idle_since(threads);
    for (auto& since : idle_since) since = ~uint64_t{0} - 1;
    std::vector<std::thread> others;
    const auto work = [&](uint32_t thread) {
        try {
            Scheduler(machine, thread, threads, idle_since).run();
        } catch (const std::exception& error) {
            machine.fail(std::string("launch: ") + error.what());
        }
    };
    for (uint32_t thread = 1; thread < threads; thread++) others.emplace_back(work, thread);
    work(0);
    for (std::thread& other : others) other.join();
}

}  // namespace

LaunchResult launch(const LaunchOptions& options, const std::function<void()>& kernel) {
    LaunchResult result;
    result.error = problem_of(options);
    if (!result.error.empty()) return result;
    Machine machine(options, kernel);
    const bool alone = options.checks || options.counts;
    const uint32_t wanted = options.threads == 0 ? std::max(1u, std::thread::hardware_concurrency()) : options.threads;
    run_threads(machine, alone ? 1 : std::min(wanted, options.blocks));
    if (machine.error.empty() && options.checks) machine.check_channels();
    result.error = machine.error;
    result.ok = result.error.empty();
    if (!options.counts) return result;
    for (const auto& core : machine.cores) {
        for (const auto& unit : core->units) {
            UnitState& state = unit->state();
            for (int pipe = 0; pipe < kPipes; pipe++) {
                state.counts.pipes[pipe] = state.pipes[pipe].counts;
                state.counts.end_cycle =
                    std::max({state.counts.end_cycle, state.pipes[pipe].time, state.pipes[pipe].done});
            }
            result.cycles = std::max(result.cycles, state.counts.end_cycle);
            result.units.push_back(state.counts);
        }
    }
    result.trace = std::move(machine.trace);
    result.hbm_bytes = machine.lines.read_bytes();
    return result;
}

}  // namespace acl_attn::sim
