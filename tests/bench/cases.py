# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The benchmark's cases: what is computed, and how much work that is."""

from __future__ import annotations

from dataclasses import dataclass, replace

import ml_dtypes
import numpy as np

DTYPES = {"fp16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}


@dataclass(frozen=True)
class Case:
    """One shape of attention; ``q_len == 1`` makes it a decode step."""

    batch: int
    heads: int
    kv_heads: int
    q_len: int
    kv_len: int
    head_dim: int
    dtype: str
    causal: bool = False
    block_size: int = 0

    @property
    def name(self) -> str:
        """Readable id, as the tables print it."""
        heads = f"h{self.heads}" if self.heads == self.kv_heads else f"h{self.heads}kv{self.kv_heads}"
        tail = ("_causal" if self.causal else "") + (f"_paged{self.block_size}" if self.block_size else "")
        return f"b{self.batch}_{heads}_q{self.q_len}_kv{self.kv_len}_d{self.head_dim}_{self.dtype}{tail}"

    @property
    def flops(self) -> float:
        """Multiplications and additions of the visible scores, both products."""
        visible = self.q_len * self.kv_len
        if self.causal:
            visible -= self.q_len * (self.q_len - 1) // 2
        return 4.0 * self.batch * self.heads * self.head_dim * visible

    @property
    def kv_bytes(self) -> float:
        """Bytes of key and value that have to be read once."""
        return 2.0 * self.batch * self.kv_heads * self.kv_len * self.head_dim * DTYPES[self.dtype].itemsize


def _prefill(dtype: str) -> list[Case]:
    base = Case(1, 32, 32, 1024, 1024, 128, dtype)
    shapes = [
        base,
        replace(base, q_len=2048, kv_len=2048),
        replace(base, kv_heads=8),
        replace(base, heads=24, kv_heads=24, head_dim=64, q_len=2048, kv_len=2048),
    ]
    return [replace(shape, causal=causal) for shape in shapes for causal in (False, True)]


def _decode(dtype: str) -> list[Case]:
    base = Case(1, 32, 8, 1, 1024, 128, dtype)
    dense = [replace(base, batch=batch, kv_len=kv_len) for batch in (1, 8) for kv_len in (1024, 8192)]
    return dense + [replace(case, block_size=128) for case in dense]


SUITES: dict[str, list[Case]] = {
    "prefill": [case for dtype in DTYPES for case in _prefill(dtype)],
    "decode": [case for dtype in DTYPES for case in _decode(dtype)],
    "call": [Case(1, 1, 1, 1, 1, 16, "fp16"), Case(1, 8, 8, 1, 16, 64, "fp16")],
}
