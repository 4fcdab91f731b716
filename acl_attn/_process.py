# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""AscendCL's process-wide and per-thread state: started when first needed, ended only as far as it is ours.

Other libraries, or a C++ program that embeds Python, may use AscendCL in the same process. So an initialisation by
someone else is used and never ended, and a context that a thread has already is kept.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import Counter
from collections.abc import Callable
from typing import Protocol

from ._lib import ffi, lib
from .errors import check, load_target, recent_message

__all__ = ["call", "regain_device", "reset_after_fork", "start", "use_device"]


class _Forkable(Protocol):
    def _reset_after_fork(self) -> None: ...


class _Anchor:
    """Lives as long as the module; the shutdown hangs on it."""


class _Thread(threading.local):
    device: int | None = None  # known to be current in this thread


_lock = threading.Lock()
_thread = _Thread()
_anchor = _Anchor()
_started = False
_devices_set: Counter[int] = Counter()
_forkables: weakref.WeakSet[_Forkable] = weakref.WeakSet()


def start() -> None:
    """Load the target and initialise AscendCL, once a process."""
    global _started  # noqa: PLW0603 - a process starts once
    if _started:
        return
    load_target()
    with _lock:
        if _started:
            return
        status = lib.aclInit(ffi.NULL)
        if status == lib.ACL_ERROR_REPEAT_INITIALIZE:
            recent_message()  # not an error: someone else initialised, and will finalise
        else:
            check(status, "aclInit")
        # Finalizers run at exit in reverse order of creation: made before any stream or buffer, this one runs after
        # theirs.
        weakref.finalize(_anchor, _shut_down, status == 0)
        _started = True


def _shut_down(ours: bool) -> None:
    for device, count in _devices_set.items():
        for _ in range(count):
            lib.aclrtResetDevice(device)
    if ours:
        # The counted form: others who initialised after us keep what they have.
        lib.aclFinalizeReference(ffi.NULL)


def use_device(device: int | None = None) -> int:
    """Give the calling thread a current context, and say on which device.

    Parameters
    ----------
    device : int, optional
        The wanted device. Without it the thread keeps the device it has, or gets device 0.
    """
    current = _thread.device
    if current is not None and (device is None or device == current):
        return current
    start()
    found = ffi.new("int32_t *")
    status = lib.aclrtGetDevice(found)
    if status != 0:
        recent_message()
    if status != 0 or (device is not None and device != found[0]):
        wanted = device or 0
        check(lib.aclrtSetDevice(wanted), "aclrtSetDevice")
        with _lock:
            _devices_set[wanted] += 1
        found[0] = wanted
    _thread.device = int(found[0])
    return _thread.device


def regain_device(device: int | None = None) -> bool:
    """Give the thread a context again, if someone took it away since; say whether that was so."""
    found = ffi.new("int32_t *")
    if lib.aclrtGetDevice(found) == 0:
        return False
    recent_message()
    lost, _thread.device = _thread.device, None
    use_device(lost if device is None else device)
    return True


def call(function: Callable[..., int], api: str, *arguments: object) -> None:
    """Call a function that needs a current context, and raise what it reports."""
    use_device()
    status = function(*arguments)
    if status == lib.ACL_ERROR_RT_CONTEXT_NULL and regain_device():
        status = function(*arguments)
    check(status, api)


def reset_after_fork(owner: _Forkable) -> None:
    """Have ``owner._reset_after_fork()`` called in forked children, where a lock may be held by a thread that is gone.

    Only a weak reference is kept.
    """
    _forkables.add(owner)


def _in_child() -> None:
    global _lock  # noqa: PLW0603 - see reset_after_fork
    _lock = threading.Lock()
    for owner in list(_forkables):
        owner._reset_after_fork()


os.register_at_fork(after_in_child=_in_child)
