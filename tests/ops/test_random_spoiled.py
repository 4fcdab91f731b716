# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Random calls with one thing spoiled: each is refused with a message, or computed rightly; never anything else."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import acl_attn
from acl_attn import reference
from acl_attn.testing.compare import assert_close

from .runs import tolerance_of_rows
from .test_random import calls

INTEGERS = st.one_of(
    st.integers(-3, 12), st.sampled_from([16, 64, 100, 2**31 - 1, 2**31, 2**32, 2**62, 2**63 - 1, -(2**31), -(2**63)])
)
LAYOUT_NAMES = ("BSH", "BSND", "BNSD", "TND", "NTD", "BNSD_BSND", "NTD_TND", "TND_NTD", "BSH_NBSD", "bsnd", "")


@st.composite
def spoiled(draw: st.DrawFn) -> dict[str, Any]:
    case, arguments = draw(calls())
    arguments = {**case.attributes, **arguments}
    name = draw(st.sampled_from(sorted({*arguments, "block_size", "sparse_mode", "pre_tokens", "inner_precise"})))
    old = arguments.get(name)
    if name == "input_layout":
        new: object = draw(st.sampled_from(LAYOUT_NAMES))
    elif name in ("actual_seq_lengths", "actual_seq_lengths_kv"):
        new = list(old)
        change = draw(st.sampled_from(["entry", "drop", "add", "none", "reverse"]))
        if change == "entry" and new:
            new[draw(st.integers(0, len(new) - 1))] = draw(INTEGERS)
        new = {"drop": new[:-1], "add": [*new, draw(INTEGERS)], "none": None, "reverse": new[::-1]}.get(change, new)
    elif name == "block_table":
        new = old.copy()
        new[draw(st.integers(0, len(new) - 1)), draw(st.integers(0, new.shape[1] - 1))] = draw(st.integers(-3, 200))
    elif isinstance(old, np.ndarray):
        new = draw(spoiled_arrays(old))
    elif isinstance(old, list):
        new = [*old[:-1], draw(spoiled_arrays(old[-1]))]
    elif name == "scale_value":
        new = draw(st.sampled_from([0.0, -1.0, 3, 1e-40]))
    else:
        new = draw(INTEGERS)
    return {**arguments, name: new}


@st.composite
def spoiled_arrays(draw: st.DrawFn, array: np.ndarray) -> np.ndarray:
    axis = draw(st.integers(0, array.ndim - 1))
    return draw(
        st.sampled_from(
            [
                np.ascontiguousarray(np.delete(array, slice(0, 1), axis)),
                np.concatenate([array, array], axis),
                array[None],
                array.reshape(-1),
                array[..., ::-1],
                array.swapaxes(0, axis),
                array.astype(np.float32),
                array.astype(ml_dtypes.bfloat16),
                np.zeros(array.shape, np.int8),
            ]
        )
    )


@settings(max_examples=500, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(spoiled())
def test_refused_or_right(arguments: dict[str, Any]) -> None:
    message = ""
    try:
        out, lse = acl_attn.fused_infer_attention_score(**arguments, softmax_lse_flag=True)
    except acl_attn.AclAttnError as refusal:
        message = str(refusal)
    if message:
        assert re.match(r"[a-z0-9_]+(\[-?\d+\])*: expected .+, got .+", message, re.DOTALL), message
        return
    # Calls without a query or without a key are answered before anything else is checked, by the vendor as well.
    keys = arguments["key"] if isinstance(arguments["key"], list) else [arguments["key"]]
    if not arguments["query"].size or not any(key.size for key in keys):
        assert not out.any()
        assert np.isposinf(np.asarray(lse)).all()
        return
    want, want_lse = reference.fused_infer_attention_score(**arguments, softmax_lse_flag=True)
    assert_close(out, want, tolerance=tolerance_of_rows(out, np.asarray(lse)))
    assert_close(np.asarray(lse), want_lse)
