# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""What a call costs around its arithmetic: ``python -m acl_attn.bench.overhead`` prints it as JSON."""

from __future__ import annotations

import ctypes
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

import acl_attn

from .process import library
from .timing import time_calls

__all__ = ["EAGER_US", "IMPORT_MS", "PHASE_ONE_US", "RUN_US", "import_seconds", "measure_overhead"]

# The bars: at most so much.
RUN_US, EAGER_US, PHASE_ONE_US, IMPORT_MS = 3, 12, 10, 100

_IMPORT = "import numpy, time; start = time.perf_counter(); import acl_attn; print(time.perf_counter() - start)"


def _figure(what: str, value: float, unit: str, bar: float) -> dict[str, Any]:
    return {"what": what, "value": value, "unit": unit, "bar": bar, "met": value <= bar}


def import_seconds() -> float:
    """Measure how long importing the package takes where NumPy is there already."""

    def once() -> float:
        done = subprocess.run(  # noqa: S603 - the command is our own
            [sys.executable, "-c", _IMPORT], check=True, capture_output=True, text=True,
            cwd=Path(acl_attn.__file__).parents[1],
        )  # fmt: skip
        return float(done.stdout)

    return statistics.median(once() for _ in range(7))


def _phase_one_seconds() -> float:
    bench = ctypes.CDLL(str(library()))
    bench.aclAttnBenchPhaseOne.restype = ctypes.c_double
    seconds = float(bench.aclAttnBenchPhaseOne(ctypes.c_int(200)))
    if seconds < 0:
        raise RuntimeError("phase one refuses the benchmark's call")
    return seconds


def measure_overhead() -> list[dict[str, Any]]:
    """Measure the smallest call, B=1, H=1, S=1, D=16, its parts, and the import.

    Returns
    -------
    list of dict
        ``what``, ``value``, ``unit``, ``bar`` and ``met``.
    """
    query, key, value = np.ones((3, 1, 1, 1, 16), np.float16)
    out = np.empty_like(query)
    device = acl_attn.Device(0, profile="host")
    device.make_current()
    with acl_attn.Plan(query, key, value, out=out) as plan:
        run = statistics.median(time_calls(plan.run, 21, 1.0).samples)
        given = statistics.median(time_calls(lambda: plan.run(query, key, value, out=out), 21, 1.0).samples)
    eager = statistics.median(time_calls(lambda: acl_attn.attention(query, key, value, out=out), 21, 1.0).samples)
    figures = [
        _figure("Plan.run, synchronisation included", run * 1e6, "us", RUN_US),
        _figure("Plan.run with other arrays", given * 1e6, "us", RUN_US),
        _figure("attention(), eager", eager * 1e6, "us", EAGER_US),
    ]
    for profile in ("host", "ascend950"):
        acl_attn.Device(0, profile=profile).make_current()
        figures.append(
            _figure(f"phase one in C, rules of {profile} included", _phase_one_seconds() * 1e6, "us", PHASE_ONE_US)
        )
    return [*figures, _figure("import acl_attn, beyond NumPy", import_seconds() * 1e3, "ms", IMPORT_MS)]


if __name__ == "__main__":
    os.environ.pop("ACL_ATTN_PROFILE", None)  # the profiles are chosen here
    sys.stdout.write(json.dumps(measure_overhead()))
