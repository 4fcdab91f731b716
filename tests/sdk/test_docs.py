# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""What the documentation promises about this repository."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_feature_table_names_tests_that_are_there() -> None:
    named = re.findall(r"``(\S+/test_\w+\.py)``", (ROOT / "docs/reference/support.rst").read_text())
    assert named
    for path in named:
        assert "def test_" in (ROOT / "tests" / path).read_text(), path


def test_every_feature_has_its_row() -> None:
    table = (ROOT / "docs/reference/support.rst").read_text()
    of_all = {"test_sample_scenarios.py", "test_attention_keywords.py"}
    for path in (ROOT / "tests/ops/features").glob("test_*.py"):
        assert path.name in table or path.name in of_all, path
