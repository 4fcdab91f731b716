// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/sparse_attention/memory.h"

#include <algorithm>

#include "runtime/memory.h"

namespace acl_attn::ops::sparse {
namespace {

Finding check_address(const Region& region) {
    if (region.span.begin == region.span.end) return {};
    if (region.address == nullptr) return invalid(region.name, "the address of its data", "a null address");
    const size_t excess = reinterpret_cast<uintptr_t>(region.address) % region.alignment;
    if (excess != 0) {
        return invalid(region.name, text("an address that ", region.alignment, " divides"),
                       text("one that is ", excess, " bytes off"));
    }
    const size_t room = runtime::known_room(region.address);
    if (region.span.end <= 0 || static_cast<size_t>(region.span.end) <= room) return {};
    return invalid(region.name, text("memory for ", region.span.end, " bytes from its address on"),
                   text("an address ", room, " bytes before the end of its allocation"));
}

bool overlap(const Region& a, const Region& b) { return ops::overlap(a.span, a.address, b.span, b.address); }

Finding not_apart(const char* written, const char* other) {
    return invalid(written, "memory of its own", text("memory that overlaps ", other));
}

}  // namespace

engine::MemoryRanges ranges_of(const Regions& regions) {
    engine::MemoryRanges ranges;
    for (const std::vector<Region>* side : {&regions.inputs, &regions.outputs}) {
        for (const Region& region : *side) {
            const char* begin = static_cast<const char*>(region.address) + region.span.begin;
            ranges.push_back({begin, static_cast<uint64_t>(region.span.end - region.span.begin), region.name,
                              side == &regions.outputs});
        }
    }
    return ranges;
}

void add_region(std::vector<Region>& to, const char* name, size_t index, const meta::Tensor& tensor, bool is_sketch) {
    if (is_sketch && tensor.data == nullptr) return;
    const size_t alignment = static_cast<size_t>(std::max(meta::dtype_bits(tensor.dtype) / 8, 1));
    to.push_back({name, index, byte_span(tensor), alignment, tensor.data});
}

Finding check_addresses(const Regions& regions) {
    for (const std::vector<Region>* side : {&regions.inputs, &regions.outputs}) {
        for (const Region& region : *side) {
            if (Finding finding = check_address(region)) return finding;
        }
    }
    return {};
}

Finding check_apart(const Regions& regions) {
    for (const Region& out : regions.outputs) {
        for (const Region& input : regions.inputs) {
            if (overlap(out, input)) return not_apart(out.name, input.name);
        }
        for (const Region& other : regions.outputs) {
            if (&other != &out && overlap(out, other)) return not_apart(out.name, other.name);
        }
    }
    return {};
}

Finding check_workspace(const Regions& regions, const void* workspace, uint64_t bytes) {
    const ByteSpan span{true, 0, static_cast<int64_t>(bytes)};
    for (const std::vector<Region>* side : {&regions.inputs, &regions.outputs}) {
        for (const Region& region : *side) {
            if (ops::overlap(span, workspace, region.span, region.address)) return not_apart("workspace", region.name);
        }
    }
    return {};
}

}  // namespace acl_attn::ops::sparse
