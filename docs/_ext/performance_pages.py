# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Directives that show a stored run of ``acl-attn bench``: ``performance-run``, ``performance-chart``.

Charts are drawn from the JSON when the documentation is built, into the page itself as SVG, so that page and data
cannot differ.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import matplotlib as mpl
from docutils import nodes
from docutils.parsers.rst import directives
from matplotlib.figure import Figure
from sphinx.util.docutils import SphinxDirective

from acl_attn.bench.groups import GROUPS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sphinx.application import Sphinx

_COLORS = {1: "#5b8ff9", 2: "#1f3d7a"}
_TITLES = {group.key: group.title for group in GROUPS}
_INTRODUCTIONS = {True: "Measured on:", False: "Machine, date and command:"}
_AXES = {
    "limit": "share of the machine's limit",
    "peer": "times faster than the best peer",
    "own": "times our own",
    "vector": "share of the fastest vector unit",
}


class _OfARun(SphinxDirective):
    required_arguments = 1

    def result(self) -> dict[str, Any]:
        """Read the run."""
        relative, path = self.env.relfn2path(self.arguments[0])
        self.env.note_dependency(relative)
        found: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
        return found


class PerformanceRun(_OfARun):
    """What a run was made on, its limits, and a row for each kind of work."""

    def run(self) -> list[nodes.Node]:
        """Give paragraphs and tables."""
        result = self.result()
        lines = [*_origin(result), "", *_limits(result["limits"]), "", *_table(result["verdicts"]), ""]
        lines += [*_overhead(result["overhead"]), "", *_contestants(result["contestants"])]
        return self.parse_text_to_nodes("\n".join(lines))


class PerformanceChart(_OfARun):
    """The cases of a kind of work as bars."""

    option_spec: ClassVar = {"group": directives.unchanged_required, "ratio": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Give a figure, with what it was made on below."""
        result, key, what = self.result(), self.options["group"], self.options["ratio"]
        verdicts = [verdict for verdict in result["verdicts"] if verdict["group"] == key]
        if not any(each["what"] == what and each["value"] for verdict in verdicts for each in verdict["ratios"]):
            return self.parse_text_to_nodes(f"*{_TITLES[key]}, {_AXES[what]}: not measured in this run.*")
        drawn = nodes.raw("", _chart(_TITLES[key], what, verdicts), format="html")
        return [drawn, *self.parse_text_to_nodes("\n".join(_origin(result, is_caption=True)))]


def _origin(result: Mapping[str, Any], *, is_caption: bool = False) -> Iterator[str]:
    machine, load = result["machine"], max(result["machine"]["load_before"], result["machine"]["load_after"])
    command = " ".join(result["command"])
    state = f" **On a loaded machine** (load average up to {load:.0f})." if load > 1.5 else ""
    words = f"{machine['cpu']}, {machine['processors']} processors, {result['date'][:10]}, ``{command}``.{state}"
    yield f"*{_INTRODUCTIONS[is_caption]}* {words}"


def _grid(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield ".. list-table::"
    yield "   :header-rows: 1"
    yield ""
    for row in (header, *rows):
        for i, cell in enumerate(row):
            yield f"   {'* -' if i == 0 else '  -'} {cell}"


def _limits(limits: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    names = list(limits[0]["rates"])
    rows = [[str(each["threads"]), *(f"{each['rates'][name] / 1e9:.0f}" for name in names)] for each in limits]
    yield from _grid(["threads", *(f"``{name}``" for name in names)], rows)


def _table(verdicts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    threads = sorted({verdict["threads"] for verdict in verdicts})
    rows = []
    for key in dict.fromkeys(verdict["group"] for verdict in verdicts):
        mine = [verdict for verdict in verdicts if verdict["group"] == key]
        rows.append([_TITLES[key], *(_worst(mine, what) for what in ("limit", "vector", "peer", "own", "threads"))])
    header = ["work", "share of the limit", "of vector units", "best peer", "our own", "two threads over one"]
    yield from _grid(header if 2 in threads else header[:-1], rows if 2 in threads else [row[:-1] for row in rows])


def _worst(verdicts: Sequence[Mapping[str, Any]], what: str) -> str:
    ratios = [each for verdict in verdicts for each in verdict["ratios"] if each["what"] == what]
    known = [each for each in ratios if each["value"] is not None]
    if not known:
        return "not measured" if any(each["bar"] for each in ratios) else "-"
    worst = min(known, key=lambda each: each["value"] / (each["bar"] or 1))
    if not worst["bar"]:
        return f"{worst['value']:.2f}"
    barred = [each for each in ratios if each["bar"]]
    met = sum(each["met"] for each in barred)
    return f"{worst['value']:.2f} (bar {worst['bar']:.2f}; {met} of {len(barred)} met)"


def _overhead(figures: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    rows = []
    for each in figures:
        unit = each["unit"]
        met = "yes" if each["met"] else "no"
        rows.append([each["what"], f"{each['value']:.1f} {unit}", f"{each['bar']:g} {unit}", met])
    if rows:
        yield from _grid(["what a call costs around its arithmetic", "measured", "bar", "met"], rows)


def _contestants(contestants: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    rows = []
    for name, about in contestants.items():
        versions = ", ".join(f"{what} {version}" for what, version in about.get("versions", {}).items())
        rows.append([f"``{name}``", versions or "-", about["note"] if about["ok"] else "absent"])
    yield from _grid(["contestant", "versions", "what a timed call includes"], rows)


def _chart(title: str, what: str, verdicts: Sequence[Mapping[str, Any]]) -> str:
    """Draw a horizontal bar for each case and number of threads, and a mark at its bar."""
    cases = list(dict.fromkeys(verdict["case"] for verdict in verdicts))
    threads = sorted({verdict["threads"] for verdict in verdicts})
    height = 0.8 / len(threads)
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": title, "font.size": 9}):
        figure = Figure(figsize=(8.5, 0.9 + 0.42 * len(cases)), layout="constrained")
        axes = figure.subplots()
        for verdict in verdicts:
            each = next((ratio for ratio in verdict["ratios"] if ratio["what"] == what), None)
            if each is None or each["value"] is None:
                continue
            place = cases.index(verdict["case"]) + height * (threads.index(verdict["threads"]) - (len(threads) - 1) / 2)
            axes.barh(place, each["value"], height * 0.9, color=_COLORS.get(verdict["threads"], "#888888"))
            axes.text(each["value"], place, f" {each['value']:.2f} {each['of']}", va="center", fontsize=7)
            if each["bar"]:
                axes.plot([each["bar"]] * 2, [place - height / 2, place + height / 2], color="#d9363e", linewidth=2)
        axes.set_yticks(range(len(cases)), cases)
        axes.invert_yaxis()
        axes.set_xlabel(f"{_AXES[what]} (light: 1 thread, dark: 2; red: the bar)")
        axes.set_title(title, loc="left")
        axes.spines[["top", "right"]].set_visible(False)
        axes.margins(x=0.25)
        drawn = io.StringIO()
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    return drawn.getvalue()[drawn.getvalue().index("<svg") :]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("performance-run", PerformanceRun)
    app.add_directive("performance-chart", PerformanceChart)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
