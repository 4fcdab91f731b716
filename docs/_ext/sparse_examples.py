# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Reads what breaks the sparse operators' rules out of native/tests/sparse_refused.cpp, which makes such calls.

An entry there is ``{"SMLA-010", "h9", scenario, change, "parameter", status}``; a change that is a function of its own
has no short form and is left out.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_SCENARIOS = {"w": "window", "d": "dense", "c": "selected"}
_PROFILES = {"h": "host", "9": "ascend950", "o": "ascend910b and ascend910_93"}
_EDITIONS = {"p": "page rules", "n": "newest rules"}


class SparseExample(NamedTuple):
    """A call that keeps a rule, and what breaks it."""

    view: str
    call: str
    change: str


def sparse_examples(text: str) -> dict[str, list[SparseExample]]:
    """Read the examples of each rule; a rule without a change that has a short form has an empty list."""
    found: dict[str, list[SparseExample]] = defaultdict(list)
    for entry in re.finditer(r'^    \{"([A-Z]+-\w+(?:-\d\d)?)", "([h9opn]+)", ', text, re.MULTILINE):
        rule, scope = entry.groups()
        scenario, change, *_ = _arguments(text[entry.end() :])
        call = re.sub(r"\b[wdc]\b", lambda name: _SCENARIOS[name[0]], scenario)
        short = _short(change)
        examples = found[rule]
        if short:
            examples.append(SparseExample(_view(scope), call, short))
    return dict(found)


def _view(scope: str) -> str:
    profiles = ", ".join(name for letter, name in _PROFILES.items() if letter in scope)
    editions = [name for letter, name in _EDITIONS.items() if letter in scope]
    return ", ".join(["any profile" if set("h9o") <= set(scope) else profiles, *editions])


def _arguments(text: str) -> Iterator[str]:
    """Split at the commas of this level, up to the bracket that ends it."""
    depth, begin = 0, 0
    for at, letter in enumerate(text):
        if letter in "([{":
            depth += 1
        elif letter in ")]}" and depth:
            depth -= 1
        elif depth == 0 and letter in ",)}":
            yield " ".join(text[begin:at].split())
            begin = at + 1
            if letter != ",":
                return


def _short(change: str) -> str:
    """Write a change as ``name=value`` or ``name=dtype:axes``; nothing for one that has no such form."""
    call = re.match(r"(to|none|blank|set|both)(?:<[^>]*>)?\(", change)
    if call is None:
        return ""
    given = list(_arguments(change[call.end() :]))
    if call[1] == "both":
        parts = [_short(part) for part in given]
        return " ".join(parts) if all(parts) else ""
    name = given[0].removeprefix("&A::")
    if call[1] == "none":
        return f"{name}=absent"
    if call[1] == "blank":
        dtype = given[2].removeprefix("ACL_").lower() if len(given) > 2 else "int32"
        return f"{name}={dtype}:{given[1].strip('{}').replace(' ', '')}"
    value = re.sub(r"-?std::numeric_limits<double>::(\w+)\(\)", lambda found: found[1], given[1])
    return f"{name}={value}"
