# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""From numbers to attention: packed by `acl_attn.kvcache` into pools of pages, attended to where they lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import acl_attn
from acl_attn import kvcache, reference
from acl_attn.dtypes import decode, hifloat8
from acl_attn.testing.compare import assert_close, assert_same_bits

Array = np.ndarray[Any, Any]

E4M3 = np.dtype(ml_dtypes.float8_e4m3fn)
BF16 = np.dtype(ml_dtypes.bfloat16)
FORMATS = pytest.mark.parametrize("codes", [E4M3, hifloat8], ids=["e4m3", "hif8"])
SCENARIOS = {"swa": (0, 0), "cfa_128": (128, 0), "cfa_4": (4, 0), "scfa_4": (4, 512), "scfa_128": (128, 1024)}
LENGTHS = (300, 17, 515)
HEADS, BLOCK = 64, 16


@dataclass
class Stream:
    """A pool of pages in which rows of several sequences were written, and the numbers that were written."""

    pool: Array
    table: Array
    numbers: list[Array]


def write(values: list[Array], codes: Any, gap: int, generator: np.random.Generator) -> Stream:
    """Scatter sequences over the blocks of a pool whose blocks lie `gap` rows apart, in two goes as a decode does."""
    columns = max(-(-max(len(own) for own in values) // BLOCK), 1)
    blocks = len(values) * columns + 2
    memory = np.full((blocks, BLOCK + gap, 1, 640), 0xFF, np.uint8).view(codes)
    pool = memory[:, :BLOCK]
    table = generator.permutation(blocks)[: len(values) * columns].reshape(len(values), columns).astype(np.int32)
    lengths = np.array([len(own) for own in values])
    first = np.maximum(lengths - 3, 0)
    for begin, end in ((np.zeros_like(first), first), (first, lengths)):
        slots = kvcache.slot_mapping(table, end, BLOCK, first=begin)
        rows = [own[a:b] for own, a, b in zip(values, begin, end, strict=True)]
        kvcache.write_packed(pool, np.concatenate(rows), slots, scale_kind="e8m0")
    for own, blocks_of in zip(values, table, strict=True):
        blocks_of[-(-len(own) // BLOCK) :] = -1  # what no row needs is not looked at
    return Stream(pool, table, values)


def dequantised(stream: Stream) -> list[Array]:
    """The numbers that rows stand for, read from the byte map without the code under test."""
    found = []
    for own, blocks_of in zip(stream.numbers, stream.table, strict=True):
        at = np.arange(len(own))
        octets = np.ascontiguousarray(stream.pool[blocks_of[at // BLOCK], at % BLOCK, 0]).view(np.uint8)
        nope = decode(np.ascontiguousarray(octets[:, 128:576]).view(stream.pool.dtype))
        scales = 2.0 ** (octets[:, 576:583].astype(np.float64) - 127)
        rope = np.ascontiguousarray(octets[:, :128]).view(BF16).astype(np.float64)
        found.append(np.hstack([nope.astype(np.float64) * np.repeat(scales, 64, axis=1), rope]))
    return found


def lists_for(q_lengths: list[int], ratio: int, topk: int, generator: np.random.Generator) -> Array:
    made = np.full((sum(q_lengths), 1, topk), -1, np.int32)
    rows = iter(made[:, 0])
    for queries, tokens in zip(q_lengths, LENGTHS, strict=True):
        for position in range(tokens - queries, tokens):
            seen = generator.permutation((position + 1) // ratio)[:topk]
            next(rows)[: len(seen)] = seen
    return made


def call_for(scenario: str, layout: str, codes: Any, gap: int = 0) -> tuple[dict[str, Any], Stream, Stream | None]:
    """Arguments of the operator, and the streams behind them."""
    generator = np.random.default_rng([sorted(SCENARIOS).index(scenario), gap])
    ratio, topk = SCENARIOS[scenario]
    q_lengths = [2, 2, 2] if layout == "BSND" else [3, 1, 2]
    spread = 2.0 ** generator.integers(-3, 3, (1, 512))
    draw = lambda tokens: (generator.standard_normal((tokens, 512)) * spread).astype(np.float32)  # noqa: E731
    ori = write([draw(tokens) for tokens in LENGTHS], codes, gap, generator)
    q = generator.standard_normal((sum(q_lengths), HEADS, 512)).astype(BF16)
    given: dict[str, Any] = {
        "q": q if layout == "TND" else q.reshape(3, 2, HEADS, 512),
        "kv_quant_mode": 1, "layout_q": layout, "ori_kv": ori.pool, "ori_block_table": ori.table,
        "seqused_kv": np.array(LENGTHS, np.int32), "sinks": generator.standard_normal(HEADS).astype(np.float32),
        "softmax_scale": 512**-0.5, "cmp_ratio": max(ratio, 1),
    }  # fmt: skip
    if layout == "TND":
        given["cu_seqlens_q"] = np.cumsum([0, *q_lengths]).astype(np.int32)
    if not ratio:
        return given, ori, None
    cmp = write([draw(tokens // ratio) for tokens in LENGTHS], codes, gap, generator)
    given |= {"cmp_kv": cmp.pool, "cmp_block_table": cmp.table}
    if topk:
        lists = lists_for(q_lengths, ratio, topk, generator)
        given["cmp_sparse_indices"] = lists if layout == "TND" else lists.reshape(3, 2, 1, topk)
    return given, ori, cmp


def attend(given: dict[str, Any], **options: Any) -> tuple[Array, Array | None]:
    """Metadata, then the operator."""
    metadata = acl_attn.kv_quant_sparse_attn_sharedkv_metadata(
        HEADS, 1, 512, 1, batch_size=3, max_seqlen_q=3 if given["layout_q"] == "TND" else 2,
        cmp_ratio=given["cmp_ratio"], has_cmp_kv="cmp_kv" in given, layout_q=given["layout_q"],
        cmp_topk=given["cmp_sparse_indices"].shape[-1] if "cmp_sparse_indices" in given else 0,
        **{name: given[name] for name in ("cu_seqlens_q", "seqused_kv") if name in given},
    )  # fmt: skip
    out, lse = acl_attn.kv_quant_sparse_attn_sharedkv(**given, metadata=metadata, **options)
    return out, None if lse is None else np.asarray(lse)


def packed_back(rows: list[Array]) -> tuple[Array, Array]:
    """Sequences behind one another, and their running totals."""
    totals = np.cumsum([0, *(len(own) for own in rows)]).astype(np.int32)
    return np.concatenate(rows)[:, None].astype(BF16), totals


@FORMATS
@pytest.mark.parametrize("layout", ["TND", "BSND"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_numbers_to_attention(scenario: str, layout: str, codes: Any) -> None:
    """The float64 reference, and the operator over bfloat16 rows, on the rows as they were dequantised by hand."""
    given, ori, cmp = call_for(scenario, layout, codes, gap=2)
    out, lse = attend(given, return_softmax_lse=True)
    ratio, is_packed = given["cmp_ratio"], layout == "TND"
    plain: dict[str, Any] = {
        "sinks": given["sinks"], "softmax_scale": given["softmax_scale"], "ori_mask_mode": 4, "ori_win_left": 127,
        "ori_win_right": 0, "layout_q": "TND", "layout_kv": "TND", "return_softmax_lse": True,
        "cmp_mask_mode": 3 if cmp else 0, "cmp_ratio": ratio,
    }  # fmt: skip
    plain["q"] = given["q"].reshape(-1, HEADS, 512)
    plain["cu_seqlens_q"] = given["cu_seqlens_q"] if is_packed else np.array([0, 2, 4, 6], np.int32)
    plain["ori_kv"], plain["cu_seqlens_ori_kv"] = packed_back(dequantised(ori))
    if cmp is not None:
        plain["cmp_kv"], plain["cu_seqlens_cmp_kv"] = packed_back(dequantised(cmp))
        plain["cmp_residual_kv"] = np.array([tokens % ratio for tokens in LENGTHS], np.int32)
    if "cmp_sparse_indices" in given:
        plain["cmp_sparse_indices"] = given["cmp_sparse_indices"].reshape(6, 1, -1)
    want, want_lse = reference.sparse_flash_mla(**plain)
    assert lse is not None
    assert want_lse is not None
    assert_close(out.reshape(want.shape), want, name="attn_out")
    assert_close(lse.reshape(-1), want_lse.reshape(-1), name="softmax_lse")


@FORMATS
def test_packed_at_once_or_into_the_pool(codes: Any) -> None:
    _, ori, _ = call_for("swa", "TND", codes)
    rows = kvcache.pack(np.concatenate(ori.numbers), codes, scale_kind="e8m0")
    slots = kvcache.slot_mapping(ori.table, LENGTHS, BLOCK)
    in_pool = ori.pool.reshape(-1, 640)[slots]
    assert_same_bits(in_pool.view(np.uint8), rows.view(np.uint8))
    back = kvcache.read_packed(ori.pool, slots, scale_kind="e8m0")
    assert (back.astype(np.float64) == np.concatenate(dequantised(ori))).all()


@FORMATS
@pytest.mark.parametrize("scenario", ["swa", "cfa_4", "scfa_4"])
def test_unpacked_on_the_fly_or_before(scenario: str, codes: Any) -> None:
    """How rows are stored decides nothing but their numbers: the same bits as over a cache of bfloat16."""
    given, ori, cmp = call_for(scenario, "TND", codes)
    out, _ = attend(given)
    lists = {name: given[name] for name in ("cmp_sparse_indices",) if name in given}
    options = {"cmp_ratio": given["cmp_ratio"]} if cmp else {}
    rows = [packed_back(dequantised(stream))[0] for stream in (ori, cmp) if stream]
    with acl_attn.SparsePlan(
        given["q"], *rows, sinks=given["sinks"], q_lengths=[3, 1, 2], kv_lengths=LENGTHS, **options, **lists
    ) as plan:
        assert_same_bits(plan.run(), out)
    with acl_attn.SparsePlan(
        given["q"], ori.pool, None if cmp is None else cmp.pool, sinks=given["sinks"], q_lengths=[3, 1, 2],
        kv_lengths=LENGTHS, ori_block_table=ori.table, cmp_block_table=None if cmp is None else cmp.table, **options,
        **lists,
    ) as plan:  # fmt: skip
        assert_same_bits(plan.run(), out)


@pytest.mark.parametrize("row_bytes", [608, 584, 656])
def test_rows_of_other_libraries(row_bytes: int) -> None:
    """A cache of theirs, converted, gives what they were made of: with E8M0 as with bfloat16 and float32 scales."""
    given, ori, _ = call_for("swa", "TND", E4M3)
    planar = {"block_planar": True} if row_bytes == 584 else {}

    def there_and_back(pool: Array) -> Array:
        made: Array = kvcache.from_foreign_rows(kvcache.to_foreign_rows(pool, row_bytes, **planar), **planar)
        return made

    pool = np.ascontiguousarray(ori.pool)
    pool.view(np.uint8)[..., 583:] = 0
    used = kvcache.slot_mapping(ori.table, LENGTHS, BLOCK)
    pool.reshape(-1, 640)[np.setdiff1d(np.arange(pool.shape[0] * BLOCK), used)] = 0
    if row_bytes == 656:
        pool = there_and_back(pool)  # tiles of 128: from now on both halves have one scale
    wanted, _ = attend({**given, "ori_kv": pool})
    out, _ = attend({**given, "ori_kv": there_and_back(pool)})
    assert_same_bits(out, wanted)
