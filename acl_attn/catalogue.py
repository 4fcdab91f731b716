# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The rules that calls are held against, as the library has them."""

from __future__ import annotations

from dataclasses import dataclass

from ._lib import ffi, lib, text
from .errors import check, load_target
from .profiles import RULES, profile_names
from .report import anchor

__all__ = ["Rule", "list_rules"]


@dataclass(frozen=True)
class Rule:
    """A rule of an operator's constraint catalogue.

    Parameters
    ----------
    operator : str
        Whose rule it is.
    id : str
        Such as ``"MASK-C-06"`` or ``"SMLA-010"``; those of the host target's own begin with ``"HOST-"``.
    group : str
        Parameter group, such as ``"AttentionMask"``.
    tier : str
        What it compares: ``"single"`` parameters, ``"existence"``, ``"consistency"``, ``"cross"`` features.
    stage : str
        When it is looked at: ``"front"``, ``"parser"``, and then the tiers; ``"run"`` for rules about what tensors
        hold, for which phase one is too early; empty for rules that are not looked at.
    parameter : str
        What it is about, by the names of the C interface.
    text : str
        What it wants; for the sparse operators, what `parameter` must be.
    absence : str
        Why the library has no check of it; empty for rules that it checks.
    profiles, revisions : tuple of str
        The product profiles that it binds, and the editions of rules that have it.
    status : int
        What phase one, or in stage ``"run"`` the next synchronisation, returns for a call that breaks it; 0 for rules
        that no call breaks.

    See Also
    --------
    list_rules : All of them.

    Examples
    --------
    >>> import acl_attn
    >>> next(rule.group for rule in acl_attn.list_rules() if rule.id == "MASK-C-06")
    'AttentionMask'
    """

    operator: str
    id: str
    group: str
    tier: str
    stage: str
    parameter: str
    text: str
    absence: str
    profiles: tuple[str, ...]
    revisions: tuple[str, ...]
    status: int

    @property
    def anchor(self) -> str:
        """Where the documentation has the rule, below its root."""
        return anchor(self.id)


def list_rules() -> tuple[Rule, ...]:
    """List the catalogue, in the order in which operators look at their rules.

    Returns
    -------
    tuple of Rule
        Each rule of each operator. One that profiles look at in different stages stands once for each of these, one
        about several parameters may stand once for each, and those that operators share stand once for each operator.

    See Also
    --------
    check : Holds a call against them.

    Examples
    --------
    >>> import acl_attn
    >>> len({rule.id for rule in acl_attn.list_rules()}) > 400
    True
    """
    load_target()
    found = ffi.new("aclAttnRule *")
    rules = []
    for index in range(lib.aclAttnGetRuleCount()):
        check(lib.aclAttnGetRule(index, found), "aclAttnGetRule")
        names = ("id", "group", "tier", "stage", "parameter", "text", "absence")
        editions = tuple(name for number, name in enumerate(RULES) if found.revisions >> number & 1)
        rules.append(
            Rule(
                operator=text(found.op),
                **{name: text(getattr(found, name)) for name in names},
                profiles=profile_names(found.profiles),
                revisions=editions,
                status=found.status,
            )
        )
    return tuple(rules)
