# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Calls without queries, without keys, or with sequences of length 0."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from acl_attn.testing.build import arguments
from acl_attn.testing.calls import Call

from ..checks import check, run

CALL = Call("BSND", (5, 0, 18), (40, 70, 0), 6, 2, 64, 64)


@pytest.mark.parametrize("layout", ["TND", "BSH", "BNSD", "NTD_TND"])
@pytest.mark.parametrize("mode", [0, 3])
def test_lengths_of_zero(layout: str, mode: int) -> None:
    check(replace(CALL, layout=layout, sparse_mode=mode))


@pytest.mark.parametrize("storage", ["BnBsH", "NZ"])
def test_lengths_of_zero_in_pages(storage: str) -> None:
    check(replace(CALL, storage=storage))


def test_no_query() -> None:
    given = arguments(replace(CALL, q_lengths=(5, 5, 5)))
    given["query"] = given["query"][:, :0]
    given["actual_seq_lengths"] = [0, 0, 0]
    out, _ = run(given)
    assert out.shape == (3, 0, 6, 64)


def test_no_keys() -> None:
    given = arguments(replace(CALL, kv_lengths=(4, 4, 4)))
    given.update(key=given["key"][:, :0], value=given["value"][:, :0], actual_seq_lengths_kv=[0, 0, 0])
    out, lse = run(given)
    assert not out.astype(np.float32).any()
    assert np.isposinf(lse).all()


@pytest.mark.parametrize("kv_format", ["int8", "float8_e4m3fn"])
def test_quantised_lengths_of_zero(kv_format: str) -> None:
    check(replace(CALL, q_lengths=(1, 1, 1), kv_format=kv_format))


@pytest.mark.parametrize("scheme", ["gqa_fp8", "mxfp8"])
def test_fully_quantised_lengths_of_zero(scheme: str) -> None:
    layout, storage = ("NTD_TND", "BnNBsD") if scheme == "gqa_fp8" else ("TND", "dense")
    call = replace(CALL, layout=layout, storage=storage, dim=128, dim_v=128, scheme=scheme, block_size=128)
    check(replace(call, q_format="float8_e4m3fn", dtype="bfloat16"))
