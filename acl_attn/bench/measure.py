# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Measures cases: every contestant is verified, and then they are timed in turns."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .cases import Case
from .contestants import ENGINE, LIMITS
from .groups import Entry, Group
from .process import Worker
from .prospects import HOPELESS, Prospects

__all__ = ["Options", "Record", "cases_of", "measure", "measure_limits"]

Record = dict[str, Any]

# Largest error over the largest reference of the rows looked at. Quantised caches of peers are held against unquantised
# numbers, which only catches nonsense.
_TOLERANCES = {"bf16": 2e-2, "fp16": 5e-3}
_TOLERANCE_OF_A_CACHE = 0.5
_SLOW = 2.0  # seconds: a contestant whose call takes longer is timed in the first turn only, as a hopeless peer is


@dataclass(frozen=True)
class Options:
    """How to measure.

    Attributes
    ----------
    peers : sequence of str
        Names of other libraries' contestants.
    pythons : mapping of str to str
        Interpreters of some of them.
    cpu : str
        Instruction set of the engine.
    rounds, samples : int
        Turns, and samples in each.
    seconds : float
        Time of a contestant in a turn.
    progress : callable
        Is told what is being done.
    """

    peers: Sequence[str] = ()
    pythons: Mapping[str, str] = field(default_factory=dict)
    cpu: str = ""
    rounds: int = 3
    samples: int = 3
    seconds: float = 0.5
    progress: Callable[[str], None] = lambda _: None


def cases_of(groups: Sequence[Group]) -> dict[Case, Entry]:
    """List what has to be measured: each case once, and the cases that others are compared with."""
    found: dict[Case, Entry] = {}
    for group in groups:
        for entry in group.entries:
            if entry.own is not None:
                found.setdefault(entry.own, Entry(entry.own))
            found[entry.case] = entry
    return found


class _Workers:
    """Processes of the contestants, started when first asked and again after they died."""

    def __init__(self, threads: int, options: Options) -> None:
        self._threads, self._options = threads, options
        self._running: dict[str, Worker] = {}
        self.about: dict[str, dict[str, Any]] = {}

    def ask(self, name: str, op: str, **arguments: Any) -> dict[str, Any]:
        if name in self.about and not self.about[name]["ok"]:
            return self.about[name]
        worker = self._running.get(name)
        if worker is None or not worker.is_alive:
            if worker is not None:
                worker.close()
            worker = Worker(name, self._threads, self._options.pythons.get(name, ""), self._options.cpu)
            self._running[name] = worker
            self.about[name] = worker.ask("about")
            if not self.about[name]["ok"]:
                return self.about[name]
        return worker.ask(op, **arguments)

    def close(self) -> None:
        for worker in self._running.values():
            worker.close()


def measure_limits(threads: int, options: Options) -> dict[str, float]:
    """Measure all the machine's limits, by name: operations or bytes a second."""
    workers = _Workers(threads, options)
    try:
        turns = [workers.ask(LIMITS, "time", samples=1, seconds=0) for _ in range(options.rounds)]
    finally:
        workers.close()
    for turn in turns:
        if not turn["ok"]:
            raise RuntimeError(f"the machine's limits cannot be measured: {turn['why']}")
    return _medians([turn["rates"] for turn in turns])


def measure(groups: Sequence[Group], threads: int, options: Options) -> tuple[list[Record], dict[str, Any], bool]:
    """Measure all cases of some groups, or as many as there are before an interrupt (control-C).

    Returns
    -------
    records : list of dict
        One for each case and contestant: ``case``, ``threads``, ``contestant`` and ``status`` ("measured", "wrong",
        "unsupported", "failed", "absent" or "left out"); ``why``; or times, error and so on. Those of the limits have
        ``rates``.
    about : dict
        What each contestant says of itself.
    is_complete : bool
        Whether there was no interrupt.
    """
    workers, prospects = _Workers(threads, options), Prospects()
    records: list[Record] = []
    is_complete = False
    try:
        for case in cases_of(groups):
            options.progress(f"{case.name}, {threads} thread{'s' * (threads > 1)}")
            left_out = {name: why for name in options.peers if (why := prospects.why_not(name, case))}
            measured = _measure_case(case, threads, workers, options, left_out)
            prospects.note(case, {r["contestant"]: r["median_s"] for r in measured if "median_s" in r})
            records += measured
        is_complete = True
    except KeyboardInterrupt:
        options.progress("interrupted: what has been measured stays")
    finally:
        workers.close()
    return records, workers.about, is_complete


def _measure_case(
    case: Case, threads: int, workers: _Workers, options: Options, left_out: Mapping[str, str]
) -> list[Record]:
    peers = [name for name in options.peers if name not in left_out]
    names = [LIMITS, ENGINE, *peers]
    # Everybody holds operands of their own, and layouts beside them while they prepare.
    is_large = 2.5 * case.kv_bytes * len(names) > _memory_available()
    turns = [[LIMITS, ENGINE], *([name] for name in peers)] if is_large else [names]
    expected: list[list[float]] | None = None
    records: dict[str, Record] = {}
    for together in turns:
        took: dict[str, float] = {}
        for name in together:
            reply = workers.ask(name, "prepare", case=case.as_dict())
            if name == ENGINE and reply["ok"]:
                expected = reply["expected"]
            records[name] = _begin(case, threads, name, reply, expected, workers)
            records[name]["in_turns"] = not is_large
            if reply["ok"]:
                took[name] = reply["took"]
        for turn in range(options.rounds):
            for name in took:
                record = records[name]
                if record["status"] == "failed" or (turn and _is_decided(record, records.values())):
                    continue
                _add(record, workers.ask(name, "time", samples=options.samples, seconds=options.seconds))
        for name in took:
            workers.ask(name, "free")
    skipped = [
        {"case": case.name, "threads": threads, "contestant": name, "status": "left out", "why": why}
        for name, why in left_out.items()
    ]
    return [_finished(record) for record in records.values()] + skipped


def _is_decided(record: Record, others: Iterable[Record]) -> bool:
    """Tell whether more turns would only cost time."""
    if "samples" not in record:
        return False
    fastest = min(min(other["samples"]) for other in others if "samples" in other)
    own = min(record["samples"])
    return bool(own > _SLOW or (record["contestant"] != ENGINE and own > HOPELESS * fastest))


def _begin(
    case: Case, threads: int, name: str, reply: Mapping[str, Any], expected: list[list[float]] | None, workers: _Workers
) -> Record:
    record: Record = {"case": case.name, "threads": threads, "contestant": name, "status": "measured"}
    if not reply["ok"]:
        is_absent = not workers.about[name]["ok"]
        record["status"] = "absent" if is_absent else "unsupported" if reply.get("unsupported") else "failed"
        record["why"] = reply["why"]
    elif name != LIMITS:
        if expected is None:  # the engine has failed, and with it the reference
            return record | {"status": "failed", "why": "nothing to verify it against"}
        truth, rows = (np.array(list(some), np.float64) for some in (expected, reply["rows"]))
        largest = float(np.abs(truth).max())
        error = float(np.abs(rows - truth).max())
        tolerance = _TOLERANCES[case.dtype] if name == ENGINE or not case.cache else _TOLERANCE_OF_A_CACHE
        record |= {"error": error, "largest": largest}
        if not error <= tolerance * largest:  # not a number is wrong too
            record |= {"status": "wrong", "why": f"expected errors up to {tolerance * largest:.2g}, got {error:.2g}"}
    return record


def _add(record: Record, reply: Mapping[str, Any]) -> None:
    if not reply["ok"]:
        record |= {"status": "failed", "why": reply["why"]}
    elif "rates" in reply:
        record.setdefault("turns", []).append(reply["rates"])
    else:
        record.setdefault("samples", []).extend(reply["samples"])
        record["dropped"] = record.get("dropped", 0) + reply["dropped"]
        record["noisy_turns"] = record.get("noisy_turns", 0) + int(reply["is_noisy"])


def _finished(record: Record) -> Record:
    if "turns" in record:
        record["rates"] = _medians(record.pop("turns"))
    if samples := record.pop("samples", None):
        record |= {"median_s": statistics.median(samples), "min_s": min(samples), "samples": len(samples)}
    return record


def _medians(turns: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: statistics.median(turn[name] for turn in turns) for name in turns[0]}


def _memory_available() -> float:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return 4e9
    return next((1024.0 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable")), 4e9)
