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


def test_no_rule_of_the_sparse_operators_is_missing() -> None:
    absent = {rule.id for rule in RULES if rule.absence and rule.operator != "fused_infer_attention_score"}
    # Of the vendor's documents alone, and of products that no profile has: nothing enforces them.
    assert absent == {"SMLA-045", "SMLA-046", "SMLA-057", "SMLA-090", "SMLA-M50", "KVQ-046", "KVQ-M10"}
    mla = {f"SMLA-{number:03}" for number in (*range(1, 67), *range(70, 76), 90)}
    mla_metadata = {f"SMLA-M{number:02}" for number in (*range(1, 14), *range(20, 26), 30, 31, 32, *range(40, 44), 50)}
    kvq = {f"KVQ-{number:03}" for number in (*range(1, 15), *range(20, 35), *range(40, 47), 50)}
    kvq_metadata = {f"KVQ-M{number:02}" for number in range(1, 11)} | {"KVQ-050"}
    for operator, wanted in {
        "sparse_flash_mla": mla,
        "sparse_flash_mla_metadata": mla_metadata,
        "kv_quant_sparse_attn_sharedkv": kvq,
        "kv_quant_sparse_attn_sharedkv_metadata": kvq_metadata,
    }.items():
        found = {rule.id for rule in RULES if rule.operator == operator}
        assert wanted <= found, sorted(wanted - found)
        assert all(re.fullmatch(r"HOST-[SECXFV]-5\d", other) for other in found - wanted), sorted(found - wanted)


def test_rules_stand_in_the_order_in_which_they_are_looked_at() -> None:
    stages = ("front", "single", "existence", "cross", "consistency", "run")
    for operator in {rule.operator for rule in RULES} - {"fused_infer_attention_score"}:
        found = [stages.index(rule.stage) for rule in RULES if rule.operator == operator and not rule.absence]
        assert found == sorted(found)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.id}-{rule.stage or 'absent'}")
def test_every_rule_says_what_it_is(rule: acl_attn.Rule) -> None:
    if rule.operator == "fused_infer_attention_score":
        assert re.fullmatch(r"[A-Z]+-[SECX]-\d\d", rule.id)
        assert rule.tier == TIERS[rule.id.split("-")[1]]
        assert len(rule.text) > 10
    else:
        assert re.fullmatch(r"SMLA-(\d{3}|M\d\d)|KVQ-(\d{3}|M\d\d)|HOST-[SECXFV]-\d\d", rule.id)
        assert rule.tier in TIERS.values()
        assert rule.text
        assert rule.parameter or len(rule.text) > 10
    assert rule.group
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
    checked = {rule.id for rule in RULES if rule.operator == "fused_infer_attention_score" and not rule.absence}
    assert checked <= set(shown) | in_code, sorted(checked - set(shown) - in_code)
    assert len(set(shown) & checked) > 0.95 * len(checked)
    assert set(shown) <= checked
    pages = "".join(rule_pages().pages(RULES).values())
    for found in shown.values():
        for example in found:
            assert example.change
            assert f"with ``{example.change}`` it breaks the rule" in pages


def test_every_sparse_rule_has_a_call_that_breaks_it() -> None:
    """That the calls are refused, and for which status, is shown by native/tests/sparse_rules.cpp, which makes them.

    So is that they are accepted without the change. Rules about devices are in sparse_chips.cpp.
    """
    module = rule_pages()
    shown = module.sparse_examples((ROOT / "native/tests/sparse_refused.cpp").read_text())
    sparse = {rule.id for rule in RULES if rule.operator != "fused_infer_attention_score" and not rule.absence}
    elsewhere = {"SMLA-M01", "KVQ-M01", "SMLA-M13", "KVQ-M03", "HOST-S-58"}  # out-pointers, devices
    # Those about what tensors hold: native/tests/sparse_values.cpp breaks each of them, and counts.
    sparse -= {rule.id for rule in RULES if rule.stage == "run"}
    assert sparse - elsewhere == set(shown)
    driver = (ROOT / "native/tests/sparse_rules.cpp").read_text()
    assert all(f'"{rule}"' in driver for rule in elsewhere)
    assert sum(bool(examples) for examples in shown.values()) > 0.9 * len(shown)
    pages = "".join(module.pages(RULES).values())
    for rule, examples in shown.items():
        for example in examples:
            assert example.change, rule
            assert f"``{example.call}`` is accepted; with ``{example.change}`` it breaks the rule" in pages


def test_texts_of_rules_that_operators_share_are_all_shown() -> None:
    page = rule_pages().pages(RULES)["host.rst"]
    assert page.count("* Binds of `sparse_flash_mla`") == sum(
        rule.operator == "sparse_flash_mla" for rule in RULES if rule.id in _shared()
    )
    for rule in RULES:
        if rule.id == "HOST-C-53":
            assert rule.text in page


def _shared() -> set[str]:
    operators: dict[str, set[str]] = {}
    for rule in RULES:
        operators.setdefault(rule.id, set()).add(rule.operator)
    return {rule for rule, found in operators.items() if len(found) > 1}


def test_pages_are_generated_and_not_kept() -> None:
    assert "/docs/rules/" in (ROOT / ".gitignore").read_text()
    assert '"rule_pages"' in (ROOT / "docs/conf.py").read_text()


def test_every_documented_code_is_one() -> None:
    text = (ROOT / "docs/reference/status_codes.rst").read_text()
    for code, name in re.findall(r"\* - (\d{6})\n +- (ACL\w+)", text):
        assert code_names()[int(code)] == name
    for rule in RULES:
        assert not rule.status or str(rule.status) in text, rule
