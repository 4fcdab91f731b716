# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Bad input to the sparse operators: refused by name, never a crash, and nothing is computed.

The rules one by one are tested beside the operator, in C++; here is what comes through Python, and what tensors hold.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import acl_attn
from acl_attn.testing.compare import assert_same_bits
from acl_attn.testing.sparse.build import arguments, metadata_arguments

from ..ops.refusals import refuses
from .runs import functions, metadata_of, run
from .suites import case_of

LENGTHS: dict[str, Any] = {"q_lengths": (3, 0, 2), "kv_lengths": (50, 7, 33)}
TYPE = (TypeError, ValueError)


def given_for(storage: str = "tnd_paged", mode: str = "csa", **others: Any) -> dict[str, Any]:
    return arguments(case_of(mode, storage, **{"lists": "repeated", **LENGTHS, **others}))


def refused(given: dict[str, Any], parameter: str, **patterns: Any) -> None:
    """Run a call that must be refused, and must not write."""
    out = np.full(np.shape(given["q"]), 7, np.asarray(given["q"]).dtype)
    with refuses(parameter, **patterns):
        run(given, metadata=np.zeros(1024, np.int32) if "metadata" in parameter else metadata_of(given), attn_out=out)
    assert (out == 7).all()


@pytest.mark.parametrize("kv_format", ["", "float8_e4m3fn"])
@pytest.mark.parametrize("value", [-2, -(2**31), 2**31 - 1, "past the end"])
@pytest.mark.parametrize("entry", range(3))
@pytest.mark.parametrize("token", [0, 2, 3, 4])
def test_indices_of_no_row_in_every_position(token: int, entry: int, value: Any, kv_format: str) -> None:
    given = given_for(kv_format=kv_format, topk=3)
    rows = 50 // 4 if token < 3 else 33 // 4
    given["cmp_sparse_indices"][token, 0, entry] = rows if value == "past the end" else value
    refused(given, "cmp_sparse_indices", got=rf"\[?.*got {rows if value == 'past the end' else value}")


@pytest.mark.parametrize("value", [-2, 2**31 - 1, 50])
def test_original_indices_of_no_row(value: int) -> None:
    given = given_for("tnd", "ori_list", ori_topk=3, q_room=0)
    given["ori_topk_length"][:] = 3
    given["ori_sparse_indices"][:, 0] = [0, 1, 2]
    run(given)
    given["ori_sparse_indices"][1, 0, 2] = value
    refused(given, "ori_sparse_indices", got=str(value))


def test_counts_of_entries() -> None:
    given = given_for("tnd", "csa_no_cmp_mask", topk=3, q_room=0)
    given["cmp_topk_length"][:] = 3
    given["cmp_sparse_indices"][:, 0] = [0, 2, 1]
    metadata, (wanted, _) = metadata_of(given), run(given)
    for more in (4, 2**31 - 1):  # a list has no more entries than it has
        given["cmp_topk_length"][1] = more
        assert_same_bits(run(given)[0], wanted)
    given["cmp_topk_length"][1] = -1
    with refuses("cmp_topk_length", got="-1"):
        metadata_of(given)
    with refuses("cmp_topk_length", got="-1"):
        run(given, metadata=metadata)


@pytest.mark.parametrize("kv_format", ["", "hifloat8"])
@pytest.mark.parametrize("value", [-1, 2**31 - 1, -(2**31), "past the end"])
@pytest.mark.parametrize("side", ["ori", "cmp"])
def test_block_ids_out_of_range(side: str, value: Any, kv_format: str) -> None:
    given = given_for("tnd_paged", "hca_4", kv_format=kv_format, block_size=16)
    name = f"{side}_block_table"
    wrong = len(given[f"{side}_kv"]) if value == "past the end" else value
    for sequence, column in ((0, 0), (2, 0), *(((0, 3), (2, 2)) if side == "ori" else ())):
        before = given[name][sequence, column]
        given[name][sequence, column] = wrong
        refused(given, name, got=str(wrong))
        given[name][sequence, column] = before
    run(given)


@pytest.mark.parametrize(
    ("name", "position", "value"),
    [
        ("seqused_ori_kv", 0, -1),
        ("seqused_ori_kv", 2, 2**31 - 1),
        ("seqused_cmp_kv", 0, -5),
        ("seqused_cmp_kv", 1, 2**31 - 1),
        ("cmp_residual_kv", 0, 4),
        ("cmp_residual_kv", 2, -1),
        ("cu_seqlens_q", 0, 1),
        ("cu_seqlens_q", 1, 9),
        ("cu_seqlens_q", 3, 4),
        ("cu_seqlens_q", 3, 2**31 - 1),
        ("seqused_q", 0, 4),
        ("seqused_q", 1, -1),
    ],
)
def test_lengths_out_of_range(name: str, position: int, value: int) -> None:
    given = given_for(q_room=0)
    if name == "seqused_q":
        given[name] = np.array(LENGTHS["q_lengths"], np.int32)
    metadata = metadata_of(given)
    given[name][position] = value
    with refuses(name):
        run(given, metadata=metadata)


CHANGES: list[tuple[str, dict[str, Any], str]] = [
    ("q of another dtype", {"q": np.zeros((5, 8, 512), np.float32)}, "q"),
    ("q of another head dim", {"q": np.zeros((5, 8, 576), np.float16)}, "q"),
    ("q of another rank", {"q": np.zeros((5, 512), np.float16)}, "q"),
    ("too many heads", {"q": np.zeros((5, 129, 512), np.float16)}, "q|sinks"),
    ("q of another dtype than the rows", {"q": np.zeros((5, 8, 512), ml_dtypes.bfloat16)}, "q|ori_kv"),
    ("no original rows", {"ori_kv": None}, "ori_kv"),
    ("no sinks", {"sinks": None}, "sinks"),
    ("sinks of another dtype", {"sinks": np.zeros(8, np.float16)}, "sinks"),
    ("too few sinks", {"sinks": np.zeros(7, np.float32)}, "sinks"),
    ("two heads of rows", {"cmp_kv": np.zeros((9, 16, 2, 512), np.float16)}, "cmp_kv"),
    ("lists of another dtype", {"cmp_sparse_indices": np.zeros((5, 1, 16), np.int64)}, "cmp_sparse_indices"),
    ("lists of another length", {"cmp_sparse_indices": np.zeros((4, 1, 16), np.int32)}, "cmp_sparse_indices"),
    ("lists without rows", {"cmp_kv": None}, "cmp_\\w+"),
    ("no block table", {"cmp_block_table": None}, "cmp_block_table"),
    ("too short a block table", {"ori_block_table": np.zeros((2, 9), np.int32)}, "ori_block_table"),
    ("no lengths", {"seqused_ori_kv": None}, "seqused_ori_kv"),
    ("no residuals", {"cmp_residual_kv": None}, "cmp_residual_kv"),
    ("no totals", {"cu_seqlens_q": None}, "cu_seqlens_q"),
    ("too many totals", {"cu_seqlens_q": np.zeros(6, np.int32)}, "cu_seqlens_q|seqused_ori_kv"),
    ("lengths of another dtype", {"seqused_ori_kv": np.zeros(3, np.int64)}, "seqused_ori_kv"),
    ("a mask mode that there is not", {"ori_mask_mode": 2}, "ori_mask_mode"),
    ("a mask mode of compressed rows that there is not", {"cmp_mask_mode": 4}, "cmp_mask_mode"),
    ("a window below -1", {"ori_win_left": -2}, "ori_win_left"),
    ("a ratio of 0", {"cmp_ratio": 0}, "cmp_ratio"),
    ("an enormous ratio", {"cmp_ratio": 2**40}, "cmp_ratio"),
    ("a scale that is no number", {"softmax_scale": float("nan")}, "softmax_scale"),
    ("an infinite scale", {"softmax_scale": float("inf")}, "softmax_scale"),
    ("a layout that there is not", {"layout_q": "BNSD"}, "layout_q"),
    ("a layout that q does not have", {"layout_q": "BSND"}, "q|layout_q|layout_kv|cu_seqlens_q"),
    ("layouts that do not go together", {"layout_kv": "BSND"}, "layout_kv|ori_kv|ori_block_table"),
    ("packed rows' layout", {"layout_kv": "PA_ND"}, "layout_kv"),
    ("another kind of list", {"topk_value_mode": 2}, "topk_value_mode"),
]


@pytest.mark.parametrize(("change", "parameter"), [row[1:] for row in CHANGES], ids=[row[0] for row in CHANGES])
def test_single_changes(change: dict[str, Any], parameter: str) -> None:
    given = given_for(q_room=0)
    metadata = metadata_of(given)
    with refuses(parameter):
        run({**given, **change}, metadata=metadata)
    run(given, metadata=metadata)


QUANT_CHANGES: list[tuple[str, dict[str, Any], str]] = [
    ("q of float16", {"q": np.zeros((5, 8, 512), np.float16)}, "q"),
    ("rows of bfloat16", {"ori_kv": np.zeros((9, 16, 1, 640), ml_dtypes.bfloat16)}, "ori_kv"),
    ("no totals", {"cu_seqlens_q": None}, "cu_seqlens_q"),
    ("no lengths", {"seqused_kv": None}, "seqused_kv"),
    ("no sinks", {"sinks": None}, "sinks"),
    ("another mode", {"kv_quant_mode": 2}, "kv_quant_mode"),
    ("another tile", {"tile_size": 128}, "tile_size"),
    ("another rope", {"rope_head_dim": 128}, "rope_head_dim"),
    ("a mask mode that there is not", {"ori_mask_mode": 0}, "ori_mask_mode"),
    ("a layout that there is not", {"layout_kv": "PA_BBND"}, "layout_kv"),
    ("a look ahead", {"ori_win_right": 1}, "ori_win_right"),
    ("original lists", {"ori_sparse_indices": np.zeros((5, 1, 4), np.int32)}, "ori_sparse_indices"),
    ("totals of rows", {"cu_seqlens_ori_kv": np.zeros(4, np.int32)}, "cu_seqlens_ori_kv"),
]


@pytest.mark.parametrize(
    ("change", "parameter"), [row[1:] for row in QUANT_CHANGES], ids=[row[0] for row in QUANT_CHANGES]
)
def test_single_changes_of_packed_rows(change: dict[str, Any], parameter: str) -> None:
    given = given_for(kv_format="float8_e4m3fn")
    metadata = metadata_of(given)
    with refuses(parameter):
        run({**given, **change}, metadata=metadata)
    run(given, metadata=metadata)


@pytest.mark.parametrize("size", [512, 584, 608, 656])
def test_rows_of_other_libraries_name_their_converter(size: int) -> None:
    given = given_for(kv_format="float8_e4m3fn")
    metadata = metadata_of(given)
    given["ori_kv"] = np.zeros((*given["ori_kv"].shape[:3], size), ml_dtypes.float8_e4m3fn)
    with refuses("ori_kv", got=str(size), fix="kvcache"):
        run(given, metadata=metadata)


WRONG_TYPES: list[dict[str, Any]] = [
    {"q": None}, {"q": [1.0]}, {"q": 3}, {"ori_kv": "rows"}, {"cmp_ratio": 4.0}, {"cmp_ratio": True},
    {"softmax_scale": "1"}, {"layout_q": None}, {"layout_q": b"TND"}, {"return_softmax_lse": 1}, {"cmp_ratio": 2**70},
    {"ori_win_left": None}, {"sinks": np.ma.masked_array(np.zeros(8, np.float32))},
]  # fmt: skip


@pytest.mark.parametrize("change", WRONG_TYPES, ids=str)
def test_wrong_types(change: dict[str, Any]) -> None:
    given = given_for(q_room=0)
    metadata = metadata_of(given)
    with refuses(next(iter(change)), kind=TYPE):
        run({**given, **change}, metadata=metadata)


def test_a_layout_does_not_end_at_a_zero() -> None:
    given = given_for(q_room=0)
    with refuses("layout_q"):
        run({**given, "layout_q": "TND\0X"}, metadata=metadata_of(given))


def test_outputs() -> None:
    given = given_for(q_room=0)
    metadata = metadata_of(given)
    shape = given["q"].shape
    read_only, turned = np.zeros(shape, np.float16), np.zeros((8, 5, 512), np.float16).swapaxes(0, 1)
    read_only.flags.writeable = False
    for out in (np.zeros(shape, np.float32), np.zeros(shape[1:], np.float16), read_only, turned):
        with refuses("attn_out", kind=TYPE):
            run(given, metadata=metadata, attn_out=out)
    for lse in (np.zeros((1, 5, 8), np.float64), np.zeros((5, 8), np.float32), np.zeros((5, 8, 1), np.float32)):
        with refuses("softmax_lse", kind=TYPE):
            run(given, metadata=metadata, softmax_lse=lse)
    with refuses("softmax_lse"):
        acl_attn.sparse_flash_mla(**given, metadata=metadata, softmax_lse=np.zeros((1, 5, 8), np.float32))
    with refuses("attn_out"):
        run(given, metadata=metadata, attn_out=given["q"])  # it would be read while it is written


def spread(array: Any, axis: int) -> Any:
    """The same elements with gaps along an axis."""
    shape = [2 * extent if place == axis % array.ndim else extent for place, extent in enumerate(array.shape)]
    view = np.moveaxis(np.moveaxis(np.ones(shape, array.dtype), axis, 0)[::2], 0, axis)
    view[...] = array
    return view


@pytest.mark.parametrize("storage", ["tnd", "bsnd", "tnd_paged"])
def test_views_with_gaps_are_read_as_they_are_or_refused(storage: str) -> None:
    given = given_for(storage, q_room=0)
    metadata, wanted = metadata_of(given), run(given)
    for name in ("q", "ori_kv", "cmp_kv", "cmp_sparse_indices", "seqused_ori_kv", "cu_seqlens_q", "sinks"):
        for axis in range(np.ndim(given[name])) if name in given else ():
            changed = {**given, name: spread(given[name], axis)}
            may_have_gaps = name in ("q", "ori_kv", "cmp_kv") and axis < np.ndim(given[name]) - 1
            if may_have_gaps:
                for got, want in zip(run(changed, metadata=metadata), wanted, strict=True):
                    assert_same_bits(got, want)
            elif not changed[name].flags.c_contiguous:
                with refuses(name):
                    run(changed, metadata=metadata)
    pool = given["ori_kv"][::-1].copy()[::-1]
    with refuses("ori_kv"):
        run({**given, "ori_kv": pool}, metadata=metadata)


@pytest.mark.parametrize("kv_format", ["", "float8_e4m3fn"])
@pytest.mark.parametrize(
    ("change", "parameter"),
    [
        ({"num_heads_q": 0}, "num_heads_q"),
        ({"num_heads_q": 129}, "num_heads_q"),
        ({"num_heads_kv": 2}, "num_heads_kv"),
        ({"batch_size": -1, "cu_seqlens_q": None, "layout_q": "BSND"}, "batch_size|layout_\\w+"),
        ({"cmp_topk": -1}, "cmp_topk"),
        ({"layout_q": "X"}, "layout_q"),
        ({"layout_kv": "X"}, "layout_kv"),
        ({"cu_seqlens_q": None}, "cu_seqlens_q"),
        ({"ori_mask_mode": 7}, "ori_mask_mode"),
        ({"out": np.zeros(1023, np.int32)}, "out"),
        ({"out": np.zeros(1024, np.float32)}, "out"),
    ],
    ids=str,
)
def test_metadata_arguments(change: dict[str, Any], parameter: str, kv_format: str) -> None:
    given = given_for(kv_format=kv_format, q_room=0)
    with refuses(parameter, kind=TYPE):
        functions(given)[1](**{**metadata_arguments(given), **change})


def test_a_refused_call_leaves_nothing_behind() -> None:
    given = given_for(q_room=0)
    metadata = metadata_of(given)
    before = acl_attn.live_objects()
    for _ in range(30):
        with refuses("sinks"):
            run({**given, "sinks": np.zeros(3, np.float32)}, metadata=metadata)
        with refuses("metadata"):
            run(given, metadata=np.zeros(1024, np.int32))
    assert acl_attn.live_objects() == before
