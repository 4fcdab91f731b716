# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The ``acl-attn`` command's answers about calls in files."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from .device import Device
from .dtypes import decode, dtype_name
from .lse import LSE
from .profiles import PROFILES, RULES
from .stored import load_call
from .stored.archive import carrier

__all__ = ["add_call_commands"]


def add_call_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``check`` and ``run``."""
    check = commands.add_parser("check", help="say what a product's rules have against a stored call")
    check.add_argument("file", type=Path, help="a call stored by acl_attn.save_call: .npz, or .json without arrays")
    check.add_argument("--profile", choices=PROFILES, help="whose rules; default: what is in force (acl-attn env)")
    check.add_argument("--rules", choices=RULES, help="which edition of them")
    check.add_argument(
        "--all", action="store_true", help="all problems, not only the one that the operator would report"
    )
    check.add_argument("--json", action="store_true", help="print the whole report as JSON")
    check.set_defaults(run=_check)
    run = commands.add_parser("run", help="make a stored call again")
    run.add_argument("file", type=Path, help="a call stored by acl_attn.save_call, with arrays (.npz)")
    run.add_argument("--profile", choices=PROFILES, help="whose rules; default: what is in force (acl-attn env)")
    run.add_argument("--output", type=Path, metavar="FILE", help="where to put the results and their dtypes, as .npz")
    run.set_defaults(run=_run)


def _check(options: argparse.Namespace) -> int:
    report = load_call(options.file).check(profile=options.profile, rules=options.rules)
    if options.json:
        print(json.dumps(report.as_dict(), indent=2))
    else:
        print(report.table(report.problems if options.all else report.problems[:1]))
    return 0 if report else 1


def _run(options: argparse.Namespace) -> int:
    call = load_call(options.file)
    device = Device.current() if options.profile is None else Device(0, profile=options.profile)
    device.make_current()
    report = call.check()
    if not report:
        print(report.table(report.problems[:1]))
        return 1
    found = call.run()
    results = _results(found if isinstance(found, tuple) else (found,))
    for name, array in results.items():
        print(f"{name}  {dtype_name(array.dtype)} {array.shape}  {_summary(array)}")
    if options.output is not None:
        # NumPy's format has no name for types like bfloat16: a text beside the array says what its items are.
        members: dict[str, Any] = {}
        for name, array in results.items():
            members[name] = np.ascontiguousarray(array).view(carrier(array.dtype))
            members[f"{name}.dtype"] = np.array(dtype_name(array.dtype))
        np.savez(options.output, **members)
    return 0


def _results(found: tuple[Any, ...]) -> dict[str, Any]:
    named = zip(("attention_out", "softmax_lse"), found, strict=False)
    return {name: np.asarray(part.array if isinstance(part, LSE) else part) for name, part in named if part is not None}


def _summary(array: np.ndarray[Any, Any]) -> str:
    numbers = decode(array).astype(np.float64)
    finite = numbers[np.isfinite(numbers)]
    if not finite.size:
        return "no finite numbers"
    return (
        f"min {finite.min():.6g}  max {finite.max():.6g}  mean {finite.mean():.6g}  finite {finite.size}/{numbers.size}"
    )
