# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The data of a case, and what rows of the output must be, in float64."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from .cases import WINDOW, Case

__all__ = ["attend", "expected_rows", "fill", "plain_operands"]

Array = npt.NDArray[Any]
DTYPES = {"bf16": np.dtype(ml_dtypes.bfloat16), "fp16": np.dtype(np.float16), "fp32": np.dtype(np.float32)}
# Drawing and rounding gigabytes of random numbers takes longer than computing with them, so a block is repeated. Its
# length, a prime, shares no factor with any axis: no two rows are equal.
_DRAWN = 1_048_573


@lru_cache(maxsize=8)
def _drawn(dtype: str, seed: int) -> Array:
    return np.random.default_rng(seed).standard_normal(_DRAWN, dtype=np.float32).astype(DTYPES[dtype])


def fill(shape: tuple[int, ...], dtype: str, seed: int) -> Array:
    """Give normally distributed numbers, the same ones for the same arguments."""
    numbers = np.empty(math.prod(shape), DTYPES[dtype])
    drawn = _drawn(dtype, seed)
    for start in range(0, numbers.size, _DRAWN):
        part = numbers[start : start + _DRAWN]
        part[:] = drawn[: part.size]
    return numbers.reshape(shape)


def plain_operands(case: Case) -> tuple[Array, Array, Array]:
    """Give query, key and value of a case without unequal lengths: ``(batch, heads, tokens, channels)``.

    Where the cache is to be quantised, which takes its time, all sequences hold the same numbers.
    """
    channels, different = case.dim + case.rope, 1 if case.cache else case.batch
    keys = (different, case.kv_heads, case.kv_len)
    query = fill((case.batch, case.heads, case.q_len, channels), case.dtype, 1)
    key, value = fill((*keys, channels), case.dtype, 2), fill((*keys, case.dim), case.dtype, 3)
    if different < case.batch:
        key, value = np.repeat(key, case.batch, 0), np.repeat(value, case.batch, 0)
    return query, key, value


def attend(
    query: Array, key: Array, value: Array, scale: float, bias: Array | None = None, sink: float | None = None
) -> npt.NDArray[np.float64]:
    """Compute a row: ``softmax(key @ query * scale + bias) @ value`` over these keys; `sink` is in the denominator."""
    scores = key.astype(np.float64) @ query.astype(np.float64) * scale
    if bias is not None:
        scores += bias.astype(np.float64)
    largest = scores.max() if sink is None else max(float(scores.max()), sink)
    weights = np.exp(scores - largest)
    total = weights.sum() + (0.0 if sink is None else math.exp(sink - largest))
    row: npt.NDArray[np.float64] = (weights / total) @ value.astype(np.float64)
    return row


def expected_rows(
    case: Case, query: Array, key: Array, value: Array, bias: Array | None = None, sinks: Array | None = None
) -> list[npt.NDArray[np.float64]]:
    """Compute the rows at a case's positions from whole operands, ``(batch, heads, tokens, channels)``."""
    group, scale = case.heads // case.kv_heads, (case.dim + case.rope) ** -0.5
    rows = []
    for sequence, head, i in case.positions():
        end = case.kv_len - case.q_len + i + 1 if case.causal or case.feature in ("mask", "window") else case.kv_len
        start = max(0, end - WINDOW) if case.feature == "window" else 0
        seen = (sequence, head // group, slice(start, end))
        rows.append(
            attend(
                query[sequence, head, i], key[seen], value[seen], scale,
                None if bias is None else bias[0, head, i, start:end],
                None if sinks is None else float(sinks[head]),
            )
        )  # fmt: skip
    return rows
