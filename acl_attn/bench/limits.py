# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The machine's limits, through libacl_attn_bench."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np

from .timing import prioritised

__all__ = ["FAR_BYTES", "Limits"]

FAR_BYTES = 1 << 30  # too much for any cache
_BLOCK_SECONDS = 0.03


class Limits:
    """Measures what this machine can do, at real-time priority where the process may.

    Parameters
    ----------
    library : Path
        The library, which is installed beside libacl_attn.
    """

    def __init__(self, library: Path) -> None:
        self._library = ctypes.CDLL(str(library))
        self._library.aclAttnBenchUnitName.restype = ctypes.c_char_p
        self._library.aclAttnBenchOperations.restype = ctypes.c_double
        self._library.aclAttnBenchOperations.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_double]
        self._library.aclAttnBenchRead.restype = ctypes.c_double
        self._library.aclAttnBenchRead.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_double]
        self._buffer = np.empty(0, np.uint8)
        names: list[str] = []
        while name := self._library.aclAttnBenchUnitName(len(names)):
            names.append(name.decode())
        self.units = {name: i for i, name in enumerate(names) if self._library.aclAttnBenchIsUnitUsable(i)}

    def operations(self, unit: str, threads: int) -> float:
        """Operations a second of one of `units`."""
        with prioritised():
            return float(self._library.aclAttnBenchOperations(self.units[unit], threads, _BLOCK_SECONDS))

    def read(self, size: int, threads: int) -> float:
        """Bytes a second of reading so many bytes again and again."""
        size = max(size, 4096 * threads)
        if self._buffer.size < size:
            self._buffer = np.ones(size, np.uint8)
        with prioritised():
            return float(self._library.aclAttnBenchRead(self._buffer.ctypes.data, size, threads, _BLOCK_SECONDS))

    def free(self) -> None:
        """Let the buffer go that was read."""
        self._buffer = np.empty(0, np.uint8)
