# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The reference in every layout and sparse mode against element-by-element loops on flat memory."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
import pytest

from acl_attn import reference
from acl_attn.testing.cases import Case
from acl_attn.testing.layouts import LAYOUTS, dense_arguments, is_packed

from .brute_force import attention as brute_force
from .brute_force import keeps

MASKS = {
    "no_mask": {},
    "window": {"sparse_mode": 0, "mask": 0.3, "pre_tokens": 2, "next_tokens": 1},
    "empty_rows": {"sparse_mode": 0, "mask": 0.0, "next_tokens": -2},
    "full": {"sparse_mode": 1, "mask": 0.5, "pre_tokens": 0, "next_tokens": 0},
    "top_left": {"sparse_mode": 2},
    "bottom_right": {"sparse_mode": 3, "pre_tokens": 0, "next_tokens": 0},
    "band": {"sparse_mode": 4, "pre_tokens": 2, "next_tokens": 1},
    "band_before": {"sparse_mode": 4, "pre_tokens": 3, "next_tokens": -1},
    "band_after": {"sparse_mode": 4, "pre_tokens": -1, "next_tokens": 3},
}


@pytest.mark.parametrize(("heads", "kv_heads"), [(2, 2), (6, 2), (3, 1)], ids=["mha", "gqa3", "mqa"])
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_and_mode(layout: str, mask: str, heads: int, kv_heads: int) -> None:
    case = Case(
        "tiny",
        q_lengths=(3, 0, 5),
        kv_lengths=(5, 2, 3),
        heads=heads,
        kv_heads=kv_heads,
        dim=4,
        dim_v=3,
        scale=0.6,
        **MASKS[mask],
    )
    batch = case.build()
    rooms = {} if is_packed(layout) else {"q_room": 6, "kv_room": 7}
    arguments = dense_arguments(batch, layout, **rooms)
    if "atten_mask" in arguments and is_packed(layout):
        assert arguments["atten_mask"].shape == (3, 1, 5, 5)

    out, lse = reference.fused_infer_attention_score(**arguments, **case.attributes, softmax_lse_flag=True)

    packed = is_packed(layout)
    sizes = {"B": 3, "N": heads, "Nk": kv_heads, "S": 6, "Skv": 7, "T": 8, "Tkv": 10, "D": 4, "Dv": 3}
    q_lengths, kv_lengths = batch.q_lengths, batch.kv_lengths
    want_out, want_lse = brute_force(
        query=arguments["query"],
        key=arguments["key"],
        value=arguments["value"],
        layout=layout,
        sizes=sizes,
        q_starts=[0, *accumulate(q_lengths)][:3] if packed else [0, 0, 0],
        kv_starts=[0, *accumulate(kv_lengths)][:3] if packed else [0, 0, 0],
        q_lengths=q_lengths,
        kv_lengths=kv_lengths,
        scale=float(np.float32(0.6)),
        keep=lambda b, i, j: keeps(
            case.sparse_mode,
            i,
            j,
            sq=q_lengths[b],
            skv=kv_lengths[b],
            pre=case.pre_tokens,
            following=case.next_tokens,
            hidden=None if batch.hidden is None else bool(batch.hidden[b][i, j]),
        ),
    )
    assert out.dtype == np.float64
    assert lse is not None
    np.testing.assert_allclose(out.reshape(-1), want_out, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(lse.reshape(-1), want_lse, rtol=1e-12, atol=1e-13)
    assert lse.shape == ((8, heads, 1) if packed else (3, heads, 6, 1))
