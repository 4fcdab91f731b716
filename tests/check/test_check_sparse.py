# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The check of the sparse operators: every problem of a call, from shapes alone, and the call's own answer first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pytest

import acl_attn
from acl_attn import Spec, check
from acl_attn.profiles import PROFILES
from acl_attn.testing.sparse.build import arguments, metadata_arguments
from acl_attn.testing.sparse.cases import SparseCase

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SetProfile: TypeAlias = "Callable[[str], None]"
MAIN = ("sparse_flash_mla", "kv_quant_sparse_attn_sharedkv")
WORDS = Spec((1024,), "int32")


def case(operator: str) -> SparseCase:
    packed = {"kv_format": "float8_e4m3fn"} if operator == MAIN[1] else {}
    return SparseCase(
        q_lengths=(2, 3), kv_lengths=(40, 21), heads=64, dtype="bfloat16", layout="TND", is_paged=True, block_size=16,
        cmp_block_size=16, cmp_ratio=4, topk=512, **packed,
    )  # fmt: skip


def main_call(operator: str) -> dict[str, Any]:
    return {**arguments(case(operator)), "metadata": np.zeros(1024, np.int32)}


def metadata_call(operator: str) -> dict[str, Any]:
    return dict(metadata_arguments(arguments(case(operator))))


def as_specs(given: dict[str, Any]) -> dict[str, Any]:
    return {
        name: Spec(value.shape, value.dtype, tuple(step // value.itemsize for step in value.strides))
        if isinstance(value, np.ndarray)
        else value
        for name, value in given.items()
    }


@pytest.mark.parametrize("profile", ["ascend950", "host"])
@pytest.mark.parametrize("operator", MAIN)
def test_sound_calls_are_true(operator: str, profile: str) -> None:
    for name, given in ((operator, main_call(operator)), (f"{operator}_metadata", metadata_call(operator))):
        report = check(name, profile=profile, **given)
        assert report, report
        assert (report.operator, report.profile) == (name, profile)
        assert profile in report.accepted_by
        assert check(name, profile=profile, **as_specs(given)) == report


@pytest.mark.parametrize("operator", MAIN)
def test_all_problems_are_found_the_first_first(operator: str, set_profile: SetProfile) -> None:
    change = {
        "sinks": np.zeros(63, np.float32),
        "cmp_sparse_indices": np.zeros((5, 1, 512), np.int64),
        "cmp_ratio": 500,
        "ori_win_right": -7,
        "ori_block_table": np.zeros((3, 4), np.int32),
        "attn_out": np.zeros((5, 64, 512), "bfloat16"),
    }
    given = {**main_call(operator), **change}
    report = check(operator, profile="ascend950", **given)
    assert {problem.parameter for problem in report} == set(change) - {"attn_out"}, report
    assert report == check(operator, profile="ascend950", **as_specs(given))
    set_profile("ascend950")
    with pytest.raises(acl_attn.InvalidArgumentError) as caught:
        getattr(acl_attn, operator)(**given)
    assert report.first is not None
    assert (caught.value.rule, caught.value.parameter) == (report.first.rule, report.first.parameter)
    assert (caught.value.got, caught.value.allowed) == (report.first.got, report.first.allowed)
    assert report.first.code == 161002


def test_problems_of_metadata() -> None:
    given = {**metadata_call(MAIN[0]), "num_heads_q": 129, "head_dim": 576, "cmp_ratio": 0, "seqused_ori_kv": None}
    report = check("sparse_flash_mla_metadata", profile="ascend950", **given)
    assert {problem.parameter for problem in report} == {"num_heads_q", "head_dim", "cmp_ratio", "seqused_ori_kv"}
    wrong = {**metadata_call(MAIN[1]), "num_heads_q": 63, "layout_q": "SBND", "out": Spec((1000,), "int32")}
    report = check("kv_quant_sparse_attn_sharedkv_metadata", profile="ascend950", **wrong)
    assert {"num_heads_q", "layout_q"} <= {problem.parameter for problem in report}


@pytest.mark.parametrize("operator", MAIN)
def test_calls_that_hardly_make_sense(operator: str) -> None:
    """Each argument left out, or made nonsense of: a report without a crash, and no blame for what was sound."""
    given = {**as_specs(main_call(operator)), "metadata": WORDS}
    for profile in PROFILES:
        sound = {problem.parameter for problem in check(operator, profile=profile, **given)}
        for name in given:
            report = check(operator, profile=profile, **{key: value for key, value in given.items() if key != name})
            assert all(problem.message for problem in report)
            if name in ("q", "ori_kv", "sinks", "metadata", "ori_block_table", "cu_seqlens_q"):
                assert name in {problem.parameter for problem in report} - sound, report
        for name in ("q", "ori_kv", "cmp_kv", "cmp_sparse_indices", "ori_block_table", "sinks", "cu_seqlens_q"):
            for shape in ((), (0,), (7,), (3, 3), (2, 2, 2), (1,) * 5, (0, 640), (2**40, 2**40)):
                report = check(operator, profile=profile, **{**given, name: Spec(shape, given[name].dtype)})
                is_absent = shape[:1] in ((), (0,))
                assert not report or (is_absent and name == "cmp_sparse_indices")
        for layout in ({"layout_q": "?"}, {"layout_kv": "?"}, {"layout_q": "?", "layout_kv": "?"}):
            blamed = {problem.parameter for problem in check(operator, profile=profile, **{**given, **layout})}
            assert blamed - sound - {"device"} == set(layout)


def test_rows_of_other_libraries_are_told_their_converter_with_everything_else() -> None:
    call = {"q": Spec((5, 64, 512), "bfloat16"), "kv_quant_mode": 1, "softmax_scale": 0.1, "cmp_ratio": 1}
    rows = Spec((4, 16, 1, 584), "float8_e4m3fn")
    report = check("kv_quant_sparse_attn_sharedkv", profile="ascend950", **call, ori_kv=rows, layout_q="TND")
    assert "from_foreign_rows" in next(problem.fix for problem in report if problem.parameter == "ori_kv")
    assert {"sinks", "metadata", "cu_seqlens_q", "seqused_kv"} <= {problem.parameter for problem in report}


@pytest.mark.parametrize("operator", MAIN)
def test_what_python_refuses_is_reported_too(operator: str) -> None:
    given = as_specs(main_call(operator))
    for change, parameter in (
        ({"cmp_ratio": "4"}, "cmp_ratio"),
        ({"layout_q": 3}, "layout_q"),
        ({"head_count": 3}, "head_count"),
        ({"softmax_lse": Spec((1, 5, 64), "float32")}, "softmax_lse"),
        ({"sinks": 3}, "sinks"),
    ):
        report = check(operator, **{**given, **change})
        assert [problem.parameter for problem in report] == [parameter]
    assert [problem.parameter for problem in check(operator)] == ["q"]


@pytest.mark.parametrize("operator", MAIN)
def test_stored_calls(operator: str, tmp_path: Path) -> None:
    given = main_call(operator)
    acl_attn.save_call(tmp_path / "call.json", operator, **given)
    assert acl_attn.load_call(tmp_path / "call.json").check(profile="host")
    given["metadata"] = getattr(acl_attn, f"{operator}_metadata")(**metadata_call(operator))
    acl_attn.save_call(tmp_path / "call.npz", operator, **given)
    out, _ = acl_attn.load_call(tmp_path / "call.npz").run()
    wanted, _ = getattr(acl_attn, operator)(**given)
    assert out.tobytes() == wanted.tobytes()


def test_nothing_is_left_of_reports() -> None:
    before = acl_attn.live_objects()
    for operator in MAIN:
        check(operator, **main_call(operator))
        check(operator, **{**main_call(operator), "cmp_ratio": -1})
    assert acl_attn.live_objects() == before
