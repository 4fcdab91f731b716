# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The log-sum-exp as a type, and joining partial results by it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import acl_attn
from acl_attn import LSE, merge_states

LAYOUTS = ["BSH", "BSND", "BNSD", "BSH_BNSD", "BNSD_BSND", "BSND_NBSD", "TND", "NTD", "NTD_TND", "TND_NTD"]


def rows(layout: str, canonical: np.ndarray) -> np.ndarray:
    """Order (B, S, N, D) as the layout's first part says; packed layouts take one sequence."""
    order = layout.split("_", maxsplit=1)[0]
    if order == "BSH":
        return np.ascontiguousarray(canonical.reshape(*canonical.shape[:2], -1))
    if "T" in order:
        packed = canonical[0]
        return np.ascontiguousarray(packed if order == "TND" else packed.transpose(1, 0, 2))
    return np.ascontiguousarray(canonical.transpose([order_index(order, axis) for axis in range(4)]))


def order_index(order: str, axis: int) -> int:
    return "BSND".index(order[axis])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_parts_join_to_the_whole(layout: str) -> None:
    rng = np.random.default_rng(1)
    batch = 1 if "T" in layout else 2
    q = rng.standard_normal((batch, 5, 4, 16)).astype(np.float16)
    k, v = rng.standard_normal((2, batch, 12, 2, 16)).astype(np.float16)

    def run(keys: slice) -> tuple[np.ndarray, LSE]:
        lengths = {"q_lengths": [5], "kv_lengths": [k[0, keys].shape[0]]} if "T" in layout else {}
        parts = [rows(layout, part) for part in (q, k[:, keys], v[:, keys])]
        out, lse = acl_attn.attention(*parts, layout=layout, num_heads=4, return_lse=True, **lengths)
        return out, lse

    whole, whole_lse = run(slice(None))
    out, lse = merge_states(*run(slice(0, 7)), *run(slice(7, None)))
    assert out.dtype == np.float16
    np.testing.assert_allclose(out.astype(np.float32), whole.astype(np.float32), atol=2e-3)
    np.testing.assert_allclose(lse.array, whole_lse.array, rtol=1e-5)


def test_an_empty_side_counts_for_nothing_even_if_it_holds_nan() -> None:
    out = np.ones((3, 2, 8), np.float16)
    lse = LSE(np.zeros((3, 2, 1), np.float32), "TND")
    empty = LSE(np.full((3, 2, 1), np.inf, np.float32), "TND")
    for pair in ((out, lse, out * np.nan, empty), (out * np.nan, empty, out, lse)):
        joint, joint_lse = merge_states(*pair)
        assert (joint == 1).all()
        assert (joint_lse.array == 0).all()
    joint, joint_lse = merge_states(out * np.nan, empty, out * np.nan, empty)
    assert (joint == 0).all()
    assert joint_lse.is_empty().all()


def test_far_apart_sides_do_not_overflow() -> None:
    out = np.ones((1, 1, 4), np.float16)
    joint, lse = merge_states(
        out, LSE(np.full((1, 1, 1), 300, np.float32), "TND"), out * 3, LSE(np.full((1, 1, 1), -300, np.float32), "TND")
    )
    assert (joint == 1).all()
    assert lse.array.item() == 300


def test_conventions_of_others() -> None:
    log2 = np.array([[[3.0], [-np.inf]]], np.float32)
    lse = LSE.from_array(log2, "TND", base=2)
    assert lse.array[0, 0, 0] == pytest.approx(3 * math.log(2))
    assert lse.is_empty()[0].ravel().tolist() == [False, True]
    assert np.asarray(lse).shape == (1, 2, 1)


def test_refused() -> None:
    with pytest.raises(acl_attn.InvalidArgumentError, match=r"lse: expected shape \(B, N, S, 1\)"):
        LSE(np.zeros((1, 2, 3)), "BSND")
    with pytest.raises(acl_attn.InvalidArgumentError, match="out_layout"):
        LSE(np.zeros((1, 2, 3)), "SND")
    a = LSE(np.zeros((1, 2, 1), np.float32), "TND")
    with pytest.raises(acl_attn.InvalidArgumentError, match="lse_b"):
        merge_states(np.zeros((1, 2, 4)), a, np.zeros((2, 1, 4)), LSE(np.zeros((1, 2, 1), np.float32), "NTD"))
    with pytest.raises(acl_attn.InvalidArgumentError, match="out_b"):
        merge_states(np.zeros((1, 2, 4)), a, np.zeros((1, 2, 5)), a)


@pytest.mark.parametrize("position", range(4))
def test_merging_something_else_is_refused(position: int) -> None:
    out, lse = np.ones((1, 2, 2, 8), np.float16), LSE(np.ones((1, 2, 2, 1), np.float32), "BSND")
    arguments: list[Any] = [out, lse, out, lse]
    arguments[position] = None
    name = ("out_a", "lse_a", "out_b", "lse_b")[position]
    with pytest.raises(acl_attn.ArgumentTypeError, match=f"{name}: expected an? .*, got NoneType"):
        merge_states(*arguments)
    with pytest.raises(acl_attn.InvalidArgumentError, match="out_layout: expected one of"):
        LSE(lse.array, [])  # type: ignore[arg-type]
