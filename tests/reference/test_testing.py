# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The tools of acl_attn.testing must notice what they are there to notice."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest

from acl_attn.testing.cases import Case
from acl_attn.testing.compare import TOLERANCES, assert_close, assert_same_bits
from acl_attn.testing.pages import Paging, block_table
from acl_attn.testing.poison import guarded, poisoned

REFERENCE = np.random.default_rng(0).standard_normal((40, 50))
ROUNDED = {dtype: REFERENCE.astype(dtype) for dtype in (np.float16, ml_dtypes.bfloat16, np.float32)}


@pytest.mark.parametrize("dtype", ROUNDED)
def test_rounding_alone_passes(dtype: type) -> None:
    figures = assert_close(ROUNDED[dtype], REFERENCE)
    assert 0 < figures.rms < TOLERANCES[np.dtype(dtype).name].rms
    assert 0 < figures.worst <= 1


@pytest.mark.parametrize("dtype", ROUNDED)
def test_one_wrong_element_is_named(dtype: type) -> None:
    wrong = ROUNDED[dtype].copy()
    wrong[7, 3] += dtype(0.25)
    with pytest.raises(AssertionError, match=r"out\[7, 3\]: expected .*, got .*; 1 of 2000 elements fail"):
        assert_close(wrong, REFERENCE, name="out")


@pytest.mark.parametrize("dtype", ROUNDED)
def test_a_small_error_everywhere_fails_as_a_whole(dtype: type) -> None:
    rms = TOLERANCES[np.dtype(dtype).name].rms
    with pytest.raises(AssertionError, match=r"rms of errors|elements fail"):
        assert_close((REFERENCE * (1 + 2 * rms)).astype(dtype), REFERENCE)


def test_non_finite_elements_must_stand_where_they_belong() -> None:
    reference = np.array([1.0, np.inf, np.nan, -np.inf])
    assert_close(reference.astype(np.float32), reference)
    for position, value in ((0, np.nan), (1, 1.0), (1, -np.inf), (2, 0.0), (2, np.inf), (3, np.nan)):
        wrong = reference.astype(np.float32)
        wrong[position] = value
        with pytest.raises(AssertionError, match=rf"result\[{position}\]: expected"):
            assert_close(wrong, reference)


def test_shape_comes_first() -> None:
    with pytest.raises(AssertionError, match=re.escape("expected shape (40, 50), got (50, 40)")):
        assert_close(ROUNDED[np.float16].T, REFERENCE)


def test_a_flipped_bit_is_found() -> None:
    left = ROUNDED[ml_dtypes.bfloat16]
    right = left.copy()
    assert_same_bits(left, right)
    right.view(np.uint16)[3, 4] ^= 1
    with pytest.raises(AssertionError, match=r"lse\[3, 4\]: .* 1 of 2000 elements differ"):
        assert_same_bits(left, right, name="lse")
    with pytest.raises(AssertionError, match=r"expected bfloat16 .* got float16"):
        assert_same_bits(ROUNDED[np.float16], left)
    assert_same_bits(np.array([np.nan]), np.array([np.nan]))
    with pytest.raises(AssertionError, match="differ"):
        assert_same_bits(np.array([0.0]), np.array([-0.0]))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
def test_poison_is_nan(dtype: type) -> None:
    assert np.isnan(poisoned((3, 0, 2), dtype)).all()
    assert np.isnan(poisoned((3, 5), dtype)).all()
    assert (poisoned((4,), np.int32) == -1).all()


@pytest.mark.parametrize("before", [False, True])
def test_guarded_copies(before: bool) -> None:
    array = np.arange(5000, dtype=np.float32).reshape(50, 100)
    copy = guarded(array, before=before)
    np.testing.assert_array_equal(copy, array)
    assert copy.flags.c_contiguous
    assert copy.flags.writeable


def test_cases_repeat_themselves_and_differ_from_each_other() -> None:
    case = Case("a", mask=0.5)
    for left, right in zip(case.build().query, case.build().query, strict=True):
        assert_same_bits(left, right)
    assert (Case("b", mask=0.5).build().query[0] != case.build().query[0]).any()
    # The same numbers in every dtype, so that results can be compared across dtypes.
    np.testing.assert_allclose(
        case.with_dtype("bf16").build().key[0].astype(float), case.build().key[0].astype(float), rtol=2**-7
    )


def test_block_tables_give_each_block_once() -> None:
    table, count = block_table([33, 0, 16], Paging(block_size=16, spare_blocks=3, spare_columns=2))
    assert table.shape == (3, 5)
    assert count == 7
    used = table[table >= 0]
    assert len(set(used.tolist())) == 4
    assert (table[:, 3:] == -1).all()
