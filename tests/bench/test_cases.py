# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Every case that the benchmark measures: what it counts is right, and so is what the engine makes of it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from acl_attn.bench.cases import Case
from acl_attn.bench.engine import prepare
from acl_attn.bench.groups import GROUPS, SUITES, groups_of
from acl_attn.bench.truth import attend, fill

from .small import entries_of, small

CASES = list(dict.fromkeys(entry.case for entry in entries_of(GROUPS)))


@pytest.mark.parametrize("case", [small(case) for case in CASES], ids=[case.name for case in CASES])
def test_every_case_runs_and_is_right(case: Case) -> None:
    prepared = prepare(case)
    try:
        prepared.call()
        rows = prepared.rows()
    finally:
        prepared.close()
    assert len(rows) == len(prepared.expected) == len(case.positions()) > 0
    largest = max(np.abs(row).max() for row in prepared.expected)
    for row, expected in zip(rows, prepared.expected, strict=True):
        np.testing.assert_allclose(row, expected, rtol=0, atol=8e-3 * largest)


def test_names_tell_cases_apart() -> None:
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_survives_json(case: Case) -> None:
    assert Case.from_dict(json.loads(json.dumps(case.as_dict()))) == case


def test_every_suite_measures_something() -> None:
    for suite in SUITES:
        assert entries_of(tuple(groups_of(suite))), suite
    assert len(entries_of(tuple(groups_of("quick")))) < len(entries_of(tuple(groups_of("full")))) // 2


@pytest.mark.parametrize(
    ("case", "flops", "kv_bytes"),
    [
        (Case(1, 2, 1, 3, 5, 16), 4 * 16 * 2 * 15, 2 * 5 * 16 * 2),
        (Case(1, 2, 1, 3, 5, 16, causal=True), 4 * 16 * 2 * (3 + 4 + 5), 2 * 5 * 16 * 2),
        (Case(1, 2, 1, 3, 5, 16, feature="mask"), 4 * 16 * 2 * (3 + 4 + 5), 2 * 5 * 16 * 2),
        (Case(1, 1, 1, 600, 600, 16, feature="window"), 4 * 16 * (512 * 513 // 2 + 88 * 512), 2 * 600 * 16 * 2),
        (Case(3, 8, 1, 1, 10, 512, feature="mla_decode"), 3 * 8 * 10 * 2 * (576 + 512), 3 * 10 * 576 * 2),
        (Case(1, 1, 1, 1, 10, 128, feature="mla_prefill"), 10 * 2 * (192 + 128), 10 * (192 + 128) * 2),
        (Case(2, 1, 1, 1, 10, 128, cache="int4"), 2 * 10 * 4 * 128, 2 * 10 * 2 * 128 / 2),
        (Case(2, 1, 1, 4, 9, 8, causal=True, lengths=((4, 4), (1, 9))), (10 + 9) * 32, 13 * 2 * 8 * 2),
        # A token at 299 sees 128 original rows and 75 compressed ones, of which a list names 20.
        (Case(1, 1, 1, 1, 300, 512, sparse="prefix", ratio=4), 4 * 512 * 203, 203 * 1024),
        (Case(1, 1, 1, 1, 300, 512, sparse="lists", ratio=4, topk=20), 4 * 512 * 148, 148 * 1024),
        (Case(1, 1, 1, 2, 2, 512, sparse="window", is_packed=True), 4 * 512 * 3, 2 * 640),
    ],
)
def test_work_is_counted_by_hand(case: Case, flops: float, kv_bytes: float) -> None:
    assert case.flops == flops
    assert case.kv_bytes == kv_bytes


def test_no_two_rows_of_the_data_are_equal() -> None:
    rows = fill((10_000, 128), "fp32", 1)
    assert len(np.unique(rows[:, :4], axis=0)) == len(rows)
    assert abs(float(rows.std()) - 1) < 0.01


def test_the_truth_of_a_row() -> None:
    query, key, value = np.array([1.0]), np.array([[0.0], [np.log(3.0)]]), np.array([[1.0], [5.0]])
    assert attend(query, key, value, 1.0) == pytest.approx([4.0])
    assert attend(query, key, value, 1.0, bias=np.array([np.log(3.0), 0.0])) == pytest.approx([3.0])
    assert attend(query, key, value, 1.0, sink=np.log(4.0)) == pytest.approx([2.0])
