# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Calls held against the library's rules without being prepared, and the operators that can be."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from .._lib import ffi, lib, text
from ..errors import AclAttnError, check, compose, invalid, renamed, wrong_type
from ..profiles import PROFILES, RULES, profile_names
from ..report import Problem, Report

__all__ = ["OPERATORS", "Judged", "JudgedOperator", "bound", "options_of", "register", "report_of_refusal"]

Arguments = Mapping[str, Any]


class Judged(NamedTuple):
    """What the library says: a report of its own, and how to read it."""

    report: ffi.CData  # aclAttnReport; destroyed by who reads it
    parameter_names: Mapping[str, str]
    derived: frozenset[str] = (
        frozenset()
    )  # parameters that were not the caller's: problems of theirs follow from others


class JudgedOperator(NamedTuple):
    """An operator that calls can be checked for."""

    run: Callable[..., Any]
    judge: Callable[[Arguments, ffi.CData], Judged]  # arguments by name, and the check's aclAttnCheckOptions


OPERATORS: dict[str, JudgedOperator] = {}


def register(name: str, run: Callable[..., Any], judge: Callable[[Arguments, ffi.CData], Judged]) -> None:
    """Offer an operator to `acl_attn.check` and to stored calls, under a name."""
    OPERATORS[name] = JudgedOperator(run, judge)


def bound(function: Callable[..., Any], arguments: Arguments) -> dict[str, Any]:
    """Give all of a function's parameters by name: the arguments, and the defaults of those left out."""
    parameters = inspect.signature(function).parameters
    for name in arguments:
        if name not in parameters:
            raise wrong_type(name, f"a parameter of {function.__name__}", "an unknown name")
    found = {}
    for name, parameter in parameters.items():
        if name not in arguments and parameter.default is parameter.empty:
            raise wrong_type(name, f"an argument, which {function.__name__} needs", "nothing")
        found[name] = arguments.get(name, parameter.default)
    return found


def options_of(profile: str | None, rules: str | None) -> ffi.CData:
    """Say whose rules count."""
    options = ffi.new("aclAttnCheckOptions *")
    options.version = 5
    options.profile = _number(profile, PROFILES, "profile", lib.ACL_ATTN_PROFILE_UNSET)
    options.rules = _number(rules, RULES, "rules", lib.ACL_ATTN_RULES_UNSET)
    return options


def _number(name: str | None, known: tuple[str, ...], parameter: str, unset: int) -> int:
    if name is None:
        return unset
    if name not in known:
        raise invalid(parameter, f"one of {', '.join(known)}", repr(name))
    return known.index(name)


def report_of_refusal(operator: str, profile: str, rules: str, refusal: AclAttnError) -> Report:
    """Report what Python refuses before any rule is asked."""
    message = refusal.detail or str(refusal)
    problem = Problem(
        rule=refusal.rule,
        parameter=refusal.parameter,
        got=refusal.got,
        allowed=refusal.expected,
        fix=refusal.fix,
        message=message,
        code=getattr(refusal, "code", 0),
    )
    return Report(operator, profile, rules, (problem,))


def read_report(operator: str, profile: str, rules: str, judged: Judged) -> Report:
    """Copy a report of the library's, and destroy it."""
    try:
        count = lib.aclAttnGetReportCount(judged.report)
        found = ffi.new("aclAttnProblem *")
        problems = []
        for index in range(count):
            check(lib.aclAttnGetReportProblem(judged.report, index, found), "aclAttnGetReportProblem")
            problems.append(_problem(found, judged.parameter_names))
        accepted_by = profile_names(lib.aclAttnGetReportAcceptedBy(judged.report))
    finally:
        lib.aclAttnDestroyReport(judged.report)
    own = tuple(problem for problem in problems if problem.parameter not in judged.derived)
    return Report(operator, profile, rules, own or tuple(problems), accepted_by)


def _problem(found: ffi.CData, names: Mapping[str, str]) -> Problem:
    rule = text(found.rule)
    parameter, allowed, got, fix = (
        renamed(text(part), names) for part in (found.parameter, found.expected, found.got, found.fix)
    )
    return Problem(
        rule=rule,
        parameter=parameter,
        got=got,
        allowed=allowed,
        fix=fix,
        message=compose(parameter, allowed, got, fix, rule),
        code=found.status,
        is_target_limit=bool(found.isTargetLimit),
    )
