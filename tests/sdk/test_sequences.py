# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Where a sequence of integers is wanted, whatever has a length and an order will do, and nothing else."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import acl_attn
from acl_attn import Lengths, Plan, Spec, Tensor, kvcache

Q, KV = np.ones((2, 1, 1, 16), np.float16), np.ones((2, 3, 1, 16), np.float16)
PACKED = np.ones((5, 1, 16), np.float16)
SPARSE = np.ones((2, 1, 4, 512), np.float16), np.ones((2, 3, 1, 512), np.float16)
POOL = np.ones((2, 16, 1, 512), np.float16)
TABLE = np.array([[0], [1]], np.int32)
SINKS = np.zeros(4, np.float32)
CHANNELS = np.ones((5, 2, 64), np.float16)
MXFP8 = np.ones((5, 2, 64), np.float32)


def plan_update(**lengths: Any) -> None:
    with Plan(Q, KV, KV) as plan:
        plan.update(**lengths)


def sparse_update(kv_lengths: Any) -> None:
    with acl_attn.SparsePlan(*SPARSE, sinks=SINKS) as plan:
        plan.update(kv_lengths=kv_lengths)


def fused(**lengths: Any) -> None:
    acl_attn.fused_infer_attention_score(Q, KV, KV, num_heads=1, input_layout="BSND", **lengths)


def buffer(**options: Any) -> None:
    with acl_attn.Buffer(64) as made:
        Tensor.from_buffer(made, dtype=np.int8, **options)


def view(shape: Any) -> None:
    with acl_attn.Buffer(64) as made:
        made.as_array(np.int8, shape)


# A call, its parameter, and two numbers that are right for it.
CALLS: dict[str, tuple[Callable[..., Any], str, tuple[int, int]]] = {
    "attention, queries": (lambda given: acl_attn.attention(Q, KV, KV, q_lengths=given), "q_lengths", (1, 1)),
    "attention, keys": (lambda given: acl_attn.attention(Q, KV, KV, kv_lengths=given), "kv_lengths", (1, 3)),
    "attention, packed": (
        lambda given: acl_attn.attention(PACKED, PACKED, PACKED, q_lengths=given, kv_lengths=[2, 3]),
        "q_lengths",
        (2, 3),
    ),
    "Plan": (lambda given: Plan(Q, KV, KV, kv_lengths=given).close(), "kv_lengths", (1, 3)),
    "Plan.update, queries": (lambda given: plan_update(q_lengths=given), "q_lengths", (1, 1)),
    "Plan.update, keys": (lambda given: plan_update(kv_lengths=given), "kv_lengths", (1, 3)),
    "SparsePlan": (
        lambda given: acl_attn.SparsePlan(*SPARSE, sinks=SINKS, kv_lengths=given).close(), "kv_lengths", (1, 3)
    ),
    "SparsePlan, pages": (
        lambda given: acl_attn.SparsePlan(
            SPARSE[0], POOL, sinks=SINKS, kv_lengths=given, ori_block_table=TABLE
        ).close(),
        "kv_lengths",
        (1, 3),
    ),
    "SparsePlan.update": (sparse_update, "kv_lengths", (1, 3)),
    "fused, queries": (lambda given: fused(actual_seq_lengths=given), "actual_seq_lengths", (1, 1)),
    "fused, keys": (lambda given: fused(actual_seq_lengths_kv=given), "actual_seq_lengths_kv", (1, 3)),
    "Lengths": (Lengths, "lengths", (1, 3)),
    "Lengths.from_lengths": (Lengths.from_lengths, "lengths", (1, 3)),
    "Lengths.from_cu_seqlens": (Lengths.from_cu_seqlens, "cu_seqlens", (0, 3)),
    "Spec, shape": (lambda given: Spec(given, np.int8), "shape", (1, 3)),
    "Spec, strides": (lambda given: Spec((1, 3), np.int8, given), "strides", (3, 1)),
    "Tensor.from_ptr, shape": (lambda given: Tensor.from_ptr(Q.ctypes.data, given, np.int8), "shape", (1, 3)),
    "Tensor.from_ptr, strides": (
        lambda given: Tensor.from_ptr(Q.ctypes.data, (1, 3), np.int8, strides=given), "strides", (3, 1)
    ),
    "Tensor.from_buffer": (lambda given: buffer(shape=given), "shape", (1, 3)),
    "Buffer.as_array": (view, "shape", (1, 3)),
    "quantize": (
        lambda given: kvcache.quantize(CHANNELS, 1, layout="TND", lengths=given), "lengths", (2, 3)
    ),
    "quantize_kv": (
        lambda given: acl_attn.quantize_kv(CHANNELS, CHANNELS, 1, layout="TND", lengths=given), "lengths", (2, 3)
    ),
    "pad_tnd, queries": (
        lambda given: acl_attn.pad_tnd(PACKED, given, [4, 9], 8), "q_lengths", (2, 3)
    ),
    "pad_tnd, keys": (
        lambda given: acl_attn.pad_tnd(PACKED, [2, 3], given, 8), "kv_lengths", (4, 9)
    ),
    "quantize_mxfp8": (
        lambda given: kvcache.quantize_mxfp8(MXFP8, MXFP8, MXFP8, kv_lengths=given), "kv_lengths", (2, 3)
    ),
    "slot_mapping": (
        lambda given: kvcache.slot_mapping(TABLE, given, 16), "lengths", (2, 3)
    ),
}  # fmt: skip
WRONG: dict[str, Callable[[tuple[int, int]], Any]] = {
    "a mapping": lambda pair: dict.fromkeys(pair, 0) | {7: 0},
    "its keys": lambda pair: {pair[0]: 0, 7: 0}.keys(),
    "a set": lambda pair: {*pair, 7},
    "an iterator": iter,
    "a generator": lambda pair: (number for number in pair),
    "a map": lambda pair: map(int, pair),
    "a text": lambda pair: "".join(map(str, pair)),
    "bytes": bytes,
    "nothing": lambda _: object(),
    "an axis too many": lambda pair: np.array([pair, pair]),
    "no axis": lambda pair: np.array(pair[1], np.float32),
    "no integers": lambda pair: [float(number) for number in pair],
}
RIGHT: tuple[Callable[[tuple[int, int]], Any], ...] = (
    tuple, list, np.array, deque, lambda pair: array("q", pair), lambda pair: [np.int32(number) for number in pair],
)  # fmt: skip


@pytest.mark.parametrize("kind", WRONG)
@pytest.mark.parametrize("name", CALLS)
def test_what_is_no_sequence_is_refused_by_name(name: str, kind: str) -> None:
    call, parameter, pair = CALLS[name]
    with pytest.raises(acl_attn.AclAttnError, match=rf"^{parameter}(\[0\])?: expected "):
        call(WRONG[kind](pair))


@pytest.mark.parametrize("make", RIGHT)
@pytest.mark.parametrize("name", CALLS)
def test_what_is_one_is_taken(name: str, make: Callable[[tuple[int, int]], Any]) -> None:
    call, _, pair = CALLS[name]
    call(make(pair))
