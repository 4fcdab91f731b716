# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Features of `attention` and `Plan`: that each reaches the operator's parameter, in single calls and in plans."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

import acl_attn
from acl_attn import Alibi, AntiquantMode, KvQuant, LeftPadding, OutQuant, Plan, Prefix, Rope, Spec
from acl_attn.dtypes import float4_e2m1fn_x2, hifloat8, int4_x2, pack_float4

RNG = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float16)


Q = normal(2, 5, 4, 64)
K, V = normal(2, 48, 2, 64), normal(2, 48, 2, 64)
SQUARE = normal(2, 5, 2, 64)
Q_ROPE, K_ROPE = normal(2, 5, 4, 64), normal(2, 48, 2, 64)
BIAS = normal(2, 4, 5, 48)
SINK = normal(4)
SLOPES = np.array([0.5, 0.25, 0.125, 0.0625], np.float32)
PREFIX_K, PREFIX_V = normal(1, 7, 2, 64), normal(1, 7, 2, 64)
KV_PADDING, Q_PADDING = np.array([3], np.int64), np.array([1], np.int64)
OUT_SCALE = np.array([30.0], np.float32)
FIXED = {"num_heads": 4, "num_key_value_heads": 2, "input_layout": "BSND"}


class Example(NamedTuple):
    """One feature as `attention` takes it, and as the operator does."""

    said: dict[str, Any]
    parameters: dict[str, Any]
    query: Any = Q
    key: Any = K
    value: Any = V

    def run(self) -> np.ndarray:
        """Run it by the operator's parameters."""
        out, _ = acl_attn.fused_infer_attention_score(self.query, self.key, self.value, **FIXED, **self.parameters)
        return np.asarray(out)


def by_distance(pse_type: int, starts: tuple[int, int] = (0, 0)) -> dict[str, Any]:
    return {"pse_shift": SLOPES, "pse_type": pse_type, "q_start_idx": [starts[0]], "kv_start_idx": [starts[1]]}


def quantised(mode: Any, dtype: Any, **options: Any) -> Example:
    cache = acl_attn.quantize_kv(K, V, mode, dtype, layout="BSND", **options)
    parameters = cache.fia_arguments()
    key, value = parameters.pop("key"), parameters.pop("value")
    modes = (cache.key_mode, cache.value_mode)
    said = KvQuant(modes, cache.key_scale, cache.value_scale, cache.key_offset, cache.value_offset)
    return Example({"kv_quant": said}, parameters, key=key, value=value)


PADDED = {"actual_seq_lengths": [3, 4], "actual_seq_lengths_kv": [40, 17]}
LENGTHS = {"q_lengths": [3, 4], "kv_lengths": [40, 17]}
EXAMPLES = {
    "rope": Example(
        {"rope": Rope(Q_ROPE, K_ROPE)},
        {"query_rope": Q_ROPE, "key_rope": K_ROPE, "scale_value": 192**-0.5},
        np.concatenate([Q, Q], -1), np.concatenate([K, K], -1), np.concatenate([V, V], -1),
    ),
    "bias": Example({"bias": BIAS}, {"pse_shift": BIAS}),
    "alibi": Example({"alibi": Alibi(SLOPES)}, by_distance(2), key=SQUARE, value=SQUARE),
    "alibi_sqrt": Example({"alibi": Alibi(SLOPES, True, 3, 5)}, by_distance(3, (3, 5)), key=SQUARE, value=SQUARE),
    "sink": Example({"sink": SINK}, {"learnable_sink": SINK}),
    "prefix": Example(
        {"prefix": Prefix(PREFIX_K, PREFIX_V)}, {"key_shared_prefix": PREFIX_K, "value_shared_prefix": PREFIX_V}
    ),
    "prefix_length": Example(
        {"prefix": Prefix(PREFIX_K, PREFIX_V, 4)},
        {"key_shared_prefix": PREFIX_K, "value_shared_prefix": PREFIX_V, "actual_shared_prefix_len": [4]},
    ),
    "left_padding": Example(
        {"left_padding": LeftPadding(Q_PADDING, KV_PADDING), **LENGTHS},
        {"query_padding_size": Q_PADDING, "kv_padding_size": KV_PADDING, **PADDED},
    ),
    "per_channel": quantised(AntiquantMode.PER_CHANNEL, "float8_e4m3fn"),
    "per_token": quantised(1, np.int8, asymmetric=True),
    "mixed": quantised((0, 1), np.int8),
    "hifloat8": quantised(0, hifloat8),
    "out_quant": Example(
        {"out_quant": OutQuant(OUT_SCALE, np.array([2.0], np.float32))},
        {"quant_scale2": OUT_SCALE, "quant_offset2": np.array([2.0], np.float32),
         "attention_out": np.empty(Q.shape, np.int8)},
    ),
    "out_quant_fp8": Example(
        {"out_quant": OutQuant(OUT_SCALE, dtype="float8_e4m3fn")},
        {"quant_scale2": OUT_SCALE, "attention_out": np.empty(Q.shape, ml_dtypes.float8_e4m3fn)},
    ),
}  # fmt: skip
ONE_ROW = {
    "int4": quantised(3, int4_x2),
    "float4": quantised(6, float4_e2m1fn_x2),
}
for name, example in ONE_ROW.items():
    EXAMPLES[name] = example._replace(query=Q[:, :1].copy())


def same(got: Any, want: Any) -> None:
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(np.asarray(got).view(np.uint8), np.asarray(want).view(np.uint8))


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_feature_says_what_the_parameters_say(name: str) -> None:
    case = EXAMPLES[name]
    want = case.run()
    same(acl_attn.attention(case.query, case.key, case.value, **case.said), want)
    with Plan(case.query, case.key, case.value, **case.said) as plan:
        same(plan.run(), want)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("profile", ["host", "ascend950"])
def test_a_head_dim_that_groups_of_32_do_not_fill(
    groups: int, profile: str, set_profile: Callable[[str], None]
) -> None:
    set_profile(profile)
    query, stored = np.ones((1, 1, 4, 48), np.float16), pack_float4(np.ones((1, 20, 2, 48)))
    scale = np.ones((1, 1, 2, 20, groups), ml_dtypes.float8_e8m0fnu)
    message = "key: expected a head dim that 32 divides, for keyAntiquantMode 6, got 48"
    with pytest.raises(acl_attn.AclAttnError, match=message):
        acl_attn.attention(query, stored, stored, kv_quant=KvQuant(6, scale, scale))
    with pytest.raises(acl_attn.AclAttnError, match=message):
        acl_attn.fused_infer_attention_score(
            query, stored, stored, num_heads=4, num_key_value_heads=2, input_layout="BSND", key_antiquant_mode=6,
            value_antiquant_mode=6, key_antiquant_scale=scale, value_antiquant_scale=scale,
        )  # fmt: skip


def changed(feature: Any, how: Callable[[Any], Any]) -> Any:
    if isinstance(feature, np.ndarray):
        return how(feature)
    arrays = {name: how(value) for name, value in vars(feature).items() if isinstance(value, np.ndarray)}
    return replace(feature, **arrays)


@pytest.mark.parametrize("name", EXAMPLES)
def test_runs_of_a_plan_take_other_arrays(name: str) -> None:
    case = EXAMPLES[name]
    feature = next(iter(case.said))
    rest = {key: value for key, value in case.said.items() if key != feature}
    want = case.run()
    specs = changed(case.said[feature], lambda array: Spec(array.shape, array.dtype))
    with Plan(case.query, case.key, case.value, **{feature: specs}, **rest) as plan:
        with pytest.raises(acl_attn.InvalidArgumentError, match=rf"{feature}.*: expected an array"):
            plan.run()
        same(plan.run(**{feature: changed(case.said[feature], np.copy)}), want)
        plan.update(kv_lengths=rest.get("kv_lengths", case.key.shape[1]))
        same(plan.run(**{feature: case.said[feature]}), want)
        with pytest.raises(acl_attn.AclAttnError, match=rf"{feature}.*: expected"):
            plan.run(**{feature: changed(case.said[feature], lambda array: array[..., :0])})


def test_eight_int4_may_be_stored_as_an_int32() -> None:
    case = EXAMPLES["int4"]
    packed = [np.ascontiguousarray(part).view(np.uint8).view(np.int32) for part in (case.key, case.value)]
    same(acl_attn.attention(case.query, *packed, **case.said), case.run())


def test_a_quantised_cache_is_its_own_description() -> None:
    cache = acl_attn.quantize_kv(K, V, 1, layout="BSND")
    scales = KvQuant(1, cache.key_scale, cache.value_scale)
    got = acl_attn.attention(Q, cache.key, cache.value, kv_quant=cache)
    same(got, acl_attn.attention(Q, cache.key, cache.value, kv_quant=scales))


def test_numbers_stand_for_arrays_of_one() -> None:
    arguments: dict[str, Any] = {"query": Q, "key": K, "value": V}
    got = acl_attn.attention(**arguments, out_quant=OutQuant(30, 2))
    same(got, EXAMPLES["out_quant"].run())
    got = acl_attn.attention(**arguments, **LENGTHS, left_padding=LeftPadding(1, 3))
    same(got, EXAMPLES["left_padding"].run())


def test_a_key_that_is_the_value_too() -> None:
    query, q_rope = normal(2, 1, 16, 512), normal(2, 1, 16, 64)
    latent, k_rope = normal(2, 40, 1, 512), normal(2, 40, 1, 64)
    want, _ = acl_attn.fused_infer_attention_score(
        query, latent, latent, query_rope=q_rope, key_rope=k_rope, num_heads=16, num_key_value_heads=1,
        input_layout="BSND", scale_value=192**-0.5,
    )  # fmt: skip
    rope = Rope(q_rope, k_rope)
    same(acl_attn.attention(query, latent, None, rope=rope, scale=192**-0.5), want)
    with Plan(Spec(query.shape, query.dtype), latent, None, rope=rope, scale=192**-0.5) as plan:
        same(plan.run(query), want)
        same(plan.run(query, latent.copy()), want)
        with pytest.raises(acl_attn.InvalidArgumentError, match="value: expected None, as planned"):
            plan.run(query, latent, latent)
    for value in (None, latent):
        with pytest.raises(acl_attn.InvalidArgumentError, match="scale: expected a number where keys are values too"):
            acl_attn.attention(query, latent, value, rope=rope)
    with pytest.raises(acl_attn.InvalidArgumentError, match="value: expected an array, or None with rope"):
        acl_attn.attention(query, latent, None)


def test_visible_keys_count_the_prefix() -> None:
    with Plan(Q, K, V, prefix=Prefix(PREFIX_K, PREFIX_V), mask="causal") as plan:
        assert plan.visible_keys(0, 0).tolist() == list(range(7 + 48 - 4))
    with Plan(Q, K, V, prefix=Prefix(PREFIX_K, PREFIX_V, 4)) as plan:
        assert plan.visible_keys(1, 4).tolist() == list(range(4 + 48))


@pytest.mark.parametrize(
    ("said", "kind", "message"),
    [
        ({"rope": (Q_ROPE, K_ROPE)}, TypeError, r"rope: expected acl_attn.Rope, got tuple"),
        ({"rope": Rope(Q_ROPE, None)}, ValueError, "rope.key"),
        ({"alibi": SLOPES}, TypeError, r"alibi: expected acl_attn.Alibi, got numpy.ndarray"),
        ({"alibi": Alibi(SLOPES), "bias": BIAS}, ValueError, "alibi: expected None with a bias"),
        ({"alibi": Alibi(SLOPES, sqrt=1)}, TypeError, "alibi.sqrt: expected a bool"),
        ({"alibi": Alibi(SLOPES, q_start=0.5)}, TypeError, "alibi.q_start: expected an int"),
        ({"alibi": Alibi([0.5] * 4)}, TypeError, "alibi.slopes: expected a numpy.ndarray"),
        ({"alibi": Alibi(SLOPES[:3])}, ValueError, "alibi.slopes: expected"),
        ({"bias": BIAS[:, :3]}, ValueError, "bias: expected"),
        ({"bias": BIAS.astype(np.float32)}, ValueError, "bias: expected"),
        ({"sink": 3.0}, TypeError, "sink: expected a numpy.ndarray"),
        ({"sink": SINK[:3]}, ValueError, "sink: expected"),
        ({"prefix": Prefix(PREFIX_K, PREFIX_V, -1)}, ValueError, "prefix.length.*: expected"),
        ({"prefix": Prefix(PREFIX_K, PREFIX_V, 8)}, ValueError, "prefix.length.*: expected"),
        ({"prefix": Prefix(PREFIX_K, PREFIX_V[:, :3])}, ValueError, "prefix.value: expected"),
        ({"left_padding": LeftPadding(key=-1), **LENGTHS}, ValueError, "left_padding.key: expected at least 0 tokens"),
        ({"left_padding": LeftPadding(key=1.5), **LENGTHS}, TypeError, "left_padding.key: expected an int"),
        ({"kv_quant": 1}, TypeError, "kv_quant: expected acl_attn.KvQuant or acl_attn.QuantizedKV, got int"),
        ({"kv_quant": KvQuant(7, OUT_SCALE, OUT_SCALE)}, ValueError, "kv_quant.mode: expected one of 0"),
        ({"kv_quant": KvQuant((0, 1, 2), OUT_SCALE, OUT_SCALE)}, ValueError, "kv_quant.mode: expected a mode"),
        ({"out_quant": OutQuant("1")}, TypeError, "out_quant.scale: expected a numpy.ndarray"),
        ({"out_quant": OutQuant(True)}, TypeError, "out_quant.scale: expected a number"),
        ({"out_quant": OutQuant(1.0, dtype="float16")}, TypeError, "out_quant.dtype: expected int8, float8_e4m3fn"),
        ({"out_quant": OutQuant(1.0), "out": np.empty_like(Q)}, TypeError, "out: expected dtype int8"),
    ],
)
def test_refused(said: dict[str, Any], kind: type[Exception], message: str) -> None:
    square = {"key": SQUARE, "value": SQUARE} if "alibi" in said else {"key": K, "value": V}
    for call in (acl_attn.attention, Plan):
        with pytest.raises(kind, match=message) as caught:
            call(Q, **square, **said)
        assert isinstance(caught.value, acl_attn.AclAttnError)


@pytest.mark.parametrize(
    ("planned", "said", "message"),
    [
        ({}, {"sink": SINK}, "sink: expected None, as planned"),
        ({"alibi": Alibi(SLOPES)}, {"alibi": Alibi(SLOPES, True)}, "alibi: expected .* as planned"),
        ({"alibi": Alibi(SLOPES)}, {"alibi": Alibi(SLOPES, q_start=1)}, "alibi: expected .* as planned"),
        (
            {"prefix": Prefix(PREFIX_K, PREFIX_V)},
            {"prefix": Prefix(PREFIX_K, PREFIX_V, 3)},
            "prefix: expected length None as planned, got length 3",
        ),
        (
            {"out_quant": OutQuant(2.0)},
            {"out_quant": OutQuant(2.0, 1.0)},
            "out_quant: expected out_quant.scale as planned, got out_quant.scale, out_quant.offset",
        ),
        (
            {"out_quant": OutQuant(2.0)},
            {"out_quant": OutQuant(2.0, dtype="hifloat8")},
            "out_quant: expected dtype int8 as planned, got dtype hifloat8",
        ),
    ],
)
def test_runs_refuse_what_was_planned_otherwise(planned: dict[str, Any], said: dict[str, Any], message: str) -> None:
    square = (SQUARE, SQUARE) if "alibi" in planned else (K, V)
    with Plan(Q, *square, **planned) as plan, pytest.raises(acl_attn.InvalidArgumentError, match=message):
        plan.run(**said)


def test_the_largest_workspace_serves_any_lengths() -> None:
    packed = [array.reshape(-1, *array.shape[2:]) for array in (Q, K, V)]
    lengths: list[tuple[Any, Any]] = [([5, 5], [48, 48]), ([10, 0], [90, 6]), ([1, 9], [1, 95]), ([0, 10], [0, 96])]
    with Plan(*packed, q_lengths=[5, 5], kv_lengths=[1, 95], mask="causal") as plan:
        most = plan.max_workspace_bytes
        with acl_attn.Buffer(max(most, 1)) as workspace:
            for q_lengths, kv_lengths in lengths:
                plan.update(q_lengths=q_lengths, kv_lengths=kv_lengths)
                assert plan.workspace_bytes <= most
                assert plan.max_workspace_bytes == most
                want = acl_attn.attention(*packed, q_lengths=q_lengths, kv_lengths=kv_lengths, mask="causal")
                same(plan.run(workspace=workspace), want)


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_older_versions_compute_the_same(version: int) -> None:
    got, _ = acl_attn.fused_infer_attention_score(Q, K, V, **FIXED, version=version)
    same(got, acl_attn.attention(Q, K, V))


def test_older_versions_take_scales_of_key_and_value_together() -> None:
    case = EXAMPLES["per_token"]
    both = {
        part: np.stack([case.parameters[f"{side}_antiquant_{part}"] for side in ("key", "value")])
        for part in ("scale", "offset")
    }
    got, _ = acl_attn.fused_infer_attention_score(
        Q, case.key, case.value, **FIXED, antiquant_scale=both["scale"], antiquant_offset=both["offset"],
        antiquant_mode=1, version=1,
    )  # fmt: skip
    same(got, case.run())


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"version": 6}, "version: expected one of 1, 2, 3, 4, 5, got 6"),
        ({"version": "v4"}, "version: expected an int, got str"),
        ({"version": 3, "learnable_sink": SINK}, "learnable_sink: expected None, as version 3 does not have it"),
        ({"version": 1, "key_antiquant_mode": 1}, "key_antiquant_mode: expected 0, as version 1 does not have it"),
        ({"version": 4, "pse_type": 2, "pse_shift": SLOPES}, "pse_type: expected 0, as version 4 does not have it"),
        ({"quant_scale2": OUT_SCALE}, "attention_out: expected an array, whose dtype says"),
    ],
)
def test_versions_refuse_what_they_do_not_have(said: dict[str, Any], message: str) -> None:
    with pytest.raises(acl_attn.AclAttnError, match=message):
        acl_attn.fused_infer_attention_score(Q, K, V, **FIXED, **said)
