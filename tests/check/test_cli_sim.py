# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The ``acl-attn sim`` command: what it prints, and what it says if it cannot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from acl_attn.cli import main
from acl_attn.cli_sim import report_lines
from acl_attn.scenarios import SCENARIOS

_LAUNCH: dict[str, Any] = {
    "kernel": "a_kernel",
    "chip": "Ascend 910B",
    "note": "an estimate from counts and published figures; nothing has run on an NPU",
    "cores": 24,
    "dry": True,
    "cycles": 1800,
    "microseconds": 1.0,
    "bottleneck": "cube MTE2",
    "limits": {"cube_microseconds": 0.25, "memory_microseconds": 0.5, "share_of_limit": 0.5},
    "pipes": {
        "cube MTE2": {
            "operations": 7,
            "busy_cycles": 900,
            "utilisation": 0.5,
            "utilisation_of_busiest": 0.75,
            "flags_set": 3,
            "flags_waited_for": 4,
        }
    },
    "moved": {"GM to L1": {"bytes": 4096, "bursts": 8}},
    "hbm_bytes": 2048,
    "macs": 8192,
    "cube_cycles": 2,
    "vector_repeats": 5,
    "flags_between_cores": {"set": 6, "waited_for": 6},
    "high_water": {"L1": {"bytes": 1024, "of": 524032}},
}


def test_a_report_has_every_count_and_says_that_it_is_an_estimate() -> None:
    text = "\n".join(report_lines(_LAUNCH))
    for words in (
        "a_kernel on 24 cores of Ascend 910B",
        "1.0 us; bottleneck: cube MTE2",
        "cube 0.2 us, memory 0.5 us; 50% of the higher one",
        "nothing has run on an NPU",
    ):
        assert words in text
    rows = {line[:14].strip(): line[14:].split() for line in text.splitlines()}
    assert rows["cube MTE2"] == ["7", "900", "50.0%", "75.0%", "3", "4"]
    assert rows["GM to L1"] == ["4096", "8"]
    assert rows["from HBM"] == ["2048"]
    assert rows["L1"] == ["1024", "524032"]


def test_a_file_that_is_no_call_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    missing = tmp_path / "missing.npz"
    assert main(["sim", str(missing)]) == 2
    words = "acl-attn sim: call: expected a file, or one of llama-3-8b-prefill, "
    assert capsys.readouterr().err.startswith(words)
    missing.write_bytes(b"no archive")
    assert main(["sim", str(missing)]) == 1
    assert capsys.readouterr().err.startswith("acl-attn sim: missing.npz: expected a stored call")


@pytest.mark.parametrize("chip", ["910b", "950"])
def test_a_known_call_is_counted(chip: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    trace = Path(tmp_path, "trace.json")
    assert main(["sim", "llama-3-8b-decode", "--chip", chip, "--json", "--trace", str(trace)]) == 0
    (launch,) = json.loads(capsys.readouterr().out)
    # 32 sequences of 4096 tokens, 32 heads: two products of 128 channels; keys and values are read once.
    assert launch["macs"] == 32 * 4096 * 32 * 128 * 2
    assert launch["hbm_bytes"] >= 32 * 4096 * 8 * 128 * 2 * 2
    assert 0 < launch["limits"]["share_of_limit"] <= 1
    events = json.loads(trace.read_text())["traceEvents"]
    assert {event["ph"] for event in events} == {"M", "X"}


def test_known_calls_are_named() -> None:
    assert list(SCENARIOS) == [
        "llama-3-8b-prefill",
        "llama-3-8b-int8-prefill",
        "llama-3-8b-decode",
        "deepseek-v3-mla-decode",
        "deepseek-v3-int8-mla-decode",
        "deepseek-v3-fp8-mla-decode",
        "deepseek-v4-hca-decode",
        "deepseek-v4-csa-decode",
        "deepseek-v4-packed-csa-decode",
    ]
