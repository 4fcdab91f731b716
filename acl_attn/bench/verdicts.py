# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""From times to ratios, and which bar is met."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .cases import Case
from .contestants import ENGINE, LIMITS
from .groups import THREADS_BAR, Entry, Group
from .measure import Record

__all__ = ["judge", "ratio"]

# Reading so much faster than from memory far away means that the data was in a cache.
_CACHED = 1.3
_TILES = "_amx"  # how the names of units end that multiply tiles


class _Times:
    """Records by case, number of threads and contestant."""

    def __init__(self, records: Sequence[Record]) -> None:
        self._by_key = {(record["case"], record["threads"], record["contestant"]): record for record in records}

    def seconds(self, case: Case, threads: int, name: str = ENGINE) -> float | None:
        record = self._by_key.get((case.name, threads, name), {})
        return record.get("median_s") if record.get("status") == "measured" else None

    def rates(self, case: Case, threads: int) -> dict[str, float]:
        rates: dict[str, float] = self._by_key.get((case.name, threads, LIMITS), {}).get("rates", {})
        return rates

    def best_peer(self, case: Case, threads: int) -> tuple[str, float] | None:
        times = [
            (record["median_s"], name)
            for (case_name, count, name), record in self._by_key.items()
            if (case_name, count) == (case.name, threads)
            and name not in (ENGINE, LIMITS)
            and record["status"] == "measured"
        ]
        return (min(times)[1], min(times)[0]) if times else None


def judge(
    groups: Sequence[Group], records: Sequence[Record], limits: Mapping[int, Mapping[str, float]]
) -> list[Record]:
    """Hold what was measured against the bars.

    Parameters
    ----------
    groups : sequence of Group
        What was to be measured.
    records : sequence of dict
        What `measure` gave.
    limits : mapping
        The machine's limits by number of threads.

    Returns
    -------
    list of dict
        One for each case and number of threads: ``group``, ``case``, ``threads``, ``seconds`` (None: not measured), and
        ``ratios``: what was compared, with ``value`` (None: could not be), ``bar`` (0: none) and ``of``, against what.
    """
    times = _Times(records)
    return [
        _entry(group, entry, threads, times, limits)
        for group in groups
        for entry in group.entries
        for threads in sorted(limits)
    ]


def ratio(what: str, value: float | None, bar: float, of: str) -> dict[str, Any]:
    """Describe one comparison; met only if it was made."""
    return {"what": what, "value": value, "bar": bar, "of": of, "met": value is not None and value >= bar}


def _entry(
    group: Group, entry: Entry, threads: int, times: _Times, limits: Mapping[int, Mapping[str, float]]
) -> Record:
    case = entry.case
    seconds = times.seconds(case, threads)
    ratios = []
    if entry.limit:
        rates = times.rates(case, threads)
        ratios.append(_of_limit(entry, seconds, rates, limits[threads]["read_far"]))
        ratios.append(_with_exponentials(case, seconds, rates))
        if entry.limit == "multiply" and _fastest_unit(case, rates).endswith(_TILES):
            ratios.append(_of_vector_units(case, seconds, rates))
    if case.is_plain:
        best = times.best_peer(case, threads)
        value = best[1] / seconds if best is not None and seconds is not None else None
        ratios.append(ratio("peer", value, entry.peer_bar, best[0] if best else "no peer"))
    if entry.own is not None:
        own = times.seconds(entry.own, threads)
        value = own / seconds if own is not None and seconds is not None else None
        if value is not None and entry.is_rate:
            value *= case.flops / entry.own.flops
        ratios.append(ratio("own", value, entry.own_bar, entry.own.name))
    if threads == 2 and 1 in limits and entry.limit:
        alone = times.seconds(case, 1)
        value = alone / seconds if alone is not None and seconds is not None else None
        ratios.append(ratio("threads", value, THREADS_BAR, "1 thread"))
    return {
        "group": group.key, "case": case.name, "threads": threads, "seconds": seconds, "flops": case.flops,
        "kv_bytes": case.kv_bytes, "ratios": ratios,
    }  # fmt: skip


def _of_limit(entry: Entry, seconds: float | None, rates: Mapping[str, float], read_far: float) -> dict[str, Any]:
    """Share of what the machine could do: the time that it would need over the time taken."""
    case = entry.case
    unit = _fastest_unit(case, rates)
    if seconds is None or not unit:
        return ratio("limit", None, entry.limit_bar, entry.limit)
    needs = {unit: case.flops / rates[unit], "read": case.kv_bytes / rates["read"]}
    if entry.limit != "both":
        needs = {name: need for name, need in needs.items() if (name == "read") == (entry.limit == "read")}
    bound = max(needs, key=lambda name: needs[name])
    is_cached = entry.cached_bar > 0 and rates["read"] > _CACHED * read_far
    bar = entry.cached_bar if is_cached else entry.limit_bar
    return ratio("limit", needs[bound] / seconds, bar, f"{bound}{' (cached)' if is_cached else ''}")


def _with_exponentials(case: Case, seconds: float | None, rates: Mapping[str, float]) -> dict[str, Any]:
    """Share of what it would take to multiply and then to exponentiate, as units that work in turns do."""
    unit = _fastest_unit(case, rates)
    if seconds is None or not unit:
        return ratio("with exp", None, 0, "fp32_exp")
    return ratio(
        "with exp", (case.flops / rates[unit] + case.scores / rates["fp32_exp"]) / seconds, 0, f"{unit} + fp32_exp"
    )


def _of_vector_units(case: Case, seconds: float | None, rates: Mapping[str, float]) -> dict[str, Any]:
    """Share of what the processor could do without tiles, for comparison with processors that have none."""
    vectors = {unit: rate for unit, rate in rates.items() if not unit.endswith(_TILES)}
    unit = _fastest_unit(case, vectors)
    return ratio("vector", None if seconds is None else case.flops / vectors[unit] / seconds, 0, unit)


def _fastest_unit(case: Case, rates: Mapping[str, float]) -> str:
    return max((unit for unit in case.units if unit in rates), key=lambda name: rates[name], default="")
