# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Holds calls of `fused_infer_attention_score` and `attention` against the operator's rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._lib import ffi, lib
from ..addresses import as_tensor_or_placeholder
from ..errors import check, invalid
from ..handle_set import HandleSet
from ..profiles import PROFILES
from ..spec import Spec
from ..tensor import ArrayLike
from ..values import flag
from .attention import attention
from .attention_call import prepare
from .feature_arguments import Features
from .fia_arguments import LENGTHS, read_arguments
from .fia_call import FiaCall
from .fused_infer_attention_score import fused_infer_attention_score
from .judge import Judged, bound, register

__all__ = ["judge_attention", "judge_fused_infer_attention_score"]


def judge_fused_infer_attention_score(arguments: Mapping[str, Any], options: ffi.CData) -> Judged:
    """Hold a call against the rules; arrays may be a `Spec`, and so may lengths whose values are not known."""
    given = bound(fused_infer_attention_score, arguments)
    for name in LENGTHS:
        if isinstance(given[name], Spec):
            options.lengthsHaveNoValues = True
            given[name] = [0] * _entries(given[name], name)
    read = read_arguments(given, as_tensor_or_placeholder)
    options.version = given["version"]
    outputs = {"attention_out": given["attention_out"], "softmax_lse": given["softmax_lse"]}
    return _judge(read.call, options, outputs, (read.out_spec, read.lse_spec))


def judge_attention(arguments: Mapping[str, Any], options: ffi.CData) -> Judged:
    """Hold a call against the rules; arrays may be a `Spec`."""
    given = bound(attention, arguments)
    features = Features(**{name: given.pop(name) for name in Features._fields})
    outputs = {"out": given.pop("out"), "lse_out": given.pop("lse_out")}
    wants_lse = flag(given.pop("return_lse"), "return_lse") or outputs["lse_out"] is not None
    del given["stream"], given["device"]
    call = prepare(
        **given,
        features=features,
        profile=lambda: PROFILES[options.profile],
        wants_lse=wants_lse,
        describe=as_tensor_or_placeholder,
        describe_table=as_tensor_or_placeholder,
    )
    return _judge(call.fia, options, outputs, (call.out_spec, call.lse_spec))


def _entries(spec: Spec, parameter: str) -> int:
    if len(spec.shape) != 1 or spec.shape[0] > 1 << 20:
        raise invalid(parameter, "lengths along one axis, at most 1048576 of them", f"shape {spec.shape}")
    return spec.shape[0]


def _judge(
    call: FiaCall, options: ffi.CData, outputs: Mapping[str, ArrayLike | Spec | None], specs: tuple[Spec, Spec | None]
) -> Judged:
    """Hold a call against the rules. Outputs that the caller did not give are as the specs say."""
    described = [
        None if spec is None else as_tensor_or_placeholder(spec if given is None else given, name)
        for (name, given), spec in zip(outputs.items(), specs, strict=True)
    ]
    call.out, call.lse = described
    report = ffi.new("aclAttnReport **")
    handles = HandleSet()
    try:
        status = lib.aclAttnCheckFusedInferAttentionScore(*call.newest_arguments(handles), options, report)
        check(status, "aclAttnCheckFusedInferAttentionScore", call.parameter_names)
    finally:
        handles.destroy()
    return Judged(report[0], call.parameter_names, frozenset(name for name, given in outputs.items() if given is None))


register("fused_infer_attention_score", fused_infer_attention_score, judge_fused_infer_attention_score)
register("attention", attention, judge_attention)
