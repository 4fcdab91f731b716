# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Every mode in every layout and dtype against the reference."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from acl_attn.testing.sparse.build import arguments, sequences_of
from acl_attn.testing.sparse.cases import SparseCase

from .runs import check, compare, run
from .suites import MODES, PACKED_MODES, PACKED_STORAGE, STORAGE, case_of


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("storage", STORAGE)
@pytest.mark.parametrize("mode", MODES)
def test_every_mode_and_layout(mode: str, storage: str, dtype: str) -> None:
    if not STORAGE[storage].get("is_fused") or MODES[mode].get("cmp_ratio"):
        check(case_of(mode, storage, dtype=dtype))


@pytest.mark.parametrize("kv_format", ["float8_e4m3fn", "hifloat8"])
@pytest.mark.parametrize("storage", PACKED_STORAGE)
@pytest.mark.parametrize("mode", PACKED_MODES)
def test_packed_rows(mode: str, storage: str, kv_format: str) -> None:
    if not STORAGE[storage].get("is_fused") or MODES[mode].get("cmp_ratio"):
        check(case_of(mode, storage, kv_format=kv_format))


@pytest.mark.parametrize("kv_format", ["", "float8_e4m3fn"])
@pytest.mark.parametrize("heads", [1, 2, 3, 16, 17, 33, 64, 128])
def test_numbers_of_heads(heads: int, kv_format: str) -> None:
    check(case_of("csa", "tnd_paged", heads=heads, kv_format=kv_format, q_lengths=(4, 2), kv_lengths=(300, 150)))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("mode", ["swa", "csa", "hca_4"])
def test_decode_of_long_sequences(mode: str, dtype: str) -> None:
    # Few queries and many rows: the engine splits these.
    check(case_of(mode, "tnd_paged", dtype=dtype, q_lengths=(1, 2), kv_lengths=(20000, 9001), heads=16))


@pytest.mark.parametrize("mode", ["swa", "csa", "hca_4"])
@pytest.mark.parametrize("more", [1, 130])
def test_more_queries_than_tokens(mode: str, more: int) -> None:
    case = case_of(mode, "tnd", q_lengths=(20 + more, 3), kv_lengths=(20, 30))
    out, lse = check(case)
    early, early_lse = sequences_of(case, out)[0][:more], sequences_of(case, lse)[0][:more]
    assert not early.any()
    assert not early_lse.any()


@pytest.mark.parametrize("storage", ["bsnd", "tnd", "tnd_paged"])
@pytest.mark.parametrize("mode", ["swa", "csa", "hca"])
@pytest.mark.parametrize(
    "lengths", [((0, 3), (5, 0)), ((3, 3), (0, 200)), ((0, 1), (0, 1)), ((1, 0, 0), (1, 0, 9))], ids=str
)
def test_zero_lengths(mode: str, storage: str, lengths: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    # A room keeps axes from being empty, which the operator refuses.
    q_lengths, kv_lengths = lengths
    room = {} if storage == "tnd_paged" else {"kv_room": 7}
    check(case_of(mode, storage, q_lengths=q_lengths, kv_lengths=kv_lengths, **room))


def test_batches_of_many_unequal_sequences() -> None:
    rng = np.random.default_rng(0)
    lengths = {
        "q_lengths": tuple(int(n) for n in rng.integers(0, 5, 40)),
        "kv_lengths": tuple(int(n) for n in rng.integers(0, 400, 40)),
    }
    for mode in ("swa", "csa", "hca_4"):
        check(case_of(mode, "tnd_paged", **lengths))


@pytest.mark.parametrize("scale", [0.0, -0.05, 1.0])
@pytest.mark.parametrize("mode", ["swa", "csa"])
def test_scales(mode: str, scale: float) -> None:
    # With a scale of 1 scores are in the hundreds, and the largest one takes nearly all.
    check(case_of(mode, "tnd", scale=scale, spread=0.1 if scale == 1.0 else 1.0))


@pytest.mark.parametrize("sink", [-np.inf, -1e30, 0.0, 40.0, 3e38])
def test_sinks(sink: float) -> None:
    given = arguments(case_of("csa", "tnd"))
    given["sinks"] = np.full_like(given["sinks"], sink)
    given["sinks"][1] = 0.5
    out, lse = run(given)
    compare(given, out, lse)
    if sink == 3e38:
        assert not out[:, 0].any()


def test_scores_that_overflow_without_the_maximum() -> None:
    check(case_of("csa", "tnd", scale=1.0, spread=30.0, dtype="bfloat16"))


def test_the_scenario_of_the_sample_program() -> None:
    case = SparseCase(
        q_lengths=(4,) * 4, kv_lengths=(8192,) * 4, heads=64, dtype="bfloat16", is_paged=True, block_size=128,
        cmp_block_size=128, cmp_ratio=4, topk=512,
    )  # fmt: skip
    check(case)
    check(replace(case, layout="BSND"))


@pytest.mark.parametrize("heads", [8, 64])
@pytest.mark.parametrize("sink", [0.0, -np.inf])
def test_logits_of_minus_infinity(sink: float, heads: int) -> None:
    given = arguments(case_of("swa", "bsnd", heads=heads))
    given["sinks"] = np.full_like(given["sinks"], sink)
    given["q"][...] = 1
    given["ori_kv"][..., 5] = -np.inf
    out, lse = run(given)
    assert not out[..., :5].any()
    assert not lse.any()
    compare(given, out, lse)
