# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The ``acl-attn sim`` command: what a call would cost on an NPU, by the simulator's counts."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .errors import invalid
from .scenarios import SCENARIOS

__all__ = ["add_sim_command", "report_lines"]

# One chip of each generation, by the name that the library knows it by.
_CHIPS = {"910b": "Ascend910B1", "950": "Ascend950DT_9581"}

# This package, not one of that name in the working directory, which "" stands for.
_START = "import sys; sys.path[:] = filter(None, sys.path); "
_MAKE = _START + "from acl_attn.scenarios import SCENARIOS; SCENARIOS[sys.argv[1]]()"
_RUN = _START + "from acl_attn.cli import main; sys.exit(main(['run', sys.argv[1]]))"


def add_sim_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``sim``."""
    sim = commands.add_parser(
        "sim", help="count what the NPU kernels do for a call, and estimate times; runs on no NPU"
    )
    sim.add_argument(
        "call", help=f"a call stored by acl_attn.save_call, with arrays (.npz), or one of {', '.join(SCENARIOS)}"
    )
    sim.add_argument("--chip", choices=_CHIPS, default="950", help="the chip to count for; default: 950")
    sim.add_argument("--compute", action="store_true", help="compute too, instead of only counting; slow")
    sim.add_argument("--trace", type=Path, metavar="FILE", help="write one core's timeline for Perfetto or Chrome")
    sim.add_argument("--core", type=int, default=0, help="the core that --trace is about; default: 0")
    sim.add_argument("--json", action="store_true", help="print the counts as JSON")
    sim.set_defaults(run=_sim)


def _sim(options: argparse.Namespace) -> int:
    if options.call not in SCENARIOS and not Path(options.call).is_file():
        raise invalid("call", f"a file, or one of {', '.join(SCENARIOS)}", options.call)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report")
        status, problem = _run_apart(options, report)
        launches = [json.loads(line) for line in report.read_text().splitlines()] if report.exists() else []
    if status != 0 or not launches:
        print(f"acl-attn sim: {problem.removeprefix('acl-attn run: ') or 'no kernel was launched'}", file=sys.stderr)
        return 1
    if options.json:
        print(json.dumps(launches, indent=2))
    else:
        print("\n\n".join("\n".join(report_lines(launch)) for launch in launches))
    return 0


def _run_apart(options: argparse.Namespace, report: Path) -> tuple[int, str]:
    """Make the call in a process of its own: a process has one target, and this one may have chosen already."""
    environment = {
        **os.environ,
        "ACL_ATTN_TARGET": "sim",
        "ACL_ATTN_PROFILE": "host",
        "ACL_ATTN_SOC_NAME": _CHIPS[options.chip],
        "ACL_ATTN_SIM_REPORT": str(report),
        "ACL_ATTN_SIM_CORE": str(options.core),
    }
    environment.pop("ACL_ATTN_SIM_CHECKS", None)  # which would not leave a dry run dry
    if not options.compute:
        environment["ACL_ATTN_SIM_DRY"] = "1"
    if options.trace is not None:
        environment["ACL_ATTN_SIM_TRACE"] = str(options.trace)
    stored = options.call not in SCENARIOS
    done = subprocess.run(  # noqa: S603 - this interpreter and this package
        [sys.executable, "-c", _RUN if stored else _MAKE, options.call],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = (done.stderr or done.stdout).strip().splitlines()
    return done.returncode, lines[-1] if lines else ""


def report_lines(launch: dict[str, Any]) -> Iterator[str]:
    """Put the counts of one kernel launch into words.

    Parameters
    ----------
    launch : dict
        One line of what the simulator reports (``ACL_ATTN_SIM_REPORT``), as JSON reads it.

    Yields
    ------
    str
        A line of a table.
    """
    limits = launch["limits"]
    cube, memory = limits["cube_microseconds"], limits["memory_microseconds"]
    yield f"kernel      {launch['kernel']} on {launch['cores']} cores of {launch['chip']}"
    yield f"estimate    {launch['microseconds']:.1f} us; bottleneck: {launch['bottleneck']}"
    yield f"limits      cube {cube:.1f} us, memory {memory:.1f} us; {limits['share_of_limit']:.0%} of the higher one"
    yield f"            {launch['note']}"
    yield ""
    yield f"{'pipe':14}{'operations':>12}{'busy cycles':>14}{'utilisation':>13}{'busiest':>9}{'sets':>9}{'waits':>9}"
    for name, pipe in launch["pipes"].items():
        yield (
            f"{name:14}{pipe['operations']:12}{pipe['busy_cycles']:14}{pipe['utilisation']:13.1%}"
            f"{pipe['utilisation_of_busiest']:9.1%}{pipe['flags_set']:9}{pipe['flags_waited_for']:9}"
        )
    yield ""
    yield f"{'moved':14}{'bytes':>16}{'pieces':>12}"
    for name, moved in launch["moved"].items():
        yield f"{name:14}{moved['bytes']:16}{moved['bursts']:12}"
    yield f"{'from HBM':14}{launch['hbm_bytes']:16}"
    yield ""
    yield f"{'memory':14}{'in use':>16}{'of':>12}"
    for name, mark in launch["high_water"].items():
        yield f"{name:14}{mark['bytes']:16}{mark['of']:12}"
    yield ""
    flags = launch["flags_between_cores"]
    yield f"products    {launch['macs']} multiply-adds in {launch['cube_cycles']} cycles of the cube"
    yield f"vector      {launch['vector_repeats']} instructions of 256 bytes"
    yield f"flags       {flags['set']} set between cores, {flags['waited_for']} waited for"
