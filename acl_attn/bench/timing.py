# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Time calls on a machine that others use too.

The kernel tells how long a process's threads were ready but waited for a processor; a sample in which that is more than
a fiftieth of the time was disturbed and is dropped. Threads run at real-time priority while they are timed, where the
process may: a mere nice value ranks the tasks of one session only.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

__all__ = ["Timing", "prioritised", "time_calls"]

DISTURBED = 0.02
SHORTEST_SAMPLE = 0.005  # seconds: shorter calls are repeated within a sample


@dataclass
class Timing:
    """Seconds of a call, sample by sample; `is_noisy` if most were disturbed, at most one left."""

    samples: list[float]
    dropped: int
    is_noisy: bool

    def as_dict(self) -> dict[str, Any]:
        """Give all attributes."""
        return asdict(self)


def _waited() -> int:
    """Nanoseconds that this process's threads have waited for a processor."""
    total = 0
    for path in Path("/proc/self/task").glob("*/schedstat"):
        with contextlib.suppress(OSError, IndexError, ValueError):  # threads come and go
            total += int(path.read_text(encoding="ascii").split()[1])
    return total


def _schedule(policy: int, priority: int) -> None:
    for thread in Path("/proc/self/task").glob("*"):
        with contextlib.suppress(OSError):
            os.sched_setscheduler(int(thread.name), policy, os.sched_param(priority))


@contextlib.contextmanager
def prioritised() -> Iterator[None]:
    """Run all threads that the process has now at real-time priority, if it may."""
    if not hasattr(os, "SCHED_RR"):
        yield
        return
    before = os.sched_getscheduler(0), os.sched_getparam(0).sched_priority
    _schedule(os.SCHED_RR, 1)
    try:
        yield
    finally:
        _schedule(*before)


def time_calls(call: Callable[[], object], samples: int = 3, seconds: float = 0.5) -> Timing:
    """Time up to so many samples within about so many seconds, at least one.

    A call to warm up goes before; one that takes longer than `seconds` counts as the only sample.
    """
    good: list[float] = []
    bad: list[float] = []
    with prioritised():
        one = _seconds(call, 1)
        if one < SHORTEST_SAMPLE:  # the first call was cold
            one = _seconds(call, 1)
        repeats = max(1, int(SHORTEST_SAMPLE / max(one, 1e-7)))
        if one > seconds:
            good.append(one)
            samples = 1
        deadline = time.perf_counter() + seconds
        while len(good) < samples and len(bad) < 4 * samples:
            before = _waited()
            took = _seconds(call, repeats)
            (bad if _waited() - before > DISTURBED * took * repeats * 1e9 else good).append(took)
            if time.perf_counter() > deadline and (good or len(bad) >= 2):
                break
    # Of disturbed samples the fastest stand in for undisturbed ones.
    return Timing(good or sorted(bad)[: max(1, samples // 2)], len(bad) if good else 0, bool(bad) and len(good) < 2)


def _seconds(call: Callable[[], object], repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats
