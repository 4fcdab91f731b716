# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The ``acl-attn`` command."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence

from ._lib import get_include, get_library
from .bench.command import add_bench_command
from .cli_calls import add_call_commands
from .cli_sim import add_sim_command
from .env import Environment, environment
from .errors import AclAttnError
from .selection import TargetInfo

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows the command's name; that of the process without it.

    Returns
    -------
    int
        The exit status: 0 if all is well, 1 if the answer is no (the target cannot be loaded, the call is refused), 2
        if the question makes no sense (a wrong option, a file that is no call).
    """
    parser = argparse.ArgumentParser(prog="acl-attn", description="Fused attention operators of Ascend, from Python.")
    commands = parser.add_subparsers(dest="command", required=True)
    env = commands.add_parser("env", help="print versions, targets, profile, processor features, threads and libraries")
    env.add_argument("--json", action="store_true", help="print it as JSON")
    env.set_defaults(run=_env)
    config = commands.add_parser("config", help="print where C and C++ programs find headers and library")
    config.add_argument("--include", action="store_true", help="the directory of the headers")
    config.add_argument("--library", action="store_true", help="the library's file")
    config.set_defaults(run=lambda options: _config(config, options))
    add_call_commands(commands)
    add_bench_command(commands)
    add_sim_command(commands)
    options = parser.parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = options.run
    try:
        return run(options)
    except (AclAttnError, OSError) as problem:  # of the system: files that cannot be written
        print(f"acl-attn {options.command}: {problem}", file=sys.stderr)
        return 2


def _env(options: argparse.Namespace) -> int:
    found = environment()
    print(json.dumps(found.as_dict(), indent=2) if options.json else "\n".join(_lines(found)))
    return 1 if found.problem else 0


def _config(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    if not (options.include or options.library):
        parser.error("expected --include or --library, got neither")
    if options.include:
        print(get_include())
    if options.library:
        print(get_library())
    return 0


def _in_words(target: TargetInfo) -> str:
    if target.problem:
        return f"not available: {target.problem}"
    versions = ", ".join(f"{package} {version}" for package, version in target.versions.items())
    chips = f"{target.devices} x {target.soc_name or 'chip without a name'}" if target.devices else ""
    return "; ".join(part for part in ("available", chips, target.root, versions) if part)


def _lines(found: Environment) -> Iterator[str]:
    packages = ", ".join(f"{name} {version}" for name, version in found.packages.items())
    targets = ", ".join(
        f"{name}{' (in use)' if name == found.cpu_target else '' if usable else ' (not on this machine)'}"
        for name, usable in found.cpu_targets.items()
    )
    yield f"acl_attn      {found.version} (library {found.library_version or 'not loaded'})"
    yield f"target        {found.target}"
    for target in found.targets:
        yield f"              {target.name:<5}{_in_words(target)}"
    yield f"profile       {found.profile or 'unknown'}, {found.rules or 'unknown'} rules"
    yield f"python        {found.python} on {found.machine}; {packages}"
    yield f"cpu features  {' '.join(found.cpu_features) or 'none detected'}"
    yield f"cpu targets   {targets or 'unknown'}"
    yield f"threads       {found.threads}"
    yield f"headers       {found.include}"
    for path in found.libraries:
        yield f"loaded        {path}"
    for path, outcome in found.searched:
        yield f"searched      {path}: {outcome}"
    for symbol in found.missing:
        yield f"missing       {symbol}"
    for name, value in found.variables.items():
        yield f"environment   {name}={value}"
    if found.problem:
        yield f"problem       {found.problem}"
