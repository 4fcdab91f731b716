# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The short examples check their own results; here they are run."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..example_programs import EXAMPLES, build, run, run_script

# smollm2_chat.py has a file of its own.
SCRIPTS = sorted(path.name for path in EXAMPLES.glob("*.py") if path.name != "smollm2_chat.py")


def test_there_are_scripts() -> None:
    assert {"prefill.py", "paged_decode.py", "chunked_prefill.py", "context_parallel.py"} <= set(SCRIPTS)


@pytest.mark.parametrize("name", SCRIPTS)
def test_python_example(name: str) -> None:
    assert run_script(name).stdout


def test_two_phase_program_written_for_cann(tmp_path: Path) -> None:
    program = build("two_phase", tmp_path)
    assert run(program).stdout.rstrip().endswith("good")


def test_wrong_key_length_drops_the_prefix_and_the_example_says_so() -> None:
    output = run_script("chunked_prefill.py").stdout
    assert "first row of the chunk sees keys 0 .. 96\n" in output
    assert "off by" in output
