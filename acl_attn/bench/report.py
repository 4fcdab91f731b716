# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""What was measured, as text: the table of the groups, then every case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .groups import GROUPS

__all__ = ["report"]

_WIDTH = 118
_KINDS = {
    "limit": "of the limit",
    "with exp": "of it with exp",
    "vector": "of vector units",
    "peer": "x best peer",
    "own": "x our own",
    "threads": "2 threads over 1",
}
_TITLES = {group.key: group.title for group in GROUPS}


def report(result: Mapping[str, Any]) -> Iterator[str]:
    """Give the lines."""
    machine = result["machine"]
    yield f"{machine['cpu']}, {machine['processors']} processors, {result['date']}"
    yield f"load {machine['load_before']:.1f} to {machine['load_after']:.1f}; engine {result['engine']['cpu_target']}"
    yield from _limits(result["limits"])
    yield from _table(result["verdicts"])
    yield from _cases(result["verdicts"], result["records"])
    yield from _overhead(result["overhead"])
    yield from _contestants(result["contestants"])


def _limits(limits: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield ""
    yield "The machine's limits (fp32_exp in Gexp/s, read in GB/s, the others in GFLOP/s or GOP/s)"
    yield f"{'threads':>8}" + "".join(f"{name:>12}" for name in limits[0]["rates"])
    for each in limits:
        yield f"{each['threads']:8}" + "".join(f"{rate / 1e9:12.1f}" for rate in each["rates"].values())


def _table(verdicts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield ""
    yield "The worst ratio of each kind of work, its bar, and how many of its cases reach theirs"
    groups = dict.fromkeys(verdict["group"] for verdict in verdicts)
    for key in groups:
        yield _TITLES.get(key, key)
        for threads in sorted({verdict["threads"] for verdict in verdicts}):
            mine = [v for v in verdicts if (v["group"], v["threads"]) == (key, threads)]
            for what, words in _KINDS.items():
                ratios = [(r, v["case"]) for v in mine for r in v["ratios"] if r["what"] == what]
                if ratios:
                    yield f"  {threads} thr.  {_worst(words, ratios)}"


def _worst(words: str, ratios: Sequence[tuple[Mapping[str, Any], str]]) -> str:
    known = [(r, case) for r, case in ratios if r["value"] is not None]
    barred = [r for r, _ in ratios if r["bar"]]
    met = sum(r["met"] for r in barred)
    if not known:
        return f"{words:18} not measured"
    worst, case = min(known, key=lambda pair: pair[0]["value"] / (pair[0]["bar"] or 1))
    state = "no bar" if not barred else "met" if met == len(barred) else f"MISSED, {met} of {len(barred)} met"
    bar = f"bar {worst['bar']:5.2f}" if worst["bar"] else " " * 9
    return f"{words:18} {worst['value']:6.2f}  {bar}  {state:22} {case} ({worst['of']})"


def _cases(verdicts: Sequence[Mapping[str, Any]], records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield ""
    yield "Every case (* disturbed: at most one good sample in some turn)"
    states = {(r["case"], r["threads"]): r for r in records if r["contestant"] == "acl_attn"}
    for verdict in verdicts:
        record = states.get((verdict["case"], verdict["threads"]), {})
        start = f"{verdict['case']:46} {verdict['threads']}"
        if verdict["seconds"] is None:
            yield f"{start}  {record.get('status', 'not measured')}: {record.get('why', '')}"[:_WIDTH]
            continue
        seconds = verdict["seconds"]
        noisy = "*" if record.get("noisy_turns") else " "
        rates = f"{verdict['flops'] / seconds / 1e9:8.1f} GFLOP/s {verdict['kv_bytes'] / seconds / 1e9:6.1f} GB/s"
        ratios = "  ".join(
            f"{r['what']} {_number(r['value'])} {r['of']}" for r in verdict["ratios"] if r["what"] != "own"
        )
        yield f"{start} {seconds * 1e6:11.1f} us{noisy} {rates}  {ratios}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _overhead(figures: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if figures:
        yield ""
        yield "What a call costs around its arithmetic"
    for figure in figures:
        state = "met" if figure["met"] else "MISSED"
        value = "-" if figure["value"] is None else f"{figure['value']:9.2f}"
        yield f"  {figure['what']:58} {value} {figure['unit']}  bar {figure['bar']:6.1f}  {state}"


def _contestants(contestants: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    yield ""
    yield "Contestants"
    for name, about in contestants.items():
        versions = ", ".join(f"{what} {version}" for what, version in about.get("versions", {}).items())
        yield (
            f"  {name:14} {versions}: {about['note']}"
            if about["ok"]
            else f"  {name:14} absent: {about['why']}"[:_WIDTH]
        )
