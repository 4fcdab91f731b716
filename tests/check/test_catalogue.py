# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The catalogue is complete, every rule says what it wants, and the documentation has a place for each."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

import acl_attn
from acl_attn.errors import code_names
from acl_attn.report import anchor

ROOT = Path(__file__).resolve().parents[2]
RULES = acl_attn.list_rules()

# How many rules the vendor's constraints come to, by group and tier; they are numbered from 1.
COUNTS = {
    "API-E": 7,
    "API-S": 5,
    "API-C": 2,
    "API-X": 2,
    "COM-S": 17,
    "COM-E": 5,
    "COM-C": 40,
    "COM-X": 10,
    "MASK-S": 5,
    "MASK-C": 8,
    "MASK-X": 8,
    "ASL-S": 12,
    "ASL-E": 3,
    "ASL-X": 2,
    "PSE-S": 8,
    "PSE-E": 1,
    "PSE-C": 3,
    "PSE-X": 6,
    "DQN-E": 1,
    "DQA-S": 32,
    "DQA-E": 6,
    "DQA-C": 2,
    "DQA-X": 14,
    "DQF-S": 14,
    "DQF-E": 16,
    "DQF-X": 56,
    "PQ-S": 3,
    "PQ-E": 1,
    "PQ-C": 3,
    "PQ-X": 5,
    "PA-S": 13,
    "PA-E": 5,
    "PA-C": 6,
    "PA-X": 13,
    "LP-S": 2,
    "LP-E": 1,
    "LP-X": 7,
    "PFX-S": 10,
    "PFX-E": 1,
    "PFX-X": 12,
    "ROPE-S": 2,
    "ROPE-E": 1,
    "ROPE-C": 1,
    "ROPE-X": 20,
    "SINK-S": 3,
    "SINK-X": 10,
    "LSE-S": 1,
    "LSE-E": 2,
    "LSE-X": 3,
    "TPL-X": 1,
}
TIERS = {"S": "single", "E": "existence", "C": "consistency", "X": "cross"}


def test_no_rule_of_the_vendor_is_missing() -> None:
    wanted = {f"{series}-{number:02}" for series, count in COUNTS.items() for number in range(1, count + 1)}
    assert len(wanted) == 411
    found = {rule.id for rule in RULES if rule.operator == "fused_infer_attention_score"}
    assert wanted <= found, sorted(wanted - found)
    assert all(other.startswith("HOST-") for other in found - wanted), sorted(found - wanted)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.id}-{rule.stage or 'absent'}")
def test_every_rule_says_what_it_is(rule: acl_attn.Rule) -> None:
    assert re.fullmatch(r"[A-Z]+-[SECX]-\d\d", rule.id)
    assert rule.tier == TIERS[rule.id.split("-")[1]]
    assert rule.group
    assert len(rule.text) > 10
    if rule.absence:
        assert (rule.stage, rule.profiles) == ("", ())
        assert len(rule.absence) > 10
    else:
        assert rule.stage
        assert rule.profiles
        assert rule.revisions
        assert code_names()[rule.status].startswith("ACLNN_ERR_")


def rule_pages() -> ModuleType:
    spec = importlib.util.spec_from_file_location("rule_pages", ROOT / "docs/_ext/rule_pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_rule_has_its_place_in_the_documentation() -> None:
    pages = rule_pages().pages(RULES)
    for rule in RULES:
        page, _, label = anchor(rule.id).partition("#")
        assert rule.anchor == anchor(rule.id)
        text = pages[page.removeprefix("rules/").replace(".html", ".rst")]
        assert text.count(f".. _{label}:\n") == 1, rule.id
        assert f".. rubric:: {rule.id}\n" in text
    assert sum(text.count(".. rubric:: ") for text in pages.values()) == len({rule.id for rule in RULES})


def test_every_rule_has_a_call_that_keeps_it_and_one_that_breaks_it() -> None:
    """That they do what they say is shown by native/tests/rule_examples.cpp, which reads the same file."""
    shown = rule_pages().examples((ROOT / "native/tests/rule_examples.txt").read_text())
    in_code = set(re.findall(r'"([A-Z]+-[SECX]-\d\d)"', (ROOT / "native/tests/rule_examples.cpp").read_text()))
    checked = {rule.id for rule in RULES if not rule.absence}
    assert checked <= set(shown) | in_code, sorted(checked - set(shown) - in_code)
    assert len(set(shown) & checked) > 0.95 * len(checked)
    assert set(shown) <= checked
    pages = "".join(rule_pages().pages(RULES).values())
    for found in shown.values():
        for example in found:
            assert example.change
            assert f"with ``{example.change}`` it breaks the rule" in pages


def test_pages_are_generated_and_not_kept() -> None:
    assert "/docs/rules/" in (ROOT / ".gitignore").read_text()
    assert '"rule_pages"' in (ROOT / "docs/conf.py").read_text()


def test_every_documented_code_is_one() -> None:
    text = (ROOT / "docs/reference/status_codes.rst").read_text()
    for code, name in re.findall(r"\* - (\d{6})\n +- (ACL\w+)", text):
        assert code_names()[int(code)] == name
    for rule in RULES:
        assert not rule.status or str(rule.status) in text, rule
