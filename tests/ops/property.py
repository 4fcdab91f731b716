# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Runs random legal calls, one a seed: ``python -m tests.ops.property --cases 20000 --first-seed 0``.

Unlike the test, which asks hypothesis, it draws each choice evenly, goes on after a failure, and says how far it is.
Failures are made simpler and printed as calls to paste into ``checks.check``.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as in conftest

from acl_attn.testing.calls import Call
from acl_attn.testing.generate import ReplayedSource, draw_call, simplify

from .checks import check


def failure(call: Call) -> str:
    """What goes wrong with a call; nothing if it is right."""
    try:
        check(call)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so many")
    parser.add_argument("--show", type=int, default=3, help="how many failures of a kind to make simpler and print")
    chosen = parser.parse_args()
    write, start = sys.stdout.write, time.monotonic()
    kinds: Counter[str] = Counter()
    done = 0
    for seed in range(chosen.first_seed, chosen.first_seed + chosen.cases):
        if time.monotonic() - start > chosen.seconds:
            break
        source = ReplayedSource(seed=seed)
        call = draw_call(source)
        message = failure(call)
        done += 1
        if message:
            # Messages with other numbers are of one kind.
            kind = "".join(" " if letter.isdigit() else letter for letter in message.split(";")[0])[:60]
            kinds[kind] += 1
            if kinds[kind] <= chosen.show:
                simple = simplify(source.given, lambda other, old=message[:20]: failure(other).startswith(old))
                write(f"seed {seed}: {simple!r}\n    {failure(simple)[:400]}\n")
        if done % 500 == 0:
            write(f"{done} calls, {sum(kinds.values())} failures, {time.monotonic() - start:.0f} s\n")
            sys.stdout.flush()
    write(f"{done} calls, {sum(kinds.values())} failures\n")
    for kind, count in kinds.most_common():
        write(f"{count:6} {kind}\n")
    return 1 if kinds else 0


if __name__ == "__main__":
    sys.exit(main())
