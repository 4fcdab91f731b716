# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Writes a page for each group of rules from the library's own catalogue, before Sphinx reads the sources.

Each rule gets an anchor, ``rules/<group>.html#rule-<id>``, which `acl_attn.Problem.anchor` points to.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import acl_attn
from acl_attn.errors import code_names
from acl_attn.profiles import PROFILES, RULES

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


# What the tests hold each rule to: a call that keeps it, and one change that breaks it.
_EXAMPLES = Path(__file__).resolve().parents[2] / "native" / "tests" / "rule_examples.txt"
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
    shown = examples(_EXAMPLES.read_text(encoding="utf-8"))
    by_page: dict[str, dict[str, list[acl_attn.Rule]]] = defaultdict(lambda: defaultdict(list))
    for rule in rules:
        page = rule.anchor.partition("/")[2].partition(".")[0]
        by_page[page][rule.id].append(rule)
    return {f"{page}.rst": _page(page, found, shown) for page, found in by_page.items()}


def _page(page: str, rules: dict[str, list[acl_attn.Rule]], shown: dict[str, list[Example]]) -> str:
    first = next(iter(rules.values()))[0]
    title = f"{page.upper()}: {first.group}"
    lines = [".. Written by docs/_ext/rule_pages.py from the library's catalogue.", ""]
    lines += [title, "=" * len(title), "", f"{len(rules)} rules of `{first.operator}`.", ""]
    for tier in _ORDER:
        chosen = {rule_id: same for rule_id, same in rules.items() if same[0].tier == tier}
        if chosen:
            lines += [tier.capitalize(), "-" * len(tier), "", f"{_TIERS[tier].capitalize()}.", ""]
            for rule_id in sorted(chosen):
                lines += _rule(chosen[rule_id], shown.get(rule_id, []))
    return "\n".join(lines)


def _rule(same: list[acl_attn.Rule], shown: list[Example]) -> list[str]:
    rule = same[0]
    lines = [f".. _rule-{rule.id.lower()}:", "", f".. rubric:: {rule.id}", "", _escaped(rule.text) + ".", ""]
    if rule.parameter:
        lines.append(f"* Parameters: {', '.join(f'`{name}`' for name in rule.parameter.split(', '))}")
    if rule.absence:
        lines += [f"* No rule of its own: {_escaped(rule.absence)}.", ""]
        return lines
    for each in same:
        under = "all profiles" if set(each.profiles) == set(PROFILES) else ", ".join(each.profiles)
        edition = "" if set(each.revisions) == set(RULES) else f"; {' and '.join(each.revisions)} rules only"
        lines.append(f"* Binds: {under}{edition}; looked at in stage {each.stage}")
    status = f"{rule.status} `{code_names().get(rule.status, '')}`" if rule.status else "none: no call breaks it"
    lines += [f"* Status: {status}"]
    for each in shown:
        lines.append(f"* Example ({each.view}): ``{each.call}`` is accepted; with ``{each.change}`` it breaks the rule")
    return [*lines, ""]


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
