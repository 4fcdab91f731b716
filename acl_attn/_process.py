# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""AscendCL's process-wide and per-thread state, of each target: started when first needed, ended as far as it is ours.

Other libraries, or a C++ program that embeds Python, may use AscendCL in the same process. So an initialisation by
someone else is used and never ended, and a context that a thread has already is kept.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from ._lib import ffi, lib, selected
from ._target_numbers import NAMES, device_key, device_number, has_own_memory, target_number
from .errors import BackendMissingError, check, default_target, load_target, recent_message

__all__ = [
    "borrowed_device",
    "call",
    "current_device",
    "is_current",
    "on_device",
    "regain_device",
    "reset_after_fork",
    "set_default_device",
    "start",
    "use_device",
]


class _Forkable(Protocol):
    def _reset_after_fork(self) -> None: ...


class _Anchor:
    """Lives as long as the module; the shutdown hangs on it."""


class _Thread(threading.local):
    device: int | None = None  # key of the one known to be current in this thread, whose target is selected


_FORKED = "a process that was not forked after its first use; start processes with multiprocessing's method 'spawn'"

_lock = threading.Lock()
_thread = _Thread()
_anchor = _Anchor()
_default: int | None = None  # key of the device that threads get; without it what they have, or the target's first
_started: set[int] = set()
_gone: dict[int, str] = {}  # targets with memory of their own that this process can't use any more, and why
_devices_set: Counter[int] = Counter()
_forkables: weakref.WeakSet[_Forkable] = weakref.WeakSet()


def start(target: int) -> None:
    """Load a target and initialise its AscendCL, once a process."""
    if target in _started:
        return
    if target in _gone:
        raise BackendMissingError(f"target {NAMES[target]!r}: expected {_gone[target]}")
    load_target(target)
    with _lock, selected(target):
        if target in _started:
            return
        status = lib.aclInit(ffi.NULL)
        if status == lib.ACL_ERROR_REPEAT_INITIALIZE:
            recent_message()  # not an error: someone else initialised, and will finalise
        else:
            check(status, "aclInit")
        # Finalizers run at exit in reverse order of creation: made before any stream or buffer, this one runs after
        # theirs.
        weakref.finalize(_anchor, _shut_down, status == 0, target)
        _started.add(target)


def _shut_down(ours: bool, target: int = 0) -> None:
    if target in _gone:
        return
    with selected(target):
        for device, count in _devices_set.items():
            if target_number(device) == target:
                for _ in range(count):
                    lib.aclrtResetDevice(device_number(device))
        if ours:
            # The counted form: others who initialised after us keep what they have. CANN without it ends with the
            # process.
            lib.aclFinalizeReference(ffi.NULL)
    if has_own_memory(device_key(target, 0)):
        _leave(target, "a process that does not end yet")


def _leave(target: int, why: str) -> None:
    """Never call a target again, not even to free its memory: where it has some, that is its own to release."""
    global _thread  # noqa: PLW0603 - a process has one
    _gone[target] = why
    _started.discard(target)
    _thread = _Thread()


def set_default_device(device: int) -> None:
    """Make a device the one that all threads use from now on."""
    global _default, _thread  # noqa: PLW0603 - a process has one default
    with borrowed_device(device):
        pass
    _default = device
    _thread = _Thread()


def current_device() -> int | None:
    """Give the key of the device that the thread uses, or would use; None if nobody has said so yet."""
    return _default if _thread.device is None else _thread.device


def use_device(device: int | None = None) -> int:
    """Give the calling thread a current context, and say on which device.

    Parameters
    ----------
    device : int, optional
        The wanted device's key. Without it the thread keeps the device it has, or gets the default one.
    """
    current = _thread.device
    if current is not None and (device is None or device == current):
        return current
    return _change_device(device)


def is_current(device: int) -> bool:
    """Tell whether a device is the thread's. A thread without one gets the default one, if it is of the same target."""
    current = _thread.device
    if current is None:
        default = default_target() if _default is None else target_number(_default)
        if default == target_number(device):
            current = use_device()
    return current == device


def _change_device(device: int | None) -> int:
    wanted = _default if device is None else device
    target = default_target() if wanted is None else target_number(wanted)
    start(target)
    before = lib.acl_attn_select(target)
    try:
        found = ffi.new("int32_t *")
        status = lib.aclrtGetDevice(found)
        if status != 0:
            recent_message()
        number = None if wanted is None else device_number(wanted)
        if status != 0 or (number is not None and number != found[0]):
            number = number or 0
            check(lib.aclrtSetDevice(number), "aclrtSetDevice")
            with _lock:
                _devices_set[device_key(target, number)] += 1
            found[0] = number
    except BaseException:
        lib.acl_attn_select(before)
        raise
    key = device_key(target, int(found[0]))
    _thread.device = key
    return key


@contextmanager
def borrowed_device(device: int) -> Iterator[None]:
    """Make a device the calling thread's for a while. Whatever it had before, it has again afterwards."""
    thread, before = _thread, _thread.device
    table = lib.acl_attn_select(-1)
    try:
        use_device(device)
        yield
    finally:
        thread.device = None
        lib.acl_attn_select(table)
        if before is not None and thread is _thread:  # not if another thread chose a new default meanwhile
            use_device(before)


def on_device(device: int | None, function: Callable[..., Any], *arguments: object) -> Any:
    """Call a function with a device as the thread's, which need not be the one that it uses otherwise."""
    if device is None or device == _thread.device:
        return function(*arguments)
    if target_number(device) in _gone:
        return None  # of the process that was forked; not this one's to touch
    with borrowed_device(device):
        return function(*arguments)


def regain_device(device: int | None = None) -> bool:
    """Give the thread a context again, if someone took it away since; say whether that was so."""
    found = ffi.new("int32_t *")
    if lib.aclrtGetDevice(found) == 0:
        return False
    recent_message()
    lost, _thread.device = _thread.device, None
    use_device(lost if device is None else device)
    return True


def call(function: Callable[..., int], api: str, *arguments: object, device: int | None = None) -> None:
    """Call a function that needs a current context, on a given device or the thread's, and raise what it reports."""
    if device is not None and not is_current(device):
        with borrowed_device(device):
            return call(function, api, *arguments)
    use_device()
    status = function(*arguments)
    if status == lib.ACL_ERROR_RT_CONTEXT_NULL and regain_device():
        status = function(*arguments)
    check(status, api)
    return None


def reset_after_fork(owner: _Forkable) -> None:
    """Have ``owner._reset_after_fork()`` called in forked children, where a lock may be held by a thread that is gone.

    Only a weak reference is kept.
    """
    _forkables.add(owner)


def _in_child() -> None:
    global _lock  # noqa: PLW0603 - see reset_after_fork
    _lock = threading.Lock()
    for target in [target for target in _started if has_own_memory(device_key(target, 0))]:
        _leave(target, _FORKED)
    for owner in list(_forkables):
        owner._reset_after_fork()


os.register_at_fork(after_in_child=_in_child)
