# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Quantised key or value, one tensor at a time, with scales in the shapes and dtypes that the operators take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import numpy.typing as npt

from ..dtypes import DType, as_dtype, decode, dtype_name, encode, int4_x2, unpack_int4
from ..errors import invalid, wrong_type
from ..lengths import Lengths, LengthsLike, as_lengths, packed_lengths
from ..values import as_array, flag, positive
from .axes import Axes, find_axes
from .modes import GROUP, AntiquantMode, as_mode, check_dtype
from .scale_shapes import ScaleShape
from .scaling import Float64, as_floats, power_of_two_scale, symmetric_scale, with_offset

__all__ = ["QuantizedTensor", "dequantize", "quantize"]

Array = npt.NDArray[Any]

_16_BIT = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
_SHARING = {  # axes of (outer, head, token, channel) that share a scale
    AntiquantMode.PER_CHANNEL: (0, 2),
    AntiquantMode.PER_TOKEN: (1, 3),
    AntiquantMode.PER_HEAD: (0, 2, 3),
    AntiquantMode.PER_TOKEN_HEAD: (3,),
    AntiquantMode.PER_TOKEN_PAGED: (1, 3),
    AntiquantMode.PER_TOKEN_HEAD_PAGED: (3,),
    AntiquantMode.PER_TOKEN_GROUP: (4,),
}
_PAGED = (AntiquantMode.PER_TOKEN_PAGED, AntiquantMode.PER_TOKEN_HEAD_PAGED)
_BY_TOKEN = (AntiquantMode.PER_TOKEN, AntiquantMode.PER_TOKEN_HEAD, AntiquantMode.PER_TOKEN_GROUP)


class QuantizedTensor(NamedTuple):
    """A quantised key or value.

    Attributes
    ----------
    values : ndarray
        Codes, in the layout of the numbers that they stand for.
    scale : ndarray
        Scales.
    offset : ndarray or None
        Added to the stored numbers before the multiplication; shape and dtype of the scale.
    """

    values: Array
    scale: Array
    offset: Array | None


def quantize(
    values: npt.ArrayLike,
    mode: int,
    dtype: npt.DTypeLike = np.int8,
    *,
    layout: str = "BNSD",
    num_heads: int | None = None,
    lengths: LengthsLike | None = None,
    query_dtype: npt.DTypeLike | None = None,
    per_tensor: bool = False,
    asymmetric: bool = False,
    scale_tokens: int | None = None,
    scale: Array | None = None,
    offset: Array | None = None,
) -> QuantizedTensor:
    """Quantise a key or a value.

    Parameters
    ----------
    values : array_like
        The numbers, finite.
    mode : AntiquantMode or int
        Which elements share a scale.
    dtype : dtype or its name
        One of int8, int4_x2, hifloat8, float8_e4m3fn and float4_e2m1fn_x2, as far as the mode has it.
    layout : {"BSH", "BSND", "BNSD", "TND", "BnBsH", "BnNBsD", "NZ"}
        Layout of `values`. The last three are caches of blocks: (blocks, block_size, num_heads * head_dim),
        (blocks, num_heads, block_size, head_dim) and (blocks, num_heads, chunks, block_size, width).
    num_heads : int, optional
        Key-value heads; needed where the layout fuses heads and channels.
    lengths : int, sequence of int or Lengths, optional
        Tokens of each sequence. Required for TND. Tokens beyond a length are not looked at, and stored as 0.
    query_dtype : dtype or its name, optional
        Dtype of scales in modes 0 and 2: float16 or bfloat16 as the query, or float32 for a key whose value has mode 1.
        That of `values` by default.
    per_tensor : bool
        In mode 0: one scale for everything.
    asymmetric : bool
        Use an offset; integers only.
    scale_tokens : int, optional
        Room for that many tokens in scales that have a token axis, such as the columns of a block table times the block
        size. What is added is 1.
    scale, offset : ndarray, optional
        Use these, in any shape that the operator takes, instead of ones that fit `values`: for tokens that join a cache
        whose scale is shared, and for a shared prefix. What exceeds their range saturates.

    Returns
    -------
    QuantizedTensor
        Codes, scale and offset.

    See Also
    --------
    dequantize : The way back.
    quantize_kv : Key and value together.

    Examples
    --------
    >>> import numpy as np
    >>> key = np.linspace(-2, 2, 256, dtype=np.float16).reshape(1, 2, 2, 64)
    >>> codes, scale, offset = quantize(key, AntiquantMode.PER_TOKEN_HEAD)
    >>> codes.dtype, scale.shape, offset
    (dtype('int8'), (1, 2, 2), None)
    """
    chosen, axes, stored_dtype = as_mode(mode, "mode"), find_axes(layout, num_heads), as_dtype(dtype)
    per_tensor, asymmetric = flag(per_tensor, "per_tensor"), flag(asymmetric, "asymmetric")
    scale_tokens = None if scale_tokens is None else positive(scale_tokens, "scale_tokens")
    if per_tensor and chosen != AntiquantMode.PER_CHANNEL:
        raise invalid("per_tensor", "False, or mode 0", f"True and mode {chosen.value}")
    check_dtype(chosen, stored_dtype, per_tensor=per_tensor)
    if asymmetric and stored_dtype not in (np.dtype(np.int8), int4_x2):
        raise invalid("asymmetric", "False: only integers have offsets", f"True and dtype {dtype_name(stored_dtype)}")
    _check_storage(chosen, axes)
    array = as_array(values, "values")
    if offset is not None and (scale is None or not asymmetric):
        raise invalid("offset", "None, or a scale too and asymmetric=True", "an array")
    if asymmetric and scale is not None and offset is None:
        raise invalid("offset", "an array, as asymmetric is True and scale is given", None)
    numbers = axes.split(as_floats(array, "values"), "values")
    known = _known_lengths(axes, numbers, lengths)
    is_token = _is_token(axes, numbers, known)
    shape = _scale_shape(chosen, axes, numbers, known)
    low, high = _range(numbers, is_token, chosen, per_tensor=per_tensor)
    if scale is None:
        scale_dtype = _scale_dtype(chosen, array.dtype, query_dtype)
        factor, shift = _fit(low, high, chosen, stored_dtype, scale_dtype, asymmetric=asymmetric)
        scale = shape.to_operator(factor, 1.0, scale_tokens)
        offset = None if shift is None else shape.to_operator(shift, 0.0, scale_tokens)
    else:
        factor = shape.to_axes(as_array(scale, "scale"), "scale")
        if not (factor > 0).all():
            raise invalid("scale", "positive numbers", "others")
        shift = None if offset is None else shape.to_axes(as_array(offset, "offset"), "offset")
    steps = _grouped(numbers, chosen) / factor.astype(numbers.dtype)
    if shift is not None:
        steps -= shift.astype(numbers.dtype)
    codes = np.where(is_token, steps.reshape(numbers.shape), numbers.dtype.type(0))
    return QuantizedTensor(encode(axes.join(codes, array.shape), stored_dtype), scale, offset)


def _fit(
    low: Float64, high: Float64, mode: AntiquantMode, dtype: DType, scale_dtype: DType, *, asymmetric: bool
) -> tuple[Array, Array | None]:
    """Give the scale, and the offset if there is to be one, that bring a range to the element type's."""
    if mode == AntiquantMode.PER_TOKEN_GROUP:
        return power_of_two_scale(np.maximum(-low, high), dtype), None
    if asymmetric:
        return with_offset(low, high, dtype, scale_dtype)
    return symmetric_scale(np.maximum(-low, high), dtype, scale_dtype), None


def dequantize(
    values: Array,
    scale: Array,
    offset: Array | None = None,
    *,
    mode: int,
    layout: str = "BNSD",
    num_heads: int | None = None,
    lengths: LengthsLike | None = None,
    rounded_to: npt.DTypeLike | None = None,
) -> npt.NDArray[np.float32]:
    """Give the numbers that a quantised key or value stands for: ``(stored + offset) * scale``.

    Parameters
    ----------
    values : ndarray
        Codes. An int32 array is packed INT4.
    scale, offset : ndarray
        In any shape that the operator takes in this mode.
    mode : AntiquantMode or int
        Which elements share a scale.
    layout : {"BSH", "BSND", "BNSD", "TND", "BnBsH", "BnNBsD", "NZ"}
        Layout of `values`, as in `quantize`.
    num_heads : int, optional
        Key-value heads; needed where the layout fuses heads and channels.
    lengths : int, sequence of int or Lengths, optional
        Tokens of each sequence; needed for TND.
    rounded_to : dtype or its name, optional
        Round scale, offset, sum and product to it, as a device with queries of that dtype does: float16 or bfloat16.

    Returns
    -------
    ndarray of float32
        The numbers, in the layout of `values`; the last axis of packed types is that of elements.
    """
    chosen, axes = as_mode(mode, "mode"), find_axes(layout, num_heads)
    _check_storage(chosen, axes)
    array = as_array(values, "values")
    stored = unpack_int4(array).astype(np.float32) if array.dtype == np.int32 else decode(array)
    common = axes.split(stored, "values")
    known = _known_lengths(axes, common, lengths)
    numbers = _grouped(common, chosen)
    shape = _scale_shape(chosen, axes, common, known)
    factor = shape.to_axes(as_array(scale, "scale"), "scale")
    shift = None if offset is None else shape.to_axes(as_array(offset, "offset"), "offset")
    round_ = _rounding(rounded_to)
    if chosen != AntiquantMode.PER_TOKEN_GROUP:  # a power of two is not rounded, though fp16 may not hold it
        factor = round_(factor)
    if shift is not None:
        numbers = round_(numbers + round_(shift))
    result = round_(numbers * factor)
    joined: npt.NDArray[np.float32] = axes.join(result.reshape(common.shape), stored.shape)
    return joined


def _rounding(rounded_to: npt.DTypeLike | None) -> Callable[[Array], npt.NDArray[np.float32]]:
    """Give the function that rounds each step to a dtype, saturating; without one it leaves fp32 alone."""
    if rounded_to is None:
        return lambda numbers: numbers
    dtype = as_dtype(rounded_to, "rounded_to")
    if dtype not in _16_BIT:
        raise wrong_type("rounded_to", "float16 or bfloat16", dtype_name(dtype))
    limit = float(ml_dtypes.finfo(dtype).max)  # type: ignore[no-untyped-call]
    return lambda numbers: np.clip(numbers, -limit, limit).astype(dtype).astype(np.float32)


def _scale_shape(mode: AntiquantMode, axes: Axes, common: Array, lengths: Lengths | None) -> ScaleShape:
    outer, heads, tokens, dim = common.shape
    return ScaleShape(mode, outer, heads, tokens, dim, lengths if axes.is_packed else None)


def _check_storage(mode: AntiquantMode, axes: Axes) -> None:
    if mode in _PAGED and not axes.is_cache:
        raise invalid(
            "layout", f"BnBsH, BnNBsD or NZ, whose blocks the scales of mode {mode.value} follow", axes.layout,
            "use mode 1 or 3 where nothing is paged",
        )  # fmt: skip
    if mode in _BY_TOKEN and axes.is_cache:
        raise invalid(
            "layout", f"BSH, BSND, BNSD or TND: scales of mode {mode.value} are not paged", axes.layout,
            "quantise before the tokens go to blocks, or use mode 4 or 5",
        )  # fmt: skip


def _scale_dtype(mode: AntiquantMode, own: DType, query_dtype: npt.DTypeLike | None) -> DType:
    if mode not in (AntiquantMode.PER_CHANNEL, AntiquantMode.PER_HEAD):
        return np.dtype(np.float32)
    dtype = own if query_dtype is None else as_dtype(query_dtype, "query_dtype")
    # float32 numbers do not mean that the query is to be float32, which no operator takes.
    if dtype not in _16_BIT and (query_dtype is None or dtype != np.float32):
        raise wrong_type(
            "query_dtype", f"float16 or bfloat16, which scales of mode {mode.value} have", dtype_name(dtype),
            "say which dtype the query has",
        )  # fmt: skip
    return dtype


def _known_lengths(axes: Axes, common: Array, lengths: LengthsLike | None) -> Lengths | None:
    if axes.is_packed:
        return packed_lengths(lengths, common.shape[2], "lengths", "values", axes.layout)
    if lengths is None:
        return None
    if axes.is_cache:
        raise invalid("lengths", "None for a cache of blocks", lengths)
    found = as_lengths(lengths, common.shape[0], "lengths", "the first axis")
    if found.max > common.shape[2]:
        raise invalid("lengths", f"at most {common.shape[2]} tokens", found.max)
    return found


def _is_token(axes: Axes, common: Array, lengths: Lengths | None) -> npt.NDArray[np.bool_]:
    if lengths is None or axes.is_packed:
        return np.ones((1, 1, 1, 1), np.bool_)
    return (np.arange(common.shape[2]) < np.array(lengths.per_sequence)[:, None])[:, None, :, None]


def _range(
    numbers: Array, is_token: npt.NDArray[np.bool_], mode: AntiquantMode, *, per_tensor: bool
) -> tuple[Float64, Float64]:
    """Give the least and the largest number of each group, with axes of 1 where the group extends; 0 if it is empty."""
    reduced = (0, 1, 2, 3) if per_tensor else _SHARING[mode]
    grouped = _grouped(numbers, mode)
    where = np.broadcast_to(is_token, numbers.shape).reshape(grouped.shape)
    low = np.min(grouped, axis=reduced, keepdims=True, where=where, initial=np.inf)
    high = np.max(grouped, axis=reduced, keepdims=True, where=where, initial=-np.inf)
    if np.isnan(low).any() or np.isnan(high).any() or (low == -np.inf).any() or (high == np.inf).any():
        raise invalid("values", "finite numbers", "infinity or NaN", "say with lengths which tokens count")
    is_empty = low > high
    low, high = low.astype(np.float64), high.astype(np.float64)
    return np.where(is_empty, 0.0, low), np.where(is_empty, 0.0, high)


def _grouped(common: Array, mode: AntiquantMode) -> Array:
    if mode != AntiquantMode.PER_TOKEN_GROUP:
        return common
    if common.shape[3] % GROUP:
        raise invalid("values", f"a head dim that {GROUP} divides for mode 6", common.shape[3])
    return common.reshape(*common.shape[:3], common.shape[3] // GROUP, GROUP)
