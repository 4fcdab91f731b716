# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The compiled extension, and how libraries get behind it.

The only module that knows the extension: everything else takes ``ffi`` and ``lib`` from here. Importing it loads
nothing; a function of ``lib`` of which the thread's target has no address answers that it is not bound.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

try:
    from . import _native
    from ._native import ffi, lib
except ImportError as problem:
    folder = Path(__file__).resolve().parent
    if list(folder.glob("_native*.so")):
        raise
    # Python looks in the working directory first, and blames circular imports for what is not there.
    raise ImportError(
        f"acl_attn: expected the installed package, got {folder}, which has no compiled part; "
        "start Python in another directory than that of the sources, or install them: pip install ."
    ) from problem

__all__ = [
    "INSTALLED",
    "Attempt",
    "Symbol",
    "bind",
    "ffi",
    "get_include",
    "get_library",
    "lib",
    "open_library",
    "selected",
    "symbols",
    "text",
]

# Beside the extension and not beside this file: in an editable install the two live in different directories.
INSTALLED = Path(_native.__file__).resolve().parent


@dataclass(frozen=True)
class Attempt:
    """One place where a library was looked for, and what came of it."""

    path: str
    outcome: str


@dataclass(frozen=True)
class Symbol:
    """A function of the headers."""

    number: int
    name: str
    group: str  # folder of its header

    def library(self, target: int) -> str:
        """Path of the library that has it; empty if none of the target's does."""
        return text(lib.acl_attn_symbol_library(target, self.number))


def symbols() -> list[Symbol]:
    """List the functions of all headers."""
    return [
        Symbol(number, text(lib.acl_attn_symbol_name(number)), text(lib.acl_attn_symbol_group(number)))
        for number in range(lib.acl_attn_symbol_count())
    ]


def open_library(
    path: str, attempts: list[Attempt], *, loaded_only: bool = False, is_global: bool = False
) -> ffi.CData | None:
    """Load a library, or only find it with `loaded_only`; None if that can't be. What came of it joins `attempts`."""
    message = ffi.new("char[]", 1024)
    library = lib.acl_attn_open(os.fsencode(path), loaded_only, is_global, message, len(message))
    if library:
        attempts.append(Attempt(path, "already in the process" if loaded_only else "loaded"))
        return library
    attempts.append(Attempt(path, "not in the process" if loaded_only else text(message)))
    return None


def bind(target: int, library: ffi.CData, wanted: Iterable[Symbol]) -> int:
    """Take functions that the target lacks from a library; say how many of them it has now."""
    return sum(lib.acl_attn_bind(target, symbol.number, library) for symbol in wanted)


@contextmanager
def selected(target: int) -> Iterator[None]:
    """Let the thread call a target's functions for a while, whatever its device is."""
    before = lib.acl_attn_select(target)
    try:
        yield
    finally:
        lib.acl_attn_select(before)


def text(pointer: ffi.CData) -> str:
    """Copy a C string; empty for null."""
    return str(ffi.string(pointer).decode("utf-8", "replace")) if pointer else ""


def get_include() -> Path:
    """Directory of the C headers, for programs that call the C interface.

    Returns
    -------
    pathlib.Path
        To be given to a compiler with ``-I``.

    See Also
    --------
    get_library : The library to link.

    Examples
    --------
    >>> import acl_attn
    >>> (acl_attn.get_include() / "acl" / "acl.h").exists()
    True
    """
    return INSTALLED / "include"


def get_library() -> Path:
    """Path of the bundled library of the host target, for programs that call the C interface.

    Returns
    -------
    pathlib.Path
        The shared library ``libacl_attn.so``.

    See Also
    --------
    get_include : The headers that go with it.

    Examples
    --------
    >>> import acl_attn
    >>> acl_attn.get_library().name
    'libacl_attn.so'
    """
    return INSTALLED / "lib" / "libacl_attn.so"
