# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Memory that nobody may read: NaN that spreads, and pages that fault."""

from __future__ import annotations

import ctypes
import math
import mmap
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

Array = NDArray[Any]


def poisoned(shape: tuple[int, ...], dtype: DTypeLike) -> Array:
    """Make an array whose every byte is 0xFF.

    That is NaN in every floating dtype and -1 in every signed one, so that a result which depends on it shows it.

    Parameters
    ----------
    shape : tuple of int
        Its shape.
    dtype : dtype-like
        Its dtype.

    Returns
    -------
    ndarray
        The array.
    """
    kind = np.dtype(dtype)
    return np.full(math.prod(shape) * kind.itemsize, 0xFF, dtype=np.uint8).view(kind).reshape(shape)


def guarded(array: Array, *, before: bool = False) -> Array:
    """Copy an array to memory whose last byte is followed, or whose first is preceded, by a page that faults.

    A read beyond the array then ends the process, so use it in a process of its own.

    Parameters
    ----------
    array : ndarray
        The array.
    before : bool
        Guard the start instead of the end.

    Returns
    -------
    ndarray
        The copy; C-contiguous.

    Raises
    ------
    OSError
        If the system does not protect the page.
    """
    page = mmap.PAGESIZE
    room = math.ceil(max(array.nbytes, 1) / page) * page
    region = mmap.mmap(-1, room + page)
    address = ctypes.addressof(ctypes.c_char.from_buffer(region))
    libc = ctypes.CDLL(None, use_errno=True)
    guard = address if before else address + room
    no_access = 0
    if libc.mprotect(ctypes.c_void_p(guard), ctypes.c_size_t(page), ctypes.c_int(no_access)) != 0:
        raise OSError(ctypes.get_errno(), "mprotect")
    start = page if before else room - array.nbytes
    copy = np.frombuffer(region, dtype=np.uint8, count=array.nbytes, offset=start).view(array.dtype)
    copy = copy.reshape(array.shape)
    copy[...] = array
    return copy
