# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Keys and values that stand before every sequence's own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from acl_attn.testing.build import arguments
from acl_attn.testing.calls import Call

from ..checks import check, compare, run

CALL = Call("BSND", (5, 1, 18), (40, 70, 9), 6, 2, 64, 64, q_room=2, kv_room=3, prefix=21)


@pytest.mark.parametrize("room", [0, 6])
@pytest.mark.parametrize("layout", ["BSH", "BSND", "BNSD", "BNSD_BSND"])
def test_layouts(layout: str, room: int) -> None:
    check(replace(CALL, layout=layout, prefix_room=room))


@pytest.mark.parametrize(
    "feature",
    [
        {"sparse_mode": 2},
        {"sparse_mode": 3},
        {"sparse_mode": 4, "pre_tokens": 25, "next_tokens": 3},
        {"sparse_mode": 1, "mask": 0.4},
        {"mask": 0.3, "pre_tokens": 5, "next_tokens": 24},
        {"bias": "tensor"},
    ],
)
def test_columns_count_from_the_prefix_on(feature: dict[str, object]) -> None:
    check(replace(CALL, **feature))


@pytest.mark.parametrize("length", [0, 1, 15, 16, 255, 256, 300, 1100])
def test_lengths(length: int) -> None:
    check(replace(CALL, prefix=length, prefix_room=1, sparse_mode=3))


def test_a_sequence_without_keys_of_its_own_attends_to_the_prefix() -> None:
    check(replace(CALL, kv_lengths=(0, 70, 0)))


@pytest.mark.parametrize("rows", [1, 9])
@pytest.mark.parametrize("modes", [(0, 0), (1, 1)])
def test_quantised(modes: tuple[int, int], rows: int) -> None:
    call = replace(CALL, q_lengths=(rows,) * 3, q_room=0, kv_format="int8", modes=modes, offsets=True, dtype="bfloat16")
    check(call)


def test_quantised_output() -> None:
    check(replace(CALL, out_format="int8"))


def test_tokens_beyond_the_length_are_not_read() -> None:
    call = replace(CALL, prefix_room=6)
    given = arguments(call)
    assert np.isnan(given["key_shared_prefix"][:, 21:].astype(np.float32)).all()
    compare(call, given, *run(given))
