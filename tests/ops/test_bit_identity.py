# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The same sequence gives the same bits, however it is stored, whoever its neighbours are, whoever computes it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

import acl_attn
from acl_attn.testing.cases import Batch, Case
from acl_attn.testing.compare import assert_same_bits
from acl_attn.testing.layouts import LAYOUTS, LIST_LAYOUTS, dense_arguments, is_packed, list_arguments
from acl_attn.testing.pages import CACHES, Paging, paged_arguments
from acl_attn.testing.suites import HEADS, MASKS

from .runs import assert_same_sequences, by_sequence, plain, run

if TYPE_CHECKING:
    from collections.abc import Callable

# Rows enough for the tiled path and few enough for the decode path; keys beyond one tile and beyond one split.
CASES = tuple(
    Case(f"{heads}-{mask}-{dtype}", (130, 1, 0, 6), (300, 1500, 7, 6), dtype=dtype, **HEADS[heads], **MASKS[mask])
    for heads, mask, dtype in (
        ("mha", "no_mask", "fp16"),
        ("gqa3", "mode3", "bf16"),
        ("mqa", "mode4", "fp16"),
        ("gqa3", "mode0", "fp16"),
        ("gqa3", "mode1", "bf16"),
        ("mha", "mode2", "bf16"),
    )
)
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@each_case
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout: str, case: Case) -> None:
    rooms = {} if is_packed(layout) else {"q_room": 133, "kv_room": 1501}
    assert_same_sequences(by_sequence(dense_arguments(case.build(), layout, **rooms), case), plain(case))


@each_case
@pytest.mark.parametrize("layout", LIST_LAYOUTS)
def test_tensor_lists(layout: str, case: Case) -> None:
    assert_same_sequences(by_sequence(list_arguments(case.build(), layout), case), plain(case))
    roomy = list_arguments(case.build(), layout, rooms=[301, 1600, 7, 10])
    assert_same_sequences(by_sequence(roomy, case), plain(case))


@each_case
@pytest.mark.parametrize("block_size", [16, 48, 128, 512])
@pytest.mark.parametrize("cache", CACHES)
def test_pages(cache: str, block_size: int, case: Case) -> None:
    for seed, layout in enumerate(("TND", "BNSD")):
        paged = paged_arguments(case.build(), layout, Paging(cache, block_size, seed=seed, spare_columns=seed))
        assert_same_sequences(by_sequence(paged, case), plain(case))


@each_case
@pytest.mark.parametrize("cache", CACHES)
def test_strided_blocks(cache: str, case: Case) -> None:
    gaps = {"block_gap": 24} if cache == "BnBsH" else {"block_gap": 40, "head_gap": 8}
    paged = paged_arguments(case.build(), "BSND", Paging(cache, 32, **gaps))
    assert not paged["key"].flags.c_contiguous
    assert_same_sequences(by_sequence(paged, case), plain(case))


@pytest.mark.parametrize("block_size", [1, 7, 100, 1024])
def test_unusual_block_sizes(block_size: int) -> None:
    case = CASES[1]
    paged = paged_arguments(case.build(), "TND", Paging("BnBsH", block_size))
    assert_same_sequences(by_sequence(paged, case), plain(case))


@each_case
def test_threads(case: Case, set_threads: Callable[[int], None]) -> None:
    arguments = dense_arguments(case.build(), "TND")
    for count in (1, 2, 5):
        set_threads(count)
        for _ in range(3):
            assert_same_sequences(by_sequence(arguments, case), plain(case))


@each_case
def test_neighbours(case: Case) -> None:
    batch, together = case.build(), plain(case)
    count = len(batch.query)
    for sequence in range(count):
        alone = batch.only(sequence)
        if len(alone.query[0]):
            got = by_sequence(dense_arguments(alone, "TND"), case, alone)
            assert_same_sequences(got, [together[sequence], together[count + sequence]])


@each_case
def test_order_of_sequences(case: Case) -> None:
    batch, together = case.build(), plain(case)
    turned = Batch(
        batch.query[::-1],
        batch.key[::-1],
        batch.value[::-1],
        None if batch.hidden is None else batch.hidden[::-1],
    )
    count = len(batch.query)
    got = by_sequence(dense_arguments(turned, "BSND"), case, turned)
    assert_same_sequences(got, [*together[:count][::-1], *together[count:][::-1]])


@each_case
def test_repetition(case: Case) -> None:
    for _ in range(5):
        assert_same_sequences(by_sequence(dense_arguments(case.build(), "TND"), case), plain(case))


def test_calls_from_several_threads_at_once() -> None:
    """Calls share the engine's threads and must not share anything else."""
    arguments = [dense_arguments(case.build(), "TND") for case in CASES]
    wanted = [plain(case) for case in CASES]

    def work(turn: int) -> None:
        for position in range(len(CASES)):
            chosen = (position + turn) % len(CASES)
            assert_same_sequences(by_sequence(arguments[chosen], CASES[chosen]), wanted[chosen])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(12)))


def test_calls_queued_on_streams() -> None:
    device = acl_attn.Device(0)
    with device.create_stream() as first, device.create_stream() as second:
        results = []
        for case in CASES:
            arguments = dense_arguments(case.build(), "TND")
            for stream in (first, second, first):
                options = {**case.attributes, "softmax_lse_flag": True, "stream": stream}
                results.append((case, acl_attn.fused_infer_attention_score(**arguments, **options)))
        first.synchronize()
        second.synchronize()
    for case, (out, lse) in results:
        want, want_lse = run(dense_arguments(case.build(), "TND"), case)
        assert_same_bits(out, want)
        assert_same_bits(lse, want_lse)
