// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ascendc/launch/attention.h"

#include <stdexcept>
#include <utility>
#include <vector>

#include "ascendc/launch/arena.h"
#include "ascendc/launch/launcher.h"
#include "ascendc/launch/params.h"
#include "ascendc/launch/schedule.h"
#include "ascendc/launch/table.h"
#include "engine/table_fault.h"

namespace acl_attn::ascendc {
namespace {

class KernelAttention final : public engine::Attention {
public:
    KernelAttention(engine::Problem problem, const Chip& chip, const Instantiation& instantiation)
        : problem_(std::move(problem)), chip_(chip), instantiation_(instantiation),
          schedule_(make_schedule(problem_, instantiation, chip)),
          bytes_(divide_memory(nullptr, problem_, schedule_, instantiation).bytes) {}

    size_t workspace_bytes() const override { return bytes_; }

    engine::Fault run(const engine::Operands& operands, void* memory) const noexcept override {
        engine::Fault fault;
        if (shares_memory()) fault = engine::find_table_fault(problem_, operands);
        if (fault.found || schedule_.cores == 0) return fault;
        try {
            fault.failure = compute(operands, memory);
        } catch (...) {
            fault.failed = true;  // without words, for which there was no memory
        }
        if (!fault.failure.empty()) fault.failed = true;
        return fault;
    }

    std::string describe() const override {
        const auto text = [](auto number) { return std::to_string(number); };
        return "kernel: " + std::string(instantiation_.name) + ", on " + text(schedule_.cores) + " of " +
               text(chip_.cores) + " AI cores of dav-" + text(chip_.architecture) + "\nwork items: " +
               text(schedule_.item_count()) + " (tiles of " + text(rows_of(instantiation_.size)) + " rows and " +
               text(kKeysOfStep) + " keys); " + text(schedule_.merge_count()) + " merges of split keys\nworkspace: " +
               text(bytes_) + " bytes";
    }

private:
    // Empty, or what went wrong.
    std::string compute(const engine::Operands& operands, void* memory) const {
        const KernelMemory places = divide_memory(memory, problem_, schedule_, instantiation_);
        LaunchMemory touched = {operands.ranges, places.plan(), places.workspace()};
        std::vector<char> image(shares_memory() ? 0 : places.plan_bytes + Arena::kAlignment);
        KernelMemory written = places;
        if (!shares_memory()) {
            written = divide_memory(image.data(), problem_, schedule_, instantiation_);
            touched.image = written.sequences;
        }
        write_plan(written, problem_, operands, schedule_);
        return launch(instantiation_, make_params(places, problem_, operands, schedule_, instantiation_),
                      schedule_.cores, touched);
    }

    const engine::Problem problem_;
    const Chip chip_;
    const Instantiation& instantiation_;
    const Schedule schedule_;
    const size_t bytes_;
};

}  // namespace

std::string unsupported(const engine::Problem& problem, const Chip& chip) {
    std::string lacking;
    find_instantiation(problem, chip.architecture, &lacking);
    return lacking;
}

std::unique_ptr<const engine::Attention> plan(engine::Problem problem, const Chip& chip) {
    std::string lacking;
    const Instantiation* instantiation = find_instantiation(problem, chip.architecture, &lacking);
    if (instantiation == nullptr) throw std::invalid_argument(lacking + ": no kernel instantiation serves this");
    return std::make_unique<KernelAttention>(std::move(problem), chip, *instantiation);
}

}  // namespace acl_attn::ascendc
