# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Scales and offsets from the range of numbers that share them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from ..dtypes import DType, encode_e8m0, float4_e2m1fn_x2, hifloat8, int4_x2, largest
from ..values import as_array

__all__ = ["Float64", "as_floats", "power_of_two_scale", "symmetric_scale", "with_offset"]

Float64 = npt.NDArray[np.float64]
Array = npt.NDArray[Any]

# Halfway to the number that would follow the largest one.
_ROUNDS_INTO = {np.dtype(ml_dtypes.float8_e4m3fn): 464.0, float4_e2m1fn_x2: 7.0}

# HIFLOAT8 keeps 3 bits of mantissa from 1/8 up to this. Larger numbers would fit, with more error.
_HIFLOAT8_DENSE = 15.0


def as_floats(values: npt.ArrayLike, parameter: str) -> Array:
    """Give numbers in the precision to compute in: float32 unless they need more. Scales are computed in float64."""
    array = as_array(values, parameter)
    needs_more = array.dtype == np.float64 or array.dtype.kind in "iu"
    return array.astype(np.float64 if needs_more else np.float32)


def target_of(dtype: DType) -> float:
    """Give the number that the largest one of a group is scaled to."""
    return _HIFLOAT8_DENSE if dtype == hifloat8 else largest(dtype)


def symmetric_scale(size: Float64, dtype: DType, scale_dtype: DType) -> Array:
    """Give the scale that brings `size` to the element type's range. Where `size` is 0 the scale is 1."""
    return _round_up(np.where(size > 0, size / target_of(dtype), 1.0), scale_dtype)


def power_of_two_scale(size: Float64, dtype: DType) -> Array:
    """Give the smallest power of two that brings `size` to a number that rounds into the element type's range.

    The usual rule, the exponent of `size` less the type's largest, saturates numbers by up to a quarter (FP4), and has
    a larger error on the average too. Where `size` is 0 the scale is 1.
    """
    fraction, exponent = np.frexp(np.where(size > 0, size / _ROUNDS_INTO[dtype], 1.0))
    exponent = np.clip(np.where(fraction > 0.5, exponent, exponent - 1), -127, 127)
    return encode_e8m0(np.ldexp(1.0, exponent))


def with_offset(low: Float64, high: Float64, dtype: DType, scale_dtype: DType) -> tuple[Array, Array]:
    """Give scale and offset, so that stored integers stand for ``(stored + offset) * scale`` of `low` to `high`.

    A range that is narrow and far from 0 has a large offset, which `scale_dtype` rounds: the steps that this may move
    the range by are kept free at its ends. A range of one number needs no offset.
    """
    least, most = (-8.0, 7.0) if dtype == int4_x2 else (-128.0, 127.0)
    span, middle = high - low, (high + low) / 2
    is_single = span <= 0
    size = np.abs(middle)
    span = np.where(is_single, np.where(size > 0, 2 * size, most - least), span)
    middle = np.where(is_single, 0.0, middle)
    info: Any = ml_dtypes.finfo(scale_dtype)  # type: ignore[no-untyped-call]
    steps: Any = most - least
    for _ in range(2):  # the free steps make the scale larger, and so the offset smaller
        free = np.minimum(np.abs(middle) / (span / steps) * 2.0 ** -(info.nmant + 1) + 1, (most - least) / 4)
        steps = most - least - 2 * free
    scale = _round_up(span / steps, scale_dtype)
    exact = np.where(is_single, 0.0, middle / scale.astype(np.float64) - (least + most) / 2)
    limit = float(info.max)
    return scale, np.clip(exact, -limit, limit).astype(scale_dtype)


def _round_up(scale: Float64, dtype: DType) -> Array:
    """Round to the next number of `dtype` that is not smaller, so that no element leaves the range."""
    limit = float(ml_dtypes.finfo(dtype).max)  # type: ignore[no-untyped-call]
    rounded: Array = np.minimum(scale, limit).astype(dtype)
    too_small = rounded.astype(np.float64) < np.minimum(scale, limit)
    return np.where(too_small, np.nextafter(rounded, np.asarray(limit, dtype)), rounded)
