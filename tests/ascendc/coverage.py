# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Runs random legal calls of each operator: ``python -m tests.ascendc.coverage --cases 600 --report FILE``.

Each call runs on target sim, with the simulator's checks on, for both generations of AI cores, and is held against the
float64 reference and the host target. The report says which combinations of features were covered, and which calls the
kernels refuse with what words. Nothing of this runs on an NPU.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as in conftest

from acl_attn.testing.generate import ReplayedSource, draw_call
from acl_attn.testing.sparse.generate import draw_sparse_case

from .features import features, pairs, sparse_features
from .report import report_text

CHIPS = {"dav-2201": "Ascend910B1", "dav-3510": "Ascend950PR_9599"}
OPERATORS = ("fused", "sparse")


@dataclass
class Coverage:
    """What came of the calls on one generation."""

    computed: int = 0
    failures: list[str] = field(default_factory=list)
    refusals: Counter[str] = field(default_factory=Counter)
    values: dict[str, Counter[str]] = field(default_factory=dict)  # of computed calls, by feature
    covered: set[str] = field(default_factory=set)  # pairs
    drawn: set[str] = field(default_factory=set)  # pairs, of refused calls, too

    def to_json(self) -> str:
        """As one line."""
        return json.dumps({**vars(self), "covered": sorted(self.covered), "drawn": sorted(self.drawn)})

    @classmethod
    def from_json(cls, line: str) -> Coverage:
        """Read what another process has written."""
        made = cls(**json.loads(line))
        made.refusals = Counter(made.refusals)
        made.values = {name: Counter(values) for name, values in made.values.items()}
        made.covered, made.drawn = set(made.covered), set(made.drawn)
        return made


def cover(operator: str, first_seed: int, cases: int, seconds: float) -> Coverage:
    """Run calls in this process, whose environment says which chip it is."""
    from .kernel_checks import check_on_kernels, check_sparse_on_kernels

    draw: Any = draw_call if operator == "fused" else draw_sparse_case
    check: Any = check_on_kernels if operator == "fused" else check_sparse_on_kernels
    values_of: Any = features if operator == "fused" else sparse_features
    found, start = Coverage(), time.monotonic()
    for seed in range(first_seed, first_seed + cases):
        if time.monotonic() - start > seconds:
            break
        call = draw(ReplayedSource(seed=seed))
        names = {json.dumps(pair) for pair in pairs(values_of(call))}
        found.drawn |= names
        try:
            refusal = check(call)
        except Exception as problem:  # all of them are counted and shown
            found.failures.append(f"seed {seed}: {call!r}: {type(problem).__name__}: {problem}")
            continue
        if refusal:
            found.refusals[refusal] += 1
            continue
        found.computed += 1
        found.covered |= names
        for name, value in values_of(call).items():
            found.values.setdefault(name, Counter())[value] += 1
    return found


def cover_chip(
    operator: str, architecture: str, first_seed: int, cases: int, seconds: float = float("inf")
) -> Coverage:
    """Run calls in a process of their own, for one generation of AI cores."""
    environment: dict[str, Any] = {
        **os.environ,
        "ACL_ATTN_SOC_NAME": CHIPS[architecture],
        "ACL_ATTN_SIM_CHECKS": "1",
        "ACL_ATTN_PROFILE": "host",
    }
    command = [sys.executable, "-m", "tests.ascendc.coverage", "--worker", operator]
    command += ["--cases", str(cases), "--first-seed", str(first_seed), "--seconds", str(seconds)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return Coverage.from_json(done.stdout.splitlines()[-1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop each part after so many")
    parser.add_argument("--report", type=Path, help="file to write the report to")
    parser.add_argument("--worker", choices=OPERATORS, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.worker:
        sys.stdout.write(cover(chosen.worker, chosen.first_seed, chosen.cases, chosen.seconds).to_json() + "\n")
        return 0
    found = {
        f"{operator} on {name}": cover_chip(operator, name, chosen.first_seed, chosen.cases, chosen.seconds)
        for operator in OPERATORS
        for name in CHIPS
    }
    text = report_text(found, chosen.cases, chosen.first_seed)
    if chosen.report:
        chosen.report.write_text(text)
    else:
        sys.stdout.write(text)
    failures = [line for coverage in found.values() for line in coverage.failures]
    sys.stderr.write("".join(f"{line}\n" for line in failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
