# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Find and load a target, once, at first use.

The only module that knows the compiled extension: everything else takes ``ffi`` and ``lib`` from here. Importing it
loads no target; until `load` has run, every function of ``lib`` answers that it is not bound.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from pathlib import Path

from . import _native
from ._native import ffi, lib
from .profiles import wrong_choice

__all__ = ["Attempt", "Target", "TargetNotLoadedError", "ffi", "get_include", "get_library", "lib", "load", "text"]

# Beside the extension and not beside this file: in an editable install the two live in different directories.
_INSTALLED = Path(_native.__file__).resolve().parent

# The libraries of each target, in the order in which they are asked for a function.
_TARGETS = {"host": ("libacl_attn.so",)}


class TargetNotLoadedError(Exception):
    """No library of the target could be loaded; `errors` turns it into the public exception."""


@dataclass(frozen=True)
class Attempt:
    """One place where a library was looked for, and what came of it."""

    path: str
    outcome: str


@dataclass(frozen=True)
class Target:
    """A loaded target."""

    name: str
    libraries: tuple[str, ...]
    missing: tuple[str, ...]
    attempts: tuple[Attempt, ...]


_lock = threading.Lock()
_loaded: Target | None = None


def load() -> Target:
    """Load the target named by ``ACL_ATTN_TARGET`` (default ``host``) if none is loaded yet.

    A library that the process has already, such as one linked by a C++ program that embeds Python, is taken in
    preference to the bundled one: two copies would not know each other's handles.
    """
    global _loaded  # noqa: PLW0603 - a process has one target
    if _loaded is None:
        with _lock:
            if _loaded is None:
                _loaded = _load(os.environ.get("ACL_ATTN_TARGET", "host"))
    return _loaded


def _load(name: str) -> Target:
    if name not in _TARGETS:
        known = ", ".join(sorted(_TARGETS))
        raise TargetNotLoadedError(f"ACL_ATTN_TARGET: expected one of {known}, got {name!r}; unset it to use host")
    if problem := wrong_choice():
        raise TargetNotLoadedError(problem)
    attempts: list[Attempt] = []
    for library in _TARGETS[name]:
        if not any(_bind(path, loaded_only, attempts) for path, loaded_only in _places(library)):
            tried = "\n".join(f"  {attempt.path}: {attempt.outcome}" for attempt in attempts)
            raise TargetNotLoadedError(f"no library of target {name!r} could be loaded; tried\n{tried}")
    provider = {text(lib.acl_attn_symbol_name(i)): lib.acl_attn_symbol_library(i) for i in _symbols()}
    return Target(
        name=name,
        libraries=tuple(dict.fromkeys(text(path) for path in provider.values() if path)),
        missing=tuple(symbol for symbol, path in provider.items() if not path),
        attempts=tuple(attempts),
    )


def _places(library: str) -> list[tuple[str, bool]]:
    """List the paths to try, each with whether only a copy that is loaded already counts."""
    chosen = os.environ.get("ACL_ATTN_LIBRARY")
    if chosen:
        return [(chosen, False)]
    return [(library, True), (str(get_library()), False)]


def _bind(path: str, loaded_only: bool, attempts: list[Attempt]) -> bool:
    message = ffi.new("char[]", 1024)
    bound = lib.acl_attn_bind(os.fsencode(path), loaded_only, message, len(message))
    if bound > 0:
        attempts.append(Attempt(path, "already in the process" if loaded_only else "loaded"))
    elif bound == 0:
        attempts.append(Attempt(path, "loaded, but exports none of the functions"))
    else:
        attempts.append(Attempt(path, "not in the process" if loaded_only else text(message)))
    return bool(bound > 0)


def _symbols() -> range:
    return range(lib.acl_attn_symbol_count())


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
    return _INSTALLED / "include"


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
    return _INSTALLED / "lib" / "libacl_attn.so"
