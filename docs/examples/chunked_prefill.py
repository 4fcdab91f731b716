# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Prefill after a cached prefix: key lengths count the prefix, query lengths do not.

The same holds for the second and later chunks of a chunked prefill. Passing the chunk's length for both is a common
mistake: it drops the prefix, and the output still looks plausible.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import acl_attn

CACHED, NEW, BLOCK_SIZE = 96, 32, 128
NUM_HEADS, NUM_KV_HEADS, HEAD_DIM = 8, 2, 128


def main() -> None:
    """Compute the last 32 rows of a 128-token prefill from 96 cached tokens, right and wrong."""
    rng = np.random.default_rng(0)
    total = CACHED + NEW
    query = rng.standard_normal((total, NUM_HEADS, HEAD_DIM)).astype(np.float16)
    key_cache = rng.standard_normal((1, BLOCK_SIZE, NUM_KV_HEADS * HEAD_DIM)).astype(np.float16)
    value_cache = rng.standard_normal(key_cache.shape).astype(np.float16)
    paged: dict[str, Any] = {
        "num_kv_heads": NUM_KV_HEADS,
        "block_table": np.zeros((1, 1), np.int32),
        "block_size": BLOCK_SIZE,
        "mask": "causal",
    }

    whole = acl_attn.attention(query, key_cache, value_cache, q_lengths=[total], kv_lengths=[total], **paged)

    # "causal" aligns the last query row with the last key: row 0 of the chunk sees keys 0 .. 96, row 31 all 128.
    chunk = query[CACHED:]
    with acl_attn.Plan(chunk, key_cache, value_cache, q_lengths=[NEW], kv_lengths=[total], **paged) as plan:
        print(plan.describe())
        visible = plan.visible_keys(0, 0)
        print(f"first row of the chunk sees keys {visible[0]} .. {visible[-1]}")
        right = plan.run(chunk, key_cache, value_cache)
    np.testing.assert_allclose(right, whole[CACHED:], rtol=5e-3, atol=1e-3)

    wrong = acl_attn.attention(chunk, key_cache, value_cache, q_lengths=[NEW], kv_lengths=[NEW], **paged)
    print(f"with the chunk's length as key length the result is off by {np.abs(wrong - whole[CACHED:]).max():.2f}")
    assert not np.allclose(wrong, whole[CACHED:], atol=0.1)


if __name__ == "__main__":
    main()
