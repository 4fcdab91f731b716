# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Attention calls of known models, by name, with zeros for numbers: what ``acl-attn sim`` can be asked about."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .ops.attention import attention
from .ops.features import Rope

__all__ = ["SCENARIOS"]

_TOKENS = 4096
_BATCH = 32
_BLOCK = 128


def _zeros(*shape: int) -> np.ndarray[Any, Any]:
    # They take no memory before somebody writes to them. NPUs allocate at multiples of 512 bytes.
    size = math.prod(shape)
    room = np.zeros(size + 256, np.float16)
    start = -room.ctypes.data % 512 // 2
    return room[start : start + size].reshape(shape)


def _paged() -> dict[str, Any]:
    blocks = _TOKENS // _BLOCK
    table = np.arange(_BATCH * blocks, dtype=np.int32).reshape(_BATCH, blocks)
    return {"block_table": table, "block_size": _BLOCK, "kv_lengths": _TOKENS}


def _llama_prefill() -> None:
    key = _zeros(1, _TOKENS, 8, 128)
    attention(_zeros(1, _TOKENS, 32, 128), key, key, mask="causal")


def _llama_decode() -> None:
    blocks = _BATCH * _TOKENS // _BLOCK
    key, value = (_zeros(blocks, _BLOCK, 8 * 128) for _ in range(2))
    attention(_zeros(_BATCH, 1, 32, 128), key, value, num_kv_heads=8, **_paged())


def _mla_decode() -> None:
    blocks = _BATCH * _TOKENS // _BLOCK
    rope = Rope(_zeros(_BATCH, 1, 128, 64), _zeros(blocks, _BLOCK, 64))
    key = _zeros(blocks, _BLOCK, 512)
    attention(_zeros(_BATCH, 1, 128, 512), key, None, num_kv_heads=1, rope=rope, scale=192**-0.5, **_paged())


SCENARIOS: dict[str, Callable[[], None]] = {
    "llama-3-8b-prefill": _llama_prefill,
    "llama-3-8b-decode": _llama_decode,
    "deepseek-v3-mla-decode": _mla_decode,
}
