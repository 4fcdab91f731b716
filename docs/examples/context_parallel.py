# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Context parallelism: two ranks compute a part of the queries each, and together what one call computes, bit for bit.

A rank is given, of each of its sequences, the rows up to the end of its own queries. That is all that it takes: queries
are aligned to the last row, so its queries stand where they stand in the whole, and what is left off would be hidden.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import acl_attn
from acl_attn.reference import select_topk
from acl_attn.reference import sparse_flash_mla as reference

LENGTHS = [16, 18]
NUM_HEADS, HEAD_DIM, RATIO, TOPK = 8, 512, 4, 3
MASKS = {"ori_mask_mode": 4, "cmp_mask_mode": 3, "ori_win_left": 127, "ori_win_right": 0}


@dataclass
class Sequence:
    """Queries, rows and lists of one sequence; or of a rank's segment of it."""

    q: Any
    ori_kv: Any
    cmp_kv: Any
    indices: Any

    def segment(self, first: int, end: int) -> Sequence:
        """Queries from ``first`` to ``end``, with what these need."""
        # Lists name rows from the sequence's beginning, so they stay as they are.
        return Sequence(self.q[first:end], self.ori_kv[:end], self.cmp_kv[: end // RATIO], self.indices[first:end])


def make_sequences() -> list[Sequence]:
    """Draw two sequences, compress their rows, and choose rows for each query."""
    rng = np.random.default_rng(0)
    made = []
    for length in LENGTHS:
        q = rng.standard_normal((1, length, NUM_HEADS, HEAD_DIM)).astype(np.float16)
        kv = rng.standard_normal((1, length, 1, HEAD_DIM)).astype(np.float16)
        chosen = select_topk(q, kv, topk=TOPK, cmp_ratio=RATIO)
        made.append(Sequence(q[0], kv[0], chosen.cmp_kv[0], chosen.cmp_sparse_indices[0]))
    return made


def attend(sequences: list[Sequence]) -> np.ndarray:
    """One call of packed sequences."""

    def totals(tensors: list[Any]) -> np.ndarray:
        return np.cumsum([0, *(len(tensor) for tensor in tensors)]).astype(np.int32)

    lengths = {
        "cu_seqlens_q": totals([s.q for s in sequences]),
        "cu_seqlens_ori_kv": totals([s.ori_kv for s in sequences]),
        "cu_seqlens_cmp_kv": totals([s.cmp_kv for s in sequences]),
        # Tokens behind the last compressed row: without them a call would not know where its queries stand.
        "cmp_residual_kv": np.array([len(s.ori_kv) % RATIO for s in sequences], np.int32),
    }
    common = {**lengths, **MASKS, "cmp_ratio": RATIO, "layout_q": "TND", "layout_kv": "TND"}
    arguments = {
        **common,
        "q": np.concatenate([s.q for s in sequences]),
        "ori_kv": np.concatenate([s.ori_kv for s in sequences]),
        "cmp_kv": np.concatenate([s.cmp_kv for s in sequences]),
        "cmp_sparse_indices": np.concatenate([s.indices for s in sequences]),
        "sinks": np.linspace(-1, 1, NUM_HEADS, dtype=np.float32),
        "softmax_scale": HEAD_DIM**-0.5,
    }
    metadata = acl_attn.sparse_flash_mla_metadata(NUM_HEADS, 1, HEAD_DIM, cmp_topk=TOPK, **common)
    out, _ = acl_attn.sparse_flash_mla(**arguments, metadata=metadata)
    expected, _ = reference(**arguments)
    np.testing.assert_allclose(out, expected, rtol=5e-3, atol=1e-3)
    residuals = lengths["cmp_residual_kv"].tolist()
    print(f"  queries {lengths['cu_seqlens_q'].tolist()}, rows {lengths['cu_seqlens_ori_kv'].tolist()},", end=" ")
    print(f"compressed {lengths['cu_seqlens_cmp_kv'].tolist()}, residuals {residuals}")
    return out


def main() -> None:
    """Compute as one, then as two ranks, and compare."""
    first, second = make_sequences()
    print("undivided")
    whole = attend([first, second])
    print("rank 0: the first sequence, and 8 queries of the second")
    rank_0 = attend([first, second.segment(0, 8)])
    print("rank 1: the other 10 queries of the second")
    rank_1 = attend([second.segment(8, 18)])
    together = np.concatenate([rank_0, rank_1])
    assert together.tobytes() == whole.tobytes()
    print(f"the ranks' {len(rank_0)} + {len(rank_1)} rows are the undivided call's, bit for bit")


if __name__ == "__main__":
    main()
