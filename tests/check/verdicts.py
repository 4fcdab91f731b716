# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Holds the rules against recorded verdicts: ``python -m tests.check.verdicts FILE``, in the recorded form.

A call agrees if it is accepted or refused as recorded; if the recorded call has only one defect, for that reason; and
if phase one gives the same answer as the check. Without FILE the verdicts in this folder are taken.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import acl_attn
from acl_attn._lib import ffi, lib, text
from acl_attn.device import Device
from acl_attn.errors import load_target
from acl_attn.profiles import PROFILES, RULES

from .facts import handed, recorded
from .native_call import arguments, version_of

if TYPE_CHECKING:
    from .facts import Facts


class Broken(NamedTuple):
    """A rule that a call breaks."""

    rule: str
    message: str
    is_target_limit: bool = False  # the product takes the call, and only the host target does not


class Answer(NamedTuple):
    """What the library says: all rules that a call breaks, in the order in which they would be reported."""

    is_accepted: bool  # by the product
    broken: tuple[Broken, ...]

    @property
    def reason(self) -> Broken | None:
        """Why the product refuses the call.

        Verdicts were recorded behind the front layer, and their reasons are the vendor's rules: what the front layer or
        this library's own rules refuse is no reason if there is another one.
        """
        reasons = [broken for broken in self.broken if not broken.is_target_limit]
        front = front_rules()
        behind = [each for each in reasons if each.rule not in front and not each.rule.startswith("HOST-")]
        return next(iter(behind or reasons), None)


@cache
def front_rules() -> frozenset[str]:
    """Name the rules of the front layer."""
    return frozenset(rule.id for rule in acl_attn.list_rules() if rule.stage == "front")


def ask_check(facts: Facts, rules: str = "newest") -> Answer:
    """Ask the check."""
    load_target()
    options = ffi.new("aclAttnCheckOptions *")
    options.version = version_of(facts)
    options.profile = PROFILES.index(facts.profile)
    options.rules = RULES.index(rules)
    options.lengthsHaveNoValues = facts.has_unknown_lengths
    report = ffi.new("aclAttnReport **")
    with ExitStack() as stack:
        given = arguments(facts, stack, all_of_them=True)
        status = lib.aclAttnCheckFusedInferAttentionScore(*given, options, report)
    assert not status, text(lib.aclGetRecentErrMsg())
    problem = ffi.new("aclAttnProblem *")
    broken = []
    for index in range(lib.aclAttnGetReportCount(report[0])):
        assert not lib.aclAttnGetReportProblem(report[0], index, problem)
        broken.append(Broken(text(problem.rule), text(problem.message), bool(problem.isTargetLimit)))
    is_accepted = bool(lib.aclAttnIsReportAccepting(report[0]))
    lib.aclAttnDestroyReport(report[0])
    assert is_accepted == all(each.is_target_limit for each in broken), (facts.id, broken)
    return Answer(is_accepted, tuple(broken))


def ask_phase_one(facts: Facts, rules: str = "newest") -> Broken | None:
    """Ask the operator itself: why it refuses the call."""
    device, before = Device.current(), lib.aclAttnGetRules()
    profile, device.profile = device.profile, facts.profile
    lib.aclAttnSetRules(RULES.index(rules))
    try:
        return _phase_one(facts)
    finally:
        device.profile = profile
        lib.aclAttnSetRules(before)


def _phase_one(facts: Facts) -> Broken | None:
    version = version_of(facts)
    kind = "GetMaxWorkspaceSize" if facts.has_unknown_lengths else "GetWorkspaceSize"
    name = f"aclnnFusedInferAttentionScore{f'V{version}' if version > 1 else ''}{kind}"
    size, executor = ffi.new("uint64_t *"), ffi.new("aclOpExecutor **")
    with ExitStack() as stack:
        status = getattr(lib, name)(*arguments(facts, stack), size, executor)
    if not status:
        lib.aclDestroyAclOpExecutor(executor[0])
        return None
    problem = ffi.new("aclAttnProblem *")
    assert lib.aclAttnGetRecentProblem(problem), text(lib.aclGetRecentErrMsg())
    assert problem.status == status
    return Broken(text(problem.rule), text(problem.message), bool(problem.isTargetLimit))


def disagreement(facts: Facts) -> str:
    """Say how an answer differs from the verdict; empty if it doesn't."""
    said = ask_check(facts)
    got = said.reason.message if said.reason else "accepted"
    if said.is_accepted != facts.ok:
        return f"{'accepted' if facts.ok else f'refused for {facts.rule}'}, got {got}"
    if facts.sole and (said.reason is None or said.reason.rule != facts.rule):
        return f"refused for {facts.rule}, got {got}"
    if not facts.has_unknown_lengths or version_of(facts) == 5:  # the only version with an entry point for that
        reported = ask_phase_one(facts)
        first = next(iter(said.broken), None)
        if (reported and reported.rule) != (first and first.rule):
            return f"answered by phase one as by the check ({first}), got {reported}"
    return ""


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tests.check.verdicts")
    parser.add_argument("file", type=Path, nargs="?", help="verdicts in the recorded form, one JSON object a line")
    parser.add_argument(
        "--first-rules", action="store_true", help="also count calls with several defects by first rule"
    )
    chosen = parser.parse_args(argv)
    cases = handed() if chosen.file is None else recorded(chosen.file)
    wrong, kinds = 0, Counter[Any]()
    for facts in cases:
        problem = disagreement(facts)
        kinds[facts.profile, "accepted" if facts.ok else "refused"] += 1
        if problem:
            wrong += 1
            sys.stdout.write(f"{facts.id} ({facts.profile}): expected to be {problem}\n")
        elif chosen.first_rules and facts.rule and not facts.ok:
            reason = ask_check(facts).reason
            first = reason.rule if reason else ""
            kinds["first rule", "same" if first == facts.rule else f"{first} instead of {facts.rule}"] += 1
    for kind, count in sorted(kinds.items(), key=str):
        sys.stdout.write(f"{count:6} {' '.join(kind)}\n")
    sys.stdout.write(f"{len(cases) - wrong} of {len(cases)} verdicts agree\n")
    return 1 if wrong or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
