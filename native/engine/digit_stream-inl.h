// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The products of decode with stored integers. Codes to fp32 would need as many instructions for conversions as for
// multiply-adds, which do a quarter of the work.
#pragma once

#include "engine/digit_keys-inl.h"
#include "engine/digit_values-inl.h"

namespace acl_attn::engine {
namespace {

template <class T>
struct DigitProducts {
    using Keys = DigitKeys<T>;
    using Values = DigitValues<T>;
    struct Session {};
};
template <>
struct DecodeProducts<I8> : DigitProducts<I8> {};
template <>
struct DecodeProducts<I4> : DigitProducts<I4> {};

}  // namespace
}  // namespace acl_attn::engine
