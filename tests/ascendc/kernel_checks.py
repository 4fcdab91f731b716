# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a call on the kernels and holds it against the reference and the host target."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

import acl_attn
from acl_attn import reference
from acl_attn.testing.build import arguments
from acl_attn.testing.compare import Tolerance, assert_close, assert_within_a_step, tolerance_of
from acl_attn.testing.elements import ELEMENTS
from acl_attn.testing.sparse.build import arguments as sparse_arguments

from ..sparse.runs import functions
from ..sparse.runs import run as sparse_run

if TYPE_CHECKING:
    from acl_attn.testing.calls import Call
    from acl_attn.testing.sparse.cases import SparseCase

Array = np.ndarray[Any, Any]

# Probabilities are rounded to the query's type before they meet the values, and stored keys before they meet the query:
# about twice the errors of an output's own rounding, and an LSE of scores that were moved.
FACTOR = 3.0
LSE = Tolerance(relative=4e-6, to_rms=4e-6, rms=4e-6)
LSE_OF_STORED = {
    "float16": Tolerance(relative=1e-3, to_rms=1e-3, rms=5e-4),
    "bfloat16": Tolerance(relative=8e-3, to_rms=8e-3, rms=4e-3),
}
# Weights of these schemes are rounded relative to the largest score so far, step after step, and the kernels' steps are
# of another length than the reference's tiles: weights are other numbers of 8 bits. Those of decode MLA are the same.
OTHER_STEPS = {
    "per_tensor": Tolerance(relative=0.02, to_rms=0.1, rms=0.02),
    "gqa_fp8": Tolerance(relative=0.05, to_rms=0.15, rms=0.03),
}
_LACKING = re.compile(r"got ([^;]*), which no kernel instantiation serves;")


def check_on_kernels(call: Call) -> str:
    """Run a call on target sim; what the kernels lack for it, in their words, or nothing if all is right."""
    given = arguments(call)
    try:
        out, lse = _run(given, "sim")
    except acl_attn.UnsupportedError as refusal:
        return _lacking(refusal)
    want, want_lse = reference.fused_infer_attention_score(**given, softmax_lse_flag=True)
    assert want_lse is not None
    _compare(call, out, lse, want, np.asarray(want_lse))
    host_out, host_lse = _run(given, "host")
    _compare(call, out, lse, acl_attn.dtypes.decode(host_out), host_lse)
    return ""


def check_sparse_on_kernels(case: SparseCase) -> str:
    """Do the same with a call of a sparse operator, whose task list is made on target sim, too."""
    given = sparse_arguments(case)
    acl_attn.Device(0, "sim").make_current()
    try:
        out, lse = sparse_run(given)
    except acl_attn.UnsupportedError as refusal:
        return _lacking(refusal)
    want, want_lse = functions(given)[2](**given, return_softmax_lse=True)
    acl_attn.Device(0, "host").make_current()
    host_out, host_lse = sparse_run(given)
    widened = _widened(tolerance_of(out.dtype))
    for expected, expected_lse in ((want, want_lse), (host_out, host_lse)):
        assert_close(lse, expected_lse, name="softmax_lse", tolerance=LSE)
        assert_close(out, expected, name="attn_out", tolerance=widened)
    return ""


def _lacking(refusal: acl_attn.UnsupportedError) -> str:
    found = _LACKING.search(str(refusal))
    if found is None:
        raise refusal
    return found[1]


def _widened(allowed: Tolerance) -> Tolerance:
    # An element near 0 carries the errors of what it was summed from.
    return Tolerance(FACTOR * allowed.relative, max(FACTOR * allowed.to_rms, 2e-3), FACTOR * allowed.rms)


def _run(given: dict[str, Any], target: str) -> tuple[Array, Array]:
    acl_attn.Device(0, target).make_current()
    out, lse = acl_attn.fused_infer_attention_score(**given, softmax_lse_flag=True)
    return out, np.asarray(lse)


def _compare(call: Call, out: Array, lse: Array, want: Array, want_lse: Array) -> None:
    stored = bool(call.kv_format)
    assert_close(lse, want_lse, name="softmax_lse", tolerance=LSE_OF_STORED[call.dtype] if stored else LSE)
    allowed = tolerance_of(ELEMENTS[call.dtype])
    if call.out_format:
        noise = 10 * allowed.to_rms if call.dtype == "float16" else 3 * allowed.to_rms
        assert_within_a_step(out, want, name="attention_out", noise=noise)
        return
    assert_close(out, want, name="attention_out", tolerance=OTHER_STEPS.get(call.scheme, _widened(allowed)))
