// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What the cores of one AI core tell each other. In iteration i the cube computes the scores of step i, then the
// products of step i - 1; vector cores turn the scores of step i into probabilities, then add the products of step
// i - 1. Every hand-over has two slots, and nobody announces that a slot is free, because the next announcement that
// its writer waits for implies it:
//
//   scores of step i + 2    are written after the cube saw the probabilities of i, which were made from those of i;
//   probabilities of i + 2  are written after vector cores saw the products of i, which were made from those of i;
//   products of step i + 2  are written after the cube saw the probabilities of i + 2, which vector cores make after
//                           they have added the products of i.
//
// Keys that vector cores make have a slot for each of three steps: those of step i + 3 are written after vector cores
// saw the scores of step i, for which the cube had fetched its keys.
//
// Where products have one slot in UB (Traits::kProductSlots), vector cores add those of step i - 1 before they make the
// probabilities of step i; then the last two hold for step i + 1, and one slot of probabilities is enough, too.
#pragma once

#include "ascendc/tile/shared/handoff.h"

namespace acl_attn::ascendc {
inline namespace ACL_ATTN_KERNEL_ARCH {

using ScoresReady = Signal<0>;
using ProbsReady = Signal<1>;
using ProductsReady = Signal<2>;
using KeysReady = Signal<3>;  // dequantised

}  // namespace ACL_ATTN_KERNEL_ARCH
}  // namespace acl_attn::ascendc
