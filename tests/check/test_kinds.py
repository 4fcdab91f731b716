# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Questions about kinds of calls are answered by the rules; the facts here are the vendor page's."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import acl_attn
from acl_attn import allowed_block_sizes, allowed_head_dims, allowed_layouts, supports


@pytest.mark.parametrize(
    ("kind", "sizes"),
    [
        ({"head_dim": 128}, range(16, 1025, 16)),
        ({"head_dim": 64, "q_length": 5}, range(16, 1025, 16)),
        ({"head_dim": 96, "q_length": 5}, range(128, 1025, 128)),
        ({"head_dim": 96}, range(16, 513, 16)),
        ({"head_dim": 128, "cache": "BnNBsD"}, range(16, 1025, 16)),
        ({"head_dim": 128, "kv_dtype": np.int8}, range(32, 513, 32)),
    ],
)
def test_block_sizes(kind: dict[str, object], sizes: range) -> None:
    assert allowed_block_sizes(profile="ascend950", **kind) == list(sizes)


def test_the_host_takes_any_block_size() -> None:
    assert allowed_block_sizes(profile="host", head_dim=40) == list(range(1, 1025))


def test_head_dims() -> None:
    assert allowed_head_dims(profile="ascend950") == list(range(1, 513))
    assert allowed_head_dims(profile="host") == list(range(1, 513))
    assert allowed_head_dims(profile="ascend950", layout="NTD") == [64, 128]
    assert allowed_head_dims(profile="ascend950", layout="BNSD_BSND") == list(range(16, 513, 16))


def test_layouts() -> None:
    gqa = ["BSH", "BSND", "BNSD", "TND", "NTD", "BSH_BNSD", "BSND_BNSD", "BNSD_BSND", "NTD_TND"]
    assert allowed_layouts(profile="ascend950") == gqa
    mla = {"head_dim": 512, "rope": 64, "dtype": ml_dtypes.bfloat16}
    assert allowed_layouts(profile="ascend950", **mla) == [
        *("BSH", "BSND", "BNSD", "TND", "BSH_NBSD", "BSND_NBSD", "BNSD_NBSD", "TND_NTD")
    ]


def test_supports() -> None:
    assert supports(profile="ascend950", head_dim=64, num_heads=9, num_kv_heads=3, mask="causal", q_length=7)
    assert not supports(profile="ascend950", num_heads=9, num_kv_heads=2)
    assert not supports(profile="ascend950", dtype="float32")
    assert supports(profile="ascend950", kv_dtype=np.int8, kv_mode=1)
    assert supports(profile="host", cache="NZ", block_size=7, head_dim=80)


@pytest.mark.parametrize(
    "kind", [{"headdim": 64}, {"head_dim": 0}, {"cache": "pages"}, {"kv_mode": 5, "kv_dtype": "int8"}, {"layout": "X"}]
)
def test_kinds_that_make_no_sense(kind: dict[str, object]) -> None:
    with pytest.raises(acl_attn.InvalidArgumentError, match="expected"):
        supports(**kind) or pytest.fail("no answer is not a no")
    with pytest.raises(acl_attn.InvalidArgumentError, match="cache: expected one of"):
        allowed_block_sizes(cache=None)
