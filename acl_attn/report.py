# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""What the rules say about a call: one `Problem` for each rule that it breaks, together a `Report`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Problem", "Report", "anchor"]

_COLUMNS = ("rule", "parameter", "got", "allowed", "fix")
_WIDEST = 34  # characters of a column in a printed table


def anchor(rule: str) -> str:
    """Say where the documentation has a rule: the page of its group, and the rule's place on it."""
    if not rule:
        return ""
    return f"rules/{rule.split('-', maxsplit=1)[0].lower()}.html#rule-{rule.lower()}"


@dataclass(frozen=True)
class Problem:
    """One reason why a call is refused.

    Parameters
    ----------
    rule : str
        Id of the rule that is broken, such as ``"MASK-C-06"``; empty for what is wrong before any rule is asked, such
        as an argument of a wrong type.
    parameter : str
        Which parameter to look at, by its name in Python.
    got, allowed, fix : str
        What it is, what it may be, and what to do, where that is known.
    message : str
        All of it in one sentence, as the exception of a call that is made nevertheless has it.
    code : int
        The status that the C interface gives; 0 if Python refuses the call before.
    is_target_limit : bool
        Whether the profile allows it, and it is only the host target that does not do it.

    See Also
    --------
    check : Finds them.

    Examples
    --------
    >>> import acl_attn
    >>> q = acl_attn.Spec((1, 1, 4, 64), "float16")
    >>> acl_attn.check("attention", query=q, key=q, value=q, inner_precise=7).problems[0].parameter
    'inner_precise'
    """

    rule: str
    parameter: str
    got: str
    allowed: str
    fix: str
    message: str
    code: int = 0
    is_target_limit: bool = False

    @property
    def anchor(self) -> str:
        """Where the documentation has the rule, below its root; empty without a rule."""
        return anchor(self.rule)

    def as_dict(self) -> dict[str, Any]:
        """Give everything as plain values, for JSON.

        Returns
        -------
        dict
            The attributes by name.
        """
        return {**asdict(self), "anchor": self.anchor}


@dataclass(frozen=True)
class Report:
    """What the rules of a product say about a call: true if nothing is wrong, and printed as a table.

    Parameters
    ----------
    operator : str
        Which operator.
    profile : str
        Whose limits were applied.
    rules : str
        Which revision of the rules: ``"page"`` or ``"newest"``.
    problems : tuple of Problem
        Everything that is wrong, in the order in which the operator looks at its rules: the first one is what it would
        answer.
    accepted_by : tuple of str
        Product profiles under which the call is accepted.

    See Also
    --------
    check : Makes it.

    Examples
    --------
    >>> import acl_attn
    >>> q = acl_attn.Spec((1, 1, 4, 64), "float16")
    >>> bool(acl_attn.check("attention", query=q, key=q, value=q))
    True
    """

    operator: str
    profile: str
    rules: str
    problems: tuple[Problem, ...] = ()
    accepted_by: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return not self.problems

    def __iter__(self) -> Iterator[Problem]:
        return iter(self.problems)

    @property
    def first(self) -> Problem | None:
        """The problem that the operator would answer with; None if there is none."""
        return self.problems[0] if self.problems else None

    def as_dict(self) -> dict[str, Any]:
        """Give everything as plain values, for JSON.

        Returns
        -------
        dict
            The attributes by name, and ``ok``.
        """
        return {
            "operator": self.operator,
            "profile": self.profile,
            "rules": self.rules,
            "ok": bool(self),
            "problems": [problem.as_dict() for problem in self.problems],
            "accepted_by": list(self.accepted_by),
        }

    def table(self, problems: tuple[Problem, ...] | None = None) -> str:
        """Write problems as a table.

        Parameters
        ----------
        problems : tuple of Problem, optional
            Which; all of them without it.

        Returns
        -------
        str
            Lines of text.
        """
        chosen = self.problems if problems is None else problems
        under = f"{self.operator} under profile {self.profile}"
        if self.rules != "page":
            under += f", {self.rules} rules"
        if not self.problems:
            return f"{under}: accepted"
        count = len(self.problems)
        rows = [tuple(getattr(problem, column) for column in _COLUMNS) for problem in chosen]
        lines = [f"{under}: refused, {count} {'problem' if count == 1 else 'problems'}", *_aligned([_COLUMNS, *rows])]
        if count > len(chosen):
            lines.append(f"... and {count - len(chosen)} more")
        if all(problem.is_target_limit for problem in self.problems):
            lines.append(f"{self.profile} accepts the call: it is the host target that does not compute it")
        lines.append(f"accepted under: {', '.join(self.accepted_by) or 'no profile'}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.table()


def _aligned(rows: list[tuple[str, ...]]) -> Iterator[str]:
    """Put cells under one another, long ones on several lines."""
    wrapped = [[textwrap.wrap(cell, _WIDEST) or [""] for cell in row] for row in rows]
    widths = [max(len(line) for row in wrapped for line in row[column]) for column in range(len(_COLUMNS))]
    for row in wrapped:
        for depth in range(max(len(cell) for cell in row)):
            cells = (cell[depth] if depth < len(cell) else "" for cell in row)
            yield "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
