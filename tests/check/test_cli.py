# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""``acl-attn check`` and ``acl-attn run``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest

import acl_attn
from acl_attn import Spec, cli

from .test_check import CALL, PAGED, SetProfile

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def call_file(tmp_path: Path) -> Path:
    call = {**PAGED, "block_table": Spec((2, 4), "int64")}
    acl_attn.save_call(tmp_path / "call.json", "attention", **call)
    return tmp_path / "call.json"


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    status = cli.main([str(argument) for argument in arguments])
    return status, *capsys.readouterr()


def test_check(call_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "check", call_file, "--profile", "ascend950")
    assert status == 1
    assert out.startswith("attention under profile ascend950: refused, ")
    assert "PA-S-01" in out
    assert "PA-S-07" not in out
    assert "... and " in out
    status, out, _ = run(capsys, "check", call_file, "--profile", "ascend950", "--all")
    assert status == 1
    assert "PA-S-01" in out
    assert "PA-S-07" in out
    status, out, _ = run(capsys, "check", call_file, "--profile", "ascend950", "--json")
    assert status == 1
    report = json.loads(out)
    assert {problem["rule"] for problem in report["problems"]} >= {"PA-S-01", "PA-S-07"}
    assert report["profile"] == "ascend950"


def test_check_of_a_sound_call(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    acl_attn.save_call(tmp_path / "call.json", "attention", **CALL)
    status, out, _ = run(capsys, "check", tmp_path / "call.json", "--profile", "ascend950")
    assert (status, out) == (0, "attention under profile ascend950: accepted\n")
    status, out, _ = run(capsys, "check", tmp_path / "call.json", "--json", "--rules", "newest")
    assert status == 0
    assert json.loads(out)["ok"] is True
    assert json.loads(out)["rules"] == "newest"


def test_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    call: dict[str, Any] = {
        name: rng.standard_normal(value.shape).astype(value.dtype) if isinstance(value, Spec) else value
        for name, value in CALL.items()
    }
    call["return_lse"] = True
    acl_attn.save_call(tmp_path / "call.npz", "attention", **call)
    status, out, _ = run(capsys, "run", tmp_path / "call.npz", "--output", tmp_path / "results.npz")
    assert status == 0
    assert "attention_out  float16 (2, 3, 8, 128)" in out
    assert "softmax_lse  float32 (2, 8, 3, 1)" in out
    results = np.load(tmp_path / "results.npz")
    want, lse = acl_attn.attention(**call)
    np.testing.assert_array_equal(results["attention_out"], want)
    np.testing.assert_array_equal(results["softmax_lse"], lse.array)
    assert (str(results["attention_out.dtype"]), str(results["softmax_lse.dtype"])) == ("float16", "float32")


@pytest.mark.parametrize("dtype", ["bfloat16", "hifloat8", "float8_e4m3fn"])
def test_results_of_types_that_numpy_has_no_name_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], dtype: str
) -> None:
    query = np.random.default_rng(0).standard_normal((1, 3, 2, 32)).astype(ml_dtypes.bfloat16)
    call: dict[str, Any] = {"query": query, "key": query, "value": query}
    if dtype != "bfloat16":
        call["out_quant"] = acl_attn.OutQuant(1.0, dtype=dtype)
    acl_attn.save_call(tmp_path / "call.npz", "attention", **call)
    status, out, _ = run(capsys, "run", tmp_path / "call.npz", "--output", tmp_path / "results.npz")
    assert status == 0
    assert f"attention_out  {dtype} (1, 3, 2, 32)  min " in out
    with np.load(tmp_path / "results.npz") as results:
        assert str(results["attention_out.dtype"]) == dtype
        found = results["attention_out"].view(acl_attn.dtypes.as_dtype(dtype))
    want = acl_attn.attention(**call)
    assert found.dtype == want.dtype
    assert found.tobytes() == want.tobytes()


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("ACL_ATTN_CPU", "fast", "ACL_ATTN_CPU: expected one of portable"),
        ("ACL_ATTN_NUM_THREADS", "many", "ACL_ATTN_NUM_THREADS: expected a number from 1 to 1024, got many; unset it"),
        ("ACL_ATTN_NUM_THREADS", "0", "ACL_ATTN_NUM_THREADS: expected a number from 1 to 1024, got 0; unset it"),
        ("ACL_ATTN_PROFILE", "ascend1", "ACL_ATTN_PROFILE: expected one of host"),
        ("ACL_ATTN_RULES", "old", "ACL_ATTN_RULES: expected one of page"),
    ],
)
def test_an_environment_that_makes_no_sense_stops_a_run(
    tmp_path: Path, variable: str, value: str, message: str
) -> None:
    query = np.ones((1, 1, 2, 32), np.float16)
    acl_attn.save_call(tmp_path / "call.npz", "attention", query=query, key=query, value=query)
    command = [sys.executable, "-m", "acl_attn", "run", str(tmp_path / "call.npz")]
    environment = {**os.environ, variable: value}
    done = subprocess.run(command, env=environment, cwd="/", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"acl-attn run: {message}")


def test_run_of_a_refused_call(tmp_path: Path, capsys: pytest.CaptureFixture[str], set_profile: SetProfile) -> None:
    call = {
        name: np.zeros(value.shape, value.dtype) if isinstance(value, Spec) else value for name, value in PAGED.items()
    }
    acl_attn.save_call(tmp_path / "call.npz", "attention", **call)
    set_profile("host")  # and back again after the test
    status, out, _ = run(capsys, "run", tmp_path / "call.npz", "--profile", "ascend950")
    assert status == 1
    assert "PA-S-07" in out
    set_profile("host")
    assert run(capsys, "run", tmp_path / "call.npz")[0] == 0


def test_files_that_are_no_calls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "call.npz").write_bytes(b"PK\x03\x04 nonsense")
    (tmp_path / "call.json").write_text("{")
    for command in ("check", "run"):
        for name in ("call.npz", "call.json", "absent.npz", "call.txt"):
            status, out, err = run(capsys, command, tmp_path / name)
            assert (status, out) == (2, "")
            assert err.startswith(f"acl-attn {command}: ")
            assert "expected" in err
    acl_attn.save_call(tmp_path / "call.json", "attention", **CALL)
    assert run(capsys, "run", tmp_path / "call.json")[0] == 2


def test_env_shows_what_is_in_force() -> None:
    def env(**variables: str) -> subprocess.CompletedProcess[str]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("ACL_ATTN_")}
        command = [sys.executable, "-m", "acl_attn", "env"]
        return subprocess.run(command, env=clean | variables, cwd="/", capture_output=True, text=True, check=False)

    assert "profile       ascend950, page rules" in env().stdout
    chosen = env(ACL_ATTN_PROFILE="ascend910b", ACL_ATTN_RULES="newest")
    assert "profile       ascend910b, newest rules" in chosen.stdout
    assert "ACL_ATTN_PROFILE=ascend910b" in chosen.stdout
    for variable in ("ACL_ATTN_PROFILE", "ACL_ATTN_RULES"):
        wrong = env(**{variable: "ascend9000"})
        assert wrong.returncode == 1
        assert f"{variable}: expected one of" in wrong.stdout
