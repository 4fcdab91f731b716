// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Which parts of a workspace somebody has written since the launch began: what an earlier launch left there must not be
// read. Kept for blocks of 32 bytes, the unit of the device's copies, which may well carry unwritten bytes behind the
// end of a row: those are poison.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace acl_attn::sim {

class WrittenBlocks {
public:
    // Nothing is kept of 0 bytes.
    WrittenBlocks(uint64_t address, uint64_t bytes)
        : first_(address / kBlock), is_written_(bytes == 0 ? 0 : end_of(address + bytes) - first_) {}

    void add(uint64_t address, uint64_t bytes) { std::fill(at(address), end_at(address + bytes), true); }

    // The first byte of a block in the range that nobody has written; the range's end if there is none.
    uint64_t first_unwritten(uint64_t address, uint64_t bytes) const {
        const auto self = const_cast<WrittenBlocks*>(this);
        const auto found = std::find(self->at(address), self->end_at(address + bytes), false);
        const uint64_t block = first_ + static_cast<uint64_t>(found - self->is_written_.begin());
        return std::clamp(block * kBlock, address, address + bytes);
    }

private:
    static constexpr uint64_t kBlock = 32;

    static uint64_t end_of(uint64_t address) { return (address + kBlock - 1) / kBlock; }
    std::vector<bool>::iterator at(uint64_t address) {
        return is_written_.begin() + static_cast<int64_t>(address / kBlock - first_);
    }
    std::vector<bool>::iterator end_at(uint64_t address) {
        return is_written_.begin() + static_cast<int64_t>(end_of(address) - first_);
    }

    uint64_t first_;
    std::vector<bool> is_written_;
};

}  // namespace acl_attn::sim
