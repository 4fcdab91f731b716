# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""`Lengths`: one meaning, several written forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import acl_attn
from acl_attn import Lengths
from acl_attn.lengths import as_lengths


@given(st.lists(st.integers(0, 1000), max_size=20))
def test_forms_agree(plain: list[int]) -> None:
    lengths = Lengths.from_lengths(plain)
    assert lengths.batch == len(lengths) == len(plain)
    assert lengths.total == sum(plain)
    assert lengths.max == max(plain, default=0)
    assert lengths.cu_seqlens.tolist() == [0, *lengths.cumulative]
    assert Lengths.from_cu_seqlens(lengths.cu_seqlens) == lengths
    assert np.diff([0, *lengths.cumulative]).tolist() == plain


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Lengths.from_lengths([3, -1]), r"lengths\[1\]: expected a length of at least 0, got -1"),
        (lambda: Lengths.from_cu_seqlens([65, 72]), "cu_seqlens: expected running totals that begin with 0, got 65"),
        (lambda: Lengths.from_cu_seqlens([]), "got no entries"),
        (lambda: Lengths.from_cu_seqlens([0, 40, 30]), r"cu_seqlens\[2\]: expected at least the entry before it, 40"),
    ],
)
def test_refused(make: object, message: str) -> None:
    with pytest.raises(acl_attn.InvalidArgumentError, match=message):
        make()  # type: ignore[operator]


def test_totals_beyond_int32() -> None:
    lengths = Lengths((2**31 - 2, 1))
    assert lengths.cu_seqlens.tolist() == [0, 2**31 - 2, 2**31 - 1]
    with pytest.raises(acl_attn.InvalidArgumentError, match="lengths: expected at most 2147483647 tokens"):
        _ = Lengths((2**31 - 1, 1)).cu_seqlens


@pytest.mark.parametrize("wrong", [[1.5], "12", [True], 3, np.array([1.0]), np.array([[1]]), [None]])
def test_wrong_types(wrong: object) -> None:
    with pytest.raises(acl_attn.ArgumentTypeError, match=r"^lengths"):
        Lengths.from_lengths(wrong)  # type: ignore[arg-type]


def test_one_number_stands_for_all() -> None:
    assert as_lengths(7, 3, "kv_lengths", "").per_sequence == (7, 7, 7)
    assert as_lengths(np.int64(7), 2, "kv_lengths", "").per_sequence == (7, 7)
    assert as_lengths(np.array([1, 2], np.int32), 2, "kv_lengths", "").per_sequence == (1, 2)


def test_the_count_must_fit_and_running_totals_are_recognised() -> None:
    with pytest.raises(acl_attn.InvalidArgumentError, match=r"kv_lengths: expected 16 lengths \(the batch\), got 9"):
        as_lengths([1] * 9, 16, "kv_lengths", "the batch")
    with pytest.raises(acl_attn.InvalidArgumentError, match="from_cu_seqlens"):
        as_lengths([0, 65, 72], 2, "kv_lengths", "the batch")


def test_the_callers_list_is_copied() -> None:
    plain = [1, 2]
    lengths = Lengths.from_lengths(plain)
    plain[0] = 9
    assert lengths.per_sequence == (1, 2)
