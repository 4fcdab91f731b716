# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Rows beyond 2**31 elements of their tensor: address arithmetic in 32 bits would read somewhere else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from acl_attn.testing.compare import assert_same_bits
from acl_attn.testing.sparse.build import arguments

from ..ops.test_large_offsets import reserve
from .runs import run
from .suites import case_of

LENGTHS: dict[str, Any] = {"q_lengths": (3, 2), "kv_lengths": (40, 30), "q_room": 0, "kv_room": 0}


def far_apart(pool: np.ndarray, memory: np.ndarray, block_stride: int) -> np.ndarray:
    """The same blocks, so many elements from one to the next."""
    item = pool.itemsize
    made = np.lib.stride_tricks.as_strided(
        memory.view(pool.dtype), pool.shape, (block_stride * item, *pool.strides[1:])
    )
    made[...] = pool
    return made


@pytest.mark.parametrize("kv_format", ["", "float8_e4m3fn"])
def test_blocks_far_apart(kv_format: str) -> None:
    given = arguments(case_of("csa", "tnd_paged", kv_format=kv_format, block_size=16, block_gap=0, **LENGTHS))
    wanted = run(given)
    stride = 2**31 - 640 if kv_format else 2**30 - 512
    for name in ("ori_kv", "cmp_kv"):
        pool = given[name]
        memory = reserve(len(pool) * stride // (2 if kv_format else 1))
        given[name] = far_apart(pool, memory, stride)
    for got, want in zip(run(given), wanted, strict=True):
        assert_same_bits(got, want)


def test_sequences_far_apart() -> None:
    given = arguments(case_of("swa", "bsnd", **LENGTHS))
    wanted = run(given)
    tokens = 2**31 // 512 + 1
    rows = reserve(2 * tokens * 512).reshape(2, tokens, 1, 512)
    rows[:, :40] = np.nan_to_num(given["ori_kv"])
    for got, want in zip(run({**given, "ori_kv": rows}), wanted, strict=True):
        assert_same_bits(got, want)
