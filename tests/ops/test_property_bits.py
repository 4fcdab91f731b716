# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Random calls of every feature give the same bits on any number of threads, and from any storage."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from acl_attn.testing.build import arguments
from acl_attn.testing.calls import Call
from acl_attn.testing.compare import assert_same_bits
from acl_attn.testing.generate import CACHES, ReplayedSource, draw_call

from .checks import run

if TYPE_CHECKING:
    from collections.abc import Callable

CALLS = [draw_call(ReplayedSource(seed=seed)) for seed in range(120)]


def assert_same_results(one: Call, other: Call) -> None:
    for name, got, want in zip(
        ("attention_out", "softmax_lse"), run(arguments(one)), run(arguments(other)), strict=True
    ):
        assert_same_bits(got.view(np.uint8), want.view(np.uint8), name=f"{name} of {one!r}")


@pytest.mark.parametrize("part", range(4))
def test_threads(part: int, set_threads: Callable[[int], None]) -> None:
    for call in CALLS[part::4]:
        given = arguments(call)
        set_threads(1)
        alone = [np.array(result) for result in run(given)]
        for threads in (2, 5):
            set_threads(threads)
            for got, want in zip(run(given), alone, strict=True):
                assert_same_bits(got.view(np.uint8), want.view(np.uint8), name=repr(call))


@pytest.mark.parametrize("scheme", ["", "mla", "int8", "hifloat8", "float8_e4m3fn"])
@pytest.mark.parametrize("rows", [(1, 1, 1), (3, 1, 8), (1, 40, 130)])
def test_storage(scheme: str, rows: tuple[int, ...]) -> None:
    call = Call("TND", rows, (40, 300, 700), 6, 2, 64, 64, "bfloat16", sparse_mode=3, block_size=128)
    if scheme == "mla":
        call = replace(call, heads=4, kv_heads=1, dim=512, dim_v=512, rope=64, q_lengths=tuple(min(n, 8) for n in rows))
        call = replace(call, scheme="mla", q_format="float8_e4m3fn")
    elif scheme:
        call = replace(call, kv_format=scheme)
        if scheme == "int8":
            if rows != (1, 1, 1):
                pytest.skip("INT8 does not go with pages then")
            call = replace(call, layout="BNSD")
    for storage in CACHES:
        assert_same_results(replace(call, storage=storage), call)


@pytest.mark.parametrize("rows", [(1, 1, 1), (3, 1, 8), (1, 40, 130)])
def test_storage_of_mla(rows: tuple[int, ...]) -> None:
    call = Call("TND", rows, (40, 300, 700), 4, 1, 512, 512, "bfloat16", rope=64, sparse_mode=3, block_size=128)
    for storage in CACHES:
        assert_same_results(replace(call, storage=storage), call)


@pytest.mark.parametrize("rows", [(1, 1), (40, 130)])
@pytest.mark.parametrize("prefix", [1, 21, 256, 300])
def test_prefix_or_own_keys(prefix: int, rows: tuple[int, ...]) -> None:
    given = arguments(Call("BSND", rows, (700, 300), 4, 2, 64, 64, prefix=prefix, sparse_mode=3))
    joined = dict(given)
    for name in ("key", "value"):
        shared = np.repeat(joined.pop(f"{name}_shared_prefix"), 2, axis=0)
        joined[name] = np.ascontiguousarray(np.concatenate([shared, given[name]], axis=1))
    joined["actual_seq_lengths_kv"] = [prefix + length for length in given["actual_seq_lengths_kv"]]
    for got, want in zip(run(given), run(joined), strict=True):
        assert_same_bits(got, want)
