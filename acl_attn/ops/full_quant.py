# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""What `full_quant` may be: a `FullQuant`, or what a quantiser of `kvcache` gives."""

from __future__ import annotations

from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from ..dtypes import DType, as_dtype, dtype_name, hifloat8
from ..errors import invalid, type_name, wrong_type
from ..kvcache.full_quant import GqaFp8, MlaQuantized, PerTensorQuantized
from ..kvcache.mxfp8 import MxFp8
from ..tensor import Tensor
from .features import FullQuant, Scheme

__all__ = ["KINDS", "FullQuantLike", "as_full_quant", "check_full_quant", "modes_of", "output_dtype"]

FullQuantLike: TypeAlias = FullQuant | PerTensorQuantized | MlaQuantized | GqaFp8 | MxFp8

KINDS = (FullQuant, PerTensorQuantized, MlaQuantized, GqaFp8, MxFp8)

# Of query, key and value.
_MODES: dict[Scheme, tuple[int, int, int]] = {
    "per_tensor": (0, 0, 0),
    "mla": (3, 0, 0),
    "gqa_fp8": (3, 3, 2),
    "mxfp8": (6, 6, 8),
}
_DYNAMIC: dict[type, Scheme] = {MlaQuantized: "mla", GqaFp8: "gqa_fp8", MxFp8: "mxfp8"}
_OUTPUTS = (np.dtype(ml_dtypes.bfloat16), np.dtype(np.float16))
_E4M3 = np.dtype(ml_dtypes.float8_e4m3fn)
_DTYPES: dict[Scheme, tuple[DType, ...]] = {
    "per_tensor": (np.dtype(np.int8),),
    "mla": (np.dtype(np.int8), _E4M3, hifloat8),
    "gqa_fp8": (_E4M3,),
    "mxfp8": (_E4M3,),
}


def as_full_quant(given: Any) -> FullQuant:
    """Give the scales among quantised operands."""
    if isinstance(given, FullQuant):
        return given
    if isinstance(given, PerTensorQuantized):
        return FullQuant(
            "per_tensor", score_scale=given.deq_scale1, p_scale=given.quant_scale1, out_scale=given.deq_scale2
        )
    scales = given.dequant_scale_query, given.key_antiquant_scale, given.value_antiquant_scale
    return FullQuant(_DYNAMIC[type(given)], *scales)


def modes_of(given: FullQuantLike) -> tuple[int, int, int]:
    """Give the modes of query, key and value that say which scheme is meant."""
    return _MODES[_scheme(given)]


def output_dtype(given: FullQuantLike) -> DType:
    """Give the dtype of the output."""
    dtype = as_dtype(as_full_quant(given).dtype, "full_quant.dtype")
    if dtype not in _OUTPUTS:
        raise wrong_type("full_quant.dtype", "bfloat16 or float16", dtype_name(dtype))
    return dtype


def check_full_quant(given: FullQuantLike | None, query: Tensor, *, has_rope: bool) -> None:
    """Refuse what the operator would take for another scheme, and so blame for something else."""
    if given is None:
        if query.dtype.itemsize == 1 and query.dtype in _DTYPES["mla"]:  # the first is the quicker question
            raise invalid("full_quant", f"one for a query of dtype {dtype_name(query.dtype)}", None)
        return
    scheme = _scheme(given)
    if query.dtype not in _DTYPES[scheme]:
        names = " or ".join(dtype_name(dtype) for dtype in _DTYPES[scheme])
        raise wrong_type("query", f"dtype {names} with full_quant of scheme {scheme}", dtype_name(query.dtype))
    if scheme == "mla" and not has_rope:
        raise invalid("rope", "an acl_attn.Rope with full_quant of scheme mla", None)


def _scheme(given: FullQuantLike) -> Scheme:
    scheme = as_full_quant(given).scheme
    if not isinstance(scheme, str):
        raise wrong_type("full_quant.scheme", f"one of {', '.join(_MODES)}", type_name(scheme))
    if scheme not in _MODES:
        raise invalid("full_quant.scheme", f"one of {', '.join(_MODES)}", repr(scheme))
    return scheme
