# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Where operands are: known when a call is made, or given with each run."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ._lib import ffi
from .dtypes import DType, dtype_name
from .errors import invalid, wrong_type
from .spec import Spec
from .tensor import ANY, ArrayLike, Tensor, as_tensor, check_device, form_of, make_tensor

__all__ = [
    "as_output",
    "as_output_or_placeholder",
    "as_tensor_or_placeholder",
    "dense_form",
    "dense_pointers",
    "output_pointer",
    "placeholder_address",
    "pointer_as_planned",
]

# On the path of every run.
_ndarray = np.ndarray
_from_buffer = ffi.from_buffer
_BYTES = ffi.typeof("char[]")


def as_output(value: ArrayLike, parameter: str, shape: tuple[int, ...] | None, dtype: DType | None) -> Tensor:
    """Describe an array that an operator writes: dense, writable, and of the shape and dtype that the result has."""
    tensor = as_tensor(value, parameter)
    if dtype is not None and tensor.dtype != dtype:
        raise wrong_type(parameter, f"dtype {dtype_name(dtype)}", f"dtype {dtype_name(tensor.dtype)}")
    if shape is not None and tensor.shape != shape:
        raise invalid(parameter, f"shape {shape}", tensor.shape)
    if tensor.strides is not None:
        raise invalid(parameter, "a C-contiguous array", f"strides {tensor.strides}", "give a contiguous buffer")
    if not tensor.is_writable:
        raise invalid(parameter, "a writable array", "a read-only one")
    return tensor


def dense_form(*parts: Tensor | Spec) -> tuple[object, ...] | None:
    """Give what `dense_pointers` compares of query, key, value and output; None if one of them is not dense."""
    if any(part.strides is not None for part in parts):
        return None
    shapes = [part._items if isinstance(part, Tensor) else part.shape for part in parts]
    return tuple(itertools.chain.from_iterable(zip(shapes, [part.dtype for part in parts], strict=True)))


def dense_pointers(query: Any, key: Any, value: Any, out: Any, form: tuple[object, ...] | None) -> list[Any] | None:
    """Give the addresses of NumPy arrays of that form; None if they are something else. The pointers keep the arrays.

    The way of small calls, for which Python's share is most of the time: one comparison for all, written out.
    """
    if (
        type(query) is type(key) is type(value) is type(out) is _ndarray
        and (query.shape, query.dtype, key.shape, key.dtype, value.shape, value.dtype, out.shape, out.dtype) == form
    ):
        try:
            return [_from_buffer(query), _from_buffer(key), _from_buffer(value), _from_buffer(_BYTES, out, True)]
        except (BufferError, ValueError):  # not dense, or not to be written to
            pass
    return None


def pointer_as_planned(value: ArrayLike, parameter: str, planned: Tensor, device: int) -> ffi.CData:
    """Give the address of an operand that must have the planned shape, dtype and strides.

    The pointer keeps an array's memory, but not a tensor's owner.
    """
    if (
        type(value) is _ndarray
        and planned.strides is None
        and value.shape == planned._items
        and value.dtype == planned.dtype
    ):
        try:
            return _from_buffer(value)
        except (BufferError, ValueError):
            pass
    tensor = as_tensor(value, parameter)
    if tensor.dtype != planned.dtype:
        raise wrong_type(
            parameter,
            f"dtype {dtype_name(planned.dtype)} as planned",
            f"dtype {dtype_name(tensor.dtype)}",
            "make a new plan",
        )
    if tensor.shape != planned.shape or tensor.strides != planned.strides:
        raise invalid(parameter, f"{form_of(planned)} as planned", form_of(tensor), "make a new plan")
    return _pointer_for(tensor, parameter, device)


def _pointer_for(tensor: Tensor, parameter: str, device: int) -> ffi.CData:
    """Give a tensor's address to a plan on a device."""
    check_device(tensor, parameter, device)
    return tensor._pointer


def output_pointer(value: ArrayLike, parameter: str, spec: Spec, device: int) -> ffi.CData:
    """Give the address of an output; otherwise as `pointer_as_planned`."""
    if type(value) is _ndarray and (value.shape, value.dtype) == (spec.shape, spec.dtype):
        try:
            return _from_buffer(_BYTES, value, True)  # as a keyword the last one takes twice as long
        except (BufferError, ValueError):
            pass
    return _pointer_for(as_output(value, parameter, spec.shape, spec.dtype), parameter, device)


# Addresses for tensors whose memory comes later: never used as such, but different, not null, and far apart.
_placeholders = itertools.count(1)


def placeholder_address() -> ffi.CData:
    """Give such an address."""
    return ffi.cast("void *", (next(_placeholders) % 2**16 + 1) << 46)


def as_tensor_or_placeholder(value: ArrayLike | Spec, parameter: str) -> Tensor:
    """Describe an operand, or one of which only shape and dtype are known. The latter's address is not to be used."""
    if not isinstance(value, Spec):
        return as_tensor(value, parameter)
    return make_tensor(placeholder_address(), value.shape, value.dtype, value.strides, None, True, parameter, ANY)


def as_output_or_placeholder(value: ArrayLike | None, parameter: str, spec: Spec) -> Tensor:
    """Describe an array that an operator writes, or one that comes later."""
    if value is None:
        return as_tensor_or_placeholder(spec, parameter)
    return as_output(value, parameter, spec.shape, spec.dtype)
