# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Wrong calls: each is refused with a message that names the parameter, what was got and what is allowed.

One test for each kind, with its neighbours that are right, so that a refusal of everything would be noticed.
"""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import acl_attn
from acl_attn import reference
from acl_attn.testing.cases import Case
from acl_attn.testing.compare import assert_close
from acl_attn.testing.layouts import dense_arguments, list_arguments
from acl_attn.testing.pages import CACHES, Paging, paged_arguments

from .refusals import refuses
from .runs import check

CASE = Case("call", (4, 4), (12, 12), heads=4, kv_heads=2, dim=32, dim_v=32)


def call(arguments: dict[str, Any], **change: Any) -> Any:
    return acl_attn.fused_infer_attention_score(**{**arguments, **change})


def dense(layout: str = "BSND") -> dict[str, Any]:
    return dense_arguments(CASE.build(), layout)


def paged(cache: str = "BnBsH", layout: str = "BSND", **options: int) -> dict[str, Any]:
    return paged_arguments(CASE.build(), layout, Paging(cache, block_size=16, **options))


def test_the_calls_that_the_others_spoil_are_right() -> None:
    check(dense(), CASE)
    check(dense("TND"), CASE)
    check(paged(), CASE)
    check(list_arguments(CASE.build(), "BSND"), CASE)


# What the C interface calls the dtypes.
C_NAMES = {
    "float16": "FLOAT16",
    "bfloat16": "BF16",
    "float32": "FLOAT",
    "float64": "DOUBLE",
    "int8": "INT8",
    "int16": "INT16",
    "int32": "INT32",
    "int64": "INT64",
    "uint16": "UINT16",
    "uint32": "UINT32",
    "complex64": "COMPLEX64",
    "bool": "BOOL",
}


def named(dtype: Any) -> str:
    name = np.dtype(dtype).name
    return rf"\b({name}|{C_NAMES[name]})\b"


# --- dtypes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.uint16, np.complex64, np.bool_])
def test_dtype_of_all_three(dtype: type) -> None:
    arguments = dense()
    arguments |= {name: arguments[name].astype(dtype) for name in ("query", "key", "value")}
    with refuses("query", got=named(dtype), kind=(TypeError, ValueError, NotImplementedError)):
        call(arguments)


def test_integers_need_scales() -> None:
    arguments = dense()
    arguments |= {name: arguments[name].astype(np.int8) for name in ("query", "key", "value")}
    out = np.empty(arguments["query"].shape, np.float16)
    with refuses("deq_scale1|query", kind=(ValueError, NotImplementedError)):
        call(arguments, attention_out=out)


@pytest.mark.parametrize("name", ["key", "value"])
@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float32])
def test_dtype_of_one(name: str, dtype: type) -> None:
    arguments = dense()
    with refuses(name, got=named(dtype), kind=(TypeError, ValueError, NotImplementedError)):
        call(arguments, **{name: arguments[name].astype(dtype)})


@pytest.mark.parametrize("dtype", [np.float16, np.float32, ml_dtypes.bfloat16])
def test_a_float_mask_is_a_bias(dtype: type) -> None:
    case = Case("mask", (4, 4), (12, 12), heads=4, kv_heads=2, dim=32, dim_v=32, mask=0.5)
    arguments = dense_arguments(case.build(), "BSND")
    with refuses("atten_mask", got=named(dtype), fix="pse_shift", kind=TypeError):
        call(arguments, atten_mask=arguments["atten_mask"].astype(dtype))


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint16])
def test_a_mask_of_wide_integers(dtype: type) -> None:
    with refuses("atten_mask", got=named(dtype), kind=(TypeError, ValueError)):
        call(dense(), atten_mask=np.zeros((2, 1, 4, 12), dtype))


@pytest.mark.parametrize("dtype", [np.int64, np.uint32, np.float32, np.int16])
def test_dtype_of_block_table(dtype: type) -> None:
    arguments = paged()
    with refuses("block_table", got=named(dtype), kind=(TypeError, ValueError)):
        call(arguments, block_table=np.abs(arguments["block_table"]).astype(dtype))


def test_foreign_byte_order() -> None:
    arguments = dense()
    with refuses("query", kind=(TypeError, ValueError)):
        call(arguments, query=arguments["query"].astype(">f2"))


@pytest.mark.parametrize("bad", [None, "abc", 3, [[1.0, 2.0]], np.array([None, 1], object)])
def test_no_array_at_all(bad: object) -> None:
    with refuses("query", kind=(TypeError, ValueError)):
        call(dense(), query=bad)
    with refuses("key", kind=(TypeError, ValueError)):
        call(dense(), key=bad)


# --- ranks and shapes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["BSH", "BSND", "TND"])
@pytest.mark.parametrize("name", ["query", "key", "value"])
@pytest.mark.parametrize("rank", [1, 2, 5, 8])
def test_rank(rank: int, name: str, layout: str) -> None:
    with refuses(name):
        call(dense(layout), **{name: np.zeros((1,) * rank, np.float16)})


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("key", (2, 12, 2, 16)),
        ("key", (2, 12, 3, 32)),
        ("key", (3, 12, 2, 32)),
        ("value", (2, 11, 2, 32)),
        ("value", (2, 12, 1, 32)),
        ("value", (1, 12, 2, 32)),
        ("query", (2, 4, 5, 32)),
        ("query", (3, 4, 4, 32)),
        ("query", (2, 4, 4, 513)),
    ],
)
def test_shapes_that_do_not_fit_each_other(name: str, shape: tuple[int, ...]) -> None:
    with refuses("query|key|value|num_heads|num_key_value_heads|actual_seq_lengths"):
        call(dense(), **{name: np.zeros(shape, np.float16)})


def test_head_dim_beyond_512() -> None:
    with refuses("query|key|value", got="513"):
        acl_attn.fused_infer_attention_score(*(np.zeros((1, 4, 1, 513), np.float16),) * 3, num_heads=1,
                                             input_layout="BSND")  # fmt: skip


@pytest.mark.parametrize("hidden", [63, 130])
def test_bsh_that_heads_do_not_divide(hidden: int) -> None:
    with refuses("query|num_heads", got=str(hidden)):
        call(dense("BSH"), query=np.zeros((2, 4, hidden), np.float16))


@pytest.mark.parametrize(
    "shape",
    [
        (2, 1, 3, 12),
        (2, 1, 4, 11),
        (3, 1, 4, 12),
        (2, 4, 4, 12),
        (4, 11),
        (3, 12),
        (12,),
        (1, 1, 1, 12),
        (2, 2, 1, 4, 12),
    ],
)
@pytest.mark.parametrize("mode", [0, 1])
def test_full_mask_of_wrong_shape(mode: int, shape: tuple[int, ...]) -> None:
    with refuses("atten_mask", got=r"\(?\[?" + str(shape[0])):
        call(dense(), atten_mask=np.zeros(shape, bool), sparse_mode=mode)


@pytest.mark.parametrize("shape", [(128, 128), (2048, 2047), (4, 12), (2, 1, 2048, 2048), (1, 2, 2048, 2048), (2048,)])
@pytest.mark.parametrize("mode", [2, 3, 4])
def test_vendor_mask_of_wrong_shape(mode: int, shape: tuple[int, ...]) -> None:
    triangle = np.triu(np.ones((2048, 2048), bool), 1)
    mask = np.broadcast_to(triangle[: shape[-2], : shape[-1]] if len(shape) > 1 else triangle[0], shape)
    with refuses("atten_mask", got=str(shape[0])):
        call(dense(), atten_mask=mask.copy(), sparse_mode=mode)


@pytest.mark.parametrize("mode", [2, 3, 4])
def test_vendor_mask_the_wrong_way_round(mode: int) -> None:
    """The operator ignores the contents, so a mask that says something else would be ignored in silence."""
    for mask in (np.tril(np.ones((2048, 2048), bool)), np.zeros((2048, 2048), bool)):
        with refuses("atten_mask"):
            call(dense(), atten_mask=mask, sparse_mode=mode)


def test_mode_1_without_a_mask() -> None:
    with refuses("atten_mask|sparse_mode"):
        call(dense(), sparse_mode=1)


# --- attributes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["", "BHSD", "bsnd", "TND_BSND", "BSND_", "SBH", "BSND" * 40, "BSND\0"])
def test_layout_name(layout: str) -> None:
    with refuses("input_layout"):
        call(dense(), input_layout=layout)


@pytest.mark.parametrize("layout", [3, b"BSND", ["BSND"]])
def test_layout_that_is_no_name(layout: object) -> None:
    with refuses("input_layout", kind=(TypeError, ValueError)):
        call(dense(), input_layout=layout)


@pytest.mark.parametrize("heads", [0, -1, 3, 5, 8, 2**31, 2**40])
def test_num_heads(heads: int) -> None:
    with refuses("num_heads|num_key_value_heads|query", got=str(heads)):
        call(dense(), num_heads=heads)


@pytest.mark.parametrize("heads", [-1, 3, 1, 4, 8, 2**33])
def test_num_key_value_heads(heads: int) -> None:
    with refuses("num_key_value_heads|key"):
        call(dense(), num_key_value_heads=heads)


@pytest.mark.parametrize("mode", [-1, 5, 6, 7, 8, 9, 2**31])
def test_sparse_mode(mode: int) -> None:
    with refuses("sparse_mode", got=str(mode)):
        call(dense(), sparse_mode=mode)


@pytest.mark.parametrize("value", [-1, 4, 100])
def test_inner_precise(value: int) -> None:
    with refuses("inner_precise", got=str(value)):
        call(dense(), inner_precise=value)


@pytest.mark.parametrize(
    "name", ["num_heads", "sparse_mode", "pre_tokens", "next_tokens", "block_size", "inner_precise"]
)
@pytest.mark.parametrize("value", [1.5, "3", None, 2**63, -(2**63) - 1, True])
def test_numbers_that_are_none(name: str, value: object) -> None:
    with refuses(name, kind=(TypeError, ValueError)):
        call(paged(), **{name: value})


@pytest.mark.parametrize("value", ["1", [1.0], 1j])
def test_scale_that_is_no_number(value: object) -> None:
    with refuses("scale_value", kind=(TypeError, ValueError)):
        call(dense(), scale_value=value)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 1e39])
def test_scale_beyond_float32(value: float) -> None:
    with refuses("scale_value"):
        call(dense(), scale_value=value)


def test_an_empty_band() -> None:
    """Tokens that leave no row any key are a mistake, and refused as the vendor does."""
    with refuses("pre_tokens|next_tokens"):
        call(dense(), sparse_mode=4, pre_tokens=-5, next_tokens=3)


# --- lengths --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [2, 9, 15])
@pytest.mark.parametrize("name", ["actual_seq_lengths", "actual_seq_lengths_kv"])
def test_too_few_lengths(name: str, count: int) -> None:
    q, kv = np.zeros((16, 1, 2, 16), np.float16), np.zeros((16, 20, 1, 16), np.float16)
    arguments = {"query": q, "key": kv, "value": kv, "num_heads": 2, "num_key_value_heads": 1, "input_layout": "BSND"}
    with refuses(name, got=str(count)):
        call(arguments, **{name: [1] * count})
    call(arguments, **{name: [1] * 16})
    call(arguments, **{name: [1] * 20})
    call(arguments, **{name: [1]})


@pytest.mark.parametrize("name", ["actual_seq_lengths", "actual_seq_lengths_kv"])
@pytest.mark.parametrize("bad", [[4, -1], [-1], [4, 13], [2**31, 4], [2**32 + 4, 4], [4, 2**63 - 1], [-(2**63), 4]])
def test_lengths_out_of_range(name: str, bad: list[int]) -> None:
    worst = next(length for length in bad if length < 0 or length > 12)
    with refuses(name, got=str(worst)):
        call(dense(), **{name: bad})


@pytest.mark.parametrize("name", ["actual_seq_lengths", "actual_seq_lengths_kv"])
@pytest.mark.parametrize("bad", [[4, 2**63], [4.0, 4.0], "44", [None, 4], [[4, 4]], {"a": 4}, np.array([4.0, 4.0])])
def test_lengths_that_are_none(name: str, bad: object) -> None:
    with refuses(name, kind=(TypeError, ValueError)):
        call(dense(), **{name: bad})


@pytest.mark.parametrize(
    ("lengths", "got"), [([65], "65"), ([40, 30, 72], "30"), ([-1, 72], "-1"), ([72, 80], "80"), ([0, 0], "0")]
)
@pytest.mark.parametrize("layout", ["TND", "NTD", "NTD_TND", "TND_NTD"])
def test_packed_query_lengths(layout: str, lengths: list[int], got: str) -> None:
    q = np.zeros((72, 8, 16) if layout.startswith("T") else (8, 72, 16), np.float16)
    kv = np.zeros((20, 8, 16) if layout.startswith("T") else (8, 20, 16), np.float16)
    arguments = {"query": q, "key": kv, "value": kv, "num_heads": 8, "input_layout": layout}
    kv_lengths = [20] * len(lengths)
    with refuses("actual_seq_lengths", got=got):
        call(arguments, actual_seq_lengths=lengths, actual_seq_lengths_kv=kv_lengths)
    call(arguments, actual_seq_lengths=[65, 72], actual_seq_lengths_kv=[20, 20])


@pytest.mark.parametrize(
    ("lengths", "got"), [([25, 24], "24"), ([10, 12], "12"), ([20, 25], "25"), ([-4, 24], "-4"), ([24], "1|24")]
)
def test_packed_kv_lengths(lengths: list[int], got: str) -> None:
    with refuses("actual_seq_lengths_kv", got=got):
        call(dense("TND"), actual_seq_lengths_kv=lengths)


@pytest.mark.parametrize("name", ["actual_seq_lengths", "actual_seq_lengths_kv"])
def test_packed_layouts_need_lengths(name: str) -> None:
    for missing in (None, []):
        with refuses(name):
            call(dense("TND"), **{name: missing})


def test_cu_seqlens_are_recognised() -> None:
    """Running totals with a leading 0 are what other libraries take."""
    with refuses("actual_seq_lengths|actual_seq_lengths_kv", fix="leading 0|cu_seqlens"):
        call(dense("TND"), actual_seq_lengths=[0, 4, 8])


def test_paged_keys_need_plain_lengths() -> None:
    with refuses("actual_seq_lengths_kv"):
        call(paged(), actual_seq_lengths_kv=None)
    # Running totals run beyond what the table's columns can hold.
    arguments = paged(spare_columns=0)
    with refuses("actual_seq_lengths_kv|block_table", got="24|1"):
        call(arguments, actual_seq_lengths_kv=[12, 24])


# --- paging ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cache", CACHES)
@pytest.mark.parametrize("bad", [-1, -2147483648, 2147483647, 4])
def test_block_ids_out_of_range(bad: int, cache: str) -> None:
    arguments = paged(cache)
    assert arguments["key"].shape[0] == 4
    arguments["block_table"][1, 0] = bad
    out = np.full_like(arguments["query"], 7.0)
    with pytest.raises(acl_attn.AclAttnError, match=rf"block_table\[1\]\[0\]: expected .*0.*3.*, got {bad}"):
        call(arguments, attention_out=out)
    assert (out == 7.0).all()
    # The process and later calls are unharmed.
    check(paged(cache), CASE)


@pytest.mark.parametrize("shape", [(2,), (2, 1, 1), (1, 2), (2, 0)])
def test_shape_of_block_table(shape: tuple[int, ...]) -> None:
    with refuses("block_table"):
        call(paged(), block_table=np.zeros(shape, np.int32))


@pytest.mark.parametrize("size", [0, -1, -16, 15, 17, 32, 2**31, 2**62])
@pytest.mark.parametrize("cache", CACHES)
def test_block_size(cache: str, size: int) -> None:
    with refuses("block_size|key", got=str(size)):
        call(paged(cache), block_size=size)


def test_negative_block_size_without_pages() -> None:
    with refuses("block_size", got="-7"):
        call(dense(), block_size=-7)
    call(dense(), block_size=16)


def test_columns_of_block_table() -> None:
    arguments = paged(spare_columns=0)
    with refuses("actual_seq_lengths_kv|block_table", got="17|1"):
        call(arguments, actual_seq_lengths_kv=[12, 17])


@pytest.mark.parametrize("cache", CACHES)
def test_caches_that_do_not_fit_each_other(cache: str) -> None:
    arguments = paged(cache)
    with refuses("value|key"):
        call(arguments, value=arguments["value"][:-1].copy())
    with refuses("value|key"):
        call(arguments, value=np.zeros((4, 2, 3), np.float16))
    other = paged({"BnBsH": "BnNBsD", "BnNBsD": "NZ", "NZ": "BnBsH"}[cache])
    with refuses("value|key"):
        call(arguments, value=other["value"])


def test_nz_cache_of_wrong_width() -> None:
    arguments = paged("NZ")
    with refuses("key"):
        call(arguments, **{name: np.zeros((4, 2, 4, 16, 8), np.float16) for name in ("key", "value")})


# --- tensor lists ---------------------------------------------------------------------------------------------------


def test_lists() -> None:
    arguments = list_arguments(CASE.build(), "BSND")
    key, value = arguments["key"], arguments["value"]
    for bad_key, bad_value in (
        ([], []),
        (key[:1], value),
        (key, value[:1]),
        (key * 2, value * 2),
        ([key[0], key[1].astype(ml_dtypes.bfloat16)], value),
        ([key[0], key[1][..., :16].copy()], value),
        ([key[0], key[1][:, :5].copy()], value),
        ([key[0], np.concatenate([key[1]] * 2)], [value[0], np.concatenate([value[1]] * 2)]),
    ):
        with refuses("key|value", kind=(TypeError, ValueError)):
            call(arguments, key=bad_key, value=bad_value)


@pytest.mark.parametrize("layout", ["TND", "NTD"])
def test_lists_in_packed_layouts(layout: str) -> None:
    arguments = dense(layout)
    with refuses("key|value|input_layout"):
        call(arguments, key=[arguments["key"]] * 2, value=[arguments["value"]] * 2)


def test_lists_with_pages() -> None:
    arguments = paged()
    with refuses("block_table|key"):
        call(arguments, key=[arguments["key"]] * 2, value=[arguments["value"]] * 2)


# --- memory ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["query", "key", "value"])
def test_arrays_with_gaps(name: str) -> None:
    arguments = dense()
    array = arguments[name]
    wide = np.repeat(array, 2, axis=-1)
    for view in (
        wide[..., ::2],
        wide[..., : array.shape[-1]],
        array[..., ::-1],
        array[:, ::-1],
        np.asfortranarray(array),
        np.broadcast_to(array[:1], array.shape),
        np.ascontiguousarray(array.transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3),
    ):
        with refuses(name, fix="contiguous|copy"):
            call(arguments, **{name: view})


def test_views_of_packed_qkv() -> None:
    packed = np.zeros((8, 3 * 4 * 16), np.float16)
    q, k, v = (part.reshape(8, 4, 16) for part in np.split(packed, 3, axis=1))
    with refuses("query|key|value", fix="contiguous|copy"):
        acl_attn.fused_infer_attention_score(
            q, k, v, num_heads=4, input_layout="TND", actual_seq_lengths=[8], actual_seq_lengths_kv=[8]
        )


@pytest.mark.parametrize("cache", CACHES)
def test_caches_with_gaps_inside(cache: str) -> None:
    arguments = paged(cache)
    array = arguments["key"]
    with refuses("key", fix="contiguous|dense|copy|stride"):
        call(arguments, key=np.repeat(array, 2, axis=-1)[..., ::2])


@pytest.mark.parametrize(
    ("spoil", "kind"),
    [
        (lambda out: out.astype(np.float32), TypeError),
        (lambda out: out[:1].copy(), ValueError),
        (lambda out: np.repeat(out, 2, axis=-1)[..., ::2], ValueError),
        (lambda out: np.frombuffer(out.tobytes(), out.dtype).reshape(out.shape), ValueError),
    ],
    ids=["dtype", "shape", "strided", "read-only"],
)
def test_output_buffers(spoil: Any, kind: type[Exception]) -> None:
    arguments = dense()
    with refuses("attention_out", kind=(kind, ValueError)):
        call(arguments, attention_out=spoil(np.zeros_like(arguments["query"])))
    lse = np.zeros((2, 4, 4, 1), np.float32)
    bad = lse.astype(np.float16) if kind is TypeError else spoil(lse)
    with refuses("softmax_lse"):
        call(arguments, softmax_lse=bad, softmax_lse_flag=True)


def test_output_over_input() -> None:
    arguments = dense()
    before = arguments["query"].copy()
    with refuses("attention_out", fix="overlap|own|separate|alias|memory"):
        call(arguments, attention_out=arguments["query"])
    np.testing.assert_array_equal(arguments["query"], before)


def test_a_refused_call_writes_nothing() -> None:
    arguments = dense()
    out = np.full_like(arguments["query"], 3.0)
    lse = np.full((2, 4, 4, 1), 3.0, np.float32)
    with refuses("actual_seq_lengths_kv"):
        call(arguments, actual_seq_lengths_kv=[12, 13], attention_out=out, softmax_lse=lse, softmax_lse_flag=True)
    assert (out == 3.0).all()
    assert (lse == 3.0).all()


# --- arguments of other features ------------------------------------------------------------------------------------

_HALF, _FLOAT = np.ones(1, np.float16), np.ones(1, np.float32)
OF_FEATURES = {
    "pse_shift": np.zeros((1, 4, 4, 12), np.float16),
    "deq_scale1": _FLOAT,
    "quant_scale1": _FLOAT,
    "deq_scale2": _FLOAT,
    "quant_scale2": _FLOAT,
    "quant_offset2": _FLOAT,
    "antiquant_scale": _HALF,
    "antiquant_offset": _HALF,
    "query_padding_size": np.ones(1, np.int64),
    "kv_padding_size": np.ones(1, np.int64),
    "key_antiquant_scale": _HALF,
    "key_antiquant_offset": _HALF,
    "value_antiquant_scale": _HALF,
    "value_antiquant_offset": _HALF,
    "key_shared_prefix": np.zeros((1, 3, 2, 32), np.float16),
    "value_shared_prefix": np.zeros((1, 3, 2, 32), np.float16),
    "actual_shared_prefix_len": [3],
    "query_rope": np.zeros((2, 4, 4, 64), np.float16),
    "key_rope": np.zeros((2, 12, 2, 64), np.float16),
    "key_rope_antiquant_scale": _HALF,
    "dequant_scale_query": _FLOAT,
    "learnable_sink": np.zeros(4, np.float16),
    "q_start_idx": [1],
    "kv_start_idx": [1],
    "antiquant_mode": 1,
    "key_antiquant_mode": 1,
    "value_antiquant_mode": 1,
    "query_quant_mode": 3,
    "pse_type": 2,
}


@pytest.mark.parametrize("name", OF_FEATURES)
def test_arguments_alone_are_refused_or_do_what_they_say(name: str) -> None:
    arguments = {**dense(), "scale_value": 1.0, name: OF_FEATURES[name], "softmax_lse_flag": True}
    message = ""
    try:
        out, lse = call(arguments)
    except acl_attn.AclAttnError as refusal:
        message = str(refusal)
    if message:
        assert re.match(r"[a-z0-9_]+(\[\d+\])?: expected .+, got .+", message, re.DOTALL), message
        return
    want, want_lse = reference.fused_infer_attention_score(**arguments)
    assert_close(out, want)
    assert_close(lse, want_lse)


def test_unknown_keywords() -> None:
    with pytest.raises(TypeError, match="attn_mask"):
        call(dense(), attn_mask=None)
