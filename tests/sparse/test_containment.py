# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""What a query may not see must not change a bit of it: gaps, unused blocks, rows outside window and lists."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acl_attn.testing.compare import assert_same_bits
from acl_attn.testing.sparse.build import SparseBatch, arguments, make_batch, sequences_of
from acl_attn.testing.sparse.cases import SparseCase

from .brute_force import columns
from .runs import assert_same_sequences, by_sequence, plain, run
from .suites import STORAGE, case_of

POISONS = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf, "largest": 65504.0}
LENGTHS = {"q_lengths": (40, 2, 0), "kv_lengths": (300, 700, 9)}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("poison", POISONS)
@pytest.mark.parametrize("storage", STORAGE)
def test_memory_that_belongs_to_no_token(storage: str, poison: str, dtype: str) -> None:
    case = case_of("csa", storage, dtype=dtype, **LENGTHS)
    batch = make_batch(case)
    given = arguments(case, batch)
    for name in ("q", "ori_kv", "cmp_kv"):
        unused = np.isnan(given[name])
        if name != "q":
            assert unused.any()
        given[name][unused] = POISONS[poison]
    out, lse = run(given)
    got = [np.ascontiguousarray(part) for part in (*sequences_of(case, out), *sequences_of(case, lse))]
    assert_same_sequences(got, plain(case))


@pytest.mark.parametrize("kv_format", ["float8_e4m3fn", "hifloat8"])
@pytest.mark.parametrize("fill", [0x00, 0x7F, 0x80, 0xFF])
def test_padding_of_packed_rows_and_unused_slots(fill: int, kv_format: str) -> None:
    case = case_of("csa", "tnd_fused", kv_format=kv_format, **LENGTHS)
    given = arguments(case)
    for name in ("ori_kv", "cmp_kv"):
        octets = given[name].view(np.uint8)
        unused = (octets == 0xFF).all(axis=-1)
        assert unused.any()
        octets[unused] = fill
        octets[..., 583:] = fill
    out, lse = run(given)
    got = [np.ascontiguousarray(part) for part in (*sequences_of(case, out), *sequences_of(case, lse))]
    assert_same_sequences(got, plain(case))


@pytest.mark.parametrize("tail", [-1, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("kv_format", ["", "hifloat8"])
def test_block_table_entries_that_no_query_needs(kv_format: str, tail: int) -> None:
    case = case_of("csa", "tnd_paged", kv_format=kv_format, **LENGTHS)
    given = arguments(case)
    for name in ("ori_block_table", "cmp_block_table"):
        assert (given[name] < 0).any()
        given[name][given[name] < 0] = tail
    # Blocks ahead of every query's window, too.
    needed = {j // case.block_size for i in range(2) for side, j in columns(given, 1, i, int(i + 40)) if side == "ori"}
    spare = [block for block in range(given["ori_block_table"].shape[1]) if block not in needed]
    assert min(needed) > 3
    given["ori_block_table"][1, spare] = tail
    # A sequence without queries needs none at all.
    given["ori_block_table"][2], given["cmp_block_table"][2] = tail, tail
    out, lse = run(given)
    got = [np.ascontiguousarray(part) for part in (*sequences_of(case, out), *sequences_of(case, lse))]
    assert_same_sequences(got, plain(case))


def seen_by(case: SparseCase) -> dict[str, list[list[set[int]]]]:
    """For each stream, sequence and query: the rows that it sees."""
    given = arguments(replace(case, layout="TND", q_room=0))
    found: dict[str, list[list[set[int]]]] = {"ori": [], "cmp": []}
    start = 0
    for b, sq in enumerate(case.q_lengths):
        for rows in found.values():
            rows.append([])
        for i in range(sq):
            pairs = list(columns(given, b, i, start + i))
            for side, rows in found.items():
                rows[b].append({j for stream, j in pairs if stream == side})
        start += sq
    return found


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("poison", ["nan", "inf", "-inf"])
@pytest.mark.parametrize(
    "mode", ["swa", "swa_short_window", "csa", "csa_ahead", "csa_no_cmp_mask", "hca_4", "both_lists"]
)
def test_rows_that_some_queries_see_and_others_do_not(mode: str, poison: str, dtype: str) -> None:
    lengths: dict[str, Any] = {"q_lengths": (40, 2), "kv_lengths": (300, 150)}
    case = case_of(mode, "tnd", dtype=dtype, q_room=0, kv_room=0, **lengths)
    batch, seen = make_batch(case), seen_by(case)
    rng = np.random.default_rng(3)
    broken: dict[str, list[Any]] = {"ori": [], "cmp": []}
    untouched = [np.ones(sq, bool) for sq in case.q_lengths]
    for side, changed_rows in broken.items():
        for b, rows in enumerate(getattr(batch, side)):
            changed = rows.copy()
            common = set.intersection(*seen[side][b])
            hidden = sorted(set(range(len(rows))) - common)
            chosen = rng.choice(hidden, size=min(5, len(hidden)), replace=False) if hidden else []
            for j in chosen:
                changed[j, 0, rng.integers(512)] = POISONS[poison]
                untouched[b] &= np.array([j not in row for row in seen[side][b]])
            changed_rows.append(changed)
    bad = replace(batch, ori=tuple(broken["ori"]), cmp=tuple(broken["cmp"]))
    got, want = by_sequence(case, bad), by_sequence(case, batch)
    assert sum(int(rows.sum()) for rows in untouched) > 0
    assert_same_sequences(
        [part[untouched[i % 2]] for i, part in enumerate(got)], [part[untouched[i % 2]] for i, part in enumerate(want)]
    )
    # Queries that do see them must not hide it.
    for b, rows in enumerate(untouched):
        for i in np.flatnonzero(~rows):
            assert not np.isfinite(got[b][i].astype(np.float32)).all()


@pytest.mark.parametrize("kv_format", ["", "float8_e4m3fn"])
def test_inputs_are_left_alone(kv_format: str) -> None:
    given = arguments(case_of("csa", "tnd_fused", kv_format=kv_format))
    before = {name: part.tobytes() for name, part in given.items() if isinstance(part, np.ndarray)}
    run(given)
    assert before == {name: part.tobytes() for name, part in given.items() if isinstance(part, np.ndarray)}


@pytest.mark.parametrize("before", [False, True], ids=["after", "before"])
def test_not_a_byte_beyond_the_tensors(before: bool) -> None:
    program = Path(__file__).with_name("guarded_program.py")
    done = subprocess.run(
        [sys.executable, program, "before" if before else "after"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "calls compared" in done.stdout


def test_rows_beyond_what_counts_become_0() -> None:
    case = case_of("csa", "bsnd", q_room=4, **LENGTHS)
    out, lse = run(arguments(case), attn_out=np.full((3, 44, 8, 512), np.nan, np.float16))
    for b, sq in enumerate(case.q_lengths):
        assert not out[b, sq:].any()
        assert not lse[b, 0, sq:].any()


def only(batch: SparseBatch, sequence: int) -> SparseBatch:
    """Keep one sequence."""
    kept = {name: (part[sequence],) for name, part in vars(batch).items() if name != "sinks"}
    return SparseBatch(sinks=batch.sinks, **kept)


def test_a_neighbour_of_nan_does_not_matter() -> None:
    case = case_of("csa", "tnd_paged", **LENGTHS)
    batch = make_batch(case)
    poisoned = replace(batch, query=(batch.query[0] * np.float16(np.nan), *batch.query[1:]))
    got, want = by_sequence(case, poisoned), by_sequence(case, batch)
    assert np.isnan(got[0]).all()
    for part in (1, 4):
        assert_same_bits(got[part], want[part])
