# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a `Call` and holds it against the reference, by what its output is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import acl_attn
from acl_attn import reference
from acl_attn.dtypes import decode, dtype_name
from acl_attn.reference.per_tensor import plain_scale
from acl_attn.testing.build import arguments
from acl_attn.testing.compare import Tolerance, assert_close, assert_within_a_step, tolerance_of
from acl_attn.testing.elements import ELEMENTS

if TYPE_CHECKING:
    from acl_attn.testing.calls import Call

Array = np.ndarray[Any, Any]
Arguments = dict[str, Any]

LSE = Tolerance(relative=2e-6, to_rms=2e-6, rms=2e-6)
# The device keeps scores of this scheme in float16; where float32 arithmetic rounds a score to the neighbour, its
# weight changes by 2**-11 and the LSE with it.
LSE_OF_HALF_SCORES = Tolerance(relative=1e-3, to_rms=1e-3, rms=1e-3)


def run(given: Arguments) -> tuple[Array, Array]:
    """Output and softmax_lse of the operator."""
    out, lse = acl_attn.fused_infer_attention_score(**given, softmax_lse_flag=True)
    return out, np.asarray(lse)


def check(call: Call) -> tuple[Array, Array]:
    """Run a call and hold all of its results against the reference."""
    given = arguments(call)
    got = run(given)
    compare(call, given, *got)
    return got


def compare(call: Call, given: Arguments, out: Array, lse: Array) -> None:
    """Hold results against the reference on the same arguments."""
    want, want_lse = reference.fused_infer_attention_score(**given, softmax_lse_flag=True)
    assert want_lse is not None
    assert lse.dtype == np.float32
    assert_close(lse, want_lse, name="softmax_lse", tolerance=LSE_OF_HALF_SCORES if is_per_tensor(call) else LSE)
    # What the float arithmetic ahead of a rounding may be off by.
    noise = tolerance_of(ELEMENTS[call.dtype]).to_rms
    if call.out_format:
        # int8 and FP8 agree but for numbers at a tie; HIFLOAT8 rounds large ones by their last bits.
        exact = {"int8": 0.995, "float8_e4m3fn": 0.995, "hifloat8": 0.0}[call.out_format]
        assert_within_a_step(out, want, name="attention_out", noise=noise, exact=exact)
    elif call.scheme:
        reach, spare = reach_of_a_weight(given), call.used_dim_v
        assert_within_a_step(out, want, name="attention_out", noise=noise, exact=0.995, reach=reach, spare=spare)
    else:
        assert out.dtype.name == call.dtype
        assert_close(out, want, name="attention_out")


def reach_of_a_weight(given: Arguments) -> float:
    """How far an output moves where a weight, of which the largest is 1, falls on the other side of a tie."""
    largest = np.nanmax(np.abs(decode(given["value"]).astype(np.float64)), initial=0.0)
    if "deq_scale2" in given:
        return float(largest * plain_scale(given["deq_scale2"]))
    scale = np.nanmax(given["value_antiquant_scale"].astype(np.float64), initial=0.0)
    # The part of a weight that a step of its format is at most.
    step = {"int8": 1 / 127, "float8_e4m3fn": 1 / 8, "hifloat8": 1 / 2}[dtype_name(given["query"].dtype)]
    return float(largest * scale * step)


def is_per_tensor(call: Call) -> bool:
    """Whether scores are kept in float16."""
    return call.scheme == "per_tensor"
