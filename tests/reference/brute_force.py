# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The operator once more, element by element on flat memory, with every index formula written out.

Nothing here is shared with the reference: it is what the reference is held against.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np


def keeps(mode: int, i: int, j: int, *, sq: int, skv: int, pre: int, following: int, hidden: bool | None) -> bool:
    """Whether row i sees column j."""
    if mode == 0:
        return True if hidden is None else (not hidden and i - pre <= j <= i + following)
    if mode == 1:
        return not hidden
    if mode == 2:
        return j <= i
    if mode == 3:
        return j <= i + (skv - sq)
    return i - (pre + sq - skv) <= j <= i + (following + skv - sq)


def offsets(axes: str, sizes: dict[str, int], dim: int) -> Callable[[int, int, int, int], int]:
    """Flat offset of (sequence, physical token, head, channel)."""
    heads, rows, tokens, batch = sizes["N"], sizes["S"], sizes["T"], sizes["B"]
    return {
        "BSH": lambda b, s, h, d: ((b * rows + s) * heads + h) * dim + d,
        "BSND": lambda b, s, h, d: ((b * rows + s) * heads + h) * dim + d,
        "BNSD": lambda b, s, h, d: ((b * heads + h) * rows + s) * dim + d,
        "NBSD": lambda b, s, h, d: ((h * batch + b) * rows + s) * dim + d,
        "TND": lambda _b, s, h, d: (s * heads + h) * dim + d,
        "NTD": lambda _b, s, h, d: (h * tokens + s) * dim + d,
    }[axes]


def attention(
    *,
    query: np.ndarray[Any, Any],
    key: np.ndarray[Any, Any],
    value: np.ndarray[Any, Any],
    layout: str,
    sizes: dict[str, int],
    q_starts: list[int],
    kv_starts: list[int],
    q_lengths: list[int],
    kv_lengths: list[int],
    scale: float,
    keep: Callable[[int, int, int], bool],
) -> tuple[list[float], list[float]]:
    """Flat output and softmax_lse; sizes has B, N, Nk, S, Skv, T, Tkv, D, Dv."""
    query_axes, out_axes = layout.split("_") if "_" in layout else (layout, layout)
    batch, heads, kv_heads, dim, dim_v = (sizes[name] for name in ("B", "N", "Nk", "D", "Dv"))
    packed = "T" in layout
    kv_sizes = {"B": batch, "N": kv_heads, "S": sizes["Skv"], "T": sizes["Tkv"]}
    at_q, at_k = offsets(query_axes, sizes, dim), offsets(query_axes, kv_sizes, dim)
    at_v, at_o = offsets(query_axes, kv_sizes, dim_v), offsets(out_axes, sizes, dim_v)
    q, k, v = ([float(x) for x in array.reshape(-1)] for array in (query, key, value))
    rows = sizes["T"] if packed else batch * sizes["S"]
    out, lse = [0.0] * (rows * heads * dim_v), [math.inf] * (rows * heads)
    for b in range(batch):
        for h in range(heads):
            hk = h // (heads // kv_heads)
            for i in range(q_lengths[b]):
                seen = [j for j in range(kv_lengths[b]) if keep(b, i, j)]
                if not seen:
                    continue
                s = q_starts[b] + i
                logits = [
                    scale * sum(q[at_q(b, s, h, d)] * k[at_k(b, kv_starts[b] + j, hk, d)] for d in range(dim))
                    for j in seen
                ]
                total = math.fsum(math.exp(x) for x in logits)
                for d in range(dim_v):
                    terms = (
                        math.exp(x) * v[at_v(b, kv_starts[b] + j, hk, d)] for x, j in zip(logits, seen, strict=True)
                    )
                    out[at_o(b, s, h, d)] = math.fsum(terms) / total
                lse[s * heads + h if packed else (b * heads + h) * sizes["S"] + s] = math.log(total)
    return out, lse
