# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""A whole run of the benchmark, and the JSON that it is stored as."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import acl_attn

from .contestants import ENGINE
from .groups import Group, groups_of
from .measure import Options, Record, measure, measure_limits
from .verdicts import judge

__all__ = ["FORMAT", "run_benchmark", "select"]

FORMAT = 1  # of the JSON


def select(suite: str, only: str = "") -> list[Group]:
    """Give the groups of a suite, with those cases alone whose name contains a text."""
    groups = (
        replace(group, entries=tuple(entry for entry in group.entries if only in entry.case.name))
        for group in groups_of(suite)
    )
    return [group for group in groups if group.entries]


def run_benchmark(
    groups: Sequence[Group], threads: Sequence[int], options: Options, *, with_overhead: bool = False
) -> dict[str, Any]:
    """Measure everything.

    Parameters
    ----------
    groups : sequence of Group
        What to measure.
    threads : sequence of int
        With how many threads, one after the other.
    options : Options
        How.
    with_overhead : bool
        Whether to measure what a call costs around its arithmetic.

    Returns
    -------
    dict
        ``format``, ``is_complete`` (false after an interrupt), ``date``, ``command``, ``machine``, ``engine``
        (versions and instruction set), ``limits`` (a list: ``threads``, ``rates`` in operations or bytes a second),
        ``contestants`` (what each says of itself, or why it is absent), ``records`` (see `measure`), ``verdicts`` (see
        `judge`) and ``overhead``.
    """
    machine = _machine()
    limits: dict[int, dict[str, float]] = {}
    records: list[Record] = []
    contestants: dict[str, dict[str, Any]] = {}
    is_complete = True
    for count in threads:
        options.progress(f"limits, {count} thread{'s' * (count > 1)}")
        limits[count] = measure_limits(count, options)
        made, about, is_complete = measure(groups, count, options)
        records += made
        contestants |= about
        if not is_complete:
            break
    overhead = _overhead() if with_overhead and is_complete else []
    return {
        "format": FORMAT,
        "is_complete": is_complete,
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "command": ["acl-attn", *(_short(part) for part in sys.argv[1:])],
        "machine": machine | {"load_after": os.getloadavg()[0]},
        "engine": contestants.get(ENGINE, {}).get("versions", {}),
        "limits": [{"threads": count, "rates": rates} for count, rates in limits.items()],
        "contestants": contestants,
        "records": records,
        "verdicts": judge(groups, records, limits),
        "overhead": overhead,
    }


def _short(argument: str) -> str:
    """Leave out where files lie: results are published."""
    name, sign, path = argument.rpartition("=")
    return f"{name}{sign}{Path(path).name}" if "/" in path else argument


def _machine() -> dict[str, Any]:
    environment = acl_attn.environment()
    return {
        "cpu": _cpu_model(),
        "processors": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        "features": list(environment.cpu_features),
        "python": platform.python_version(),
        "load_before": os.getloadavg()[0],
    }


def _cpu_model() -> str:
    """Give the processor's name, family and model: hypervisors shorten the name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    found: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        found.setdefault(name.strip(), value.strip())
    numbers = ", ".join(f"{name} {found[name]}" for name in ("cpu family", "model") if name in found)
    return f"{found.get('model name', platform.machine())} ({numbers})" if numbers else platform.machine()


def _overhead() -> list[dict[str, Any]]:
    """Measure in a fresh process."""
    done = subprocess.run(
        [sys.executable, "-m", "acl_attn.bench.overhead"], check=True, capture_output=True, text=True,
        cwd=Path(acl_attn.__file__).parents[1],
    )  # fmt: skip
    figures: list[dict[str, Any]] = json.loads(done.stdout)
    return figures
