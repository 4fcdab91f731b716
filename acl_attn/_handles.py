# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""One C object, one finalizer."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, TypeVar

from ._process import on_device
from .errors import AclAttnWarning, ClosedError, recent_message

if TYPE_CHECKING:
    from ._lib import ffi

__all__ = ["Closing", "Handle", "adopt", "destroy"]

ClosingT = TypeVar("ClosingT", bound="Closing")


def destroy(device: int, destructor: Callable[[ffi.CData], int], pointer: ffi.CData) -> None:
    """Destroy a C object of a device where nothing can be raised: a failure becomes a warning, and the object leaks."""
    problem = on_device(device, _destroy, destructor, pointer)
    if problem:
        warnings.warn(f"an object was not released: {problem}", AclAttnWarning, stacklevel=2)


def _destroy(destructor: Callable[[ffi.CData], int], pointer: ffi.CData) -> str:
    status = destructor(pointer)
    return (recent_message() or f"status {status}") if status else ""


class Single:
    """What there is once: a copy would share the C object, and find it gone when the original goes."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: object) -> NoReturn:  # copy, deepcopy and pickle all come here
        raise TypeError(f"{type(self).__name__}: expected no copying or pickling, it owns memory of the library")


class Closing(Single):
    """What a ``with`` statement closes at its end, and cannot begin with when it is closed."""

    __slots__ = ()

    def close(self) -> None:
        """Release what the object holds. May be repeated."""
        raise NotImplementedError

    def _live(self) -> object:
        """Raise `ClosedError` if the object was closed."""
        raise NotImplementedError

    def __enter__(self: ClosingT) -> ClosingT:
        self._live()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class Handle(Single):
    """A C object that is released exactly once: by `close`, when the Python object goes, or at interpreter exit.

    Finalizers run at exit in reverse order of creation, before the interpreter is taken apart, so that what was made
    first goes last. A parent is kept alive by the finalizer as long as the child lives.
    """

    __slots__ = ("__weakref__", "_finalizer", "_pointer")

    _pointer: ffi.CData
    _finalizer: weakref.finalize[..., Handle] | None  # None: borrowed, someone else releases it

    def close(self) -> None:
        """Release the object now. A second call does nothing; a borrowed object is only let go."""
        if self._finalizer is not None:
            self._finalizer()

    @property
    def is_closed(self) -> bool:
        """Whether the object has been released."""
        return self._finalizer is not None and not self._finalizer.alive

    def _live(self) -> ffi.CData:
        if self._finalizer is not None and not self._finalizer.alive:
            raise ClosedError(f"{type(self).__name__.lower()}: expected an open object, got one that was closed")
        return self._pointer


def adopt(handle: Handle, pointer: ffi.CData, release: Callable[..., object] | None, *arguments: object) -> None:
    """Put a C object into a handle. ``release(*arguments)`` must not refer to the handle itself.

    To be called on the line after the object was made. With ``release=None`` the object stays its owner's.
    """
    handle._pointer = pointer
    handle._finalizer = None if release is None else weakref.finalize(handle, release, *arguments)
