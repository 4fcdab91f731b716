# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Causal prefill of two prompts of unequal length: 8 query heads share 2 key/value heads."""

from __future__ import annotations

import numpy as np

import acl_attn
import acl_attn.reference

LENGTHS = [37, 90]  # tokens of each prompt
NUM_HEADS, NUM_KV_HEADS, HEAD_DIM = 8, 2, 64


def main() -> None:
    """Run attention on packed prompts, without padding, and compare with the float64 reference."""
    rng = np.random.default_rng(0)
    tokens = sum(LENGTHS)
    query = rng.standard_normal((tokens, NUM_HEADS, HEAD_DIM)).astype(np.float16)
    key = rng.standard_normal((tokens, NUM_KV_HEADS, HEAD_DIM)).astype(np.float16)
    value = rng.standard_normal((tokens, NUM_KV_HEADS, HEAD_DIM)).astype(np.float16)

    # Three axes mean the packed layout TND; the lengths say where one prompt ends and the next one begins.
    out = acl_attn.attention(query, key, value, q_lengths=LENGTHS, kv_lengths=LENGTHS, mask="causal")

    expected = acl_attn.reference.attention(query, key, value, q_lengths=LENGTHS, kv_lengths=LENGTHS, mask="causal")
    print(f"{out.shape} {out.dtype}, worst error {np.abs(out - expected).max():.1e}")
    np.testing.assert_allclose(out, expected, rtol=5e-3, atol=1e-3)

    # The first token of a prompt sees only itself, so its output is its own value.
    first = np.repeat(value[0], NUM_HEADS // NUM_KV_HEADS, axis=0)
    np.testing.assert_array_equal(out[0], first)


if __name__ == "__main__":
    main()
