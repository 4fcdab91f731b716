// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The products of decode with FLOAT4_E2M1 codes.
#pragma once

#include "engine/float4_keys-inl.h"
#include "engine/float4_values-inl.h"

namespace acl_attn::engine {
namespace {

template <>
struct DecodeProducts<E2M1> {
    using Keys = Float4Keys;
    using Values = Float4Values;
    struct Session {};
};

}  // namespace
}  // namespace acl_attn::engine
