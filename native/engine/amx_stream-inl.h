// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The products of decode with stored codes, on AMX. A core's vector units would need several times as long for a
// group's rows as its memory for the codes; its tiles multiply them with 16 columns or rows at once, which the digits
// of four rows fill: see amx_digits-inl.h. Products of int8 are exact; every number of the result depends on its row,
// its key or channel, and on the tile of kStreamKeys keys, not on what is computed beside it.
#pragma once

#include "engine/amx_keys-inl.h"
#include "engine/amx_values-inl.h"

namespace acl_attn::engine {
namespace {

template <class T>
struct TileProducts {
    using Keys = TileKeys<T>;
    using Values = TileValues<T>;
    using Session = AmxSession;
};
template <>
struct DecodeProducts<I8> : TileProducts<I8> {};
template <>
struct DecodeProducts<I4> : TileProducts<I4> {};

}  // namespace
}  // namespace acl_attn::engine
