# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Quantised queries: per tensor, MLA, FP8 and MXFP8."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from acl_attn.testing.build import arguments
from acl_attn.testing.calls import Call

from ..checks import check, compare, run

SIZES = {"q_lengths": (5, 1, 18), "kv_lengths": (40, 700, 9)}
PER_TENSOR = Call("BNSD", **SIZES, heads=6, kv_heads=2, dim=64, dim_v=64, scheme="per_tensor", q_format="int8")
MLA = Call("TND", (1, 3, 8), (40, 700, 9), 8, 1, 512, 512, "bfloat16", rope=64, scheme="mla", block_size=128)
GQA_FP8 = Call("NTD_TND", **SIZES, heads=6, kv_heads=2, dim=128, dim_v=128, scheme="gqa_fp8", q_format="float8_e4m3fn")
GQA_FP8 = replace(GQA_FP8, storage="BnNBsD", block_size=128, p_scale=448.0)
MXFP8 = replace(GQA_FP8, layout="TND", scheme="mxfp8", storage="dense", p_scale=None)


@pytest.mark.parametrize("layout", ["BSH", "BSND", "BNSD", "BNSD_BSND"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_per_tensor(layout: str, dtype: str) -> None:
    check(replace(PER_TENSOR, layout=layout, dtype=dtype, sparse_mode=3))


@pytest.mark.parametrize(
    "feature", [{"mask": 0.4}, {"bias": "tensor"}, {"q_padding": 2, "kv_padding": 1}, {"kv_lengths": (40, 2500, 9)}]
)
def test_per_tensor_features(feature: dict[str, object]) -> None:
    check(replace(PER_TENSOR, **feature))


def test_per_tensor_scales_as_words_and_as_floats() -> None:
    dtypes = {arguments(replace(PER_TENSOR, seed=seed))["deq_scale1"].dtype.name for seed in range(8)}
    assert dtypes == {"uint64", "float32"}
    for seed in range(8):
        check(replace(PER_TENSOR, seed=seed))


@pytest.mark.parametrize("mode", [0, 3])
@pytest.mark.parametrize("q_format", ["int8", "float8_e4m3fn", "hifloat8"])
@pytest.mark.parametrize("layout", ["TND", "TND_NTD"])
def test_mla_packed(layout: str, q_format: str, mode: int) -> None:
    check(replace(MLA, layout=layout, q_format=q_format, storage="NZ", sparse_mode=mode))


@pytest.mark.parametrize("rows", [1, 4])
@pytest.mark.parametrize("q_format", ["int8", "float8_e4m3fn", "hifloat8"])
@pytest.mark.parametrize("layout", ["BSH", "BSND", "BNSD", "BSH_NBSD", "BSND_NBSD", "BNSD_NBSD"])
def test_mla_batched(layout: str, q_format: str, rows: int) -> None:
    if q_format == "int8" and layout.startswith("BNSD"):
        pytest.skip("INT8 does not go with this layout")
    call = replace(MLA, layout=layout, q_format=q_format, storage="NZ", q_lengths=(rows,) * 3, gives_lengths=False)
    check(replace(call, sparse_mode=3 if rows > 1 else 0))


@pytest.mark.parametrize("storage", ["BnBsH", "BnNBsD", "NZ"])
def test_mla_pages(storage: str) -> None:
    check(replace(MLA, q_format="float8_e4m3fn", storage=storage, sparse_mode=3))


@pytest.mark.parametrize("heads", [1, 16, 128])
def test_mla_heads(heads: int) -> None:
    check(replace(MLA, q_format="int8", storage="NZ", heads=heads))


@pytest.mark.parametrize("mode", [0, 3])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("p_scale", [None, 1.0, 100.0, 448.0])
def test_gqa_fp8(p_scale: float | None, dtype: str, mode: int) -> None:
    check(replace(GQA_FP8, p_scale=p_scale, dtype=dtype, sparse_mode=mode))


@pytest.mark.parametrize("mode", [0, 3])
@pytest.mark.parametrize("rope", [0, 64])
@pytest.mark.parametrize("dim", [64, 128])
@pytest.mark.parametrize("storage", ["dense", "BnNBsD", "NZ"])
def test_mxfp8(storage: str, dim: int, rope: int, mode: int) -> None:
    check(replace(MXFP8, storage=storage, dim=dim, dim_v=dim, rope=rope, sparse_mode=mode, dtype="bfloat16"))


@pytest.mark.parametrize("block_size", [64, 256, 1024])
def test_mxfp8_blocks(block_size: int) -> None:
    check(replace(MXFP8, storage="NZ", block_size=block_size, sparse_mode=3))


@pytest.mark.parametrize("p_scale", [1.0, 256.0, 448.0])
def test_mxfp8_lse_carries_the_logarithm_of_the_largest_weight(p_scale: float) -> None:
    call = replace(MXFP8, p_scale=p_scale, sparse_mode=3)
    given = arguments(call)
    out, lse = run(given)
    compare(call, given, out, lse)
    del given["quant_scale1"]
    seen = np.isfinite(lse)
    np.testing.assert_allclose(lse[seen], run(given)[1][seen] + np.log(p_scale), rtol=1e-5)


def test_mxfp8_both_forms_of_query_scales() -> None:
    ranks = {arguments(replace(MXFP8, seed=seed))["dequant_scale_query"].ndim for seed in range(8)}
    assert ranks == {4, 5}
    for seed in range(4):
        check(replace(MXFP8, seed=seed))
