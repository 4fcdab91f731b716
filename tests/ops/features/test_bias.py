# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""A bias tensor that is added to the scaled products (pse type 0)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from acl_attn.testing.build import arguments
from acl_attn.testing.calls import Call

from ..checks import check, compare, run

CALL = Call("BNSD", (5, 1, 18), (40, 70, 9), 6, 2, 64, 64, q_room=2, kv_room=3, bias="tensor")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("layout", ["BSH", "BSND", "BNSD", "BNSD_BSND"])
def test_layouts(layout: str, dtype: str) -> None:
    check(replace(CALL, layout=layout, dtype=dtype, sparse_mode=3))


@pytest.mark.parametrize("per_sequence", [False, True])
@pytest.mark.parametrize("per_row", [False, True])
@pytest.mark.parametrize("rows", [(1, 1, 1), (5, 1, 18), (70, 1, 130)])
def test_broadcasting(rows: tuple[int, ...], per_row: bool, per_sequence: bool) -> None:
    check(replace(CALL, q_lengths=rows, bias_per_row=per_row, bias_per_sequence=per_sequence))


@pytest.mark.parametrize("storage", ["BnBsH", "BnNBsD", "NZ"])
def test_pages(storage: str) -> None:
    check(replace(CALL, storage=storage, kv_room=0))


def test_with_mask() -> None:
    check(replace(CALL, mask=0.4))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("rows", [1, 5, 70])
def test_minus_infinity_hides(rows: int, dtype: str) -> None:
    call = replace(CALL, q_lengths=(rows,), kv_lengths=(40,), q_room=0, kv_room=0, dtype=dtype)
    given = arguments(call)
    given["pse_shift"][..., 0, :] = -np.inf
    given["pse_shift"][..., 1:, 7:] = -np.inf
    out, lse = run(given)
    assert not out[:, :, 0].any()
    assert np.isposinf(lse[:, :, 0]).all()
    compare(call, given, out, lse)
    given["value"][..., 3, :1] = np.inf  # multiplied by a weight of 0, as behind any visible key that weighs nothing
    compare(call, given, *run(given))
    given = arguments(replace(CALL, q_lengths=(4,), kv_lengths=(9,), q_room=0, kv_room=0))
    given["pse_shift"] = np.full_like(given["pse_shift"], -30000)
    given["pse_shift"][..., 3] = 30000
    out, lse = run(given)
    want = np.repeat(given["value"][:, :, 3:4], 3, axis=1)
    np.testing.assert_array_equal(out, np.broadcast_to(want, out.shape))
    np.testing.assert_allclose(lse, 30000, rtol=1e-3)
