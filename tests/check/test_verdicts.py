# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The rules give the verdicts that the products' own implementation gave, for the same reason if there is only one."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from .facts import UNREGISTERED, Facts, handed, recorded
from .verdicts import disagreement

if TYPE_CHECKING:
    from pathlib import Path

CASES = handed()


@pytest.mark.parametrize("facts", CASES, ids=lambda facts: facts.id)
def test_verdict(facts: Facts) -> None:
    assert disagreement(facts) == ""


def test_there_are_enough_of_each_kind() -> None:
    counts = Counter((facts.profile, facts.ok) for facts in CASES)
    assert min(counts.values()) >= 30
    assert len(counts) == 4
    assert len({facts.rule for facts in CASES if facts.sole}) >= 50


def test_a_wrong_verdict_is_noticed() -> None:
    """Turned around, verdicts must not agree."""
    for facts in (next(facts for facts in CASES if facts.ok), next(facts for facts in CASES if facts.sole)):
        assert disagreement(Facts(**{**vars(facts), "ok": not facts.ok, "sole": False}))
    sole = next(facts for facts in CASES if facts.sole)
    assert disagreement(Facts(**{**vars(sole), "rule": "COM-S-99"}))


def test_the_recorded_form_is_read(tmp_path: Path) -> None:
    row = {
        "id": "x",
        "soc": "Ascend950",
        "expect": "fail",
        "inputs": {
            "query": {"shape": [1, 1, 4, 64], "dtype": "fp16", "fmt": "ND"},
            "key": [{"shape": [1, 8, 4, 64], "dtype": "fp16", "fmt": "ND"}],
            "value": [{"shape": [1, 8, 4, 64], "dtype": "float32", "fmt": "FRACTAL_NZ"}],
            "actual_seq_lengths_kv": {"shape": [1], "dtype": "int64", "fmt": "ND"},
        },
        "outputs": {"attention_out": {"shape": [1, 1, 4, 64], "dtype": "fp16", "fmt": "ND"}},
        "int_values": {"kv_lens": None},
        "attrs": {"num_heads": 4, "scale": 0.125, "input_layout": "BSND", "out_dtype": 0},
        "strides": {},
        "first_rule": "API-S-01",
        "sole": None,
    }
    file = tmp_path / "recorded.jsonl"
    file.write_text("".join(json.dumps({**row, **change}) + "\n" for change in ({}, {"strides": {"key": [1]}})))
    (facts,) = recorded(file)
    assert facts.tensors["value"] == [[[1, 8, 4, 64], UNREGISTERED, "FRACTAL_NZ"]]
    assert facts.lengths == {"actual_seq_lengths_kv": 1}
    assert facts.has_unknown_lengths
    assert facts.attributes == {"num_heads": 4, "scale_value": 0.125, "input_layout": "BSND"}
