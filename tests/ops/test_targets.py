# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Every processor target that this machine can run, forced one after the other."""

from __future__ import annotations

import pytest

import acl_attn
from acl_attn.testing.cases import Case
from acl_attn.testing.layouts import dense_arguments
from acl_attn.testing.pages import Paging, paged_arguments
from acl_attn.testing.suites import CORNERS, CORRECTNESS, FEATURES

from .runs import assert_same_sequences, by_sequence, check

# Enough of the lists to meet each loop of a kernel and its tails.
PICKED = (*CORRECTNESS[::5], *CORNERS[::3], *FEATURES)


@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
@pytest.mark.parametrize("case", PICKED, ids=lambda case: case.name)
def test_against_the_reference(case: Case, dtype: str, cpu_target: str) -> None:
    assert acl_attn.get_cpu_target() == cpu_target
    case = case.with_dtype(dtype)
    check(dense_arguments(case.build(), "TND"), case)


@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
@pytest.mark.usefixtures("cpu_target")
def test_storage_and_threads_do_not_change_a_bit(dtype: str, set_threads: object) -> None:
    case = Case("bits", (130, 1, 6), (300, 1500, 7), dtype=dtype, sparse_mode=3)
    batch = case.build()
    set_threads(1)
    want = by_sequence(dense_arguments(batch, "TND"), case)
    set_threads(3)
    assert_same_sequences(by_sequence(dense_arguments(batch, "BNSD"), case), want)
    for cache in ("BnBsH", "BnNBsD", "NZ"):
        assert_same_sequences(by_sequence(paged_arguments(batch, "BSND", Paging(cache, 16)), case), want)


def test_a_target_that_is_none_is_refused() -> None:
    before = acl_attn.get_cpu_target()
    with pytest.raises(ValueError, match=r"expected .*portable.* got 'mmx'"):
        acl_attn.set_cpu_target("mmx")
    assert acl_attn.get_cpu_target() == before
