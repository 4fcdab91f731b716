# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Results that must agree in every bit: storage, threads, neighbours, and how queries are cut."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import acl_attn
from acl_attn.testing.compare import assert_same_bits
from acl_attn.testing.sparse.build import SparseBatch, arguments, make_batch, metadata_arguments
from acl_attn.testing.sparse.cases import SparseCase

from .runs import assert_same_sequences, by_sequence, check, metadata_of, plain, run
from .suites import STORAGE, case_of

LENGTHS: dict[str, Any] = {"q_lengths": (70, 1, 4), "kv_lengths": (300, 1700, 9)}
CASES = [
    case_of(mode, "tnd_paged", dtype=dtype, kv_format=kv_format, **LENGTHS)
    for mode in ("swa", "csa", "hca_4")
    for dtype, kv_format in (("float16", ""), ("bfloat16", ""), ("bfloat16", "hifloat8"))
]
each_case = pytest.mark.parametrize("case", CASES, ids=repr)


@each_case
@pytest.mark.parametrize("storage", STORAGE)
def test_storage(storage: str, case: SparseCase) -> None:
    is_legal = STORAGE[storage].get("is_paged") or not case.kv_format
    if is_legal and (case.has_cmp or storage != "tnd_fused"):
        stored = replace(case, **{"is_paged": False, **STORAGE[storage]})
        if case.kv_format:
            stored = replace(stored, layout="TND", q_room=0)
        assert_same_sequences(by_sequence(stored, make_batch(case)), plain(case))


@each_case
@pytest.mark.parametrize("block_size", [16, 48, 128, 1024])
def test_block_sizes(block_size: int, case: SparseCase) -> None:
    for cmp_block_size, gap in ((16, 0), (64, 1280), (block_size, 0)):
        paged = replace(case, block_size=block_size, cmp_block_size=cmp_block_size, block_gap=gap, seed=case.seed)
        assert_same_sequences(by_sequence(paged, make_batch(case)), plain(case))


@each_case
def test_threads(case: SparseCase, set_threads: Callable[[int], None]) -> None:
    wanted = plain(case)
    for count in (1, 2, 5):
        set_threads(count)
        for _ in range(2):
            assert_same_sequences(by_sequence(case), wanted)


def chosen(case: SparseCase, batch: SparseBatch, sequences: list[int]) -> tuple[SparseCase, SparseBatch]:
    """The case of some of its sequences, in that order."""
    picked = {
        name: tuple(part[sequence] for sequence in sequences) for name, part in vars(batch).items() if name != "sinks"
    }
    lengths = {
        name: tuple(getattr(case, name)[sequence] for sequence in sequences) for name in ("q_lengths", "kv_lengths")
    }
    return replace(case, **lengths), SparseBatch(sinks=batch.sinks, **picked)


@each_case
def test_neighbours_and_order(case: SparseCase) -> None:
    batch, together = make_batch(case), plain(case)
    for order in ([0], [1], [2], [2, 1, 0], [1, 1, 0]):
        got = by_sequence(*chosen(case, batch, order))
        assert_same_sequences(got, [together[s] for s in order] + [together[case.batch + s] for s in order])


def cut(case: SparseCase, batch: SparseBatch, first: int, end: int) -> tuple[SparseCase, SparseBatch]:
    """Queries ``first`` to ``end`` of each sequence by themselves: rows end where the last of them stands."""
    parts: dict[str, list[Any]] = {name: [] for name in vars(batch) if name != "sinks"}
    lengths: dict[str, tuple[int, ...]] = {"q_lengths": (), "kv_lengths": ()}
    for sequence, (sq, so) in enumerate(zip(case.q_lengths, case.kv_lengths, strict=True)):
        stop = min(end, sq)
        prefix = max(so - sq + stop, 0)
        lengths["q_lengths"] += (max(stop - first, 0),)
        lengths["kv_lengths"] += (prefix,)
        for name, part in parts.items():
            own = getattr(batch, name)[sequence]
            rows = {"ori": prefix, "cmp": prefix // max(case.cmp_ratio, 1)}
            part.append(own[: rows[name]] if name in rows else own[first:stop])
    return replace(case, **lengths), SparseBatch(
        sinks=batch.sinks, **{name: tuple(part) for name, part in parts.items()}
    )


@each_case
def test_any_segment_of_the_queries_by_itself(case: SparseCase) -> None:
    """Context parallelism: a rank computes a segment with rows up to the segment's end."""
    case = replace(case, q_lengths=(70, 33), kv_lengths=(300, 1701))
    batch, whole = make_batch(case), plain(case)
    for first, end in ((0, 1), (0, 32), (1, 33), (17, 19), (32, 70), (69, 70)):
        part, own = cut(case, batch, first, end)
        assert_same_sequences(by_sequence(part, own), [rows[first:end] for rows in whole])


@pytest.mark.parametrize("kv_format", ["", "float8_e4m3fn"])
@pytest.mark.parametrize(("mode", "fields"), [("hca_4", {}), ("causal", {}), ("csa_512", {"topk": 3000})])
def test_long_rows_however_they_are_split(
    mode: str, fields: dict[str, Any], kv_format: str, set_threads: Callable[[int], None]
) -> None:
    """A few queries of many rows each, which threads share, and the same ones among many."""
    if mode == "causal" and kv_format:
        return
    lengths = {"q_lengths": (40, 3), "kv_lengths": (16_000, 5_011)}
    case = case_of(mode, "tnd_paged", dtype="bfloat16", kv_format=kv_format, heads=2, **fields, **lengths)
    batch, whole = make_batch(case), plain(case)
    for count in (1, 2, 5):
        set_threads(count)
        for first, end in ((0, 1), (2, 3), (38, 40)):
            part, own = cut(case, batch, first, end)
            assert_same_sequences(by_sequence(part, own), [rows[first:end] for rows in whole])
            alone = by_sequence(*chosen(part, own, [0]))
            assert_same_sequences(alone, [whole[0][first:end], whole[2][first:end]])


def test_calls_from_several_threads_at_once() -> None:
    wanted = [plain(case) for case in CASES[:4]]

    def work(turn: int) -> None:
        for position in range(4):
            which = (position + turn) % 4
            assert_same_sequences(by_sequence(CASES[which]), wanted[which])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(8)))


def test_calls_queued_on_streams() -> None:
    with acl_attn.Device(0).create_stream() as first, acl_attn.Device(0).create_stream() as second:
        results = []
        for case in CASES[::2]:
            given = arguments(case)
            results.extend((given, run(given, stream=stream)) for stream in (first, second, first))
        first.synchronize()
        second.synchronize()
    for given, got in results:
        for one, other in zip(got, run(given), strict=True):
            assert_same_bits(one, other)


def test_metadata_on_the_stream_of_the_call() -> None:
    given = arguments(CASES[3])
    metadata = np.zeros(1024, np.int32)
    with acl_attn.Device(0).create_stream() as stream:
        acl_attn.sparse_flash_mla_metadata(**metadata_arguments(given), out=metadata, stream=stream)
        out, _ = acl_attn.sparse_flash_mla(**given, metadata=metadata, stream=stream)
        stream.synchronize()
    assert_same_bits(metadata, metadata_of(given))
    assert_same_bits(out, run(given)[0])


@pytest.mark.parametrize("kv_format", ["", "float8_e4m3fn"])
def test_every_instruction_set_is_close(cpu_target: str, kv_format: str) -> None:
    for mode in ("swa", "csa", "hca_4"):
        for dtype in ("float16", "bfloat16") if not kv_format else ("bfloat16",):
            check(case_of(mode, "tnd_fused" if mode != "swa" else "tnd_paged", dtype=dtype, kv_format=kv_format))
    assert acl_attn.get_cpu_target() == cpu_target
