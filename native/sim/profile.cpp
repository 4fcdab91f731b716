// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/profile.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sim/cost.h"

namespace acl_attn::sim {

namespace {

constexpr const char* kPathNames[kPaths] = {"none",      "GM to UB",  "GM to L1", "UB to GM", "UB to L1", "L1 to GM",
                                            "L1 to L0A", "L1 to L0B", "L1 to BT", "L1 to FB", "L1 to UB", "L0C to GM",
                                            "L0C to L1", "L0C to UB", "UB to UB", "fill"};
constexpr uint32_t kPeakMacs = 16 * 16 * 16;  // a cycle, of 16-bit types

const char* setting(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr || *value == '\0' ? nullptr : value;
}

const char* role_name(Role role) { return role == Role::cube ? "cube" : "vector"; }

std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", value);
    return text;
}
std::string number(uint64_t value) { return std::to_string(value); }

std::string quoted(const char* text) {
    std::string result = "\"";
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') result += '\\';
        result += *text;
    }
    return result + "\"";
}

// "{"a": 1, "b": 2}" piece by piece.
class Object {
public:
    Object& add(const char* key, const std::string& value) {
        text_ += (text_.empty() ? "" : ", ") + quoted(key) + ": " + value;
        return *this;
    }
    std::string close() const { return "{" + text_ + "}"; }

private:
    std::string text_;
};

struct PipeSum {
    PipeCounts total;
    uint64_t most_busy = 0;
    uint32_t units = 0;
};

PipeSum sum_of(const LaunchResult& result, Role role, int pipe) {
    PipeSum sum;
    for (const UnitCounts& unit : result.units) {
        if (unit.role != role) continue;
        const PipeCounts& counts = unit.pipes[pipe];
        sum.units++;
        sum.total.operations += counts.operations;
        sum.total.busy_cycles += counts.busy_cycles;
        sum.total.sets += counts.sets;
        sum.total.waits += counts.waits;
        sum.most_busy = std::max(sum.most_busy, counts.busy_cycles);
    }
    return sum;
}

double share(double part, double whole) { return whole == 0 ? 0 : part / whole; }

std::string pipes_json(const LaunchResult& result, std::string* bottleneck) {
    Object pipes;
    double highest = -1;
    for (Role role : {Role::cube, Role::vector}) {
        for (int pipe = 0; pipe < kPipes; pipe++) {
            const PipeSum sum = sum_of(result, role, pipe);
            if (sum.total.operations + sum.total.sets + sum.total.waits == 0) continue;
            const double cycles = static_cast<double>(result.cycles);
            const double mean = share(static_cast<double>(sum.total.busy_cycles), cycles * sum.units);
            const std::string name = std::string(role_name(role)) + " " + pipe_name(static_cast<Pipe>(pipe));
            if (mean > highest) highest = mean, *bottleneck = name;
            pipes.add(name.c_str(),
                      Object()
                          .add("operations", number(sum.total.operations))
                          .add("busy_cycles", number(sum.total.busy_cycles))
                          .add("utilisation", number(mean))
                          .add("utilisation_of_busiest", number(share(static_cast<double>(sum.most_busy), cycles)))
                          .add("flags_set", number(sum.total.sets))
                          .add("flags_waited_for", number(sum.total.waits))
                          .close());
        }
    }
    return pipes.close();
}

std::string moved_json(const LaunchResult& result) {
    Object moved;
    for (int path = 1; path < kPaths; path++) {
        uint64_t bytes = 0, bursts = 0;
        for (const UnitCounts& unit : result.units) bytes += unit.path_bytes[path], bursts += unit.path_bursts[path];
        if (bytes == 0) continue;
        moved.add(kPathNames[path], Object().add("bytes", number(bytes)).add("bursts", number(bursts)).close());
    }
    return moved.close();
}

std::string high_water_json(const LaunchOptions& options, const LaunchResult& result) {
    Object marks;
    for (int space = 1; space < kSpaces; space++) {
        uint64_t most = 0;
        for (const UnitCounts& unit : result.units) most = std::max(most, unit.high_water[space]);
        if (most == 0) continue;
        const Space which = static_cast<Space>(space);
        marks.add(
            space_name(which),
            Object().add("bytes", number(most)).add("of", number(uint64_t{space_bytes(options.arch, which)})).close());
    }
    return marks.close();
}

std::string append(const char* file, const std::string& text, const char* mode) {
    std::FILE* stream = std::fopen(file, mode);
    if (stream == nullptr) return std::string(file) + ": " + std::strerror(errno);
    const bool written = std::fwrite(text.data(), 1, text.size(), stream) == text.size();
    return std::fclose(stream) == 0 && written ? "" : std::string(file) + ": cannot be written";
}

}  // namespace

void ask_for_profile(LaunchOptions& options) {
    if (setting("ACL_ATTN_SIM_REPORT") == nullptr) return;
    options.counts = true;
    options.dry = !options.checks && setting("ACL_ATTN_SIM_DRY") != nullptr;
    if (setting("ACL_ATTN_SIM_TRACE") == nullptr) return;
    const char* core = setting("ACL_ATTN_SIM_CORE");
    options.traced_core = core == nullptr ? 0 : static_cast<int32_t>(std::strtol(core, nullptr, 10));
}

std::string write_profile(const LaunchOptions& options, const LaunchResult& result, const char* kernel) {
    const char* report = setting("ACL_ATTN_SIM_REPORT");
    if (report == nullptr || !options.counts) return "";
    const std::string problem = append(report, summary_json(options, result, kernel) + "\n", "a");
    const char* trace = setting("ACL_ATTN_SIM_TRACE");
    if (!problem.empty() || trace == nullptr) return problem;
    return append(trace, trace_json(options, result), "w");
}

std::string summary_json(const LaunchOptions& options, const LaunchResult& result, const char* kernel) {
    const ChipFigures& chip = chip_figures(options.arch);
    const double microseconds = static_cast<double>(result.cycles) / (chip.clock_ghz * 1000);
    uint64_t macs = 0, cube_cycles = 0, repeats = 0, sets = 0, waits = 0;
    for (const UnitCounts& unit : result.units) {
        macs += unit.macs, cube_cycles += unit.cube_cycles, repeats += unit.vector_repeats;
        sets += unit.cross_sets, waits += unit.cross_waits;
    }
    // 8-bit types take half of the cycles; there, those that padded products took are the limit.
    const double cycles = std::min(static_cast<double>(macs) / kPeakMacs, static_cast<double>(cube_cycles));
    const double cube_limit = cycles / chip.cores / (chip.clock_ghz * 1000);
    const double memory_limit = static_cast<double>(result.hbm_bytes) / (chip.hbm_gb_per_s * 1000);
    std::string bottleneck;
    const std::string pipes = pipes_json(result, &bottleneck);
    return Object()
        .add("kernel", quoted(kernel))
        .add("chip", quoted(chip.name))
        .add("note", quoted("an estimate from counts and published figures; nothing has run on an NPU"))
        .add("cores", number(uint64_t{options.blocks}))
        .add("dry", options.dry ? "true" : "false")
        .add("watched_buffers", number(uint64_t{options.buffers.size()}))
        .add("cycles", number(result.cycles))
        .add("microseconds", number(microseconds))
        .add("bottleneck", quoted(bottleneck.c_str()))
        .add("limits", Object()
                           .add("cube_microseconds", number(cube_limit))
                           .add("memory_microseconds", number(memory_limit))
                           .add("share_of_limit", number(share(std::max(cube_limit, memory_limit), microseconds)))
                           .close())
        .add("pipes", pipes)
        .add("moved", moved_json(result))
        .add("hbm_bytes", number(result.hbm_bytes))
        .add("macs", number(macs))
        .add("cube_cycles", number(cube_cycles))
        .add("vector_repeats", number(repeats))
        .add("flags_between_cores", Object().add("set", number(sets)).add("waited_for", number(waits)).close())
        .add("high_water", high_water_json(options, result))
        .close();
}

std::string trace_json(const LaunchOptions& options, const LaunchResult& result) {
    const double per_microsecond = chip_figures(options.arch).clock_ghz * 1000;
    std::string text = "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [";
    const char* separator = "";
    const auto row_of = [](Role role, uint32_t sub_block, Pipe pipe) {
        const uint32_t unit = role == Role::cube ? 0 : 1 + sub_block;
        return uint64_t{unit} * kPipes + static_cast<uint64_t>(pipe);
    };
    bool named[(1 + kVectorCores) * kPipes] = {};
    for (const TraceEvent& event : result.trace) {
        const uint64_t row = row_of(event.role, event.sub_block, event.pipe);
        const Object place = Object().add("pid", number(uint64_t{event.core})).add("tid", number(row));
        if (!named[row]) {
            named[row] = true;
            const std::string unit = event.role == Role::cube ? "cube" : "vector " + std::to_string(event.sub_block);
            text += separator +
                    Object(place)
                        .add("ph", "\"M\"")
                        .add("name", "\"thread_name\"")
                        .add("args", Object().add("name", quoted((unit + " " + pipe_name(event.pipe)).c_str())).close())
                        .close();
            separator = ",\n";
        }
        text += separator + Object(place)
                                .add("ph", "\"X\"")
                                .add("name", quoted(event.name))
                                .add("ts", number(static_cast<double>(event.start) / per_microsecond))
                                .add("dur", number(static_cast<double>(event.end - event.start) / per_microsecond))
                                .close();
    }
    return text + "]}\n";
}

}  // namespace acl_attn::sim
