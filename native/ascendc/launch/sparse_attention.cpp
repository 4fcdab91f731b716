// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ascendc/launch/sparse_attention.h"

#include <stdexcept>

#include "ascendc/launch/launcher.h"
#include "ascendc/launch/sparse_params.h"
#include "ascendc/launch/sparse_schedule.h"
#include "ascendc/launch/sparse_table.h"
#include "engine/sparse_faults.h"

namespace acl_attn::ascendc {
namespace {

class KernelSparse final : public engine::SparseAttention {
public:
    KernelSparse(const engine::SparseProblem& problem, const Chip& chip, const SparseInstantiation& instantiation)
        : problem_(problem), chip_(chip), instantiation_(instantiation),
          bytes_(divide_memory(nullptr, problem, chip).rows.bytes) {}

    size_t workspace_bytes() const override { return bytes_; }
    int32_t cores() const override { return chip_.cores; }

    engine::SparseFault run(const engine::SparseOperands& operands, const engine::SparseSequence* sequences,
                            int64_t count, void* memory) const noexcept override {
        engine::SparseFault fault = engine::find_fault(problem_, operands, sequences, count);
        if (fault.found()) return fault;
        try {
            fault.failure = compute(operands, sequences, count, memory);
            fault.failed = !fault.failure.empty();
        } catch (...) {
            fault.failed = true;  // without words, for which there was no memory
        }
        return fault;
    }

    std::string describe() const override {
        const auto text = [](auto number) { return std::to_string(number); };
        return "kernel: " + std::string(instantiation_.name) + ", on up to " + text(chip_.cores) +
               " AI cores of dav-" + text(chip_.architecture) + "\nwork items: up to " +
               text(bounds_of(problem_).items) + " (tiles of " + text(kSparseTileRows) + " rows and " +
               text(kKeysOfStep) + " keys), on cores as the task list says if it is for so many\nworkspace: " +
               text(bytes_) + " bytes";
    }

private:
    // Empty, or what went wrong.
    std::string compute(const engine::SparseOperands& operands, const engine::SparseSequence* sequences, int64_t count,
                        void* memory) const {
        const SparseSchedule schedule = make_schedule(problem_, sequences, count, operands.shares, chip_);
        if (schedule.cores == 0) return {};
        if (!fits(problem_, schedule, count)) return "sparse attention: longer sequences than were planned for";
        const SparseMemory places = divide_memory(memory, problem_, chip_);
        write_plan(places, problem_, operands, sequences, count, schedule);
        const LaunchMemory watched = {operands.ranges, places.rows.plan(), places.rows.workspace()};
        return launch(instantiation_, make_params(places, problem_, operands, schedule), schedule.cores, watched);
    }

    const engine::SparseProblem problem_;
    const Chip chip_;
    const SparseInstantiation& instantiation_;
    const size_t bytes_;
};

}  // namespace

std::string unsupported(const engine::SparseProblem& problem, const Chip& chip) {
    std::string lacking;
    find_instantiation(problem, chip.architecture, &lacking);
    return lacking;
}

std::unique_ptr<const engine::SparseAttention> plan(const engine::SparseProblem& problem, const Chip& chip) {
    std::string lacking;
    const SparseInstantiation* instantiation = find_instantiation(problem, chip.architecture, &lacking);
    if (instantiation == nullptr) throw std::invalid_argument(lacking + ": no kernel instantiation serves this");
    return std::make_unique<KernelSparse>(problem, chip, *instantiation);
}

}  // namespace acl_attn::ascendc
