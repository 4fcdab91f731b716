# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The reference must not care how key and value are stored."""

from __future__ import annotations

import numpy as np
import pytest

from acl_attn.reference import attention, fused_infer_attention_score
from acl_attn.testing.cases import Case
from acl_attn.testing.layouts import (
    LAYOUTS,
    LIST_LAYOUTS,
    dense_arguments,
    is_packed,
    list_arguments,
    lse_to_sequences,
    out_axes,
    to_sequences,
)
from acl_attn.testing.pages import CACHES, Paging, paged_arguments

CASE = Case("storage", q_lengths=(3, 1, 4), kv_lengths=(33, 0, 16), dim=32, dim_v=48, sparse_mode=3)
BATCH = CASE.build()


def by_sequence(arguments: dict[str, object]) -> list[np.ndarray]:
    out, lse = fused_infer_attention_score(**arguments, **CASE.attributes, softmax_lse_flag=True)
    layout = arguments["input_layout"]
    outs = to_sequences(out, out_axes(layout), BATCH.q_lengths, BATCH.heads)
    return outs + lse_to_sequences(lse, layout, BATCH.q_lengths)


def assert_all_equal(left: list[np.ndarray], right: list[np.ndarray]) -> None:
    for one, other in zip(left, right, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_agree(layout: str) -> None:
    rooms = {} if is_packed(layout) else {"q_room": 5, "kv_room": 40}
    assert_all_equal(by_sequence(dense_arguments(BATCH, layout, **rooms)), by_sequence(dense_arguments(BATCH, "TND")))


@pytest.mark.parametrize("layout", LIST_LAYOUTS)
@pytest.mark.parametrize("rooms", [None, [40, 2, 16]])
def test_tensor_lists_agree(layout: str, rooms: list[int] | None) -> None:
    lists = list_arguments(BATCH, layout, rooms=rooms)
    assert_all_equal(by_sequence(lists), by_sequence(dense_arguments(BATCH, "TND")))


@pytest.mark.parametrize("gap", [0, 7])
@pytest.mark.parametrize("cache", CACHES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_paged_caches_agree(layout: str, cache: str, gap: int) -> None:
    head_gap = 0 if cache == "BnBsH" else 3 * gap
    paged = paged_arguments(BATCH, layout, Paging(cache, block_size=16, block_gap=gap, head_gap=head_gap))
    assert (paged["block_table"] == -1).any()
    assert_all_equal(by_sequence(paged), by_sequence(dense_arguments(BATCH, "TND")))


def test_rows_beyond_the_lengths_are_empty() -> None:
    out, lse = fused_infer_attention_score(
        **dense_arguments(BATCH, "BSND", q_room=6), **CASE.attributes, softmax_lse_flag=True
    )
    assert lse is not None
    for sequence, length in enumerate(BATCH.q_lengths):
        assert not out[sequence, length:].any()
        assert np.isposinf(lse[sequence, :, length:]).all()


def test_attention_says_the_same_in_other_words() -> None:
    want = fused_infer_attention_score(**dense_arguments(BATCH, "TND"), **CASE.attributes)[0]
    q, k, v = (np.concatenate(part) for part in (BATCH.query, BATCH.key, BATCH.value))
    lengths = {"q_lengths": BATCH.q_lengths, "kv_lengths": BATCH.kv_lengths}
    np.testing.assert_array_equal(attention(q, k, v, **lengths, mask="causal"), want)
    np.testing.assert_array_equal(attention(q, k, v, **lengths, window=(-1, 0)), want)
    out, lse = attention(q, k, v, **lengths, window=(3, 0), return_lse=True)
    band = {"sparse_mode": 4, "pre_tokens": 3, "next_tokens": 0}
    want, want_lse = fused_infer_attention_score(**dense_arguments(BATCH, "TND"), **band, softmax_lse_flag=True)
    np.testing.assert_array_equal(out, want)
    np.testing.assert_array_equal(lse, want_lse)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"input_layout": "BHSD"}, "input_layout: expected one of BSH.* got 'BHSD'"),
        ({"num_heads": 5}, "num_key_value_heads: expected a divisor of num_heads 5, got 2"),
        ({"num_heads": 8}, "query: expected 8 heads"),
        ({"actual_seq_lengths": [3, 4]}, r"actual_seq_lengths\[-1\]: expected 8, .* got 4"),
        ({"actual_seq_lengths": [0, 3, 2, 8]}, r"actual_seq_lengths\[2\]: expected at least 3, got 2"),
        ({"actual_seq_lengths_kv": None}, "actual_seq_lengths_kv: expected one end per sequence"),
        ({"actual_seq_lengths_kv": [33, 49]}, "actual_seq_lengths_kv: expected 3 entries, got 2"),
        ({"inner_precise": 4}, "inner_precise: expected 0 to 3, got 4"),
        ({"sparse_mode": 5}, "sparse_mode: expected 0 to 4 or 9, got 5"),
        ({"sparse_mode": 1}, "atten_mask: expected a mask for sparse_mode 1"),
    ],
)
def test_contradictions_are_named(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fused_infer_attention_score(**{**dense_arguments(BATCH, "TND"), "sparse_mode": 3, **change})
