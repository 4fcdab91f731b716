# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""`SparsePlan`: the operators' results with simpler parameters, and metadata of its own."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import acl_attn
from acl_attn import Device, Lengths, SparsePlan, Spec
from acl_attn.testing.compare import assert_same_bits
from acl_attn.testing.sparse.build import arguments
from acl_attn.testing.sparse.cases import SparseCase

from ..ops.refusals import refuses
from .runs import metadata_of, run
from .suites import case_of

LENGTHS: dict[str, Any] = {"q_lengths": (9, 1, 4), "kv_lengths": (300, 41, 150)}
MODES = ("swa", "csa", "hca_4")
STORAGE = ("bsnd", "tnd", "bsnd_paged", "tnd_paged")


def plain_case(mode: str, storage: str, **others: Any) -> SparseCase:
    return case_of(mode, storage, **{**LENGTHS, "q_room": 0, "kv_room": 0, **others})


def plan_arguments(given: dict[str, Any], case: SparseCase) -> tuple[list[Any], dict[str, Any]]:
    """Say a call in the plan's words."""
    operands = [given["q"], given["ori_kv"], given.get("cmp_kv")]
    names = ("sinks", "cmp_sparse_indices", "ori_block_table", "cmp_block_table")
    made = {name: given[name] for name in names if name in given}
    made["kv_lengths"] = list(case.kv_lengths)
    if case.is_packed or len(set(case.q_lengths)) > 1:
        made["q_lengths"] = list(case.q_lengths)
    if case.has_cmp:
        made["cmp_ratio"] = case.cmp_ratio
    return operands, made


def both(case: SparseCase, **others: Any) -> tuple[dict[str, Any], SparsePlan]:
    given = arguments(case)
    operands, made = plan_arguments(given, case)
    return given, SparsePlan(*operands, return_lse=True, **made, **others)


@pytest.mark.parametrize("kv_format", ["", "float8_e4m3fn", "hifloat8"])
@pytest.mark.parametrize("storage", STORAGE)
@pytest.mark.parametrize("mode", MODES)
def test_a_run_equals_the_operator(mode: str, storage: str, kv_format: str) -> None:
    if kv_format and not storage.endswith("paged"):
        return
    case = plain_case(mode, storage, kv_format=kv_format)
    given, plan = both(case)
    with plan:
        got = plan.run()
        assert_same_bits(plan.metadata, metadata_of(given))
        for one, other in zip(got, run(given), strict=True):
            assert_same_bits(one, other)


def test_windows_and_scales() -> None:
    case = plain_case("csa", "tnd_paged")
    for window, fields in (
        ((5, 0), {"win_left": 5}),
        ((-1, 2), {"win_left": -1, "win_right": 2}),
        (None, {"ori_mask_mode": 3, "win_left": -1, "win_right": -1}),
    ):
        given, plan = both(replace(case, **fields, scale=0.1), window=window, scale=0.1)
        with plan:
            assert_same_bits(plan.run()[0], run(given)[0])


def test_specs_and_other_arrays() -> None:
    case = plain_case("csa", "tnd_paged")
    operands, made = plan_arguments(arguments(case), case)
    later = [Spec(part.shape, part.dtype) for part in operands[:1]]
    lists = Spec(made["cmp_sparse_indices"].shape, np.int32)
    with SparsePlan(*later, *operands[1:], **{**made, "cmp_sparse_indices": lists}) as plan:
        assert plan.out_spec == Spec(operands[0].shape, operands[0].dtype)
        assert plan.lse_spec is None
        for seed in range(3):
            given = arguments(replace(case, seed=seed))
            tables = {name: made[name] for name in ("ori_block_table", "cmp_block_table")}
            other = {**given, **tables, "ori_kv": operands[1], "cmp_kv": operands[2], "sinks": made["sinks"]}
            out = plan.run(given["q"], cmp_sparse_indices=given["cmp_sparse_indices"])
            assert_same_bits(out, run(other)[0])
        with refuses("q", fix="Spec"):
            plan.run()
        with refuses("q", fix="make a new plan"):
            plan.run(given["q"][1:], cmp_sparse_indices=given["cmp_sparse_indices"])
        for wrong in (given["cmp_sparse_indices"].astype(np.int64), given["cmp_sparse_indices"].tolist()):
            with pytest.raises(acl_attn.AclAttnError) as of_plan:
                SparsePlan(*operands, **{**made, "cmp_sparse_indices": wrong})
            with pytest.raises(type(of_plan.value)) as of_run:
                plan.run(given["q"], cmp_sparse_indices=wrong)
            assert str(of_run.value) == str(of_plan.value)


@pytest.mark.parametrize("kv_format", ["", "float8_e4m3fn"])
@pytest.mark.parametrize("storage", ["bsnd_paged", "tnd_paged"])
def test_update_makes_new_metadata(storage: str, kv_format: str) -> None:
    case = plain_case("hca_4", storage, kv_format=kv_format)
    given, plan = both(case)
    lengths = [300, 41, 150]
    with plan:
        before, scratch = plan.run(), plan.workspace_bytes
        for new in ((299, 41, 149), (17, 1, 4), (300, 41, 150)):
            lengths[:] = new
            plan.update(kv_lengths=lengths)
            lengths[0] = 0  # the plan has its own copy
            assert plan.workspace_bytes == plan.max_workspace_bytes == scratch
            changed = dict(given)
            if kv_format:
                changed["seqused_kv"] = np.array(new, np.int32)
            else:
                changed["seqused_ori_kv"] = np.array(new, np.int32)
                changed["seqused_cmp_kv"] = np.array(new, np.int32) // 4
                changed["cmp_residual_kv"] = np.array(new, np.int32) % 4
            for one, other in zip(plan.run(), run(changed), strict=True):
                assert_same_bits(one, other)
        for one, other in zip(plan.run(), before, strict=True):
            assert_same_bits(one, other)
        if storage == "tnd_paged":
            plan.update(q_lengths=[4, 5, 5])
            plan.run()
            with refuses("q_lengths"):
                plan.update(q_lengths=[4, 5, 6])
            with refuses("q_lengths"):
                plan.update(q_lengths=[4, 10], kv_lengths=[9, 9])
        for wrong in ([1], [-1, 1, 1], "300"):
            with refuses("kv_lengths", kind=(TypeError, ValueError)):
                plan.update(kv_lengths=wrong)  # type: ignore[arg-type]
        plan.run()


@pytest.mark.parametrize("ratio", [0, 4, 128], ids=["swa", "csa", "hca"])
def test_scratch_memory_does_not_grow_with_the_sequences(ratio: int) -> None:
    def scratch(tokens: int) -> int:
        rows = {"q": Spec((tokens, 64, 512), "bfloat16"), "ori_kv": Spec((tokens, 1, 512), "bfloat16")}
        options: dict[str, Any] = {}
        if ratio:
            rows["cmp_kv"], options["cmp_ratio"] = Spec((tokens // ratio, 1, 512), "bfloat16"), ratio
        if ratio == 4:
            options["cmp_sparse_indices"] = Spec((tokens, 1, 512), "int32")
        sinks = np.zeros(64, np.float32)
        with SparsePlan(**rows, sinks=sinks, q_lengths=[tokens], kv_lengths=[tokens], **options) as plan:
            return plan.workspace_bytes

    acl_attn.set_num_threads(2)
    try:
        assert scratch(1 << 18) == scratch(1 << 12) < 32 << 20
    finally:
        acl_attn.set_num_threads(0)


def test_an_update_does_not_reach_runs_in_flight() -> None:
    case = plain_case("csa", "tnd_paged", kv_lengths=(3000, 410, 1500))
    _, plan = both(case)
    with plan, Device(0).create_stream() as stream:
        wanted = plan.run()
        runs = []
        for turn in range(6):
            plan.update(kv_lengths=[3000, 410, 1500])
            runs.append(plan.run(stream=stream))
            plan.update(kv_lengths=[30 + turn, 41, 15])
        stream.synchronize()
        for got in runs:
            for one, other in zip(got, wanted, strict=True):
                assert_same_bits(one, other)


def test_lengths_in_their_several_forms() -> None:
    case = plain_case("csa", "tnd_paged")
    given = arguments(case)
    operands, made = plan_arguments(given, case)
    wanted = run(given)[0]
    for q_lengths in (Lengths((9, 1, 4)), np.array([9, 1, 4])):
        for kv_lengths in (Lengths((300, 41, 150)), np.array([300, 41, 150])):
            with SparsePlan(*operands, **{**made, "q_lengths": q_lengths, "kv_lengths": kv_lengths}) as plan:
                assert_same_bits(plan.run(), wanted)


def test_outputs_of_the_callers_own() -> None:
    case = plain_case("swa", "bsnd")
    given = arguments(case)
    operands, made = plan_arguments(given, case)
    out, lse = np.zeros_like(given["q"]), np.zeros((3, 1, 9, 8), np.float32)
    with SparsePlan(*operands, **made, out=out, lse_out=lse) as plan:
        assert plan.run()[0] is out
        assert plan.run()[1] is lse
        other = np.zeros_like(out)
        assert plan.run(out=other)[0] is other
        assert_same_bits(other, out)
        with refuses("out"):
            plan.run(out=other[:1])
    with SparsePlan(*operands, **made) as plan, refuses("lse_out", fix="return_lse"):
        plan.run(lse_out=lse)


def test_descriptions_and_the_end() -> None:
    _, plan = both(plain_case("csa", "tnd_paged"))
    assert "SparseFlashMla" in repr(plan)
    assert acl_attn.describe_metadata(plan.metadata) in plan.describe()
    plan.close()
    plan.close()
    assert "closed" in repr(plan)
    for use in (plan.run, plan.describe, plan.update, lambda: plan.workspace_bytes):
        with pytest.raises(acl_attn.ClosedError):
            use()


def test_threads_share_a_plan() -> None:
    case = plain_case("csa", "tnd_paged")
    _, plan = both(case)
    queries = [arguments(replace(case, seed=seed))["q"] for seed in range(4)]
    wanted = [plan.run(q)[0] for q in queries]

    def work(turn: int) -> None:
        assert_same_bits(plan.run(queries[turn % 4])[0], wanted[turn % 4])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(40)))
    plan.close()


@pytest.mark.parametrize(
    ("change", "parameter"),
    [
        ({"cmp_ratio": None}, "cmp_ratio"),
        ({"cmp_ratio": 0}, "cmp_ratio"),
        ({"kv_lengths": None}, "kv_lengths"),
        ({"q_lengths": None}, "q_lengths"),
        ({"q_lengths": [9, 1, 5]}, "q_lengths"),
        ({"q_lengths": [0, 9, 10]}, "q_lengths"),
        ({"kv_lengths": [300, 41]}, "kv_lengths"),
        ({"kv_lengths": [300, 41, 10**6]}, "kv_lengths"),
        ({"window": 128}, "window"),
        ({"window": (1, 2, 3)}, "window"),
        ({"scale": "1"}, "scale"),
        ({"scale": float("nan")}, "scale"),
        ({"sinks": None}, "sinks"),
        ({"sinks": np.zeros(3, np.float32)}, "sinks"),
        ({"cmp_block_table": None}, "cmp_block_table"),
        ({"return_lse": "yes"}, "return_lse"),
        ({"cmp_sparse_indices": np.zeros((1, 1, 4), np.int32)}, "cmp_sparse_indices"),
    ],
    ids=str,
)
def test_refused_plans(change: dict[str, Any], parameter: str) -> None:
    case = plain_case("csa", "tnd_paged")
    operands, made = plan_arguments(arguments(case), case)
    before = acl_attn.live_objects()
    with refuses(parameter, kind=(TypeError, ValueError)), SparsePlan(*operands, **{**made, **change}) as plan:
        plan.run()
    gc.collect()
    assert acl_attn.live_objects() == before


def test_compressed_rows_that_do_not_go_with_the_lengths() -> None:
    case = plain_case("csa", "tnd")
    operands, made = plan_arguments(arguments(case), case)
    with refuses("cmp_kv", got="122"):
        SparsePlan(*operands[:2], operands[2][:-1], **made)
    with refuses("cmp_ratio"):
        SparsePlan(*operands[:2], **{**made, "cmp_sparse_indices": None})
    packed = plain_case("csa", "tnd_paged", kv_format="float8_e4m3fn")
    operands, made = plan_arguments(arguments(packed), packed)
    with refuses("ori_block_table"):
        SparsePlan(*operands, **{**made, "ori_block_table": None})
    with refuses("window"):
        SparsePlan(*operands, **made, window=None)


@pytest.mark.parametrize(
    ("change", "parameter", "got"),
    [
        ({"cmp_sparse_indices": np.int32(0)}, "cmp_sparse_indices", r"shape \(\)"),
        ({"cmp_sparse_indices": np.zeros(0, np.int32)}, "cmp_sparse_indices", r"shape \(0,\)"),
        ({"cmp_sparse_indices": np.zeros((0, 1, 4), np.int32)}, "cmp_sparse_indices", r"shape \(0, 1, 4\)"),
        ({"ori_block_table": np.int32(0)}, "ori_block_table", r"shape \(\)"),
        ({"cmp_block_table": np.zeros(0, np.int32)}, "cmp_block_table", r"shape \(0,\)"),
        ({"cmp_block_table": np.zeros((0, 4), np.int32)}, "cmp_block_table", r"shape \(0, 4\)"),
        ({"sinks": np.zeros(0, np.float32)}, "sinks", r"shape \(0,\)"),
    ],
    ids=str,
)
def test_what_c_takes_for_absent_is_not_passed_over(change: dict[str, Any], parameter: str, got: str) -> None:
    case = plain_case("csa", "tnd_paged")
    operands, made = plan_arguments(arguments(case), case)
    with refuses(parameter, got=got):
        SparsePlan(*operands, **{**made, **change})


@pytest.mark.parametrize("storage", STORAGE)
@pytest.mark.parametrize("position", [1, 2], ids=["ori_kv", "cmp_kv"])
@pytest.mark.parametrize("shape", [(), (0,), (512,), (7, 512)], ids=str)
def test_rows_of_other_ranks(storage: str, position: int, shape: tuple[int, ...]) -> None:
    case = plain_case("csa", storage)
    operands, made = plan_arguments(arguments(case), case)
    operands[position] = np.zeros(shape, operands[position].dtype)
    with refuses(("ori_kv", "cmp_kv")[position - 1]):
        SparsePlan(*operands, **made)


@pytest.mark.parametrize("kv_format", ["", "float8_e4m3fn"])
def test_messages_are_about_the_plans_own_parameters(kv_format: str) -> None:
    storage = "bsnd_paged" if kv_format else "bsnd"
    case = plain_case("csa", storage, kv_format=kv_format, q_lengths=(4, 4, 4))
    operands, made = plan_arguments(arguments(case), case)
    with refuses("kv_lengths", got="2147483648"):
        SparsePlan(*operands, **{**made, "kv_lengths": [2**31, 1, 1]})
    with refuses("q", got="256"):
        SparsePlan(operands[0][..., :256].copy(), *operands[1:], **made)
    with refuses("q", got="heads"):
        heads = np.zeros((3, 4, 129, 512), operands[0].dtype)
        SparsePlan(heads, *operands[1:], **{**made, "sinks": np.zeros(129, np.float32)})
    if kv_format:
        octets = [operands[0], *(rows.view(np.uint8) for rows in operands[1:])]
        with refuses("ori_kv", got="uint8", fix="view"):
            SparsePlan(*octets, **made)
        return
    with refuses("kv_lengths", got="301"):
        SparsePlan(*operands, **{**made, "kv_lengths": [301, 1, 1]})
    with refuses("cmp_kv", got="100 rows"):
        SparsePlan(*operands, **{**made, "cmp_ratio": 3})
    before = acl_attn.live_objects()
    with refuses("q_lengths", got="5"):
        SparsePlan(*operands, **{**made, "q_lengths": [5, 1, 1]})
    gc.collect()
    assert acl_attn.live_objects() == before


def test_no_sequence_is_said_to_be_none() -> None:
    q, rows = np.ones((0, 3, 4, 512), np.float16), np.ones((0, 9, 1, 512), np.float16)
    with refuses("q", got="none"):
        SparsePlan(q, rows, sinks=np.zeros(4, np.float32))
    with refuses("q_lengths", got="none"):
        SparsePlan(q[:, 0], rows[:, 0], sinks=np.zeros(4, np.float32), q_lengths=[], kv_lengths=[])


@pytest.mark.parametrize("tokens", [(0, 9, 2), (3, 0, 0), (3, 3, 0), (0, 0, 0)], ids=str)
@pytest.mark.parametrize("topk", [0, 3])
def test_the_host_target_takes_empty_axes(tokens: tuple[int, int, int], topk: int) -> None:
    # Products refuse them. The metadata's producer has to take what its operator takes.
    queries, original, _ = tokens
    q, ori_kv, cmp_kv = (np.ones((2, n, heads, 512), np.float16) for n, heads in zip(tokens, (4, 1, 1), strict=True))
    lists = {"cmp_sparse_indices": np.full((2, queries, 1, topk), -1, np.int32)} if topk else {}
    made: dict[str, Any] = {"sinks": np.zeros(4, np.float32), "cmp_ratio": 4, "return_lse": True, **lists}
    with refuses("q|ori_kv|cmp_kv", fix="empty"):
        SparsePlan(q, ori_kv, cmp_kv, **made, device=Device(0, profile="ascend950"))
    with SparsePlan(q, ori_kv, cmp_kv, **made, device=Device(0, profile="host")) as plan:
        out, lse = plan.run()
    assert out.shape == q.shape
    assert out.any() == lse.any() == (queries > 0 and original > 0)
