# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""How `attention` reads its arguments: defaults from shapes, and what it refuses before the library is asked."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import acl_attn
from acl_attn import Lengths, Mask

RNG = np.random.default_rng(0)
Q = RNG.standard_normal((2, 5, 4, 32)).astype(np.float16)
K, V = RNG.standard_normal((2, 2, 48, 2, 32)).astype(np.float16)
EXPECTED = acl_attn.attention(Q, K, V)


def heads_first(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array.swapaxes(-3, -2))


def test_layouts_and_heads_come_from_the_shapes() -> None:
    attention = acl_attn.attention
    flat = [array.reshape(*array.shape[:2], -1) for array in (Q, K, V)]
    np.testing.assert_array_equal(attention(*flat, layout="BSH", num_heads=4).reshape(Q.shape), EXPECTED)
    bnsd = [heads_first(array) for array in (Q, K, V)]
    np.testing.assert_array_equal(attention(*bnsd, layout="BNSD"), heads_first(EXPECTED))
    np.testing.assert_array_equal(attention(*bnsd, layout="BNSD_BSND"), EXPECTED)
    packed = [array.reshape(-1, *array.shape[2:]) for array in (Q, K, V)]
    expected = EXPECTED.reshape(-1, 4, 32)
    for q_lengths, kv_lengths in ((5, 48), ([5, 5], [48, 48]), (Lengths.from_cu_seqlens([0, 5, 10]), 48)):
        out = attention(*packed, q_lengths=q_lengths, kv_lengths=kv_lengths)
        np.testing.assert_array_equal(out, expected)
    lists = [[part[b : b + 1] for b in range(2)] for part in (K, V)]
    np.testing.assert_array_equal(attention(Q, *lists), EXPECTED)


@pytest.mark.parametrize("cache", ["BnBsH", "BnNBsD", "NZ"])
def test_paged_caches_are_known_by_their_rank(cache: str) -> None:
    blocks = [part.reshape(6, 16, 2, 32) for part in (K, V)]
    if cache == "BnBsH":
        blocks = [part.reshape(6, 16, 64) for part in blocks]
    elif cache == "BnNBsD":
        blocks = [heads_first(part) for part in blocks]
    else:
        blocks = [np.ascontiguousarray(part.reshape(6, 16, 2, 2, 16).transpose(0, 2, 3, 1, 4)) for part in blocks]
    table = np.arange(6, dtype=np.int32).reshape(2, 3)
    out = acl_attn.attention(Q, *blocks, block_table=table, kv_lengths=48)
    np.testing.assert_array_equal(out, EXPECTED)


def test_the_scale_is_one_over_the_root_of_the_head_dim() -> None:
    np.testing.assert_array_equal(acl_attn.attention(Q, K, V, scale=32**-0.5), EXPECTED)
    assert (acl_attn.attention(Q, K, V, scale=1.0) != EXPECTED).any()
    raw, _ = acl_attn.fused_infer_attention_score(Q, K, V, num_heads=4, num_key_value_heads=2, input_layout="BSND")
    np.testing.assert_array_equal(raw, EXPECTED)


@pytest.mark.parametrize(
    ("said", "mask"),
    [
        ({"mask": "causal"}, Mask.causal()),
        ({"mask": "causal_top_left"}, Mask.causal("top_left")),
        ({"window": (3, 1)}, Mask.window(3, 1)),
        ({"window": (3, -1)}, Mask.window(3, -1)),
        ({"window": (-1, -1)}, Mask()),
        ({"mask": "causal", "window": (7, 2)}, Mask.window(7, 0)),
        ({"mask": Mask.window(-1, 0)}, Mask.causal()),
    ],
)
def test_masks_equal_what_they_say_written_out(said: dict[str, Any], mask: Mask) -> None:
    dense = Mask.dense(mask.materialize(5, 48), true_means="masked")
    np.testing.assert_array_equal(acl_attn.attention(Q, K, V, **said), acl_attn.attention(Q, K, V, mask=dense))
    with acl_attn.Plan(Q, K, V, **said) as plan:
        for row in range(5):
            assert plan.visible_keys(1, row).tolist() == np.flatnonzero(~mask.materialize(5, 48)[row]).tolist()


def test_outputs_are_those_given() -> None:
    out, lse_out = np.empty_like(Q), np.empty((2, 4, 5, 1), np.float32)
    result, lse = acl_attn.attention(Q, K, V, out=out, lse_out=lse_out)
    assert result is out
    assert lse.array is lse_out
    assert lse.out_layout == "BSND"
    np.testing.assert_array_equal(out, EXPECTED)
    with acl_attn.Buffer(out.nbytes) as buffer:
        tensor = acl_attn.Tensor.from_buffer(buffer, Q.shape, "float16")
        assert acl_attn.attention(Q, K, V, out=tensor) is tensor
        np.testing.assert_array_equal(tensor.as_array(), EXPECTED)


def test_tensors_are_operands() -> None:
    described = [acl_attn.Tensor.from_ptr(a.ctypes.data, a.shape, "float16", owner=a) for a in (Q, K, V)]
    np.testing.assert_array_equal(acl_attn.attention(*described), EXPECTED)
    with acl_attn.Plan(*described) as plan:
        np.testing.assert_array_equal(plan.run(*described), EXPECTED)
        np.testing.assert_array_equal(plan.run(Q, described[1], V), EXPECTED)


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"num_heads": "4"}, TypeError, "num_heads: expected an int, got str"),
        ({"num_heads": 4.0}, TypeError, "num_heads: expected an int, got float"),
        ({"num_heads": True}, TypeError, "num_heads: expected an int, got bool"),
        ({"num_heads": 2**70}, ValueError, "num_heads: expected an integer of 64 bits"),
        ({"num_heads": 0}, ValueError, "num_heads: expected"),
        ({"num_kv_heads": 1.5}, TypeError, "num_kv_heads: expected an int"),
        ({"num_kv_heads": 3}, ValueError, "expected"),
        ({"inner_precise": "0"}, TypeError, "inner_precise: expected an int"),
        ({"inner_precise": 4}, ValueError, "inner_precise: expected"),
        ({"scale": "1"}, TypeError, "scale: expected a number, got str"),
        ({"scale": None, "layout": 3}, ValueError, "layout: expected one of BSH"),
        ({"layout": "bsnd"}, ValueError, "layout: expected one of BSH"),
        ({"layout": "TND"}, ValueError, r"query: expected rank 3 for layout TND \(\(T, N, D\)\)"),
        ({"device": 0}, TypeError, "device: expected a Device, got int"),
        ({"mask": "casual"}, ValueError, "mask: expected 'causal'"),
        ({"mask": np.zeros((5, 48), bool)}, TypeError, "mask: expected .* Mask.dense"),
        ({"mask": 3}, TypeError, "mask: expected"),
        ({"window": 3}, TypeError, r"window: expected a tuple \(left, right\)"),
        ({"window": (1, 2, 3)}, TypeError, "window: expected a tuple"),
        ({"window": (1, 2), "mask": "causal_top_left"}, ValueError, "window: expected None"),
        ({"block_size": 16}, ValueError, "block_size: expected None without a block_table"),
        ({"q_lengths": [5]}, ValueError, r"q_lengths: expected 2 lengths \(query's batch in layout BSND\), got 1"),
        ({"kv_lengths": [5, 5, 5]}, ValueError, "kv_lengths: expected 2 lengths"),
        ({"kv_lengths": 49}, ValueError, r"kv_lengths\[0\]: expected at most 48"),
        ({"kv_lengths": "5"}, TypeError, "kv_lengths: expected an int, a sequence"),
        ({"query": Q[0, 0]}, ValueError, r"query: expected shape \(B, S, N, D\) or \(T, N, D\), or a layout"),
        ({"key": []}, ValueError, "key: expected an array, or a list"),
        ({"key": [K[:1]], "value": [V[:1]]}, ValueError, "key"),
        ({"key": K.astype(ml_dtypes.bfloat16)}, ValueError, "key.*: expected dtype FLOAT16, got BF16"),
        ({"key": None}, TypeError, "key: expected a numpy.ndarray"),
        ({"out": np.empty((2, 5, 4, 31), np.float16)}, ValueError, r"out: expected shape \(2, 5, 4, 32\)"),
        ({"lse_out": np.empty((2, 4, 5, 1))}, TypeError, "lse_out: expected dtype float32, got dtype float64"),
        ({"lse_out": np.empty((2, 5, 4, 1), np.float32)}, ValueError, r"lse_out: expected shape \(2, 4, 5, 1\)"),
    ],
)
def test_refused(change: dict[str, Any], kind: type[Exception], message: str) -> None:
    arguments = {"query": Q, "key": K, "value": V, **change}
    with pytest.raises(kind, match=message) as caught:
        acl_attn.attention(**arguments)
    assert isinstance(caught.value, acl_attn.AclAttnError)
    if "device" not in change:
        with pytest.raises(kind, match=message):
            acl_attn.Plan(**arguments)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"q_lengths": None}, "q_lengths: expected the length of each packed sequence .* q_lengths=\\[10\\]"),
        ({"kv_lengths": None}, "kv_lengths: expected the number of keys of each sequence for layout TND"),
        (
            {"q_lengths": [5, 3]},
            r"expected lengths that sum to query's 10 tokens, got 8; pass query\[:8\], or append 2",
        ),
        ({"q_lengths": [5, 10]}, "these look like running totals"),
        ({"q_lengths": [0, 5, 10]}, "from_cu_seqlens"),
        ({"q_lengths": 3}, "q_lengths: expected a length that divides query's 10 tokens, got 3"),
        ({"kv_lengths": [0, 48, 96]}, "from_cu_seqlens"),
        ({"kv_lengths": [48]}, "kv_lengths: expected 2 lengths"),
    ],
)
def test_refused_for_packed_layouts(change: dict[str, Any], message: str) -> None:
    packed = [array.reshape(-1, *array.shape[2:]) for array in (Q, K, V)]
    with pytest.raises(acl_attn.InvalidArgumentError, match=message):
        acl_attn.attention(*packed, **{"q_lengths": [5, 5], "kv_lengths": [48, 48], **change})


class Odd:
    def __init__(self, answer: object) -> None:
        self.answer = answer

    def __acl_stream__(self) -> Any:
        return self.answer


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"q_lengths": 2**70}, "q_lengths: expected an integer of 64 bits"),
        ({"kv_lengths": [1, 2**63]}, r"kv_lengths\[1\]: expected an integer of 64 bits"),
        ({"kv_lengths": np.array([2**63, 1], np.uint64)}, r"kv_lengths\[0\]: expected an integer of 64 bits"),
        ({"scale": 10**400}, "scale: expected a number that a float can hold"),
        ({"return_lse": "yes"}, "return_lse: expected a bool, got str"),
        ({"return_lse": 2}, "return_lse: expected a bool, got int"),
        ({"stream": Odd(None)}, "stream: expected an __acl_stream__ that gives"),
        ({"stream": Odd((0,))}, "stream: expected an __acl_stream__ that gives"),
        ({"stream": Odd((0, "a"))}, "stream: expected an __acl_stream__ that gives"),
        ({"out": np.ma.masked_array(np.empty_like(Q))}, "out: expected an array without a mask"),
    ],
)
def test_values_that_no_parameter_can_take(change: dict[str, Any], message: str) -> None:
    with pytest.raises(acl_attn.AclAttnError, match=message):
        acl_attn.attention(Q, K, V, **change)


def test_a_masked_array_is_not_taken_for_its_data() -> None:
    with pytest.raises(acl_attn.ArgumentTypeError, match=r"query: expected an array without a mask.*use \.data"):
        acl_attn.attention(np.ma.masked_array(Q, mask=Q > 0), K, V)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"softmax_lse": np.empty((2, 4, 5, 1), np.float32)},
            "softmax_lse: expected None without softmax_lse_flag, got numpy.ndarray; say softmax_lse_flag=True",
        ),
        ({"softmax_lse_flag": "no"}, "softmax_lse_flag: expected a bool, got str"),
        ({"softmax_lse_flag": None}, "softmax_lse_flag: expected a bool, got NoneType"),
    ],
)
def test_no_argument_is_ignored(change: dict[str, Any], message: str) -> None:
    with pytest.raises(acl_attn.AclAttnError, match=message):
        acl_attn.fused_infer_attention_score(Q, K, V, num_heads=4, num_key_value_heads=2, input_layout="BSND", **change)


@pytest.mark.parametrize(
    "wrong", [np.ones((2048, 2048), bool), np.zeros((2048, 2048), bool), np.tril(np.ones((2048, 2048), bool))]
)
def test_a_mask_that_the_mode_would_ignore_is_refused(wrong: np.ndarray) -> None:
    arguments: dict[str, Any] = {"num_heads": 4, "num_key_value_heads": 2, "input_layout": "BSND", "sparse_mode": 3}
    with pytest.raises(acl_attn.InvalidArgumentError, match="atten_mask: expected true above the diagonal only"):
        acl_attn.fused_infer_attention_score(Q, K, V, atten_mask=wrong, **arguments)
    right = np.triu(np.ones((2048, 2048), np.int8), 1)
    out, lse = acl_attn.fused_infer_attention_score(Q, K, V, atten_mask=right, **arguments)
    assert lse is None
    np.testing.assert_array_equal(out, acl_attn.attention(Q, K, V, mask="causal"))


def test_a_float_mask_is_sent_to_pse_shift() -> None:
    mask = np.zeros((2, 1, 5, 48), np.float16)
    with pytest.raises(acl_attn.ArgumentTypeError, match=r"atten_mask: .* pse_shift"):
        acl_attn.fused_infer_attention_score(
            Q, K, V, num_heads=4, num_key_value_heads=2, input_layout="BSND", atten_mask=mask
        )
