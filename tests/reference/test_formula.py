# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The one formula against values that can be worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from acl_attn.reference import attend
from acl_attn.reference.visibility import full_mask, visible_keys


def seen(sq: int, skv: int, **attributes: int) -> list[list[int]]:
    return [np.flatnonzero(row).tolist() for row in visible_keys(sq, skv, **attributes)]


def test_worked_examples_of_the_sparse_modes() -> None:
    assert seen(3, 5, sparse_mode=2) == [[0], [0, 1], [0, 1, 2]]
    assert seen(3, 5, sparse_mode=3) == [[0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3, 4]]
    assert seen(3, 5, sparse_mode=4, pre_tokens=2, next_tokens=0) == [[0, 1, 2], [1, 2, 3], [2, 3, 4]]
    assert seen(5, 3, sparse_mode=3) == [[], [], [0], [0, 1], [0, 1, 2]]


def test_a_causal_row_alone_differs_by_corner() -> None:
    assert seen(1, 4, sparse_mode=2) == [[0]]
    assert seen(1, 4, sparse_mode=3) == [[0, 1, 2, 3]]


@pytest.mark.parametrize(("before", "keys"), [(127, 128), (128, 129), (0, 1), (2147483647, 1000)])
def test_a_band_counts_the_row_itself(before: int, keys: int) -> None:
    assert len(seen(1, 1000, sparse_mode=4, pre_tokens=before, next_tokens=0)[0]) == keys


def test_tokens_do_not_overflow() -> None:
    everything = [[0, 1, 2]] * 2
    assert seen(2, 3, sparse_mode=4, pre_tokens=2**63 - 1, next_tokens=2**63 - 1) == everything
    assert seen(2, 3, sparse_mode=4, pre_tokens=-(2**63), next_tokens=2**63 - 1) == [[], []]


def test_window_of_mode_0_needs_a_mask() -> None:
    nothing_hidden = np.zeros((3, 4))
    assert seen(3, 4, sparse_mode=0, pre_tokens=0, next_tokens=0) == [[0, 1, 2, 3]] * 3
    window = visible_keys(3, 4, sparse_mode=0, pre_tokens=0, next_tokens=0, hidden=nothing_hidden)
    assert [np.flatnonzero(row).tolist() for row in window] == [[0], [1], [2]]
    shifted = visible_keys(3, 4, sparse_mode=0, next_tokens=-2, hidden=nothing_hidden)
    assert [np.flatnonzero(row).tolist() for row in shifted] == [[], [], [0]]


@pytest.mark.parametrize("shape", [(6, 9), (1, 6, 9), (1, 1, 6, 9), (4, 6, 9), (4, 1, 6, 9)])
def test_accepted_mask_shapes(shape: tuple[int, ...]) -> None:
    mask = np.arange(math.prod(shape)).reshape(shape)
    matrices = full_mask(mask, 4, 5, 7)
    assert matrices.shape == (4, 6, 9)
    np.testing.assert_array_equal(matrices[3], mask.reshape(-1, 6, 9)[-1])


@pytest.mark.parametrize("shape", [(4, 9), (6, 6), (2, 6, 9), (4, 2, 6, 9), (4, 1, 6, 6), (9,), (1, 1, 1, 6, 9)])
def test_refused_mask_shapes(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"atten_mask: expected shape .* got"):
        full_mask(np.zeros(shape), 4, 5, 7)


def test_uniform_scores_give_the_mean_and_the_logarithm_of_the_count() -> None:
    value = np.arange(12.0).reshape(4, 1, 3)
    out, lse = attend(np.zeros((2, 1, 5)), np.ones((4, 1, 5)), value, scale=1.0, visible=np.ones((2, 4), bool))
    np.testing.assert_allclose(out, np.broadcast_to(value.mean(axis=0), out.shape))
    np.testing.assert_allclose(lse, math.log(4))


def test_lse_makes_the_weights_sum_to_one() -> None:
    generator = np.random.default_rng(1)
    q, k = generator.standard_normal((7, 2, 8)), generator.standard_normal((11, 1, 8))
    value = np.ones((11, 1, 1))
    visible = generator.random((7, 11)) < 0.5
    out, lse = attend(q, k, value, scale=0.3, visible=visible)
    logits = np.einsum("ihd,jd->ihj", q, k[:, 0]) * 0.3
    weights = np.where(visible[:, None], np.exp(logits - lse[..., None]), 0.0)
    np.testing.assert_allclose(weights.sum(axis=2), visible.any(axis=1)[:, None] * np.ones((1, 2)), rtol=1e-12)
    np.testing.assert_allclose(out[..., 0], visible.any(axis=1)[:, None] * np.ones((1, 2)), rtol=1e-12)


def test_parts_joined_by_lse_give_the_whole() -> None:
    generator = np.random.default_rng(2)
    q, k, v = (generator.standard_normal((n, 2, 8)) for n in (3, 20, 20))
    whole, lse = attend(q, k, v, scale=0.4, visible=np.ones((3, 20), bool))
    parts = [attend(q, k[s], v[s], scale=0.4, visible=np.ones((3, 10), bool)) for s in (slice(0, 10), slice(10, 20))]
    joined = sum(np.exp(part_lse - lse)[..., None] * out for out, part_lse in parts)
    np.testing.assert_allclose(joined, whole, rtol=1e-12)
    np.testing.assert_allclose(np.logaddexp(parts[0][1], parts[1][1]), lse, rtol=1e-12)


def test_rows_that_see_nothing() -> None:
    visible = np.array([[False, False], [True, False]])
    out, lse = attend(np.ones((2, 1, 2)), np.ones((2, 1, 2)), np.full((2, 1, 2), 5.0), scale=1.0, visible=visible)
    assert out[:, 0, 0].tolist() == [0.0, 5.0]
    assert lse[:, 0].tolist() == [math.inf, 2.0]
    out, lse = attend(np.ones((2, 1, 2)), np.ones((0, 1, 2)), np.ones((0, 1, 3)), scale=1.0, visible=visible[:, :0])
    assert out.shape == (2, 1, 3)
    assert not out.any()
    assert np.isposinf(lse).all()


@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf])
def test_a_hidden_key_is_absent_whatever_it_holds(poison: float) -> None:
    generator = np.random.default_rng(3)
    q, k, v = (generator.standard_normal((4, 1, 8)) for _ in range(3))
    visible = np.tril(np.ones((4, 4), bool))
    visible[:, 2] = False
    clean = attend(q, k, v, scale=1.0, visible=visible)
    k[2], v[2] = poison, poison
    poisoned = attend(q, k, v, scale=1.0, visible=visible)
    np.testing.assert_allclose(poisoned[0], clean[0], rtol=1e-12)
    np.testing.assert_allclose(poisoned[1], clean[1], rtol=1e-12)
    visible[3, 2] = True
    assert np.isnan(attend(q, k, v, scale=1.0, visible=visible)[0][3]).any()


def test_a_bias_is_added_after_scaling() -> None:
    bias = np.array([[[0.0, math.log(3.0)]]])
    value = np.array([[[0.0]], [[1.0]]])
    out, lse = attend(
        np.zeros((1, 1, 1)), np.ones((2, 1, 1)), value, scale=100.0, visible=np.ones((1, 2), bool), bias=bias
    )
    np.testing.assert_allclose(out, 0.75)
    np.testing.assert_allclose(lse, math.log(4.0))


@pytest.mark.parametrize(
    ("sink", "out", "lse"),
    [(0.0, 0.75, math.log(4.0)), (100.0, 3 * math.exp(-100), 100.0), (-math.inf, 1.0, math.log(3))],
)
def test_a_sink_takes_part_in_the_denominator_only(sink: float, out: float, lse: float) -> None:
    got_out, got_lse = attend(
        np.zeros((1, 1, 4)),
        np.ones((3, 1, 4)),
        np.ones((3, 1, 1)),
        scale=7.0,
        visible=np.ones((1, 3), bool),
        sink=np.array([sink]),
    )
    np.testing.assert_allclose(got_out, out, rtol=1e-12)
    np.testing.assert_allclose(got_lse, lse, rtol=1e-12)


def test_large_logits_do_not_overflow() -> None:
    q, k = np.full((1, 1, 1), 1e8), np.array([[[1e8]], [[-1e8]]])
    out, lse = attend(q, k, np.array([[[3.0]], [[4.0]]]), scale=1.0, visible=np.ones((1, 2), bool))
    assert out.item() == 3.0
    assert lse.item() == 1e16
