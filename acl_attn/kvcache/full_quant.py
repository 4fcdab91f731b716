# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Query, key and value for the schemes that quantise all of them, except MXFP8 (`mxfp8`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from ..dtypes import DType, as_dtype, dtype_name, encode, hifloat8
from ..errors import invalid
from ..values import as_array, positive
from .axes import find_axes
from .scaling import as_floats, symmetric_scale

__all__ = [
    "GqaFp8",
    "MlaQuantized",
    "PerTensorQuantized",
    "quantize_gqa_fp8",
    "quantize_mla",
    "quantize_per_tensor",
]

Array = npt.NDArray[Any]

_FLOAT32 = np.dtype(np.float32)
_INT8 = np.dtype(np.int8)
_E4M3 = np.dtype(ml_dtypes.float8_e4m3fn)


@dataclass(frozen=True)
class PerTensorQuantized:
    """Operands of the per-tensor INT8 scheme; the names are the operator's keywords."""

    query: Array
    key: Array
    value: Array
    deq_scale1: Array
    quant_scale1: Array
    deq_scale2: Array


def quantize_per_tensor(query: npt.ArrayLike, key: npt.ArrayLike, value: npt.ArrayLike) -> PerTensorQuantized:
    """Quantise query, key and value to INT8 with one scale each.

    Parameters
    ----------
    query, key, value : array_like
        The numbers, in any layout.

    Returns
    -------
    PerTensorQuantized
        Codes and the three scales: of scores, of probabilities (127), and of the output, which undoes the second.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(-1, 1, 64).reshape(1, 1, 2, 32)
    >>> quantize_per_tensor(x, x, x).quant_scale1
    array([127.], dtype=float32)
    """
    made = [_with_scale(array, name, _INT8, None) for array, name in ((query, "query"), (key, "key"), (value, "value"))]
    (q, q_scale), (k, k_scale), (v, v_scale) = made
    return PerTensorQuantized(
        q,
        k,
        v,
        (q_scale * k_scale).reshape(1),
        np.array([127.0], np.float32),
        (v_scale / np.float32(127.0)).reshape(1),
    )


@dataclass(frozen=True)
class MlaQuantized:
    """Operands of the full quantisation of decode MLA; the names are the operator's keywords, key is value too."""

    query: Array
    key: Array
    query_rope: Array
    key_rope: Array
    dequant_scale_query: Array
    key_antiquant_scale: Array
    value_antiquant_scale: Array
    query_quant_mode: int = 3


def quantize_mla(
    query: npt.ArrayLike,
    key: npt.ArrayLike,
    query_rope: npt.ArrayLike,
    key_rope: npt.ArrayLike,
    dtype: npt.DTypeLike = np.int8,
    *,
    num_heads: int | None = None,
) -> MlaQuantized:
    """Quantise the latent parts of decode MLA. The rope parts stay BF16.

    Parameters
    ----------
    query, key : array_like
        The latent parts: query in layout BSH, BSND, BNSD or TND, key in any layout, caches included.
    query_rope, key_rope : array_like
        The rope parts. The operator adds theirs to the scores before it scales them, so the result's query_rope is
        divided by the scales.
    dtype : dtype or its name
        One of int8, float8_e4m3fn and hifloat8.
    num_heads : int, optional
        Query heads; for layout BSH only.

    Returns
    -------
    MlaQuantized
        Codes, rope parts and scales: one a token and head for the query, one for the whole cache.

    Examples
    --------
    >>> import numpy as np
    >>> q, rope = np.ones((3, 2, 512)), np.ones((3, 2, 64))
    >>> made = quantize_mla(q, np.ones((5, 1, 512)), rope, np.ones((5, 1, 64)))
    >>> made.dequant_scale_query.shape, made.query_rope.dtype
    ((3, 2), dtype(bfloat16))
    """
    target = as_dtype(dtype)
    if target not in (_INT8, _E4M3, hifloat8):
        raise invalid("dtype", "int8, float8_e4m3fn or hifloat8", dtype_name(target))
    numbers, rope = as_array(query, "query"), as_array(query_rope, "query_rope")
    by_head = [numbers, rope]
    if num_heads is not None:
        num_heads = positive(num_heads, "num_heads")
        if any(array.shape[-1] % num_heads for array in by_head):
            raise invalid("num_heads", "a divisor of the last axes of query and query_rope", num_heads)
        by_head = [array.reshape(*array.shape[:-1], num_heads, -1) for array in by_head]
    if by_head[0].shape[:-1] != by_head[1].shape[:-1]:
        raise invalid("query_rope", f"the tokens and heads of query, shape {numbers.shape}", f"shape {rope.shape}")
    codes, q_scale = _with_scale(by_head[0], "query", target, -1)
    key_codes, k_scale = _with_scale(key, "key", target, None)
    divided = by_head[1].astype(np.float64) / (q_scale.astype(np.float64) * k_scale.astype(np.float64))
    return MlaQuantized(
        codes.reshape(numbers.shape),
        key_codes,
        divided.reshape(rope.shape).astype(ml_dtypes.bfloat16),
        as_array(key_rope, "key_rope").astype(ml_dtypes.bfloat16),
        q_scale[..., 0],
        k_scale.reshape(1),
        k_scale.reshape(1),
    )


@dataclass(frozen=True)
class GqaFp8:
    """Operands of the FP8 scheme with scales by token and head; the names are the operator's keywords."""

    query: Array
    key: Array
    value: Array
    dequant_scale_query: Array
    key_antiquant_scale: Array
    value_antiquant_scale: Array
    query_quant_mode: int = 3
    key_antiquant_mode: int = 3
    value_antiquant_mode: int = 2


def quantize_gqa_fp8(query: npt.ArrayLike, key: npt.ArrayLike, value: npt.ArrayLike) -> GqaFp8:
    """Quantise query, key and value to FP8.

    Parameters
    ----------
    query : array_like, shape (num_heads, tokens, head_dim)
        Layout NTD.
    key, value : array_like, shape (blocks, num_kv_heads, block_size, head_dim)
        Paged caches.

    Returns
    -------
    GqaFp8
        Codes and scales: one a token and head for query and key, one a head for the value.

    Examples
    --------
    >>> import numpy as np
    >>> cache = np.ones((2, 1, 128, 128))
    >>> made = quantize_gqa_fp8(np.ones((4, 6, 128)), cache, cache)
    >>> made.dequant_scale_query.shape, made.key_antiquant_scale.shape, made.value_antiquant_scale.shape
    ((4, 6), (2, 1, 128), (1,))
    """
    q, k, v = as_array(query, "query"), as_array(key, "key"), as_array(value, "value")
    if q.ndim != 3:
        raise invalid("query", "rank 3 (num_heads, tokens, head_dim)", f"shape {q.shape}")
    axes = find_axes("BnNBsD", None)
    axes.split(k, "key")
    axes.split(v, "value")
    q_codes, q_scale = _with_scale(q, "query", _E4M3, -1)
    k_codes, k_scale = _with_scale(k, "key", _E4M3, -1)
    v_codes, v_scale = _with_scale(v, "value", _E4M3, (0, 2, 3))
    return GqaFp8(q_codes, k_codes, v_codes, q_scale[..., 0], k_scale[..., 0], v_scale.reshape(-1))


def _with_scale(
    values: npt.ArrayLike, parameter: str, dtype: DType, axis: int | tuple[int, ...] | None
) -> tuple[Array, npt.NDArray[np.float32]]:
    """Quantise with one fp32 scale for each group along `axis`, which the scale keeps with an extent of 1."""
    numbers = as_floats(values, parameter)
    size = np.max(np.abs(numbers), axis=axis, keepdims=True, initial=0.0).astype(np.float64)
    if not np.isfinite(size).all():
        raise invalid(parameter, "finite numbers", "infinity or NaN")
    scale = symmetric_scale(size, dtype, _FLOAT32)
    return encode(numbers / scale.astype(numbers.dtype), dtype), scale
