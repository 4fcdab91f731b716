# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Builds and runs docs/examples/embedding."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ..example_programs import EXAMPLES, build, run, run_any


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("embedding", tmp_path_factory.mktemp("embedding"))


def test_two_threads_compute_on_the_programs_memory_and_nothing_is_left(program: Path) -> None:
    result = run(program, sys.executable, EXAMPLES / "embedding")
    assert "thread 0: worst error" in result.stdout
    assert "thread 1: worst error" in result.stdout
    assert "live objects after Python has gone: 0" in result.stdout
    assert result.stderr == ""


def test_it_is_stable(program: Path) -> None:
    """Start-up and shutdown races show up now and then only."""
    for _ in range(5):
        run(program, sys.executable, EXAMPLES / "embedding")


def test_an_exception_in_python_ends_as_a_message(program: Path, tmp_path: Path) -> None:
    (tmp_path / "attention_job.py").write_text("def attend(*arguments):\n    raise RuntimeError('no luck today')\n")
    result = run_any(program, sys.executable, tmp_path)
    assert result.returncode == 1
    assert "no luck today" in result.stderr
    assert "embedding: thread 0: Python raised an exception" in result.stderr
