# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The report of what the kernels have been shown to compute, as a page of the documentation."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .coverage import Coverage

HEADER = """\
..
   SPDX-FileCopyrightText: The acl_attn authors
   SPDX-License-Identifier: Apache-2.0

Coverage of the kernels
=======================

**Nothing here has run on a real NPU.** This page is generated: {cases} random legal calls of the fused operator, and
as many of the sparse operators (seeds {first} to {last}), each on target `sim` with the simulator's checks on, for both
generations of AI cores, and held against the float64 reference and the host target. To make it again::

    python -m tests.ascendc.coverage --cases {cases} --first-seed {first} --report docs/develop/kernel_coverage.rst

"""
PAIRS = """\
A pair is a value of one feature together with a value of another, such as a layout and a cache. The features and their
values are listed below, with the number of computed calls that had them.

"""


def report_text(found: Mapping[str, Coverage], cases: int, first_seed: int) -> str:
    """Write the page."""
    text = HEADER.format(cases=cases, first=first_seed, last=first_seed + cases - 1) + _summary(found) + PAIRS
    for name, coverage in found.items():
        text += _title(f"{name}: refused")
        if coverage.refusals:
            text += "Phase one refuses these with the words `..., which no kernel instantiation serves`:\n\n"
        refused = "".join(_item(f"{words}: {count} calls") for words, count in sorted(coverage.refusals.items()))
        text += (refused or "None.\n") + "\n"
        text += _title(f"{name}: computed")
        for feature, values in sorted(coverage.values.items()):
            listed = ", ".join(f"{value} ({count})" for value, count in sorted(values.items()))
            text += _item(f"**{feature}**: {listed}")
        text += "\n"
    return text.rstrip() + "\n"


def _summary(found: Mapping[str, Coverage]) -> str:
    rows = [
        ["calls", *found],
        ["computed, equal and without a finding", *(str(c.computed) for c in found.values())],
        ["failed", *(str(len(c.failures)) for c in found.values())],
        ["refused", *(str(c.refusals.total()) for c in found.values())],
        ["pairs of features in those computed", *(str(len(c.covered)) for c in found.values())],
        ["pairs of features in all of them", *(str(len(c.drawn)) for c in found.values())],
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    rule = "  ".join("=" * width for width in widths)
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([rule, lines[0], rule, *lines[1:], rule]) + "\n\n"


def _title(words: str) -> str:
    return f"{words}\n{'-' * len(words)}\n\n"


def _item(words: str) -> str:
    return textwrap.fill(words, 118, initial_indent="* ", subsequent_indent="  ", break_long_words=False) + "\n"
