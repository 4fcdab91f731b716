# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""`full_quant` of `attention` and `Plan`: every scheme, as a quantiser makes it and as one says it by hand."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

import acl_attn
from acl_attn import FullQuant, KvQuant, Lengths, OutQuant, Plan, Rope, Spec
from acl_attn.kvcache import quantize_gqa_fp8, quantize_mla, quantize_mxfp8, quantize_per_tensor
from acl_attn.testing.compare import assert_within_a_step

RNG = np.random.default_rng(0)
BF16 = np.dtype(ml_dtypes.bfloat16)
SCALE = 0.07
TABLE = np.array([[2, 0], [1, -1]], np.int32)


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float16)


class Scheme(NamedTuple):
    """One call as `attention` takes it, and as the operator does."""

    made: Any  # what a quantiser gave
    said: dict[str, Any]
    parameters: dict[str, Any]
    exact: np.ndarray  # without quantisation

    @property
    def operands(self) -> tuple[Any, ...]:
        return self.made.query, self.made.key, getattr(self.made, "value", None)

    @property
    def by_hand(self) -> FullQuant:
        """What the quantiser's scales are called in `FullQuant`."""
        made = self.made
        if hasattr(made, "deq_scale1"):
            return FullQuant(
                "per_tensor", score_scale=made.deq_scale1, p_scale=made.quant_scale1, out_scale=made.deq_scale2
            )
        name = {"MlaQuantized": "mla", "GqaFp8": "gqa_fp8", "MxFp8": "mxfp8"}[type(made).__name__]
        return FullQuant(name, made.dequant_scale_query, made.key_antiquant_scale, made.value_antiquant_scale)

    def run(self) -> np.ndarray:
        """Run it by the operator's parameters."""
        own = {field.name: getattr(self.made, field.name) for field in fields(self.made)}
        own.setdefault("value", own["key"])
        out, _ = acl_attn.fused_infer_attention_score(**own, **self.parameters, scale_value=SCALE)
        return np.asarray(out)


def per_tensor() -> Scheme:
    q, k, v = normal(2, 5, 4, 64), normal(2, 30, 2, 64), normal(2, 30, 2, 64)
    return Scheme(
        quantize_per_tensor(q, k, v),
        {"kv_lengths": [30, 7], "mask": "causal"},
        {"num_heads": 4, "num_key_value_heads": 2, "input_layout": "BSND", "actual_seq_lengths_kv": [30, 7],
         "sparse_mode": 3},
        acl_attn.reference.attention(q, k, v, kv_lengths=[30, 7], mask="causal", scale=SCALE),
    )  # fmt: skip


def mla(dtype: str) -> Scheme:
    q, latent, q_rope, k_rope = normal(7, 4, 512), normal(3, 1, 128, 512), normal(7, 4, 64), normal(3, 1, 128, 64)
    lengths = {"q_lengths": [4, 3], "kv_lengths": [200, 90], "block_table": TABLE}
    return Scheme(
        quantize_mla(q, latent, q_rope, k_rope, dtype),
        lengths,
        {"num_heads": 4, "num_key_value_heads": 1, "input_layout": "TND", "actual_seq_lengths": [4, 7],
         "actual_seq_lengths_kv": [200, 90], "block_table": TABLE, "block_size": 128},
        acl_attn.reference.attention(q, latent, None, rope=Rope(q_rope, k_rope), scale=SCALE, **lengths),
    )  # fmt: skip


def gqa_fp8() -> Scheme:
    q, k, v = normal(4, 7, 128), normal(3, 2, 128, 128), normal(3, 2, 128, 128)
    said = {"layout": "NTD_TND", "q_lengths": [4, 3], "kv_lengths": [200, 90], "block_table": TABLE, "mask": "causal"}
    return Scheme(
        quantize_gqa_fp8(q, k, v),
        said,
        {"num_heads": 4, "num_key_value_heads": 2, "input_layout": "NTD_TND", "actual_seq_lengths": [4, 7],
         "actual_seq_lengths_kv": [200, 90], "block_table": TABLE, "block_size": 128, "sparse_mode": 3},
        acl_attn.reference.attention(q, k, v, scale=SCALE, **said),
    )  # fmt: skip


def mxfp8(*, nz: bool | None = None) -> Scheme:
    lengths = {"q_lengths": [4, 3], "kv_lengths": [200, 90]}
    parameters = {"num_heads": 4, "num_key_value_heads": 2, "input_layout": "TND", "actual_seq_lengths": [4, 7]}
    if nz is None:
        q, k, v = normal(7, 4, 64), normal(290, 2, 64), normal(290, 2, 64)
        parameters["actual_seq_lengths_kv"] = [200, 290]
        made = quantize_mxfp8(q, k, v, kv_lengths=Lengths((200, 90)))
    else:
        q, k, v = normal(7, 4, 64), normal(3, 2, 128, 64), normal(3, 2, 128, 64)
        lengths["block_table"] = TABLE
        parameters.update(actual_seq_lengths_kv=[200, 90], block_table=TABLE, block_size=128)
        made = quantize_mxfp8(q, k, v, nz=nz)
    exact = acl_attn.reference.attention(q, k, v, scale=SCALE, **lengths)
    return Scheme(made, lengths, parameters, exact)


SCHEMES = {
    "per_tensor": per_tensor(),
    "mla_int8": mla("int8"),
    "mla_fp8": mla("float8_e4m3fn"),
    "mla_hifloat8": mla("hifloat8"),
    "gqa_fp8": gqa_fp8(),
    "mxfp8": mxfp8(),
    "mxfp8_paged": mxfp8(nz=False),
    "mxfp8_nz": mxfp8(nz=True),
}


def said_with(case: Scheme, full_quant: Any) -> dict[str, Any]:
    said = {"full_quant": full_quant, "scale": SCALE, **case.said}
    if hasattr(case.made, "query_rope"):
        said["rope"] = Rope(case.made.query_rope, case.made.key_rope)
    return said


def same(got: Any, want: Any) -> None:
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(np.asarray(got).view(np.uint8), np.asarray(want).view(np.uint8))


@pytest.mark.parametrize("name", SCHEMES)
def test_a_scheme_says_what_the_parameters_say(name: str) -> None:
    case = SCHEMES[name]
    want = case.run()
    assert want.dtype == BF16
    error = np.sqrt(((want.astype(float) - case.exact) ** 2).mean() / (case.exact**2).mean())
    assert error < 0.08
    for full_quant in (case.made, case.by_hand):
        said = said_with(case, full_quant)
        same(acl_attn.attention(*case.operands, **said), want)
        with Plan(*case.operands, **said) as plan:
            same(plan.run(), want)


@pytest.mark.parametrize("name", SCHEMES)
def test_runs_of_a_plan_take_other_arrays(name: str) -> None:
    case = SCHEMES[name]
    given = case.by_hand
    arrays = {key: value for key, value in vars(given).items() if isinstance(value, np.ndarray)}
    specs = replace(given, **{key: Spec(value.shape, value.dtype) for key, value in arrays.items()})
    query, key, value = case.operands
    with Plan(Spec(query.shape, query.dtype), key, value, **said_with(case, specs)) as plan:
        with pytest.raises(acl_attn.InvalidArgumentError, match=r"full_quant\.\w+: expected an array"):
            plan.run(query)
        for full_quant in (replace(given, **{key: value.copy() for key, value in arrays.items()}), case.made):
            same(plan.run(query, full_quant=full_quant), case.run())
        other = "gqa_fp8" if given.scheme != "gqa_fp8" else "mxfp8"
        with pytest.raises(acl_attn.InvalidArgumentError, match=r"full_quant: expected scheme .* as planned"):
            plan.run(query, full_quant=replace(given, scheme=other))


@pytest.mark.parametrize("name", SCHEMES)
def test_the_reference_takes_the_same_arguments(name: str) -> None:
    case = SCHEMES[name]
    for full_quant in (case.made, case.by_hand):
        want = acl_attn.reference.attention(*case.operands, **said_with(case, full_quant))
        assert_within_a_step(case.run(), want, noise=1e-3, exact=0.99)


def test_numbers_stand_for_arrays_of_one() -> None:
    case = SCHEMES["per_tensor"]
    numbers = FullQuant(
        "per_tensor", score_scale=float(case.made.deq_scale1[0]), p_scale=127, out_scale=float(case.made.deq_scale2[0])
    )
    same(acl_attn.attention(*case.operands, **said_with(case, numbers)), case.run())
    case = SCHEMES["mla_int8"]
    scale = float(case.made.key_antiquant_scale[0])
    numbers = FullQuant("mla", case.made.dequant_scale_query, scale, scale)
    same(acl_attn.attention(*case.operands, **said_with(case, numbers)), case.run())


@pytest.mark.parametrize("name", ["per_tensor", "gqa_fp8", "mxfp8"])
def test_the_output_may_be_float16(name: str) -> None:
    case = SCHEMES[name]
    said = said_with(case, replace(case.by_hand, dtype="float16"))
    got = acl_attn.attention(*case.operands, **said)
    assert got.dtype == np.float16
    np.testing.assert_allclose(got.astype(float), case.run().astype(float), rtol=2**-7, atol=2**-9)
    with Plan(*case.operands, **said) as plan:
        assert plan.out_spec.dtype == np.float16
        same(plan.run(), got)


@pytest.mark.parametrize("name", ["gqa_fp8", "mxfp8"])
def test_the_largest_weight(name: str) -> None:
    case = SCHEMES[name]
    lse = {}
    for p_scale in (None, 256):
        said = said_with(case, replace(case.by_hand, p_scale=p_scale))
        out, lse[p_scale] = acl_attn.attention(*case.operands, return_lse=True, **said)
        error = np.sqrt(((out.astype(float) - case.exact) ** 2).mean() / (case.exact**2).mean())
        assert error < 0.08
    # Of MXFP8 the LSE contains its logarithm.
    shift = np.log(256) if name == "mxfp8" else 0.0
    np.testing.assert_allclose(np.asarray(lse[256]), np.asarray(lse[None]) + shift, rtol=1e-5)


def test_lengths_of_a_plan_change() -> None:
    case = SCHEMES["gqa_fp8"]
    said = said_with(case, case.made)
    with Plan(*case.operands, **{**said, "kv_lengths": [40, 1]}) as plan:
        assert plan.workspace_bytes <= plan.max_workspace_bytes
        plan.run()
        plan.update(kv_lengths=case.said["kv_lengths"])
        same(plan.run(), case.run())


@pytest.mark.parametrize(("name", "version"), [("per_tensor", version) for version in (1, 2, 3, 4)] + [("mla_int8", 4)])
def test_older_versions_compute_the_same(name: str, version: int) -> None:
    case = SCHEMES[name]
    same(case._replace(parameters={**case.parameters, "version": version}).run(), case.run())


Q = np.ones((1, 2, 2, 64), np.int8)
HALF = np.ones((1, 2, 2, 64), np.float16)
ONE = np.ones(1, np.float32)
GOOD = FullQuant("per_tensor", score_scale=ONE, p_scale=ONE, out_scale=ONE)


@pytest.mark.parametrize(
    ("query", "said", "kind", "message"),
    [
        (Q, {"full_quant": 1}, TypeError, "full_quant: expected acl_attn.FullQuant, got int"),
        (Q, {"full_quant": FullQuant("int8")}, ValueError, "full_quant.scheme: expected one of per_tensor, .*'int8'"),
        (Q, {"full_quant": FullQuant(3)}, TypeError, "full_quant.scheme: expected one of .*, got int"),
        (HALF, {"full_quant": GOOD}, TypeError, "query: expected dtype int8 with full_quant of scheme per_tensor"),
        (Q, {"full_quant": FullQuant("mxfp8")}, TypeError, "query: expected dtype float8_e4m3fn with full_quant"),
        (Q, {"full_quant": FullQuant("mla")}, ValueError, "rope: expected an acl_attn.Rope with full_quant"),
        (Q, {"full_quant": replace(GOOD, dtype="float32")}, TypeError, "full_quant.dtype: expected bfloat16 or"),
        (Q, {"full_quant": GOOD, "kv_quant": KvQuant(0, ONE, ONE)}, ValueError, "kv_quant: expected None with"),
        (Q, {"full_quant": GOOD, "out_quant": OutQuant(1.0)}, ValueError, "out_quant: expected None with full_quant"),
        (Q, {}, ValueError, "full_quant: expected one for a query of dtype int8, got None"),
        (Q, {"full_quant": replace(GOOD, p_scale=None)}, ValueError, "full_quant.p_scale: expected a scale"),
        (Q, {"full_quant": replace(GOOD, p_scale=[1.0])}, TypeError, "full_quant.p_scale: expected a numpy.ndarray"),
        (Q, {"full_quant": replace(GOOD, out_scale=np.tile(ONE, 2))}, ValueError, "full_quant.out_scale: expected"),
        (Q, {"full_quant": replace(GOOD, key_scale=ONE)}, ValueError, "full_quant.key_scale: expected nothing"),
        (Q, {"full_quant": GOOD, "sink": ONE}, ValueError, "sink: expected"),
        (Q, {"full_quant": GOOD, "out": HALF}, TypeError, "out: expected dtype bfloat16"),
    ],
)  # fmt: skip
def test_refused(query: np.ndarray, said: dict[str, Any], kind: type[Exception], message: str) -> None:
    for call in (acl_attn.attention, Plan):
        with pytest.raises(kind, match=message) as caught:
            call(query, query, query, **said)
        assert isinstance(caught.value, acl_attn.AclAttnError)
