// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The register form of vector code (dav-3510): functions that asc_vf_call runs as one operation of the vector pipe.
#pragma once

#include "ascendc/reg_memory.h"
#include "ascendc/reg_ops.h"

namespace AscendC {
namespace MicroAPI = Reg;  // its old name
}

// `args` are passed by value; pointers into UB are (__ubuf__ T*)tensor.GetPhyAddr().
template <auto function, class... Args>
inline void asc_vf_call(Args... args) {
    namespace detail = AscendC::detail;
    detail::Unit& unit = detail::Unit::current();
    detail::require(unit.role() == acl_attn::sim::Role::vector, "asc_vf_call", "expected to run on a vector core");
    acl_attn::sim::issue(
        unit, detail::Pipe::v, "asc_vf_call", [](detail::Operation& operation) { operation.vector_function = true; },
        [=] { function(args...); });
}
