# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Ask the rules about a call before anything runs, with arrays or with nothing but their shapes."""

from __future__ import annotations

from typing import Any

from ._lib import selected
from ._target_numbers import HOST
from .device import names_in_force
from .errors import AclAttnError, invalid
from .ops import fia_judge, sparse_judge  # noqa: F401 - register their operators
from .ops.judge import OPERATORS, JudgedOperator, options_of, read_report, report_of_refusal
from .report import Report

__all__ = ["check", "check_arguments", "operator_named"]


def check(operator: str, /, *, profile: str | None = None, rules: str | None = None, **call: Any) -> Report:
    """Say everything that is wrong with a call, by the product's own rules. Nothing runs, and no memory is needed.

    Parameters
    ----------
    operator : str
        ``"attention"``, ``"fused_infer_attention_score"``, ``"sparse_flash_mla"``, ``"kv_quant_sparse_attn_sharedkv"``,
        or one of these two with ``"_metadata"``.
    profile : str, optional
        Whose limits count: ``"ascend950"``, ``"ascend910b"``, ``"ascend910_93"``, or ``"host"`` for those of the host
        target alone. That of the thread's device without it.
    rules : str, optional
        ``"page"`` for the rules of the vendor's page, ``"newest"`` for its newest sources where these differ. What is
        in force without it.
    **call : Any
        The arguments by name. A `Spec` may stand for any array, and for lengths whose values are not known yet. What
        the sparse operators' arrays hold, lengths included, is found out when a call runs.

    Returns
    -------
    Report
        True if nothing is wrong; else all problems, each with its rule, the parameter, what it is, what is allowed and
        what to change.

    Raises
    ------
    InvalidArgumentError
        The operator, profile or edition does not exist. What is wrong with the call is reported, never raised.

    See Also
    --------
    supports : A yes or no for a kind of calls.
    Spec : Stands for an array.

    Examples
    --------
    >>> import acl_attn
    >>> q = acl_attn.Spec((2, 1, 8, 128), "float16")
    >>> cache = acl_attn.Spec((64, 100, 2 * 128), "float16")
    >>> table = acl_attn.Spec((2, 4), "int32")
    >>> report = acl_attn.check("attention", query=q, key=cache, value=cache, block_table=table, kv_lengths=[300, 70])
    >>> bool(report), report.first.rule, report.first.got
    (False, 'PA-S-07', '100')
    """
    return check_arguments(operator, call, profile=profile, rules=rules)


def check_arguments(operator: str, call: dict[str, Any], *, profile: str | None, rules: str | None) -> Report:
    """Do what `check` does with arguments of any name: those out of a file may be called ``profile``, too."""
    judged = operator_named(operator)
    options_of(profile, rules)  # refuses wrong names
    profile_in_force, rules_in_force = names_in_force()
    names = (profile or profile_in_force, rules or rules_in_force)
    options = options_of(*names)
    with selected(HOST):  # whose the rules are, whatever target calls run on
        try:
            found = judged.judge(call, options)
        except AclAttnError as refusal:
            return report_of_refusal(operator, *names, refusal)
        return read_report(operator, *names, found)


def operator_named(name: str) -> JudgedOperator:
    """Look an operator up."""
    found = OPERATORS.get(name) if isinstance(name, str) else None
    if found is None:
        raise invalid("operator", f"one of {', '.join(OPERATORS)}", repr(name))
    return found
