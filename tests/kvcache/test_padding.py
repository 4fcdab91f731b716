# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Padding that leaves results alone."""

from __future__ import annotations

import numpy as np
import pytest

from acl_attn import Lengths, reference
from acl_attn.dtypes import decode, encode, hifloat8
from acl_attn.errors import InvalidArgumentError
from acl_attn.kvcache import pad_heads, pad_tnd


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float16)


@pytest.mark.parametrize("tokens", [7, 12])
def test_packed_padding_adds_a_sequence_without_keys(tokens: int) -> None:
    query, key, value = normal(7, 2, 64), normal(9, 2, 64, seed=1), normal(9, 2, 64, seed=2)
    q_lengths, kv_lengths = Lengths((5, 2)), Lengths((5, 4))
    padded = pad_tnd(query, q_lengths, kv_lengths, tokens)
    assert padded.query.shape == (tokens, 2, 64)
    assert padded.q_lengths.per_sequence == (5, 2, tokens - 7)
    assert padded.kv_lengths.per_sequence == (5, 4, 0)

    def attend(packed: np.ndarray, q: Lengths, kv: Lengths) -> tuple[np.ndarray, np.ndarray]:
        how = {"actual_seq_lengths": q.cumulative, "actual_seq_lengths_kv": kv.cumulative, "softmax_lse_flag": True}
        return reference.fused_infer_attention_score(packed, key, value, num_heads=2, input_layout="TND", **how)

    want, want_lse = attend(query, q_lengths, kv_lengths)
    out, lse = attend(padded.query, padded.q_lengths, padded.kv_lengths)
    np.testing.assert_array_equal(out[:7], want)
    np.testing.assert_array_equal(lse[:7], want_lse)
    assert (out[7:] == 0).all()
    assert (np.asarray(lse)[7:] == np.inf).all()


def test_packed_padding_of_head_major_queries_and_block_tables() -> None:
    table = np.array([[3, 4], [1, -1]], np.int32)
    padded = pad_tnd(normal(2, 7, 64), Lengths((5, 2)), Lengths((40, 4)), 8, token_axis=1, block_table=table)
    assert padded.query.shape == (2, 8, 64)
    assert padded.block_table is not None
    assert padded.block_table.tolist() == [[3, 4], [1, -1], [-1, -1]]
    assert padded.block_table.dtype == np.int32


def test_padded_heads_score_the_same() -> None:
    query, key, value = normal(1, 2, 3, 84), normal(1, 2, 5, 84, seed=1), normal(1, 2, 5, 84, seed=2)
    common = {"num_heads": 2, "input_layout": "BNSD", "scale_value": 84**-0.5}
    want, _ = reference.fused_infer_attention_score(query=query, key=key, value=value, **common)
    padded = [pad_heads(array, 128) for array in (query, key, value)]
    out, _ = reference.fused_infer_attention_score(*padded, **common)
    assert out.shape == (1, 2, 3, 128)
    np.testing.assert_array_equal(out[..., :84], want)
    assert (out[..., 84:] == 0).all()


def test_fused_heads() -> None:
    array = normal(2, 3, 2 * 5)
    padded = pad_heads(array, 8, num_heads=2)
    assert padded.shape == (2, 3, 16)
    np.testing.assert_array_equal(padded.reshape(2, 3, 2, 8)[..., :5], array.reshape(2, 3, 2, 5))
    assert (padded.reshape(2, 3, 2, 8)[..., 5:] == 0).all()


def test_any_element_type() -> None:
    padded = pad_heads(encode(np.ones((2, 3)), "hifloat8"), 4)
    assert padded.dtype == hifloat8
    assert decode(padded).tolist() == [[1, 1, 1, 0], [1, 1, 1, 0]]


def test_refusals() -> None:
    query, lengths = normal(7, 2, 64), Lengths((5, 2))
    for changes, message in (
        ({"tokens": 6}, "tokens: expected at least 7, the tokens of query, got 6"),
        ({"q_lengths": Lengths((5, 3))}, "q_lengths: expected lengths that sum to query's 7 tokens, got 8"),
        ({"kv_lengths": Lengths((5,))}, r"kv_lengths: expected 2 lengths \(as q_lengths has\), got 1"),
        ({"token_axis": 3}, "token_axis: expected an axis of shape"),
        ({"block_table": np.zeros((3, 1), np.int32)}, "block_table: expected 2 rows, one a sequence"),
    ):
        arguments = {"query": query, "q_lengths": lengths, "kv_lengths": lengths, "tokens": 8, **changes}
        with pytest.raises(InvalidArgumentError, match=message):
            pad_tnd(**arguments)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="dim: expected at least 64, the head dim of the array, got 32"):
        pad_heads(query, 32)
    with pytest.raises(InvalidArgumentError, match="array: expected a last axis that 3 heads divide"):
        pad_heads(query, 128, num_heads=3)
