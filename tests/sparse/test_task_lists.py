# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Every word of the task lists of random calls, for many numbers of cores, against a slow model of the rules."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .slow_metadata import Call, Sequence, task_list

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("chip", ["Ascend910B1", "Ascend910B3", "Ascend950DT_9591"])
def test_lists_of_a_chip(chip: str) -> None:
    """A process for each chip: its name is looked at once."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.sparse.task_list_program", "150"],
        cwd=ROOT, env={**os.environ, "ACL_ATTN_SOC_NAME": chip, "ACL_ATTN_PROFILE": "host"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lists, cores, reductions = (int(word) for word in done.stdout.split() if word.isdigit())
    assert lists == 150
    assert cores > 15
    assert reductions > 5


def test_the_model_cuts_a_long_row_for_six_cores() -> None:
    """One decode query over 300000 tokens: 128 original columns and 2343 compressed rows, in blocks of 512."""
    call = Call([Sequence(1, 300000, 2343, 96)], 64, 24, 48, is_a5=False, cuts_rows=True, has_cmp=True, ratio=128)
    words = task_list(call)
    starts = [words[9 * core + 1 : 9 * core + 8].tolist() for core in range(7)]
    assert starts[:6] == [[0, 0, s, *((0, 0, s + 1) if s < 5 else (1, 0, 0)), s] for s in range(6)]
    assert starts[6] == [0] * 7
    assert [words[324 + 8 * v :][:8].tolist() for v in range(32)] == [[1, 0, 0, 0, 6, 2 * v, 2, 0] for v in range(32)]
    assert not words[324 + 8 * 32 :].any()


def test_the_model_pairs_cores_for_many_heads() -> None:
    sequences = [Sequence(1, 2050, 512, 2), Sequence(2, 600, 150)]
    words = task_list(Call(sequences, 128, 4, 8, has_cmp=True, cmp_topk=512, ratio=4))
    assert words[:36].reshape(4, 9).tolist() == [[1, 0, 0, 0, 1, 0, 0, 0, 6]] * 2 + [[1, 1, 0, 0, 2, 0, 0, 0, 6]] * 2
