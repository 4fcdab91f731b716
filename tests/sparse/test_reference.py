# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The float64 reference of the sparse operators against loops with every rule written out, and worked examples."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from acl_attn import reference
from acl_attn.dtypes import hifloat8
from acl_attn.reference.sparse.packed import unpack_rows
from acl_attn.reference.sparse.visible import compressed_count, listed, window
from acl_attn.testing.generate import ReplayedSource
from acl_attn.testing.sparse.build import arguments
from acl_attn.testing.sparse.generate import draw_sparse_case

from .brute_force import attention as brute_force
from .brute_force import e4m3_number, packed_row


def of_operator(given: dict[str, Any]) -> Any:
    """The reference of the operator that arguments are for."""
    return reference.kv_quant_sparse_attn_sharedkv if "kv_quant_mode" in given else reference.sparse_flash_mla


@pytest.mark.parametrize("part", range(6))
def test_random_calls(part: int) -> None:
    for seed in range(part * 12, (part + 1) * 12):
        case = draw_sparse_case(ReplayedSource(seed=seed))
        given = arguments(case)
        out, lse = of_operator(given)(**given, return_softmax_lse=True)
        want, want_lse = brute_force(given)
        assert lse.shape == ((1, *want_lse.shape) if case.is_packed else (case.batch, 1, *want_lse.shape[1:]))
        np.testing.assert_allclose(out, want, rtol=1e-9, atol=1e-9, err_msg=repr(case))
        np.testing.assert_allclose(lse.reshape(want_lse.shape), want_lse, rtol=1e-9, atol=1e-9, err_msg=repr(case))


def test_the_generator_draws_everything() -> None:
    cases = [draw_sparse_case(ReplayedSource(seed=seed)) for seed in range(400)]
    seen = {
        (case.layout, case.is_paged, case.kv_format, case.has_cmp, case.topk > 0, case.ori_topk > 0) for case in cases
    }
    assert len(seen) > 25
    assert {case.ori_mask_mode for case in cases} == {0, 3, 4}
    assert {case.cmp_mask_mode for case in cases if case.has_cmp} == {0, 3}
    assert {case.lists for case in cases if case.topk} == {"best", "short", "ahead", "repeated", "empty"}
    assert any(case.is_fused for case in cases)
    assert any(case.missing for case in cases)
    assert any(sq > so for case in cases for sq, so in zip(case.q_lengths, case.kv_lengths, strict=True))


def test_visible_compressed_rows_of_a_worked_example() -> None:
    # 18 tokens, 4 rows of 4 and a residual of 2, the last 10 tokens as queries.
    positions = [18 - 10 + row for row in range(10)]
    assert [compressed_count(p, 4, 4, 3) for p in positions] == [2, 2, 2, 3, 3, 3, 3, 4, 4, 4]
    assert [compressed_count(p, 4, 4, 3) for p in (-1, -5, 2, 3, 400)] == [0, 0, 0, 1, 4]
    assert compressed_count(-3, 4, 4, 0) == 4


def test_a_window_holds_128_tokens_with_its_own() -> None:
    assert window(299, 300, 4, 127, 0).tolist() == list(range(172, 300))
    assert window(3, 300, 4, 127, 0).tolist() == [0, 1, 2, 3]
    assert window(-1, 300, 4, 127, 0).size == 0
    assert window(-1, 3, 4, 127, 1).tolist() == [0]
    assert window(-4, 3, 4, -1, -1).tolist() == [0, 1, 2]
    assert window(5, 3, 3, -1, -1).tolist() == [0, 1, 2]
    assert window(-1, 3, 3, -1, -1).size == 0
    assert window(-9, 3, 0, -1, -1).tolist() == [0, 1, 2]


def test_a_list_ends_at_its_first_minus_one_and_passes_over_what_is_ahead() -> None:
    def walk(entries: list[int], looked_at: int = 9) -> list[int]:
        return listed(np.array(entries, np.int32), looked_at, 3, 5, "cmp_sparse_indices").tolist()

    assert walk([2, 0, -1, 1]) == [2, 0]
    assert walk([-1, 0]) == []
    assert walk([4, 1, 3, 0]) == [1, 0]
    assert walk([4, 1, 3, 0], looked_at=2) == [1]
    assert walk([1, 1, 2]) == [1, 1, 2]
    assert walk([0, -1, 77, -9]) == [0]
    assert walk([0, 1, 77], looked_at=2) == [0, 1]
    for wrong in ([0, 5], [-2], [2**31 - 1], [-(2**31)]):
        with pytest.raises(ValueError, match=r"cmp_sparse_indices\[\.\.\., \d\]: expected -1 or a row in 0 to 4"):
            walk(wrong)


def test_one_key_and_one_sink_by_hand() -> None:
    q, kv = np.zeros((1, 1, 1, 512)), np.zeros((1, 1, 1, 512))
    q[..., 0], kv[..., 0], kv[..., 7] = 2.0, 3.0, 5.0
    out, lse = reference.sparse_flash_mla(
        q, ori_kv=kv, sinks=np.array([1.0], np.float32), softmax_scale=0.5, return_softmax_lse=True
    )
    weight = np.exp(3.0) / (np.exp(3.0) + np.exp(1.0))  # the sink is not scaled
    np.testing.assert_allclose(out[0, 0, 0, [0, 1, 7]], [3 * weight, 0, 5 * weight])
    np.testing.assert_allclose(lse, np.log(np.exp(3.0) + np.exp(1.0)).reshape(1, 1, 1, 1))


def test_a_query_that_sees_nothing_gives_0_and_not_the_sink() -> None:
    q, kv = np.ones((1, 3, 2, 512)), np.ones((1, 2, 1, 512))
    out, lse = reference.sparse_flash_mla(
        q,
        ori_kv=kv,
        sinks=np.array([3.0, 4.0], np.float32),
        ori_mask_mode=4,
        ori_win_left=127,
        ori_win_right=0,
        return_softmax_lse=True,
    )
    assert not out[0, 0].any()
    assert lse[0, 0, 0].tolist() == [0, 0]
    assert out[0, 1:].all()
    assert (lse[0, 0, 1:] > 4).all()


def test_compressed_rows_go_by_the_residual_where_lengths_contradict_each_other() -> None:
    q, ori, cmp = np.zeros((1, 1, 1, 512)), np.zeros((1, 100, 1, 512)), np.ones((1, 3, 1, 512))
    common = {"ori_kv": ori, "cmp_kv": cmp, "sinks": np.full(1, -np.inf, np.float32), "cmp_ratio": 4}
    window_of_one = {"ori_mask_mode": 4, "cmp_mask_mode": 3, "ori_win_left": 0, "ori_win_right": 0}

    def share(residual: int, queries: int = 1) -> float:
        rows = np.repeat(q, queries, axis=1)
        out, _ = reference.sparse_flash_mla(
            rows, cmp_residual_kv=np.array([residual], np.int32), **common, **window_of_one
        )
        return float(out[0, 0, 0, 0])

    assert share(0) == pytest.approx(3 / 4)  # all three rows, and one original token
    assert share(0, queries=5) == pytest.approx(2 / 3)  # the first of 5 queries stands at token 7 of 12
    assert share(3, queries=5) == pytest.approx(2 / 3)  # at token 10 of 15: the third row ends at 11
    assert share(3, queries=4) == pytest.approx(3 / 4)


@pytest.mark.parametrize("dtype", [ml_dtypes.float8_e4m3fn, hifloat8])
def test_every_code_with_every_scale(dtype: Any) -> None:
    from ..formats.by_definition import hifloat8_number

    number = e4m3_number if dtype is ml_dtypes.float8_e4m3fn else hifloat8_number
    rows = np.zeros((255, 640), np.uint8)
    rows[:, 128:576] = np.arange(448) % 256
    rows[:, 576:583] = np.arange(255)[:, None]
    rows[:, 583:] = 0xFF
    rows[:, :128:2], rows[:, 1:128:2] = np.arange(64) * 4, 0x3F
    got = unpack_rows(rows.view(dtype))
    with np.errstate(over="ignore"):
        want = np.array([packed_row(row.tobytes(), number) for row in rows]).astype(np.float32)
        want = want.astype(ml_dtypes.bfloat16).astype(np.float64)
    np.testing.assert_array_equal(got, want)
    # Inexact only where the product lies below bfloat16's smallest step or beyond its largest number.
    exact = np.array([packed_row(row.tobytes(), number) for row in rows])
    same = ((got == exact) | np.isnan(got)).all(axis=1)
    first, end = (3, 247) if dtype is ml_dtypes.float8_e4m3fn else (16, 240)
    assert same[first:end].all()
    assert not same[: first - 2].any()
    assert not same[end:].any()


def test_select_topk_makes_valid_lists() -> None:
    rng = np.random.default_rng(1)
    q, kv = rng.standard_normal((14, 3, 512)), rng.standard_normal((41, 1, 512)).astype(np.float32)
    cu_q, cu_ori = np.array([0, 4, 14], np.int32), np.array([0, 22, 41], np.int32)
    chosen = reference.select_topk(
        q, kv, topk=3, cmp_ratio=4, cu_seqlens_q=cu_q, cu_seqlens_ori_kv=cu_ori, layout="TND"
    )
    assert chosen.cmp_kv.shape == (9, 1, 512)
    np.testing.assert_allclose(chosen.cmp_kv[5], kv[22:26].astype(np.float64).mean(axis=0), rtol=1e-6)
    assert chosen.cmp_residual_kv.tolist() == [2, 3]
    assert chosen.cu_seqlens_cmp_kv is not None
    assert chosen.cu_seqlens_cmp_kv.tolist() == [0, 5, 9]
    assert chosen.cmp_sparse_indices is not None
    for token, entries in enumerate(chosen.cmp_sparse_indices[:, 0]):
        position = token - 4 + 22 if token < 4 else token - 14 + 19
        seen = [entry for entry in entries if entry != -1]
        assert len(seen) == len(set(seen)) == min(3, (position + 1) // 4)
        assert all(0 <= entry < (position + 1) // 4 for entry in seen)
        assert (entries[len(seen) :] == -1).all()
    out, _ = reference.sparse_flash_mla(
        q, ori_kv=kv, sinks=np.zeros(3), cu_seqlens_q=cu_q, cu_seqlens_ori_kv=cu_ori, layout_q="TND", layout_kv="TND",
        cmp_mask_mode=3, **chosen.arguments,
    )  # fmt: skip
    assert out.shape == q.shape


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"topk_value_mode": 2}, "topk_value_mode: expected 1"),
        ({"ori_mask_mode": 2}, "ori_mask_mode: expected 0, 3 or 4"),
        ({"cmp_sparse_indices": np.zeros((1, 2, 1, 3), np.int32)}, "cmp_kv: expected rows"),
        ({"seqused_ori_kv": np.array([4])}, r"seqused_ori_kv\[0\]: expected 0 to 3, got 4"),
        ({"seqused_q": np.array([1, 1])}, "seqused_q: expected 1 counts, got 2"),
        ({"ori_sparse_indices": np.zeros((1, 2, 1, 3), np.int32), "ori_mask_mode": 4}, "ori_mask_mode: expected 0"),
    ],
)
def test_contradictions(change: dict[str, Any], message: str) -> None:
    given = {"q": np.zeros((1, 2, 1, 512)), "ori_kv": np.zeros((1, 3, 1, 512)), "sinks": np.zeros(1)}
    reference.sparse_flash_mla(**given)
    with pytest.raises(ValueError, match=message):
        reference.sparse_flash_mla(**{**given, **change})
