# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""What a row may not see must not change a bit of it: padding, unused slots, hidden keys, memory beyond the tensors."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import acl_attn
from acl_attn.testing.cases import Case
from acl_attn.testing.compare import assert_same_bits
from acl_attn.testing.layouts import LAYOUTS, dense_arguments, is_packed, to_tensor
from acl_attn.testing.pages import CACHES, Paging, paged_arguments
from acl_attn.testing.suites import FEATURES, HEADS

from .runs import assert_same_sequences, by_sequence, check, plain

POISONS = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf, "largest": 65504.0}
CASE = Case("contained", (70, 1, 4), (300, 700, 9), **HEADS["gqa3"], sparse_mode=3)


@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
@pytest.mark.parametrize("poison", POISONS)
@pytest.mark.parametrize("layout", [layout for layout in LAYOUTS if not is_packed(layout)])
def test_padding(layout: str, poison: str, dtype: str) -> None:
    case = CASE.with_dtype(dtype)
    batch = case.build()
    arguments = dense_arguments(batch, layout, q_room=75, kv_room=711)
    for name in ("query", "key", "value"):
        unused = np.isnan(arguments[name])
        assert unused.any()
        arguments[name][unused] = POISONS[poison]
    assert_same_sequences(by_sequence(arguments, case), plain(case))


@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
@pytest.mark.parametrize("poison", POISONS)
@pytest.mark.parametrize("cache", CACHES)
def test_unused_slots_and_blocks(cache: str, poison: str, dtype: str) -> None:
    case = CASE.with_dtype(dtype)
    arguments = paged_arguments(case.build(), "TND", Paging(cache, 64, spare_blocks=5))
    for name in ("key", "value"):
        unused = np.isnan(arguments[name])
        assert unused.any()
        arguments[name][unused] = POISONS[poison]
    assert_same_sequences(by_sequence(arguments, case), plain(case))


@pytest.mark.parametrize("tail", [-1, 2147483647, -2147483648])
def test_block_table_entries_beyond_the_length_are_not_looked_at(tail: int) -> None:
    arguments = paged_arguments(CASE.build(), "TND", Paging("BnNBsD", 64, spare_columns=4))
    arguments["block_table"][arguments["block_table"] < 0] = tail
    assert_same_sequences(by_sequence(arguments, CASE), plain(CASE))


@pytest.mark.parametrize("poison", ["nan", "inf", "-inf"])
@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
@pytest.mark.parametrize(
    "case",
    [
        Case("window", (70, 1, 4), (300, 700, 90), **HEADS["gqa3"], sparse_mode=4, pre_tokens=20, next_tokens=-1),
        Case("causal", (70, 100, 4), (300, 40, 90), **HEADS["mha"], sparse_mode=3),
        Case("mask", (70, 1, 4), (300, 700, 90), **HEADS["mqa"], sparse_mode=1, mask=0.7),
        Case("decode", (1, 2), (1500, 700), **HEADS["gqa3"], sparse_mode=1, mask=0.7),
    ],
    ids=lambda case: case.name,
)
def test_hidden_keys(case: Case, dtype: str, poison: str) -> None:
    """Keys that some rows see and others do not: those that do not must keep every bit."""
    from acl_attn.reference.visibility import visible_keys

    case = case.with_dtype(dtype)
    batch = case.build()
    generator = np.random.default_rng(5)
    key, value, untouched = [], [], []
    for sequence, (k, v) in enumerate(zip(batch.key, batch.value, strict=True)):
        visible = visible_keys(
            len(batch.query[sequence]),
            len(k),
            sparse_mode=case.sparse_mode,
            pre_tokens=case.pre_tokens,
            next_tokens=case.next_tokens,
            hidden=None if batch.hidden is None else batch.hidden[sequence],
        )
        # Among the keys that not every row sees, so that there is a row whose result may not change.
        hidden_somewhere = np.flatnonzero(~visible.all(axis=0))
        chosen = generator.choice(hidden_somewhere, size=min(7, len(hidden_somewhere)), replace=False)
        key.append(k.copy())
        value.append(v.copy())
        key[-1][chosen, :, :3] = POISONS[poison]
        value[-1][chosen, :, -3:] = POISONS[poison]
        untouched.append(~visible[:, chosen].any(axis=1))
    bad = replace(batch, key=tuple(key), value=tuple(value))
    got, want = by_sequence(dense_arguments(bad, "TND"), case, bad), plain(case)
    count = len(untouched)
    assert sum(int(rows.sum()) for rows in untouched) > 0
    assert_same_sequences(
        [part[untouched[i % count]] for i, part in enumerate(got)],
        [part[untouched[i % count]] for i, part in enumerate(want)],
    )
    # Rows that do see them must not hide it.
    for sequence in range(count):
        if not untouched[sequence].all():
            assert not np.isfinite(got[sequence][~untouched[sequence]].astype(np.float32)).all()


@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
@pytest.mark.parametrize("where", ["key", "value"])
@pytest.mark.parametrize("poison", ["nan", "inf"])
def test_visible_non_finite_values_arrive(poison: str, where: str, dtype: str) -> None:
    """Non-finite input is not swallowed: the same elements become non-finite as in the reference."""
    case = Case("arrives", (40, 1), (300, 700), dtype=dtype, **HEADS["gqa3"], sparse_mode=3)
    batch = case.build()
    broken = [part.copy() for part in getattr(batch, where)]
    for part in broken:
        part[len(part) // 2, 0, 5] = POISONS[poison]
    bad = replace(batch, **{where: tuple(broken)})
    arguments = dense_arguments(bad, "TND")
    out = acl_attn.fused_infer_attention_score(**arguments, **case.attributes)[0]
    want = acl_attn.reference.fused_infer_attention_score(**arguments, **case.attributes)[0]
    got = out.astype(np.float64)
    np.testing.assert_array_equal(np.isfinite(got), np.isfinite(want))


def test_values_overflow_to_infinity_only_where_they_must() -> None:
    case = Case("large", (3, 40), (40, 300), spread=1.0)
    batch = case.build()
    large = replace(batch, value=tuple((np.sign(v) * np.float16(65504)).astype(v.dtype) for v in batch.value))
    check(dense_arguments(large, "TND"), case)


@pytest.mark.parametrize("before", [False, True], ids=["after", "before"])
def test_not_a_byte_beyond_the_tensors(before: bool) -> None:
    program = Path(__file__).with_name("guarded_program.py")
    done = subprocess.run(
        [sys.executable, program, "before" if before else "after"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "calls compared" in done.stdout


def test_inputs_are_left_alone() -> None:
    arguments: dict[str, Any] = paged_arguments(CASE.build(), "TND", Paging("BnNBsD", 64))
    before = {name: part.tobytes() for name, part in arguments.items() if isinstance(part, np.ndarray)}
    by_sequence(arguments, CASE)
    assert before == {name: part.tobytes() for name, part in arguments.items() if isinstance(part, np.ndarray)}


def test_rows_beyond_the_lengths_are_written() -> None:
    """Output that holds garbage before the call holds zeros after it."""
    batch = CASE.build()
    arguments = dense_arguments(batch, "BSND", q_room=90)
    out = to_tensor(batch.query, "BSND", room=90)
    out.view(np.uint16)[...] = 0xFFFF
    acl_attn.fused_infer_attention_score(**arguments, **CASE.attributes, attention_out=out)
    for row, length in zip(out, batch.q_lengths, strict=True):
        assert not row[length:].view(np.uint16).any()


@pytest.mark.parametrize("case", FEATURES, ids=lambda case: case.name)
def test_workspace_may_hold_anything(case: Case) -> None:
    """Scratch memory is written before it is read, and neither beyond its end."""
    batch = case.build()
    q, k, v = (np.concatenate(part) for part in (batch.query, batch.key, batch.value))
    options: dict[str, Any] = {"q_lengths": batch.q_lengths, "kv_lengths": batch.kv_lengths}
    if case.sparse_mode == 3:
        options["mask"] = "causal"
    with acl_attn.Plan(q, k, v, **options) as plan:
        want = plan.run().copy()
        memory = np.full(plan.workspace_bytes + 4096, 0xFF, np.uint8)
        start = -memory.ctypes.data % 64
        workspace = memory[start : start + plan.workspace_bytes]
        assert_same_bits(plan.run(workspace=workspace), want)
        assert (memory[:start] == 0xFF).all()
        assert (memory[start + plan.workspace_bytes :] == 0xFF).all()
