# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Offsets beyond 2**31 elements: address arithmetic in 32 bits would read somewhere else.

The memory is reserved and not touched, except where a call reads it.
"""

from __future__ import annotations

import mmap

import numpy as np
import pytest

import acl_attn
from acl_attn.testing.compare import assert_same_bits


def reserve(elements: int) -> np.ndarray:
    """float16 zeros that take no memory until they are written."""
    no_reserve = getattr(mmap, "MAP_NORESERVE", 0x4000)  # named since Python 3.11
    region = mmap.mmap(-1, elements * 2, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | no_reserve)
    return np.frombuffer(region, np.float16)


@pytest.fixture(scope="module")
def memory() -> np.ndarray:
    return reserve(3 * 2**31)


def test_blocks_far_apart(memory: np.ndarray) -> None:
    generator = np.random.default_rng(0)
    blocks, size, heads, dim = 3, 16, 2, 32
    tokens = generator.standard_normal((blocks, size, heads * dim)).astype(np.float16)
    item = memory.itemsize
    far = np.lib.stride_tricks.as_strided(
        memory, (blocks, size, heads * dim), ((2**31 - 64) * item, heads * dim * item, item)
    )
    far[...] = tokens
    table = np.array([[2, 0, 1]], np.int32)
    q = generator.standard_normal((1, 2, heads, dim)).astype(np.float16)
    options = {"block_table": table, "kv_lengths": [41], "num_kv_heads": heads, "mask": "causal"}
    assert_same_bits(acl_attn.attention(q, far, far, **options), acl_attn.attention(q, tokens, tokens, **options))


def test_heads_far_apart(memory: np.ndarray) -> None:
    generator = np.random.default_rng(1)
    heads, tokens, dim = 3, 2**26, 32
    far = memory[: heads * tokens * dim].reshape(1, heads, tokens, dim)
    near = generator.standard_normal((1, heads, 40, dim)).astype(np.float16)
    far[:, :, :40] = near
    q = generator.standard_normal((1, heads, 5, dim)).astype(np.float16)
    got = acl_attn.attention(q, far, far, layout="BNSD", kv_lengths=[40])
    assert_same_bits(got, acl_attn.attention(q, near, near, layout="BNSD"))


def test_sequences_far_apart(memory: np.ndarray) -> None:
    generator = np.random.default_rng(2)
    batch, tokens, dim = 3, 2**26, 32
    far = memory[: batch * tokens * dim].reshape(batch, tokens, 1, dim)
    near = generator.standard_normal((batch, 40, 1, dim)).astype(np.float16)
    far[:, :40] = near
    q = generator.standard_normal((batch, 5, 2, dim)).astype(np.float16)
    got = acl_attn.attention(q, far, far, kv_lengths=40, mask="causal")
    assert_same_bits(got, acl_attn.attention(q, near, near, mask="causal"))


def test_a_mask_with_far_rows() -> None:
    columns = 2**31
    region = mmap.mmap(-1, 3 * columns, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)
    mask = np.frombuffer(region, np.bool_).reshape(1, 1, 3, columns)
    near = np.random.default_rng(3).random((3, 9)) < 0.5
    mask[0, 0, :, :9] = near
    q, k = (np.random.default_rng(4).standard_normal((1, n, 1, 16)).astype(np.float16) for n in (3, 9))
    options = {"num_heads": 1, "input_layout": "BSND", "sparse_mode": 1}
    got = acl_attn.fused_infer_attention_score(q, k, k, atten_mask=mask, **options)[0]
    want = acl_attn.fused_infer_attention_score(q, k, k, atten_mask=near[None].copy(), **options)[0]
    assert_same_bits(got, want)
