# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The check reports every problem of a call, from shapes alone, and says the same as the call itself."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pytest

import acl_attn
from acl_attn import Spec, check
from acl_attn._lib import lib, text
from acl_attn.profiles import PROFILES, RULES
from acl_attn.testing.build import arguments
from acl_attn.testing.calls import Call

if TYPE_CHECKING:
    from collections.abc import Callable

SetProfile: TypeAlias = "Callable[[str], None]"
Q = Spec((2, 3, 8, 128), "float16")
KV = Spec((2, 9, 2, 128), "float16")
CALL: dict[str, Any] = {"query": Q, "key": KV, "value": KV, "kv_lengths": [9, 4]}
CACHE = Spec((64, 100, 2 * 128), "float16")
PAGED: dict[str, Any] = {
    "query": Spec((2, 1, 8, 128), "float16"),
    "key": CACHE,
    "value": CACHE,
    "block_table": Spec((2, 4), "int32"),
    "kv_lengths": [300, 70],
}
FIA: dict[str, Any] = {
    "query": Q,
    "key": KV,
    "value": KV,
    "num_heads": 8,
    "num_key_value_heads": 2,
    "input_layout": "BSND",
    "actual_seq_lengths_kv": [9, 4],
    "scale_value": 0.1,
}


def test_names_are_those_of_the_library() -> None:
    assert len(PROFILES) == lib.ACL_ATTN_PROFILE_COUNT
    assert tuple(text(lib.aclAttnGetProfileName(number)) for number in range(len(PROFILES))) == PROFILES
    for number, name in enumerate(PROFILES):
        assert getattr(lib, f"ACL_ATTN_PROFILE_{name.upper()}") == number
    for number, name in enumerate(RULES):
        assert getattr(lib, f"ACL_ATTN_RULES_{name.upper()}") == number


@pytest.mark.parametrize(("operator", "call"), [("attention", CALL), ("fused_infer_attention_score", FIA)])
@pytest.mark.parametrize("profile", ["ascend950", "host"])
def test_a_sound_call_is_true(operator: str, call: dict[str, Any], profile: str) -> None:
    report = check(operator, profile=profile, **call)
    assert report, report
    assert (report.operator, report.profile, report.rules) == (operator, profile, "page")
    assert report.first is None
    assert profile in report.accepted_by
    assert str(report) == f"{operator} under profile {profile}: accepted"


def test_problems_say_everything() -> None:
    report = check("attention", profile="ascend950", **PAGED)
    assert not report
    problem = report.first
    assert problem is not None
    assert problem.rule == "PA-S-07"
    assert problem.parameter == "block_size"
    assert problem.got == "100"
    assert "16" in problem.allowed
    assert problem.code == 561002
    assert problem.anchor == "rules/pa.html#rule-pa-s-07"
    assert problem.message.startswith("block_size: expected ")
    assert problem.message.endswith("[PA-S-07]")
    assert "host" in report.accepted_by
    assert check("attention", profile="host", **PAGED)


def test_all_problems_are_found_the_first_first(set_profile: SetProfile) -> None:
    call = {**PAGED, "inner_precise": 7, "sink": Spec((8,), "float32"), "block_table": Spec((2, 4), "int64")}
    report = check("attention", profile="ascend950", **call)
    rules = [problem.rule for problem in report]
    assert {"COM-S-13", "SINK-S-01", "PA-S-01", "PA-S-07"} <= set(rules)
    set_profile("ascend950")
    with pytest.raises(acl_attn.InvalidArgumentError) as caught:
        acl_attn.attention(**{name: _array(value) for name, value in call.items()})
    assert caught.value.rule == rules[0]
    assert caught.value.got == report.problems[0].got
    assert caught.value.allowed == report.problems[0].allowed


def _array(value: Any) -> Any:
    return np.zeros(value.shape, value.dtype) if isinstance(value, Spec) else value


def test_arrays_and_specs_are_judged_alike() -> None:
    given = arguments(Call(layout="BSND", q_lengths=(3, 2), kv_lengths=(7, 9), heads=4, kv_heads=3, mask=0.3))
    specs = {
        name: Spec(value.shape, value.dtype) if isinstance(value, np.ndarray) else value
        for name, value in given.items()
    }
    for profile in PROFILES:
        one = check("fused_infer_attention_score", profile=profile, **given)
        other = check("fused_infer_attention_score", profile=profile, **specs)
        assert one == other
        assert not one


def test_strides_of_a_spec_count() -> None:
    strided = Spec(KV.shape, "float16", (9 * 512, 512, 256, 1))
    report = check("attention", profile="ascend950", **{**CALL, "key": strided})
    assert not report
    assert any(problem.parameter.startswith("key") for problem in report)


def test_lengths_may_be_unknown() -> None:
    unknown = {**FIA, "actual_seq_lengths_kv": Spec((2,), "int64")}
    assert check("fused_infer_attention_score", profile="ascend950", **unknown)
    assert not check("fused_infer_attention_score", profile="ascend950", **{**FIA, "actual_seq_lengths_kv": [9, 99]})
    report = check("fused_infer_attention_score", **{**unknown, "actual_seq_lengths_kv": Spec((2, 2), "int64")})
    assert report.first is not None
    assert report.first.parameter == "actual_seq_lengths_kv"


@pytest.mark.parametrize(
    ("change", "parameter"),
    [
        ({"query": 3}, "query"),
        ({"layout": "XYZ"}, "layout"),
        ({"kv_lengths": [1, 2, 3]}, "kv_lengths"),
        ({"mask": "diagonal"}, "mask"),
        ({"headdim": 3}, "headdim"),
    ],
)
def test_what_python_refuses_is_reported_too(change: dict[str, Any], parameter: str) -> None:
    report = check("attention", **{**CALL, **change})
    assert not report
    assert [problem.parameter for problem in report] == [parameter]
    assert report.problems[0].allowed
    assert report.problems[0].got


def test_a_missing_argument_is_reported() -> None:
    report = check("attention", query=Q, key=KV)
    assert report.first is not None
    assert report.first.parameter == "value"


def test_outputs_that_were_not_given_are_not_blamed() -> None:
    report = check("attention", profile="ascend950", **{**CALL, "value": Spec((2, 9, 2, 120), "float16")})
    assert all(problem.parameter not in ("out", "lse_out") for problem in report), report


@pytest.mark.parametrize(
    ("options", "parameter"), [({"profile": "ascend310"}, "profile"), ({"rules": "oldest"}, "rules")]
)
def test_questions_that_make_no_sense_are_raised(options: dict[str, str], parameter: str) -> None:
    with pytest.raises(acl_attn.InvalidArgumentError, match=f"{parameter}: expected one of"):
        check("attention", **options, **CALL)
    with pytest.raises(acl_attn.InvalidArgumentError, match=r"operator: expected one of .*attention"):
        check("conv2d", **CALL)


def test_editions_differ() -> None:
    """D2 of the documented contradictions: heads of decode MLA."""
    latent = Spec((1, 40, 1, 512), "float16")
    rope = acl_attn.Rope(Spec((1, 1, 48, 64), "float16"), Spec((1, 40, 1, 64), "float16"))
    call = {"query": Spec((1, 1, 48, 512), "float16"), "key": latent, "value": latent, "rope": rope, "scale": 0.1}
    assert not check("attention", profile="ascend950", rules="page", **call)
    assert check("attention", profile="ascend950", rules="newest", **call)


def test_reports_are_values() -> None:
    report = check("attention", profile="ascend950", **PAGED)
    assert report == check("attention", profile="ascend950", **PAGED)
    plain = report.as_dict()
    assert plain["ok"] is False
    assert plain["problems"][0]["rule"] == "PA-S-07"
    assert plain["problems"][0]["anchor"]
    assert {field.name for field in fields(acl_attn.Problem)} < set(plain["problems"][0])
    assert list(report) == list(report.problems)
    table = str(report)
    assert table.splitlines()[0].startswith("attention under profile ascend950: refused, ")
    for part in ("rule", "parameter", "got", "allowed", "fix", "PA-S-07", "block_size", "accepted under: "):
        assert part in table
    assert max(len(line) for line in table.splitlines()) < 190


def test_profiles_of_devices(set_profile: SetProfile) -> None:
    set_profile("ascend950")
    device = acl_attn.Device(0)
    assert acl_attn.Device(0, profile="ascend910b") is device
    assert device.profile == "ascend910b"
    assert acl_attn.environment().profile == "ascend910b"
    assert acl_attn.Device(0).profile == "ascend910b", "without the argument nothing changes"
    assert check("attention", **CALL).profile == "ascend910b"
    with pytest.raises(acl_attn.InvalidArgumentError, match="profile: expected one of host"):
        device.profile = "ascend310p"
    with pytest.raises(acl_attn.InvalidArgumentError, match="profile: expected one of host"):
        acl_attn.Device(0, profile="")


def test_refusals_name_the_profiles_that_accept(set_profile: SetProfile) -> None:
    set_profile("ascend950")
    with pytest.raises(acl_attn.InvalidArgumentError, match="accepted under profile host") as caught:
        acl_attn.Plan(**{**PAGED, "block_table": np.zeros((2, 4), np.int32)})
    assert "host" in caught.value.profiles
    assert "ascend950" not in caught.value.profiles
    assert caught.value.rule == "PA-S-07"
    assert caught.value.parameter == "block_size"
    with pytest.raises(acl_attn.InvalidArgumentError) as caught:
        acl_attn.attention(*(np.zeros((1, 2, 2, 64), np.float16),) * 3, inner_precise=9)
    assert caught.value.profiles == ()


def test_nothing_is_left_of_reports() -> None:
    before = acl_attn.live_objects()
    for call in (CALL, PAGED, {**CALL, "layout": "?"}):
        check("attention", **call)
    assert acl_attn.live_objects() == before
