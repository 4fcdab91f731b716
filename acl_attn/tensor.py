# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""What a tensor is, and array-likes in its place. On the host target nothing is copied."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ._lib import ffi, lib
from ._process import use_device
from ._targets import NAMES, target_number
from .dtypes import DType, acl_dtype, as_dtype, dtype_name
from .errors import invalid, type_name, wrong_type
from .memory import Buffer, check_visible, pointer_of
from .spec import read_shape, read_strides
from .values import flag, instance, integer

__all__ = [
    "ANY",
    "ARRAY",
    "ArrayLike",
    "Tensor",
    "as_tensor",
    "byte_span",
    "check_device",
    "element_span",
    "form_of",
    "make_tensor",
]

# On the path of every call.
_ndarray = np.ndarray
_from_buffer = ffi.from_buffer

# Where a tensor's memory is, if not on a known device: the program's own, or wherever the caller's address points.
ARRAY, ANY = -2, -1


class Tensor:
    """Memory seen as an array: address, shape, dtype and strides. It describes, and does not own the bytes.

    Made by `Tensor.from_array` and `Tensor.from_ptr`. Operators take it wherever they take an array.

    Attributes
    ----------
    shape : tuple of int
        Shape, as operators see it: of a packed 4-bit dtype the last axis counts elements, two of which an array has in
        an item.
    dtype : numpy.dtype
        Element type.
    strides : tuple of int or None
        In elements; None if dense.
    owner : object
        Kept alive with the tensor, so that the memory stays.

    See Also
    --------
    Tensor.from_ptr : Memory of a C++ program.

    Examples
    --------
    >>> import numpy as np
    >>> array = np.zeros((2, 3), np.float16)
    >>> same = Tensor.from_ptr(array.ctypes.data, array.shape, array.dtype, owner=array)
    >>> same.as_array()[...] = 1
    >>> float(array.sum())
    6.0
    """

    __slots__ = ("_code", "_items", "_memory", "_pointer", "_writable", "dtype", "owner", "shape", "strides")

    shape: tuple[int, ...]
    dtype: DType
    strides: tuple[int, ...] | None
    owner: object
    _pointer: ffi.CData  # of type char * to an array of the program's, else of type void *
    _writable: bool | None  # None: the owner is an array, which knows
    _code: int  # the aclDataType
    _items: tuple[int, ...]  # shape of an array, whose items may hold several elements
    _memory: int  # key of the device that it belongs to, or one of the numbers below 0

    def __init__(self) -> None:
        raise TypeError("Tensor: expected Tensor.from_array(array) or Tensor.from_ptr(...), got Tensor()")

    @classmethod
    def from_array(cls, array: ArrayLike) -> Tensor:
        """Describe an array, without a copy.

        Parameters
        ----------
        array : numpy.ndarray, Tensor, or an object with ``__dlpack__`` or ``__array_interface__``
            What to describe; kept alive.

        Returns
        -------
        Tensor
            The description.
        """
        return as_tensor(array, "array")

    @classmethod
    def from_ptr(
        cls,
        ptr: int,
        shape: Sequence[int],
        dtype: npt.DTypeLike,
        *,
        strides: Sequence[int] | None = None,
        owner: object = None,
        writable: bool = True,
    ) -> Tensor:
        """Describe memory that someone else owns, such as a C++ program: of the device that operators will run on.

        Parameters
        ----------
        ptr : int
            Address of the first element.
        shape : sequence of int
            Shape.
        dtype : dtype or its name
            Element type, ``"bfloat16"`` included.
        strides : sequence of int, optional
            In elements. Dense without it.
        owner : object
            Kept alive as long as the tensor, and as work in flight on it.
        writable : bool
            Whether operators may write to it.

        Returns
        -------
        Tensor
            The description. Nobody checks the address: it must stay valid until all work on it is done.
        """
        if isinstance(ptr, bool) or not isinstance(ptr, (int, np.integer)):
            raise wrong_type("ptr", "an int", type_name(ptr))
        extents = read_shape(shape, "shape")
        steps = read_strides(strides, extents)
        if not 0 <= ptr < 2**64 or (ptr == 0 and 0 not in extents):
            raise invalid("ptr", "an address", ptr)
        is_writable = flag(writable, "writable")
        return make_tensor(
            ffi.cast("void *", int(ptr)), extents, as_dtype(dtype), steps, owner, is_writable, memory=ANY
        )

    @classmethod
    def from_buffer(cls, buffer: Buffer, shape: Sequence[int], dtype: npt.DTypeLike, *, offset: int = 0) -> Tensor:
        """Describe a part of a buffer.

        Parameters
        ----------
        buffer : Buffer
            The memory; kept alive.
        shape : sequence of int
            Shape.
        dtype : dtype or its name
            Element type.
        offset : int
            Bytes from the buffer's start to the first element.

        Returns
        -------
        Tensor
            The description.
        """
        buffer, offset = instance(buffer, Buffer, "buffer"), integer(offset, "offset")
        extents, element = read_shape(shape, "shape"), as_dtype(dtype)
        if not 0 <= offset <= buffer.nbytes - math.prod(extents) * element.itemsize:
            raise invalid("shape", f"to fit into {buffer.nbytes} bytes after offset {offset}", f"{extents} {element}")
        pointer = ffi.cast("void *", ffi.cast("char *", pointer_of(buffer)) + offset)
        allocation = buffer._live()
        return make_tensor(pointer, extents, element, None, allocation, True, memory=allocation.device)

    @property
    def is_writable(self) -> bool:
        """Whether operators may write to it."""
        if self._writable is None:
            array: Any = self.owner
            return bool(array.flags.writeable)
        return self._writable

    @property
    def address(self) -> int:
        """Address of the first element."""
        return int(ffi.cast("uintptr_t", self._pointer))

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return math.prod(self.shape) * self.dtype.itemsize // _elements_per_item(self._code)

    def as_array(self) -> npt.NDArray[Any]:
        """Look at the memory as an array, without a copy (targets host and sim).

        Returns
        -------
        numpy.ndarray
            Keeps the tensor, and by it the owner.
        """
        if self._memory != ARRAY:
            check_visible(
                use_device() if self._memory == ANY else self._memory, "tensor", "copy it with Buffer.copy_to"
            )
        packing, strides = _elements_per_item(self._code), self.strides
        if strides is not None:
            strides = (*(step // packing for step in strides[:-1]), *strides[-1:])
            strides = tuple(step * self.dtype.itemsize for step in strides)
        # Types of ml_dtypes have no type string of their own.
        carrier = self.dtype if self.dtype.isbuiltin == 1 else np.dtype(f"V{self.dtype.itemsize}")
        interface = {
            "version": 3,
            "typestr": carrier.str,
            "shape": self._items,
            "strides": strides,
            "data": (self.address, not self.is_writable),
        }
        return np.asarray(_View(self, interface)).view(self.dtype)

    def __repr__(self) -> str:
        return f"Tensor({self.shape}, {dtype_name(self.dtype)}, {self.address:#x})"


class _View:
    """Lends a tensor's memory to NumPy, and keeps the tensor as long as NumPy uses it."""

    __slots__ = ("__array_interface__", "tensor")

    def __init__(self, tensor: Tensor, interface: dict[str, Any]) -> None:
        self.tensor = tensor
        self.__array_interface__ = interface


ArrayLike: TypeAlias = Any  # numpy.ndarray, Tensor, or an object with __dlpack__ or __array_interface__


def make_tensor(
    pointer: ffi.CData, shape: tuple[int, ...], dtype: DType, strides: tuple[int, ...] | None, owner: object,
    writable: bool | None, parameter: str = "dtype", memory: int = ARRAY,
) -> Tensor:  # fmt: skip
    """Put a tensor together; see its attributes. `shape` and `strides` are those of items."""
    tensor = Tensor.__new__(Tensor)
    tensor._pointer = pointer
    tensor._code = acl_dtype(dtype, parameter)
    tensor._items = shape
    if tensor._code in _PACKINGS:
        shape, strides = _unpacked(shape, strides, _PACKINGS[tensor._code], parameter)
    tensor.shape = shape
    tensor.dtype = dtype
    tensor.strides = strides
    tensor.owner = owner
    tensor._memory = memory
    tensor._writable = writable
    return tensor


# Dispatching on the code is what keeps this off the hot path: comparing dtypes takes longer than the rest of a call.
_PACKINGS = {lib.ACL_INT4: 2, lib.ACL_FLOAT4_E2M1: 2}


def _elements_per_item(code: int) -> int:
    return _PACKINGS.get(code, 1)


def _unpacked(
    shape: tuple[int, ...], strides: tuple[int, ...] | None, packing: int, parameter: str
) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """Count elements instead of items, along the last axis."""
    if not shape:
        raise invalid(parameter, "an axis along which elements are packed", "a scalar")
    if strides is not None:
        if shape[-1] > 1 and strides[-1] != 1:
            raise invalid(
                parameter, "packed elements side by side", f"a last stride of {strides[-1]}", "copy the array"
            )
        strides = (*(step * packing for step in strides[:-1]), 1)
    return (*shape[:-1], shape[-1] * packing), strides


def as_tensor(value: ArrayLike, parameter: str) -> Tensor:
    """Describe an operand. The tensor keeps it alive."""
    if type(value) is _ndarray:
        array = value
    elif isinstance(value, Tensor):
        return value
    else:
        array = _import(value, parameter)
    shape, dtype = array.shape, array.dtype
    try:
        # Also pins the memory: the array cannot be resized while the pointer is in use.
        pointer = _from_buffer(array)
        strides = None
    except (BufferError, ValueError, TypeError):
        pointer = ffi.cast("char *", array.__array_interface__["data"][0])
        strides = _element_strides(array, parameter)
    return make_tensor(pointer, shape, dtype, strides, array, None, parameter)


def _import(value: object, parameter: str) -> npt.NDArray[Any]:
    if isinstance(value, np.ma.MaskedArray):
        raise wrong_type(parameter, "an array without a mask", type_name(value), "its mask would be ignored: use .data")
    if isinstance(value, np.ndarray):
        return value
    expected = "a numpy.ndarray, a Tensor, or an object with __dlpack__ or __array_interface__"
    fix = "convert it with numpy.asarray(value, dtype)" if isinstance(value, (list, tuple, int, float)) else ""
    try:
        if hasattr(value, "__array_interface__"):
            return np.asarray(value)
        if hasattr(value, "__dlpack__"):
            return np.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError, ValueError) as problem:
        raise wrong_type(parameter, expected, f"{type_name(value)} that NumPy refuses ({problem})") from None
    raise wrong_type(parameter, expected, type_name(value), fix)


def _element_strides(array: npt.NDArray[Any], parameter: str) -> tuple[int, ...]:
    itemsize = array.dtype.itemsize
    if not itemsize or any(step % itemsize for step in array.strides):
        raise invalid(parameter, f"strides that are multiples of {itemsize} bytes", array.strides, "copy the array")
    return tuple(step // itemsize for step in array.strides)


def form_of(tensor: Tensor) -> str:
    """Say a tensor's shape and strides in a message."""
    return f"shape {tensor.shape}" + (f" with strides {tensor.strides}" if tensor.strides else " (dense)")


def element_span(tensor: Tensor) -> int:
    """Count the elements from a tensor's first to its last."""
    if tensor.strides is None or 0 in tensor.shape:
        return math.prod(tensor.shape)
    return 1 + sum((extent - 1) * step for extent, step in zip(tensor.shape, tensor.strides, strict=True) if step > 0)


def byte_span(tensor: Tensor) -> int:
    """Count the bytes from a tensor's first element to the end of its last."""
    return element_span(tensor) * tensor.dtype.itemsize // _elements_per_item(tensor._code)


def check_device(tensor: Tensor, parameter: str, device: int) -> None:
    """Refuse memory of another target: an address there means nothing here."""
    if tensor._memory >= 0 and target_number(tensor._memory) != target_number(device):
        expected, got = NAMES[target_number(device)], NAMES[target_number(tensor._memory)]
        raise invalid(
            parameter, f"memory of target {expected!r}", f"that of target {got!r}", "copy it by way of an array"
        )
