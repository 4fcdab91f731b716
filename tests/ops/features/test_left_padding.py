# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Sequences that stand at the end of their room."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from acl_attn.testing.build import arguments
from acl_attn.testing.calls import Call

from ..checks import check, compare, run

CALL = Call("BSND", (5, 1, 18), (40, 70, 9), 6, 2, 64, 64, q_room=2, kv_room=3)


@pytest.mark.parametrize("layout", ["BSH", "BSND", "BNSD", "BNSD_BSND"])
@pytest.mark.parametrize(("query", "key"), [(0, None), (3, None), (None, 0), (None, 2), (3, 2)])
def test_layouts(layout: str, query: int | None, key: int | None) -> None:
    check(replace(CALL, layout=layout, q_padding=query, kv_padding=key, sparse_mode=3))


@pytest.mark.parametrize("feature", [{"mask": 0.4, "pre_tokens": 2}, {"sparse_mode": 1, "mask": 0.4}])
def test_masks_go_by_physical_rows(feature: dict[str, float]) -> None:
    check(replace(CALL, q_padding=3, kv_padding=2, **feature))


@pytest.mark.parametrize("mode", [2, 3, 4])
def test_diagonals_go_by_the_sequence(mode: int) -> None:
    check(replace(CALL, q_padding=3, kv_padding=2, sparse_mode=mode, pre_tokens=11, next_tokens=2))


def test_biases_go_by_physical_rows() -> None:
    check(replace(CALL, q_padding=3, kv_padding=2, bias="tensor"))


@pytest.mark.parametrize("modes", [(0, 0), (1, 1), (3, 3)])
def test_quantised(modes: tuple[int, int]) -> None:
    call = replace(CALL, q_lengths=(1, 1, 1), q_room=0, kv_padding=2, kv_format="int8", modes=modes)
    check(call)


def test_sequences_that_do_not_fit_count_as_empty() -> None:
    call = replace(CALL, q_padding=3, kv_padding=2)
    given = arguments(call)
    given["query_padding_size"] = np.array([call.q_axis - 4])
    given["kv_padding_size"] = np.array([call.kv_axis - 20])
    out, lse = run(given)
    compare(call, given, out, lse)
    assert not out[2].astype(np.float32).any()
    assert not out[0].astype(np.float32).any()


def test_negative_padding_counts_as_none() -> None:
    call = replace(CALL, q_padding=0, kv_padding=0)
    given = arguments(call)
    below = {"query_padding_size": np.array([-5]), "kv_padding_size": np.array([-1])}
    compare(call, given, *run({**given, **below}))
