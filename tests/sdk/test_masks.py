# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""`Mask`: what is visible, written out three ways that must agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import acl_attn
from acl_attn import Mask

sizes = st.integers(0, 9)
sides = st.integers(-1, 9)


def by_hand(left: int, right: int, offset: int, sq: int, skv: int) -> np.ndarray:
    hidden = np.ones((sq, skv), bool)
    for row in range(sq):
        for column in range(skv):
            distance = column - (row + offset)
            hidden[row, column] = (left >= 0 and distance < -left) or (right >= 0 and distance > right)
    return hidden


@given(sides, sides, sizes, sizes)
def test_window(left: int, right: int, sq: int, skv: int) -> None:
    mask = Mask.window(left, right)
    hidden = by_hand(left, right, skv - sq, sq, skv)
    assert (mask.materialize(sq, skv) == hidden).all()
    for row in range(sq):
        assert mask.visible_keys(row, sq, skv).tolist() == np.flatnonzero(~hidden[row]).tolist()


@given(st.sampled_from(["bottom_right", "top_left"]), sizes, sizes)
def test_causal(align: str, sq: int, skv: int) -> None:
    hidden = by_hand(-1, 0, skv - sq if align == "bottom_right" else 0, sq, skv)
    assert (Mask.causal(align).materialize(sq, skv) == hidden).all()  # type: ignore[arg-type]


def test_a_window_of_w_tokens() -> None:
    assert len(Mask.window(127, 0).visible_keys(0, 1, 1000)) == 128


def test_dense_says_what_true_means() -> None:
    keep = np.tril(np.ones((3, 4), bool))
    masked = Mask.dense(~keep, true_means="masked")
    kept = Mask.dense(keep, true_means="keep")
    assert (masked.materialize(3, 4) == kept.materialize(3, 4)).all()
    assert kept.visible_keys(1, 3, 4).tolist() == [0, 1]
    assert kept.visible_keys(2, 3, 2).tolist() == [0, 1], "columns beyond the sequence do not count"


def test_dense_with_a_batch() -> None:
    array = np.zeros((2, 1, 3), np.int8)
    array[1, 0, 2] = 1
    mask = Mask.dense(array, true_means="masked")
    assert mask.to_fia().atten_mask is not None
    assert mask.to_fia().atten_mask.shape == (2, 1, 1, 3)
    assert np.shares_memory(mask.to_fia().atten_mask, array)
    assert mask.visible_keys(0, 1, 3, sequence=1).tolist() == [0, 1]
    assert mask.materialize(1, 3).shape == (2, 1, 1, 3)


@pytest.mark.parametrize(
    ("mask", "mode", "pre", "following"),
    [
        (Mask.causal(), 3, 2147483647, 0),
        (Mask.causal("top_left"), 2, 2147483647, 0),
        (Mask.window(7, 2), 4, 7, 2),
        (Mask.window(7, -1), 4, 7, 2147483647),
        (Mask.window(-1, 0), 3, 2147483647, 0),
        (Mask.window(-1, -1), 0, 2147483647, 2147483647),
    ],
)
def test_terms_of_the_operator(mask: Mask, mode: int, pre: int, following: int) -> None:
    said = mask.to_fia()
    assert (said.sparse_mode, said.pre_tokens, said.next_tokens) == (mode, pre, following)
    assert (said.atten_mask is None) == (mode == 0)


def test_the_vendors_mask_is_made_once_and_cannot_be_changed() -> None:
    first, second = Mask.causal().to_fia().atten_mask, Mask.window(3, 3).to_fia().atten_mask
    assert first is second
    assert first is not None
    assert not first.flags.writeable
    assert first[0, 1]
    assert not first[1, 0]
    assert not first.diagonal().any()


def test_refused() -> None:
    with pytest.raises(acl_attn.ArgumentTypeError, match="pse_shift"):
        Mask.dense(np.zeros((2, 2), np.float32), true_means="masked")
    with pytest.raises(acl_attn.InvalidArgumentError, match="true_means"):
        Mask.dense(np.zeros((2, 2), bool), true_means="hidden")  # type: ignore[arg-type]
    with pytest.raises(acl_attn.InvalidArgumentError, match=r"mask: expected shape \(B, 1, Sq, Skv\)"):
        Mask.dense(np.zeros((1, 8, 2, 2), bool), true_means="masked")
    with pytest.raises(acl_attn.InvalidArgumentError, match=r"^window\[0\]: expected a number of keys"):
        Mask.window(-2, 0)
    with pytest.raises(acl_attn.ArgumentTypeError, match=r"^window\[1\]"):
        Mask.window(1, 0.5)  # type: ignore[arg-type]
    with pytest.raises(acl_attn.InvalidArgumentError, match="align"):
        Mask.causal("left")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"left": "a"}, "left: expected an int or None, got str"),
        ({"left": 1.5}, "left: expected an int or None, got float"),
        ({"right": -5}, "right: expected a number of keys"),
        ({"right": 0, "align": "middle"}, "align: expected 'bottom_right' or 'top_left'"),
        ({"left": 3, "right": 0, "align": "top_left"}, "align: expected 'bottom_right' for a window"),
        ({"hidden": [[1]]}, "hidden: expected a numpy.ndarray of shape"),
        ({"hidden": np.zeros((5, 7), bool)}, "hidden: expected a numpy.ndarray of shape"),
    ],
)
def test_fields_that_make_no_mask(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(acl_attn.AclAttnError, match=message):
        Mask(**fields)
