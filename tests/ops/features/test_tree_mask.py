# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Sparse mode 9 of version 4: guessed tokens at the end of the keys that see each other as a tree says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import acl_attn

RNG = np.random.default_rng(0)
ROWS, KEYS = 6, 41
FIXED: dict[str, Any] = {"num_heads": 4, "num_key_value_heads": 2, "sparse_mode": 9, "version": 4}


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float16)


def tree(batch: int) -> np.ndarray:
    """Hide all but a token itself and some of those before it."""
    hidden = RNG.random((batch, ROWS, ROWS)) < 0.5
    return (hidden | np.triu(np.ones((ROWS, ROWS), bool), 1)) & ~np.eye(ROWS, dtype=bool)


Q, K, V = normal(2, ROWS, 4, 64), normal(2, KEYS, 2, 64), normal(2, KEYS, 2, 64)


def expected(hidden: np.ndarray) -> Any:
    whole = np.concatenate([np.zeros((2, ROWS, KEYS - ROWS), bool), hidden], -1)
    return acl_attn.attention(Q, K, V, mask=acl_attn.Mask.dense(whole, true_means="masked"))


def test_batched() -> None:
    hidden = tree(2)
    got, _ = acl_attn.fused_infer_attention_score(Q, K, V, atten_mask=hidden, input_layout="BSND", **FIXED)
    np.testing.assert_array_equal(got, expected(hidden))


def test_packed() -> None:
    hidden = tree(2)
    packed = [array.reshape(-1, *array.shape[2:]) for array in (Q, K, V)]
    got, _ = acl_attn.fused_infer_attention_score(
        *packed, atten_mask=hidden.reshape(-1), input_layout="TND", actual_seq_lengths=[ROWS, 2 * ROWS],
        actual_seq_lengths_kv=[KEYS, 2 * KEYS], **FIXED,
    )  # fmt: skip
    np.testing.assert_array_equal(got, expected(hidden).reshape(got.shape))


@pytest.mark.parametrize("version", [3, 5])
def test_only_in_version_4(version: int) -> None:
    with pytest.raises(acl_attn.AclAttnError, match="sparse_mode: expected"):
        acl_attn.fused_infer_attention_score(
            Q, K, V, atten_mask=tree(2), input_layout="BSND", **{**FIXED, "version": version}
        )
