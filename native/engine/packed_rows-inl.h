// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// One instruction set's table. The including file names it and is compiled with that instruction set's flags.
#pragma once

#include "engine/packed_rows_kernels.h"
#include "formats/packed_row-inl.h"

namespace acl_attn::engine {
namespace {

template <class Code, class From>
bool pack_one(const formats::PackedRowLayout& layout, const void* from, float full, float limit, uint8_t* row) {
    return pack_row<Code, From>(layout, elements<From>(from), full, limit, row);
}

template <class Code, class To>
void unpack_one(const formats::PackedRowLayout& layout, const uint8_t* row, void* to) {
    unpack_row<Code, To>(layout, row, static_cast<typename To::Element*>(to));
}

constexpr PackedRowKernels make_packed_row_kernels(const char* name) {
    return {name,
            {{pack_one<E4M3, F16>, pack_one<HiFloat8, F16>},
             {pack_one<E4M3, BF16>, pack_one<HiFloat8, BF16>},
             {pack_one<E4M3, F32>, pack_one<HiFloat8, F32>}},
            {{unpack_one<E4M3, F16>, unpack_one<HiFloat8, F16>},
             {unpack_one<E4M3, BF16>, unpack_one<HiFloat8, BF16>},
             {unpack_one<E4M3, F32>, unpack_one<HiFloat8, F32>}}};
}

}  // namespace
}  // namespace acl_attn::engine
