# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The operator against the float64 reference: every layout, kind of heads and sparse mode, in both dtypes."""

from __future__ import annotations

import numpy as np
import pytest

from acl_attn.testing.cases import Case
from acl_attn.testing.layouts import LAYOUTS, LIST_LAYOUTS, dense_arguments, is_packed, list_arguments, mask_arguments
from acl_attn.testing.pages import CACHES, Paging, paged_arguments
from acl_attn.testing.suites import CORNERS, CORRECTNESS, FEATURES, HEADS, MASKS

from .runs import check

DTYPES = ("fp16", "bf16")


def ids(case: Case) -> str:
    return case.name


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", CORRECTNESS, ids=ids)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_dense(layout: str, case: Case, dtype: str) -> None:
    rooms = {} if is_packed(layout) else {"q_room": 43, "kv_room": 75}
    case = case.with_dtype(dtype)
    check(dense_arguments(case.build(), layout, **rooms), case)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", CORRECTNESS, ids=ids)
@pytest.mark.parametrize("cache", CACHES)
def test_paged(cache: str, case: Case, dtype: str) -> None:
    # Each pair of cache and case meets another layout, so that the three lists cover all pairs of cache and layout.
    layout = LAYOUTS[(CORRECTNESS.index(case) + 5 * CACHES.index(cache)) % len(LAYOUTS)]
    case = case.with_dtype(dtype)
    check(paged_arguments(case.build(), layout, Paging(cache, block_size=16)), case)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("cache", CACHES)
def test_paged_in_every_layout(cache: str, layout: str) -> None:
    case = Case("paged", (37, 1, 5), (70, 33, 64), **HEADS["gqa3"], **MASKS["mode3"])
    check(paged_arguments(case.build(), layout, Paging(cache, block_size=32)), case)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("heads", HEADS)
@pytest.mark.parametrize("layout", LIST_LAYOUTS)
def test_tensor_list(layout: str, heads: str, mask: str) -> None:
    case = Case("list", (37, 1, 18), (70, 33, 9), **HEADS[heads], **MASKS[mask])
    check(list_arguments(case.build(), layout), case)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", CORNERS, ids=ids)
def test_corner(case: Case, dtype: str) -> None:
    case = case.with_dtype(dtype)
    layout = "TND" if len(case.name) % 2 else "BSND"
    check(dense_arguments(case.build(), layout), case)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", FEATURES, ids=ids)
def test_feature(case: Case, dtype: str) -> None:
    case = case.with_dtype(dtype)
    check(dense_arguments(case.build(), "TND"), case)
    check(paged_arguments(case.build(), "TND", Paging("BnNBsD", block_size=128)), case)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8"])
@pytest.mark.parametrize("axes", [3, 4])
@pytest.mark.parametrize("mode", [0, 1])
def test_mask_tensor_forms(mode: int, axes: int, dtype: str) -> None:
    case = Case("mask", (20, 7), (33, 40), sparse_mode=mode, mask=0.4)
    batch = case.build()
    arguments = dense_arguments(batch, "BNSD")
    wider = mask_arguments(batch, rows=23, columns=64, axes=axes, dtype=dtype)
    check({**arguments, **wider}, case)


@pytest.mark.parametrize("shape", [(2048, 2048), (1, 2048, 2048), (1, 1, 2048, 2048)])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8"])
@pytest.mark.parametrize("mode", ["mode2", "mode3", "mode4"])
def test_modes_2_to_4_take_the_vendors_mask(mode: str, dtype: str, shape: tuple[int, ...]) -> None:
    case = Case("mask", (20, 7), (33, 40), **MASKS[mode])
    mask = np.triu(np.ones((2048, 2048), dtype), 1).reshape(shape)
    check({**dense_arguments(case.build(), "BSND"), "atten_mask": mask}, case)


def test_one_mask_for_all_sequences() -> None:
    case = Case("shared", (20, 7, 20), (33, 40, 1), sparse_mode=1)
    mask = np.random.default_rng(0).random((1, 1, 20, 48)) < 0.5
    check({**dense_arguments(case.build(), "TND"), "atten_mask": mask}, case)


@pytest.mark.parametrize("inner_precise", [0, 1, 2, 3])
def test_inner_precise_changes_nothing_on_the_host(inner_precise: int) -> None:
    case = Case("precise", (20, 1), (33, 400), sparse_mode=3)
    check({**dense_arguments(case.build(), "BSND"), "inner_precise": inner_precise}, case)
