# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays in an ``.npz`` file, read as what it is: something that a stranger may have made.

Nothing is unpickled. A member is read only if the file itself is large enough to hold it: members are stored without
compression, and are together no larger than the file, so that a small file cannot ask for much memory.
"""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from ..dtypes import DType, dtype_name
from ..errors import invalid

__all__ = ["Archive", "carrier", "read_archive", "write_archive"]

_READERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def carrier(dtype: DType) -> DType:
    """Give the plain dtype that stands for one which NumPy's file format does not know."""
    return dtype if dtype.isbuiltin == 1 else np.dtype(f"<u{dtype.itemsize}")


def write_archive(path: Path, arrays: dict[str, npt.NDArray[Any]]) -> None:
    """Write dense arrays of any dtype as members of those names."""
    plain = {name: np.ascontiguousarray(array).view(carrier(array.dtype)) for name, array in arrays.items()}
    with path.open("wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in plain.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                npy.write_array(member, array, allow_pickle=False)


class Archive:
    """The members of a file that is open."""

    def __init__(self, archive: zipfile.ZipFile, room: int) -> None:
        self._archive = archive
        self._members = {info.filename: info for info in archive.infolist()}
        for info in self._members.values():
            if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
                raise invalid(info.filename, "a member without compression or encryption", "another", "use numpy.savez")
        total = sum(info.file_size for info in archive.infolist())
        if total > room:
            raise invalid("members", f"to fit into the file's {room} bytes", f"{total} bytes")

    def __contains__(self, name: str) -> bool:
        return f"{name}.npy" in self._members

    def read(self, name: str, dtype: DType, shape: tuple[int, ...] | None = None) -> npt.NDArray[Any]:
        """Read an array that must have the dtype, and the shape if one is given. The array is the caller's own."""
        info = self._members.get(f"{name}.npy")
        if info is None:
            raise invalid(name, "a member of the file", "none of this name")
        with self._archive.open(info) as file:
            content = io.BytesIO(file.read())
        read_header = _READERS.get(npy.read_magic(content))
        if read_header is None:
            raise invalid(name, "version 1.0 or 2.0 of NumPy's format", "another")
        found, is_fortran, stored = read_header(content)
        if stored != carrier(dtype) or is_fortran:
            order = " in Fortran order" if is_fortran else ""
            raise invalid(name, f"{dtype_name(carrier(dtype))} in C order for {dtype_name(dtype)}", f"{stored}{order}")
        if shape is not None and found != shape:
            raise invalid(name, f"shape {shape} as described", found)
        rest = len(content.getbuffer()) - content.tell()
        if min(found, default=0) < 0 or math.prod(found) * dtype.itemsize != rest:
            raise invalid(name, f"{rest} bytes of elements, as the member has", f"shape {found} of {dtype_name(dtype)}")
        return np.frombuffer(bytearray(content.read()), stored).reshape(found).view(dtype)


@contextmanager
def read_archive(path: Path) -> Iterator[Archive]:
    """Open a file."""
    with zipfile.ZipFile(path) as archive:
        yield Archive(archive, path.stat().st_size)
