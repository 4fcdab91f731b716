# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""``acl-attn bench``."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["add_bench_command"]

SUITES = ("quick", "full", "decode", "prefill", "sparse", "overhead")


def add_bench_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``bench``."""
    bench = commands.add_parser(
        "bench", help="measure this machine's limits, this package, and other libraries that are installed"
    )
    bench.add_argument(
        "--suite", choices=SUITES, default="quick", help="what to measure; default: quick, a few minutes"
    )
    bench.add_argument("--only", default="", metavar="TEXT", help="only cases whose name contains this")
    bench.add_argument(
        "--peers",
        default="none",
        metavar="NAMES",
        help="all, none (default), or with commas between: libraries, or single ways of theirs",
    )
    bench.add_argument(
        "--python", action="append", default=[], metavar="NAME=FILE",
        help="the interpreter that has a peer's library, where it is another one; may be repeated",
    )  # fmt: skip
    bench.add_argument("--threads", default="1,2", metavar="COUNTS", help="numbers of threads; default: 1,2")
    bench.add_argument("--cpu", default="", metavar="TARGET", help="force an instruction set (acl-attn env lists them)")
    bench.add_argument("--seconds", type=float, default=0.5, help="time of a contestant in a turn; default: 0.5")
    bench.add_argument("--rounds", type=int, default=3, help="turns; default: 3")
    bench.add_argument("--json", type=Path, metavar="FILE", help="also store everything there")
    bench.set_defaults(run=lambda options: _run(bench, options))


def _run(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    import acl_attn

    from .measure import Options, cases_of
    from .report import report
    from .results import run_benchmark, select

    threads = _threads(parser, options.threads)
    if options.seconds <= 0 or options.rounds < 1:
        parser.error("expected --seconds above 0 and --rounds of at least 1")
    usable = [name for name, is_usable in acl_attn.get_cpu_targets().items() if is_usable]
    if options.cpu not in ("", *usable):
        parser.error(f"--cpu: expected one of {', '.join(usable)} on this machine, got {options.cpu!r}")
    groups = select(options.suite, options.only)
    if not groups:
        names = ", ".join(case.name for case in cases_of(select(options.suite)))
        expected = f"a part of the name of a case of {options.suite}"
        parser.error(f"--only: expected {expected}, got {options.only!r}; there are {names}")
    chosen = Options(
        peers=_peers(parser, options.peers), pythons=_pythons(parser, options.python), cpu=options.cpu,
        rounds=options.rounds, seconds=options.seconds,
        progress=lambda text: print(f"acl-attn bench: {text}", file=sys.stderr, flush=True),
    )  # fmt: skip
    if options.json is not None:
        options.json.touch()  # better to fail now than in an hour
    result = run_benchmark(groups, threads, chosen, with_overhead=options.suite in ("quick", "full", "overhead"))
    for line in report(result):
        print(line)
    if options.json is not None:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    # Missed bars are findings; an engine that computes nonsense is a failure.
    return 1 if any(r["contestant"] == "acl_attn" and r["status"] == "wrong" for r in result["records"]) else 0


def _threads(parser: argparse.ArgumentParser, text: str) -> list[int]:
    try:
        counts = sorted({int(part) for part in text.split(",")})
    except ValueError:
        counts = []
    if not counts or not 1 <= counts[0] <= counts[-1] <= 1024:
        parser.error(f"--threads: expected numbers from 1 to 1024 with commas between, got {text!r}")
    return counts


def _peers(parser: argparse.ArgumentParser, text: str) -> Sequence[str]:
    from .peers import PEERS

    if text in ("all", "none"):
        return list(PEERS) if text == "all" else []
    found: dict[str, None] = {}
    for name in text.split(","):
        if not _named(name):
            known = dict.fromkeys([*PEERS, *(distribution for distribution, *_ in PEERS.values())])
            parser.error(f"--peers: expected all, none or some of {', '.join(known)}, got {name!r}")
        found |= dict.fromkeys(_named(name))
    return list(found)


def _pythons(parser: argparse.ArgumentParser, given: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in given:
        name, _, python = text.partition("=")
        if not _named(name) or not Path(python).is_file():
            parser.error(f"--python: expected the name of a peer, = and an interpreter's file, got {text!r}")
        found |= dict.fromkeys(_named(name), python)
    return found


def _named(name: str) -> list[str]:
    """List the peers that a name stands for: one's own, or that of the distribution which brings several."""
    from .peers import PEERS

    return [peer for peer, (distribution, *_) in PEERS.items() if name in (peer, distribution)]
