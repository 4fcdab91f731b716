# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Writes a page for each group of rules from the library's own catalogue, before Sphinx reads the sources.

Each rule gets an anchor, ``rules/<group>.html#rule-<id>``, which `acl_attn.Problem.anchor` points to.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import acl_attn
from acl_attn.errors import code_names
from acl_attn.profiles import PROFILES, RULES

# What is beside this file is in no package.
sys.path.insert(0, str(Path(__file__).resolve().parent))

from sparse_examples import SparseExample, sparse_examples

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sphinx.application import Sphinx

_TIERS = {
    "single": "one parameter by itself",
    "existence": "what must or must not be given",
    "consistency": "parameters that must agree",
    "cross": "features that exclude or need each other",
}
_ORDER = tuple(_TIERS)


_NO_STATUS = "* Status: none: no call breaks it"

# What the tests hold each rule to: a call that keeps it, and one change that breaks it.
_TESTS = Path(__file__).resolve().parents[2] / "native" / "tests"
_VIEWS = {"": "ascend950", "newest": "ascend950, newest rules", "910b": "ascend910b", "host": "host"}


class Example(NamedTuple):
    """A call that keeps a rule, and what breaks it."""

    view: str
    base: str
    call: str
    change: str


def examples(text: str) -> dict[str, list[Example]]:
    """Read the examples of each rule."""
    bases: dict[str, str] = {}
    found: dict[str, list[Example]] = defaultdict(list)
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        first, second, *rest = line.split(maxsplit=2)
        if first == "base":
            bases[second] = rest[0]
        else:
            base, _, view = second.partition("@")
            found[first].append(Example(_VIEWS[view], base, bases[base], rest[0] if rest else ""))
    return found


def pages(rules: Iterable[acl_attn.Rule]) -> dict[str, str]:
    """Write the pages: file names, and texts in reStructuredText."""
    shown: dict[str, list[Example | SparseExample]] = {
        **examples((_TESTS / "rule_examples.txt").read_text(encoding="utf-8")),
        **sparse_examples((_TESTS / "sparse_refused.cpp").read_text(encoding="utf-8")),
    }
    by_page: dict[str, dict[str, list[acl_attn.Rule]]] = defaultdict(lambda: defaultdict(list))
    for rule in rules:
        page = rule.anchor.partition("/")[2].partition(".")[0]
        by_page[page][rule.id].append(rule)
    return {f"{page}.rst": _page(page, found, shown) for page, found in by_page.items()}


def _page(page: str, rules: dict[str, list[acl_attn.Rule]], shown: dict[str, list[Example | SparseExample]]) -> str:
    first = next(iter(rules.values()))[0]
    title = f"{page.upper()}: {first.group}"
    operators = dict.fromkeys(rule.operator for same in rules.values() for rule in same)
    lines = [".. Written by docs/_ext/rule_pages.py from the library's catalogue.", ""]
    lines += [title, "=" * len(title), "", f"{len(rules)} rules of {', '.join(f'`{name}`' for name in operators)}.", ""]
    for tier in _ORDER:
        chosen = {rule_id: same for rule_id, same in rules.items() if same[0].tier == tier}
        if chosen:
            lines += [tier.capitalize(), "-" * len(tier), "", f"{_TIERS[tier].capitalize()}.", ""]
            for rule_id in sorted(chosen):
                lines += _rule(chosen[rule_id], shown.get(rule_id, []))
    return "\n".join(lines)


def _rule(same: list[acl_attn.Rule], shown: list[Example | SparseExample]) -> list[str]:
    rule = same[0]
    lines = [f".. _rule-{rule.id.lower()}:", "", f".. rubric:: {rule.id}", ""]
    wanted = list(dict.fromkeys(map(_wanted, same)))
    for text in wanted:
        lines += [text, ""]
    names = dict.fromkeys(name for each in same if each.parameter for name in each.parameter.split(", "))
    if names:
        lines.append(f"* Parameters: {', '.join(f'`{name}`' for name in names)}")
    if rule.absence:
        lines += [f"* No rule of its own: {_escaped(rule.absence)}.", ""]
        return lines
    lines += dict.fromkeys(_binding(each, same) for each in same)
    for status in dict.fromkeys(each.status for each in same):
        lines.append(f"* Status: {status} `{code_names().get(status, '')}`" if status else _NO_STATUS)
    for each in shown:
        lines.append(f"* Example ({each.view}): ``{each.call}`` is accepted; with ``{each.change}`` it breaks the rule")
    return [*lines, ""]


def _binding(rule: acl_attn.Rule, same: list[acl_attn.Rule]) -> str:
    """Say whom a rule binds, and which of those that have its id it is."""
    whose = f" of `{rule.operator}`" if len({each.operator for each in same}) > 1 else ""
    if len({each.parameter for each in same}) > 1 and rule.parameter:
        whose += f" for `{rule.parameter}`"
    under = "all profiles" if set(rule.profiles) == set(PROFILES) else ", ".join(rule.profiles)
    edition = "" if set(rule.revisions) == set(RULES) else f"; {' and '.join(rule.revisions)} rules only"
    return f"* Binds{whose}: {under}{edition}; looked at in stage {rule.stage}"


def _wanted(rule: acl_attn.Rule) -> str:
    """Write what a rule wants as a sentence; the sparse operators' tables say it of the parameter."""
    if rule.operator == "fused_infer_attention_score" or not rule.parameter:
        return _escaped(rule.text) + "."
    return f"`{rule.parameter}`: {_escaped(rule.text)}."


def _escaped(text: str) -> str:
    for letter in "\\*`|_":
        text = text.replace(letter, "\\" + letter)
    return text.rstrip(".")


def write_pages(app: Sphinx) -> None:
    """Write the pages that have changed, and remove those of groups that are gone."""
    folder = Path(app.srcdir, "rules")
    folder.mkdir(exist_ok=True)
    wanted = pages(acl_attn.list_rules())
    for name, text in wanted.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for path in folder.glob("*.rst"):
        if path.name not in wanted:
            path.unlink()


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True}
