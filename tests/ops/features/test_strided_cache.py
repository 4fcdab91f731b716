# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Paged caches with gaps between blocks."""

from __future__ import annotations

import pytest

from acl_attn.testing.build import arguments
from acl_attn.testing.calls import Call

from ..checks import check

SIZES = {"q_lengths": (5, 1, 18), "kv_lengths": (40, 70, 9), "heads": 6, "kv_heads": 2, "sparse_mode": 3}


@pytest.mark.parametrize("storage", ["BnBsH", "BnNBsD", "NZ"])
def test_blocks_apart(storage: str) -> None:
    call = Call("TND", **SIZES, dim=64, dim_v=64, storage=storage, block_gap=24)
    assert not arguments(call)["key"].flags.c_contiguous
    check(call)


@pytest.mark.parametrize("scheme", ["gqa_fp8", "mxfp8"])
def test_blocks_apart_in_fp8(scheme: str) -> None:
    layout = "NTD_TND" if scheme == "gqa_fp8" else "TND"
    call = Call(layout, **SIZES, dim=128, dim_v=128, storage="BnNBsD", block_size=128, block_gap=512, scheme=scheme)
    call = Call(**{**vars(call), "q_format": "float8_e4m3fn", "dtype": "bfloat16"})
    assert not arguments(call)["key"].flags.c_contiguous
    check(call)
