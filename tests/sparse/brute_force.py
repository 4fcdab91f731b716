# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The sparse operators once more, column by column, with every rule written out.

Nothing here is shared with the reference: it is what the reference is held against.
"""

from __future__ import annotations

import math
import struct
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..formats.by_definition import hifloat8_number

if TYPE_CHECKING:
    from collections.abc import Iterator

Array = np.ndarray[Any, Any]
Arguments = dict[str, Any]


def e4m3_number(code: int) -> float:
    sign, exponent, mantissa = -1.0 if code & 0x80 else 1.0, code >> 3 & 0xF, code & 7
    if exponent == 15 and mantissa == 7:
        return float("nan")
    return sign * (mantissa / 8 * 2.0**-6 if exponent == 0 else (1 + mantissa / 8) * 2.0 ** (exponent - 7))


def bf16_number(low: int, high: int) -> float:
    return float(struct.unpack("<f", bytes((0, 0, low, high)))[0])


def packed_row(octets: bytes, number: Any) -> list[float]:
    """Channels of a packed row, byte by byte; not rounded to bfloat16, which the tests' numbers do not need."""
    nope = [number(octets[128 + c]) * 2.0 ** (octets[576 + c // 64] - 127) for c in range(448)]
    return nope + [bf16_number(octets[2 * c], octets[2 * c + 1]) for c in range(64)]


def row_of(given: Arguments, side: str, b: int, j: int) -> Array:
    """Row j of sequence b."""
    kv = given[f"{side}_kv"]
    if given["layout_kv"].startswith("PA"):
        size = kv.shape[1]
        block = given[f"{side}_block_table"][b, j // size]
        assert 0 <= block < len(kv)
        row = kv[block, j % size, 0]
    elif given["layout_kv"] == "TND":
        row = kv[given[f"cu_seqlens_{side}_kv"][b] + j, 0]
    else:
        row = kv[b, j, 0]
    if row.dtype.itemsize == 1:
        number = e4m3_number if row.dtype.name == "float8_e4m3fn" else hifloat8_number
        return np.array(packed_row(row.tobytes(), number))
    return row.astype(np.float64)


def length(given: Arguments, side: str, b: int) -> int:
    """Tokens of sequence b that count."""
    if f"seqused_{side}" in given:
        return int(given[f"seqused_{side}"][b])
    if f"cu_seqlens_{side}" in given:
        totals = given[f"cu_seqlens_{side}"]
        return int(totals[b + 1] - totals[b])
    tensor = given["q"] if side == "q" else given[f"{side}"]
    return int(tensor.shape[1])


def columns(given: Arguments, b: int, i: int, at: Any) -> Iterator[tuple[str, int]]:
    """What query i of sequence b sees: pairs of stream and row."""
    is_quantised = "kv_quant_mode" in given
    sq = length(given, "q", b)
    so = int(given["seqused_kv"][b]) if is_quantised else length(given, "ori_kv", b)
    p = so - sq + i
    left, right, mode = given["ori_win_left"], given["ori_win_right"], given["ori_mask_mode"]
    if "ori_sparse_indices" in given:
        for e in range(min(given["ori_sparse_indices"].shape[-1], int(given["ori_topk_length"][at][0]), so)):
            j = int(given["ori_sparse_indices"][at][0, e])
            if j == -1:
                break
            if j < so:
                yield "ori", j
    else:
        for j in range(so):
            if mode == 3 and j > p:
                continue
            if mode == 4 and ((left != -1 and j < p - left) or (right != -1 and j > p + right)):
                continue
            yield "ori", j
    if "cmp_kv" not in given:
        return
    ratio = given["cmp_ratio"]
    sc = so // ratio if is_quantised else length(given, "cmp_kv", b)
    residual = int(given["cmp_residual_kv"][b]) if "cmp_residual_kv" in given else 0
    tokens = so if is_quantised else sc * ratio + residual
    # Row c is there for queries that stand at or behind its last token.
    seen = [c for c in range(sc) if given["cmp_mask_mode"] == 0 or (c + 1) * ratio - 1 <= tokens - sq + i]
    if "cmp_sparse_indices" not in given:
        for c in seen:
            yield "cmp", c
        return
    n = min(given["cmp_sparse_indices"].shape[-1], len(seen))
    if "cmp_topk_length" in given and given["cmp_mask_mode"] == 0:
        n = min(n, int(given["cmp_topk_length"][at][0]))
    for e in range(n):
        c = int(given["cmp_sparse_indices"][at][0, e])
        if c == -1:
            break
        if c in seen:
            yield "cmp", c


def attention(given: Arguments) -> tuple[Array, Array]:
    """Output, and the log-sum-exp in the output's order: (..., heads)."""
    q = given["q"]
    out, lse = np.zeros(q.shape), np.zeros(q.shape[:-1])
    scale = float(np.float32(given["softmax_scale"]))
    is_packed = given["layout_q"] == "TND"
    batch = len(given["cu_seqlens_q"]) - 1 if is_packed else len(q)
    read = cache(lambda side, b, j: row_of(given, side, b, j))
    for b in range(batch):
        for i in range(length(given, "q", b)):
            at = int(given["cu_seqlens_q"][b]) + i if is_packed else (b, i)
            rows = [read(side, b, j) for side, j in columns(given, b, i, at)]
            if not rows:
                continue
            for h in range(q.shape[-2]):
                query = q[at][h].astype(np.float64)
                terms = [math.exp(scale * float(query @ row)) for row in rows]
                total = math.fsum([*terms, math.exp(float(given["sinks"][h]))])
                out[at][h] = sum(term * row for term, row in zip(terms, rows, strict=True)) / total
                lse[at][h] = math.log(total)
    return out, lse
