// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Which instantiation of the kernels serves which call. A call without one is refused when it is planned.
#pragma once

#include <string>

#include "ascendc/flash_attention/params.h"
#include "ascendc/flash_attention/schemes.h"
#include "ascendc/launch/chip.h"
#include "engine/attention.h"

namespace acl_attn::ascendc {

constexpr int64_t kMaxStride = int64_t{1} << 29;  // elements, of rows that one copy moves

// A compiled kernel. `kernel` is what a target launches it by: in the simulator, the function itself.
struct Instantiation {
    const char* name;
    int32_t architecture;
    engine::Dtype element;
    engine::Dtype kv;  // that keys and values are stored in
    TileSize size;
    Scheme scheme;  // of quantised queries
    void (*kernel)(FlashAttentionParams);

    bool dequantises() const { return kv != element; }
    uint32_t bytes_of_core() const {
        const bool has_more = has_rope_scores(scheme, element == engine::Dtype::i8);
        return core_bytes(size, dequantises()) + (has_more ? rope_score_bytes(size) : 0u);
    }
};

// Null, and in words what the kernels lack, if none serves the problem on that chip.
const Instantiation* find_instantiation(const engine::Problem& problem, int32_t architecture, std::string* lacking);

Scheme scheme_of(const engine::Problem& problem);

// One line for each instantiation: name, architecture, types, tile.
std::string instantiation_table();

}  // namespace acl_attn::ascendc
