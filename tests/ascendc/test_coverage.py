# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""A part of the coverage that the documentation reports, with the same seeds each time."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ..python_program import run_python
from .coverage import CHIPS, OPERATORS, cover_chip

CASES = {"fused": 100, "sparse": 30}
REPORT = Path(__file__).parents[2] / "docs" / "develop" / "kernel_coverage.rst"


@pytest.mark.parametrize("architecture", CHIPS)
@pytest.mark.parametrize("operator", OPERATORS)
def test_random_calls_are_computed_or_refused_as_the_report_says(operator: str, architecture: str) -> None:
    cases = CASES[operator]
    found = cover_chip(operator, architecture, 0, cases)
    assert not found.failures, "\n".join(found.failures)
    assert found.computed + found.refusals.total() == cases
    assert found.computed > cases // 3, "most calls are refused: the kernels lack what they had"
    section = REPORT.read_text().split(f"{operator} on {architecture}: refused\n")[1].split(": computed\n")[0]
    known = " ".join(section.split())
    unknown = [words for words in found.refusals if f"* {words}: " not in known]
    assert not unknown, "make the report again"


def test_the_simulator_is_told_what_memory_a_call_has(tmp_path: Path) -> None:
    """Without it, accesses outside of the operands would go unnoticed, here and everywhere."""
    report = tmp_path / "launches.json"
    program = """
import numpy as np
import acl_attn
acl_attn.use("sim")
q, k, v = (np.ones((1, 20, 2, 64), np.float16) for _ in range(3))
acl_attn.attention(q, k, v)
"""
    run_python(program, ACL_ATTN_SIM_REPORT=str(report), ACL_ATTN_SIM_CHECKS="1", ACL_ATTN_PROFILE="host")
    (launch,) = map(json.loads, report.read_text().splitlines())
    assert launch["watched_buffers"] >= len(["query", "key", "value", "attentionOut", "the plan", "workspace"])


def test_the_report_says_what_it_is_no_report_of() -> None:
    text = " ".join(REPORT.read_text().split())
    assert "Nothing here has run on a real NPU" in text
    for operator in OPERATORS:
        for architecture in CHIPS:
            assert f"{operator} on {architecture}: computed" in text
    assert re.search(r" failed( 0){4} refused ", text)
