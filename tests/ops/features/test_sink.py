# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""A learnable sink: one more logit per head, in the denominator only."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from acl_attn.testing.build import arguments
from acl_attn.testing.calls import Call

from ..checks import check, compare, run

CALL = Call("TND", (5, 1, 18), (40, 70, 9), 6, 2, 64, 64, sink=True)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("layout", ["TND", "BSH", "BNSD", "NTD_TND"])
@pytest.mark.parametrize("mode", [0, 3])
def test_layouts(layout: str, dtype: str, mode: int) -> None:
    check(replace(CALL, layout=layout, dtype=dtype, sparse_mode=mode))


@pytest.mark.parametrize("rows", [1, 7, 130])
@pytest.mark.parametrize("keys", [1, 257, 1100])
def test_lengths(rows: int, keys: int) -> None:
    check(replace(CALL, q_lengths=(rows,), kv_lengths=(keys,), storage="BnNBsD"))


@pytest.mark.parametrize("sink", [-60000.0, -np.inf, 0.0, 80.0, 60000.0])
def test_extremes(sink: float) -> None:
    given = arguments(CALL)
    given["learnable_sink"] = np.full(6, sink, np.float16)
    out, lse = run(given)
    compare(CALL, given, out, lse)
    if sink > 100:
        assert not out.astype(np.float32).any()


def test_rows_that_see_no_key_stay_zero() -> None:
    call = replace(CALL, layout="BSND", sparse_mode=3, q_lengths=(18,), kv_lengths=(9,))
    out, lse = check(call)
    assert not out[:, :9].astype(np.float32).any()
    assert np.isposinf(lse[:, :, :9]).all()


def test_the_sink_is_not_scaled() -> None:
    given = arguments(replace(CALL, q_lengths=(1,), kv_lengths=(1,)))
    given.update(query=np.zeros_like(given["query"]), learnable_sink=np.full(6, np.log(3), np.float16), scale_value=9.0)
    out, lse = run(given)
    np.testing.assert_allclose(lse, np.log(4), rtol=1e-3)
    np.testing.assert_allclose(out, np.repeat(given["value"], 3, axis=1) / 4, rtol=3e-3, atol=1e-4)
