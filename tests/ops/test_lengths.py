# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Every accepted form of lengths, and what users get wrong about them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import acl_attn
from acl_attn.testing.cases import Case
from acl_attn.testing.compare import assert_close
from acl_attn.testing.layouts import dense_arguments, list_arguments
from acl_attn.testing.pages import Paging, paged_arguments

from .runs import assert_same_sequences, by_sequence, check, plain

EQUAL = Case("equal", (5, 5, 5), (40, 40, 40), sparse_mode=3)
MIXED = Case("mixed", (5, 1, 3), (40, 7, 12), sparse_mode=3)


@pytest.mark.parametrize(
    ("q_form", "kv_form"),
    [
        ([5, 5, 5], [40, 40, 40]),
        ([5], [40]),
        (None, None),
        ([5, 5, 5, 99, -7], [40, 40, 40, 41]),
        (None, [40]),
        ((5, 5, 5), np.array([40, 40, 40], np.int64)),
        (np.array([5, 5, 5], np.int32), (40, 40, 40)),
    ],
)
@pytest.mark.parametrize("layout", ["BSH", "BNSD_BSND"])
def test_batched_forms(layout: str, q_form: Any, kv_form: Any) -> None:
    arguments = dense_arguments(EQUAL.build(), layout)
    arguments |= {"actual_seq_lengths": q_form, "actual_seq_lengths_kv": kv_form}
    assert_same_sequences(by_sequence(arguments, EQUAL), plain(EQUAL))


@pytest.mark.parametrize("layout", ["BSND", "BNSD"])
def test_one_length_serves_every_sequence(layout: str) -> None:
    arguments = dense_arguments(EQUAL.build(), layout, q_room=9, kv_room=50)
    arguments |= {"actual_seq_lengths": [5], "actual_seq_lengths_kv": [40]}
    assert_same_sequences(by_sequence(arguments, EQUAL), plain(EQUAL))


def test_packed_query_with_paged_keys_takes_plain_lengths() -> None:
    arguments = paged_arguments(MIXED.build(), "TND", Paging(block_size=16))
    assert arguments["actual_seq_lengths"] == [5, 6, 9]
    assert arguments["actual_seq_lengths_kv"] == [40, 7, 12]
    assert_same_sequences(by_sequence(arguments, MIXED), plain(MIXED))


def test_members_of_a_list_say_their_own_length() -> None:
    without = list_arguments(MIXED.build(), "BSND")
    assert "actual_seq_lengths_kv" not in without
    assert_same_sequences(by_sequence(without, MIXED), plain(MIXED))
    given = list_arguments(MIXED.build(), "BSND", rooms=[64, 8, 12], give_lengths=True)
    assert_same_sequences(by_sequence(given, MIXED), plain(MIXED))


def test_a_list_of_one_is_no_tensor_list() -> None:
    arguments = dense_arguments(MIXED.build(), "TND")
    arguments |= {"key": [arguments["key"]], "value": [arguments["value"]]}
    assert_same_sequences(by_sequence(arguments, MIXED), plain(MIXED))


def test_padding_as_a_sequence_without_keys() -> None:
    """Queries padded to a fixed number of tokens: the padding is one more sequence, with no keys."""
    case = Case("padded", (65, 7), (128, 0), heads=8, kv_heads=8, dim=128, dim_v=128, sparse_mode=3)
    out, _ = check(dense_arguments(case.build(), "TND"), case)
    assert not out[65:].any()


def test_a_second_chunk_equals_the_full_prefill() -> None:
    full = Case("full", (128,), (128,), heads=8, kv_heads=8, dim=128, dim_v=128, sparse_mode=3)
    batch = full.build()
    whole = acl_attn.fused_infer_attention_score(**dense_arguments(batch, "TND"), sparse_mode=3)[0]
    paged = paged_arguments(batch, "TND", Paging(block_size=128))
    chunk = {**paged, "query": paged["query"][96:].copy(), "actual_seq_lengths": [32]}
    second = acl_attn.fused_infer_attention_score(**chunk, sparse_mode=3)[0]
    assert_close(second, whole[96:].astype(np.float64))
    # Passing the chunk's own length as the number of keys is the mistake; it must at least be a different answer.
    dropped = acl_attn.fused_infer_attention_score(**{**chunk, "actual_seq_lengths_kv": [32]}, sparse_mode=3)[0]
    assert np.abs(dropped.astype(float) - second.astype(float)).max() > 0.05


@pytest.mark.parametrize("length", [1, 2, 127, 128, 129, 137, 255, 256, 257, 511, 512, 513, 600, 1024, 1025, 4095])
def test_a_mask_over_the_whole_capacity_acts_like_a_length(length: int) -> None:
    """Paged decode of up to 4096 slots: hiding all slots from `length` on by a mask equals the shorter length."""
    case = Case("capacity", (1,), (4096,), heads=12, kv_heads=12, dtype="bf16")
    arguments = paged_arguments(case.build(), "BSND", Paging(block_size=128, spare_columns=0))
    mask = np.arange(4096)[None, None, None] >= length
    masked = acl_attn.fused_infer_attention_score(**arguments, atten_mask=mask)[0]
    short = {**arguments, "actual_seq_lengths_kv": [length]}
    want = acl_attn.reference.fused_infer_attention_score(**short)[0]
    assert_close(masked, want)
    assert_close(acl_attn.fused_infer_attention_score(**short)[0], want)


@pytest.mark.xfail(
    raises=acl_attn.InvalidArgumentError,
    strict=True,
    reason="the rule that mode 1 needs a mask does not know of it yet",
)
def test_a_mask_without_columns_for_sequences_without_keys() -> None:
    case = Case("no_keys", (3, 1), (0, 0), sparse_mode=1, mask=0.5)
    arguments = dense_arguments(case.build(), "BSND")
    assert arguments["atten_mask"].shape == (2, 1, 3, 0)
    check(arguments, case)
