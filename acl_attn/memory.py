# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Device memory: buffers that a program owns, and the scratch memory of operators."""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt

from ._handles import Closing
from ._lib import ffi, lib
from ._process import call, on_device, reset_after_fork, use_device
from ._target_numbers import NAMES, has_own_memory, target_number
from .dtypes import as_dtype
from .errors import ClosedError, invalid, type_name, wrong_type
from .values import integer, integers

__all__ = ["Buffer", "WorkspaceCache", "check_visible", "copy", "workspace_of_stream"]


class _Allocation:
    """A piece of device memory. Whoever uses it holds it; it goes with the last user.

    Not a `Handle`: those are released at exit at the latest, but a daemon thread may still compute in this memory.
    """

    __slots__ = ("device", "nbytes", "pointer")

    def __init__(self, nbytes: int) -> None:
        self.device = use_device()
        slot = ffi.new("void **")
        call(lib.aclrtMalloc, "aclrtMalloc", slot, nbytes, lib.ACL_MEM_MALLOC_HUGE_FIRST)
        self.pointer = ffi.gc(slot[0], functools.partial(on_device, self.device, lib.aclrtFree), nbytes)
        self.nbytes = nbytes


class _View:
    """Lends memory to NumPy, and keeps it as long as NumPy uses it."""

    __slots__ = ("__array_interface__", "allocation")

    def __init__(self, allocation: _Allocation) -> None:
        address = int(ffi.cast("uintptr_t", allocation.pointer))
        self.allocation = allocation
        self.__array_interface__ = {
            "version": 3,
            "typestr": "|u1",
            "shape": (allocation.nbytes,),
            "data": (address, False),
        }


class Buffer(Closing):
    """Memory of the thread's device, owned by the program. That of targets host and sim, NumPy can look at.

    A context manager. The memory is given back by `close`, or when the buffer goes, but never while an array made by
    `as_array` or work in flight still uses it.

    Parameters
    ----------
    nbytes : int
        Size, at least 1. The contents are undefined.

    See Also
    --------
    Tensor.from_ptr : Use memory that someone else owns.

    Examples
    --------
    >>> import numpy as np
    >>> with Buffer(64) as buffer:
    ...     array = buffer.as_array("float16", (4, 8))
    ...     array[...] = 1
    >>> float(array.sum())
    32.0
    """

    __slots__ = ("__weakref__", "_allocation", "_device", "nbytes")

    def __init__(self, nbytes: int) -> None:
        if isinstance(nbytes, bool) or not isinstance(nbytes, (int, np.integer)):
            raise wrong_type("nbytes", "an int", type_name(nbytes))
        if not 1 <= nbytes < 2**63:
            raise invalid("nbytes", "a number of bytes from 1", nbytes)
        self._allocation: _Allocation | None = _Allocation(int(nbytes))
        self._device = self._allocation.device
        self.nbytes = int(nbytes)

    def _live(self) -> _Allocation:
        if self._allocation is None:
            raise ClosedError("buffer: expected an open object, got one that was closed")
        return self._allocation

    @property
    def address(self) -> int:
        """Where the memory begins."""
        return int(ffi.cast("uintptr_t", self._live().pointer))

    def as_array(self, dtype: npt.DTypeLike = np.uint8, shape: tuple[int, ...] | None = None) -> npt.NDArray[Any]:
        """Look at the memory as an array, without a copy (targets host and sim).

        Parameters
        ----------
        dtype : dtype or its name
            Element type, ``"bfloat16"`` included.
        shape : tuple of int, optional
            Shape; one axis over the whole buffer without it.

        Returns
        -------
        numpy.ndarray
            Writable; keeps the memory even after `close`.

        Raises
        ------
        InvalidArgumentError
            The shape does not fit, or the program can't look at the device's memory.
        """
        self._live()
        check_visible(self._device, "buffer", "copy it with Buffer.copy_to")
        element = as_dtype(dtype)
        shape = (self.nbytes // element.itemsize,) if shape is None else integers(shape, "shape")
        count = 1
        for extent in shape:
            count *= extent
        if min(shape, default=0) < 0 or count * element.itemsize > self.nbytes:
            raise invalid("shape", f"at most {self.nbytes // element.itemsize} elements of {element}", shape)
        everything = np.asarray(_View(self._live()))
        return everything[: count * element.itemsize].view(element).reshape(shape)

    def copy_from(self, array: npt.NDArray[Any], offset: int = 0) -> None:
        """Copy an array into the memory. Work in flight that uses it must be done.

        Parameters
        ----------
        array : numpy.ndarray
            C-contiguous.
        offset : int
            Bytes from the buffer's start to where it goes.
        """
        pointer, nbytes = self._range(array, offset)
        source = ffi.cast("void *", array.ctypes.data)
        if nbytes:
            copy(self._device, pointer, source, nbytes, lib.ACL_MEMCPY_HOST_TO_DEVICE)

    def copy_to(self, array: npt.NDArray[Any], offset: int = 0) -> None:
        """Copy the memory into an array. Work in flight that writes it must be done.

        Parameters
        ----------
        array : numpy.ndarray
            C-contiguous and writable; decides how much is copied.
        offset : int
            Bytes from the buffer's start to where it begins.
        """
        pointer, nbytes = self._range(array, offset)
        if not array.flags.writeable:
            raise invalid("array", "a writable array", "a read-only one")
        if nbytes:
            copy(
                self._live().device,
                ffi.cast("void *", array.ctypes.data),
                pointer,
                nbytes,
                lib.ACL_MEMCPY_DEVICE_TO_HOST,
            )

    def _range(self, array: npt.NDArray[Any], offset: int) -> tuple[ffi.CData, int]:
        if not isinstance(array, np.ndarray):
            raise wrong_type("array", "a numpy.ndarray", type_name(array))
        if not array.flags.c_contiguous:
            raise invalid("array", "a C-contiguous array", f"strides {array.strides}", "copy it")
        begin, nbytes = integer(offset, "offset"), array.nbytes
        if not 0 <= begin <= self.nbytes - nbytes:
            raise invalid("array", f"to fit into {self.nbytes} bytes after offset {begin}", f"{nbytes} bytes")
        return ffi.cast("char *", self._live().pointer) + begin, nbytes

    def close(self) -> None:
        """Let the memory go. May be repeated."""
        self._allocation = None

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called."""
        return self._allocation is None

    def __repr__(self) -> str:
        return f"<Buffer {'closed' if self.is_closed else f'{self.nbytes} bytes at {self.address:#x}'}>"


def check_visible(device: int, parameter: str, fix: str) -> None:
    """Refuse to show the program memory that it can't read."""
    if has_own_memory(device):
        raise invalid(
            parameter, "memory that the program can read", f"that of target {NAMES[target_number(device)]!r}", fix
        )


def copy(device: int, to: ffi.CData, source: ffi.CData, nbytes: int, kind: int, stream: ffi.CData = ffi.NULL) -> None:
    """Copy between the program's memory and a device's: at once, or in a stream's order."""
    if stream == ffi.NULL:
        call(lib.aclrtMemcpy, "aclrtMemcpy", to, nbytes, source, nbytes, kind, device=device)
    else:
        call(lib.aclrtMemcpyAsync, "aclrtMemcpyAsync", to, nbytes, source, nbytes, kind, stream, device=device)


def pointer_of(buffer: Buffer) -> ffi.CData:
    """Give a buffer's address in the form that C functions take."""
    return buffer._live().pointer


class WorkspaceCache:
    """Scratch memory kept for the next call, so that small calls do not pay for an allocation.

    A borrowed buffer is the borrower's alone until it is given back. At most two wait here, of at most 64 MiB each.
    """

    _MOST = 2
    _LARGEST = 64 << 20

    def __init__(self) -> None:
        self._idle: list[Buffer] = []
        weakref.finalize(self, self._idle.clear)  # at exit; what is borrowed then stays the borrower's

    def borrow(self, nbytes: int) -> Buffer | None:
        """Hand out at least `nbytes`; None if none are needed."""
        if nbytes == 0:
            return None
        try:
            buffer = self._idle.pop()
        except IndexError:
            pass
        else:
            if buffer.nbytes >= nbytes and buffer._device == use_device():
                return buffer
        # Powers of two: a sequence that grows by a token a call shall not need a new buffer at each call.
        return Buffer(max(1 << (nbytes - 1).bit_length(), 4096) if nbytes <= self._LARGEST else nbytes)

    def give_back(self, buffer: Buffer | None) -> None:
        """Take a buffer back that no work uses any more."""
        if buffer is not None and buffer.nbytes <= self._LARGEST and len(self._idle) < self._MOST:
            self._idle.append(buffer)

    def idle(self, targets: Collection[int]) -> list[int]:
        """List the bytes of each buffer that waits here, of some targets."""
        return [buffer.nbytes for buffer in self._idle if target_number(buffer._device) in targets]

    def clear(self) -> None:
        """Free what waits here."""
        self._idle.clear()


class _StreamWorkspaces:
    """One workspace a stream: the stream's order keeps calls from using it at the same time."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.by_stream: dict[tuple[int, int], weakref.ReferenceType[Buffer]] = {}

    def _reset_after_fork(self) -> None:
        self.lock = threading.Lock()


_streams = _StreamWorkspaces()
reset_after_fork(_streams)


def workspace_of_stream(stream: ffi.CData, nbytes: int) -> Buffer | None:
    """Give scratch memory for a call about to be queued on a stream.

    Calls in flight on the same stream share it if it is large enough. It lives as long as such a call holds it.
    """
    if nbytes == 0:
        return None
    key = (use_device(), int(ffi.cast("uintptr_t", stream)))
    with _streams.lock:
        known = _streams.by_stream.get(key)
        buffer = known() if known is not None else None
        if buffer is None or buffer.nbytes < nbytes:
            buffer = Buffer(nbytes)
            _streams.by_stream = {k: ref for k, ref in _streams.by_stream.items() if ref() is not None}
            _streams.by_stream[key] = weakref.ref(buffer)
        return buffer
