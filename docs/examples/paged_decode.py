# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Decode on a paged KV cache: one plan for all steps, and what a page table may look like."""

from __future__ import annotations

from typing import Any

import numpy as np

import acl_attn
import acl_attn.reference

NUM_HEADS, NUM_KV_HEADS, HEAD_DIM, BLOCK_SIZE = 9, 3, 64, 16
LENGTHS = [30, 5]  # tokens that each sequence has before decoding begins
STEPS = 20


def main() -> None:
    """Decode `STEPS` tokens of two sequences and compare each step with the float64 reference."""
    rng = np.random.default_rng(0)
    # 8 pages of 16 tokens; (blocks, block_size, kv_heads * head_dim) is one of the three cache layouts. What no
    # sequence owns is never read: NaN there does no harm.
    key_cache = np.full((8, BLOCK_SIZE, NUM_KV_HEADS * HEAD_DIM), np.nan, np.float16)
    value_cache = np.full_like(key_cache, np.nan)
    # Any order of pages will do. Sequence 1 needs two pages in the end; -1 stands where it never gets.
    block_table = np.array([[6, 1, 4, 0], [3, 7, -1, -1]], np.int32)

    def append(sequence: int, position: int) -> None:
        block, row = block_table[sequence, position // BLOCK_SIZE], position % BLOCK_SIZE
        key_cache[block, row] = rng.standard_normal(NUM_KV_HEADS * HEAD_DIM)
        value_cache[block, row] = rng.standard_normal(NUM_KV_HEADS * HEAD_DIM)

    for sequence, length in enumerate(LENGTHS):
        for position in range(length):
            append(sequence, position)

    query = np.empty((2, 1, NUM_HEADS, HEAD_DIM), np.float16)
    out = np.empty_like(query)
    arguments: dict[str, Any] = {
        "num_kv_heads": NUM_KV_HEADS,
        "kv_lengths": LENGTHS,
        "block_table": block_table,
        "block_size": BLOCK_SIZE,
    }
    worst = 0.0
    with acl_attn.Plan(query, key_cache, value_cache, **arguments) as plan:
        for step in range(1, STEPS + 1):
            lengths = [length + step for length in LENGTHS]  # the new token counts: it attends to itself too
            for sequence, length in enumerate(lengths):
                append(sequence, length - 1)
            query[...] = rng.standard_normal(query.shape)
            plan.update(kv_lengths=lengths)
            plan.run(query, key_cache, value_cache, out=out)

            arguments["kv_lengths"] = lengths
            expected = acl_attn.reference.attention(query, key_cache, value_cache, **arguments)
            np.testing.assert_allclose(out, expected, rtol=5e-3, atol=1e-3)
            worst = max(worst, float(np.abs(out - expected).max()))
    print(f"{STEPS} steps, lengths {lengths}, worst error {worst:.1e}")


if __name__ == "__main__":
    main()
