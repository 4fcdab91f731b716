// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/regions.h"

#include <algorithm>
#include <utility>

#include "runtime/memory.h"

namespace acl_attn::ops {
namespace {

Finding check_address(const Region& region, aclnnStatus code) {
    if (region.span.begin == region.span.end) return {};
    const auto refused = [&](const char* expected, const std::string& got) {
        return refuse(code, region.name(), expected, got, {});
    };
    if (region.address == nullptr) return refused("the address of its data", "a null address");
    const size_t excess = reinterpret_cast<uintptr_t>(region.address) % region.alignment;
    if (excess != 0) {
        return refused(text("an address that ", region.alignment, " divides").c_str(),
                       text("one that is ", excess, " bytes off"));
    }
    const size_t room = runtime::known_room(region.address);
    if (region.span.end <= 0 || static_cast<size_t>(region.span.end) <= room) return {};
    return refused(text("memory for ", region.span.end, " bytes from its address on").c_str(),
                   text("an address ", room, " bytes before the end of its memory"));
}

bool lie_on_each_other(const Region& a, const Region& b) { return overlap(a.span, a.address, b.span, b.address); }

Finding not_apart(const std::string& written, const Region& other, aclnnStatus code) {
    return refuse(code, written, "memory of its own", text("memory that overlaps ", other.name()), {});
}

// Calls visit(region, is_output) for each, inputs first.
template <class Visit>
void for_each(const Regions& regions, const Visit& visit) {
    for (const Region& input : regions.inputs) visit(input, false);
    for (const Region& output : regions.outputs) visit(output, true);
}

}  // namespace

std::string member_name(const char* parameter, int64_t member) {
    return member < 0 ? std::string(parameter) : text(parameter, "[", member, "]");
}

void add_region(std::vector<Region>& to, const char* parameter, size_t index, const meta::Tensor& tensor,
                bool is_sketch, int64_t member) {
    if (is_sketch && tensor.data == nullptr) return;
    const size_t alignment = static_cast<size_t>(std::max(meta::dtype_bits(tensor.dtype) / 8, 1));
    to.push_back({parameter, index, member, byte_span(tensor), alignment, tensor.data});
}

engine::MemoryRanges ranges_of(const Regions& regions) {
    engine::MemoryRanges ranges;
    for_each(regions, [&](const Region& region, bool is_output) {
        const char* begin = static_cast<const char*>(region.address) + region.span.begin;
        ranges.push_back({begin, static_cast<uint64_t>(region.span.end - region.span.begin), region.parameter,
                          is_output});
    });
    return ranges;
}

Finding check_addresses(const Regions& regions, aclnnStatus code) {
    Finding found;
    for_each(regions, [&](const Region& region, bool) {
        if (!found) found = check_address(region, code);
    });
    return found;
}

Finding check_apart(const Regions& regions, aclnnStatus code) {
    for (const Region& output : regions.outputs) {
        for (const Region& input : regions.inputs) {
            if (lie_on_each_other(output, input)) return not_apart(output.name(), input, code);
        }
        for (const Region& earlier : regions.outputs) {
            if (&earlier == &output) break;
            if (lie_on_each_other(output, earlier)) return not_apart(output.name(), earlier, code);
        }
    }
    return {};
}

Finding check_retargeted(const Regions& regions, aclnnStatus code, const char* addressed, const char* apart) {
    if (Finding finding = check_addresses(regions, code)) return named(std::move(finding), addressed);
    return named(check_apart(regions, code), apart);
}

Finding check_workspace(const Regions& regions, const void* workspace, uint64_t bytes, aclnnStatus code) {
    const ByteSpan span{true, 0, static_cast<int64_t>(bytes)};
    Finding found;
    for_each(regions, [&](const Region& region, bool) {
        if (!found && overlap(span, workspace, region.span, region.address)) {
            found = not_apart("workspace", region, code);
        }
    });
    return found;
}

}  // namespace acl_attn::ops
