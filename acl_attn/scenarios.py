# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Attention calls of known models, by name, with zeros for numbers: what ``acl-attn sim`` can be asked about."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from .ops.attention import attention
from .ops.features import FullQuant, Rope
from .ops.sparse_plan import SparsePlan

__all__ = ["SCENARIOS"]

_TOKENS = 4096
_BATCH = 32
_BLOCK = 128
_LONG = 65536  # tokens, where few of them are looked at
_TOPK = 512


def _zeros(*shape: int, dtype: type = np.float16) -> np.ndarray[Any, Any]:
    # They take no memory before somebody writes to them. NPUs allocate at multiples of 512 bytes.
    size = math.prod(shape)
    room = np.zeros(size * np.dtype(dtype).itemsize + 512, np.uint8)
    start = -room.ctypes.data % 512
    return room[start : start + size * np.dtype(dtype).itemsize].view(dtype).reshape(shape)


def _table(tokens: int) -> np.ndarray[Any, Any]:
    return np.arange(_BATCH * tokens // _BLOCK, dtype=np.int32).reshape(_BATCH, -1)


def _paged() -> dict[str, Any]:
    return {"block_table": _table(_TOKENS), "block_size": _BLOCK, "kv_lengths": _TOKENS}


def _llama_prefill() -> None:
    key = _zeros(1, _TOKENS, 8, 128)
    attention(_zeros(1, _TOKENS, 32, 128), key, key, mask="causal")


def _llama_int8_prefill() -> None:
    key = _zeros(1, _TOKENS, 8, 128, dtype=np.int8)
    quant = FullQuant("per_tensor", score_scale=1.0, p_scale=127.0, out_scale=1.0)
    attention(_zeros(1, _TOKENS, 32, 128, dtype=np.int8), key, key, mask="causal", full_quant=quant)


def _llama_decode() -> None:
    blocks = _BATCH * _TOKENS // _BLOCK
    key, value = (_zeros(blocks, _BLOCK, 8 * 128) for _ in range(2))
    attention(_zeros(_BATCH, 1, 32, 128), key, value, num_kv_heads=8, **_paged())


def _mla_decode() -> None:
    blocks = _BATCH * _TOKENS // _BLOCK
    rope = Rope(_zeros(_BATCH, 1, 128, 64), _zeros(blocks, _BLOCK, 64))
    key = _zeros(blocks, _BLOCK, 512)
    attention(_zeros(_BATCH, 1, 128, 512), key, None, num_kv_heads=1, rope=rope, scale=192**-0.5, **_paged())


def _quantised_mla_decode(dtype: type) -> None:
    blocks = _BATCH * _TOKENS // _BLOCK
    bf16 = ml_dtypes.bfloat16
    rope = Rope(_zeros(_BATCH, 1, 128, 64, dtype=bf16), _zeros(blocks, 1, 64 // 16, _BLOCK, 16, dtype=bf16))
    key = _zeros(blocks, 1, 512 // 32, _BLOCK, 32, dtype=dtype)
    quant = FullQuant("mla", np.ones((_BATCH, 1, 128), np.float32), 1.0, 1.0)
    query = _zeros(_BATCH, 1, 128, 512, dtype=dtype)
    attention(query, key, None, num_kv_heads=1, rope=rope, full_quant=quant, scale=192**-0.5, **_paged())


def _int8_mla_decode() -> None:
    _quantised_mla_decode(np.int8)


def _fp8_mla_decode() -> None:
    _quantised_mla_decode(ml_dtypes.float8_e4m3fn)


def _sparse_decode(
    ratio: int, topk: int, channels: int = 512, row: type = np.float16, query: type = np.float16
) -> None:
    rng = np.random.default_rng(0)
    chosen = np.stack([rng.choice(_LONG // ratio, topk, replace=False) for _ in range(_BATCH)]) if topk else None
    pools = [_zeros(_BATCH * tokens // _BLOCK, _BLOCK, 1, channels, dtype=row) for tokens in (_LONG, _LONG // ratio)]
    with SparsePlan(
        _zeros(_BATCH, 1, 64, 512, dtype=query),
        *pools,
        sinks=np.zeros(64, np.float32),
        cmp_ratio=ratio,
        cmp_sparse_indices=None if chosen is None else chosen.astype(np.int32).reshape(_BATCH, 1, 1, topk),
        kv_lengths=_LONG,
        ori_block_table=_table(_LONG),
        cmp_block_table=_table(_LONG // ratio),
    ) as plan:
        plan.run()


def _hca_decode() -> None:
    _sparse_decode(128, 0)


def _csa_decode() -> None:
    _sparse_decode(4, _TOPK)


def _packed_csa_decode() -> None:
    _sparse_decode(4, _TOPK, 640, ml_dtypes.float8_e4m3fn, ml_dtypes.bfloat16)


SCENARIOS: dict[str, Callable[[], None]] = {
    "llama-3-8b-prefill": _llama_prefill,
    "llama-3-8b-int8-prefill": _llama_int8_prefill,
    "llama-3-8b-decode": _llama_decode,
    "deepseek-v3-mla-decode": _mla_decode,
    "deepseek-v3-int8-mla-decode": _int8_mla_decode,
    "deepseek-v3-fp8-mla-decode": _fp8_mla_decode,
    "deepseek-v4-hca-decode": _hca_decode,
    "deepseek-v4-csa-decode": _csa_decode,
    "deepseek-v4-packed-csa-decode": _packed_csa_decode,
}
