# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""What queued work needs is kept alive until the stream has passed it, and not longer.

An event is recorded behind each enqueued call. Whatever has passed is let go at the next enqueue, synchronisation or
`release_finished`: what is held is bounded by what is in flight.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from typing import Any

from ._handles import destroy
from ._lib import ffi, lib
from ._process import call, on_device, reset_after_fork, use_device

__all__ = ["Keeping", "drain", "release_finished"]

_Entry = tuple[int, Any, tuple[object, ...]]  # the device, the event on it, and what it guards


class _Registry:
    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.entries: deque[_Entry] = deque()
        self.is_watched = False

    def _reset_after_fork(self) -> None:
        # The parent's queues do not run here. The operands are released; the events are left alone.
        self.lock = threading.RLock()
        self.entries.clear()


_registry = _Registry()
reset_after_fork(_registry)


class Keeping:
    """A context in which work is queued on a stream. The objects are held until the stream has passed that work.

    They are held before the work is queued, and whatever interrupts the context: a queue computes in their memory.
    """

    __slots__ = ("_device", "_event", "_objects", "_stream")

    def __init__(self, stream: ffi.CData, *objects: object) -> None:
        self._stream = stream
        self._objects = objects

    def __enter__(self) -> None:
        release_finished()
        slot = ffi.new("aclrtEvent *")
        call(_create_event, "aclrtCreateEventExWithFlag", slot)
        self._device, self._event = use_device(), slot[0]
        with _registry.lock:
            _registry.entries.append((self._device, self._event, self._objects))
            if not _registry.is_watched:
                _registry.is_watched = True
                # At exit, worker threads must be done before Python frees the arrays they use.
                weakref.finalize(_registry, drain)

    def __exit__(self, *exception: object) -> None:
        if lib.aclrtRecordEvent(self._event, self._stream):
            # The work was queued. Without an event the only safe moment to let go is when the stream is idle.
            lib.aclrtSynchronizeStream(self._stream)
            with _registry.lock:
                done = [entry for entry in _registry.entries if entry[:2] == (self._device, self._event)]
                for entry in done:
                    _registry.entries.remove(entry)
            _release(done)


def _create_event(slot: ffi.CData) -> int:
    status = lib.aclrtCreateEventExWithFlag(slot, lib.ACL_EVENT_SYNC)
    if status == lib.ACL_ATTN_STATUS_UNBOUND:  # older CANN: an event that holds a hardware id while it lives
        status = lib.aclrtCreateEvent(slot)
    return int(status)


def release_finished() -> None:
    """Let go of what finished work held, without waiting."""
    if not _registry.entries:
        return
    done: list[_Entry] = []
    status = ffi.new("aclrtEventRecordedStatus *")
    with _registry.lock:
        waiting: deque[_Entry] = deque()
        for entry in _registry.entries:
            failed = on_device(entry[0], lib.aclrtQueryEventStatus, entry[1], status)
            finished = failed or status[0] == lib.ACL_EVENT_RECORDED_STATUS_COMPLETE
            (done if finished else waiting).append(entry)
        _registry.entries = waiting
    _release(done)


def drain() -> None:
    """Wait for all work that is in flight now, and let go of what it held."""
    with _registry.lock:
        entries, _registry.entries = list(_registry.entries), deque()
    for device, event, _ in entries:
        if on_device(device, lib.aclrtSynchronizeEvent, event):  # never recorded: who queued the work was interrupted
            on_device(device, lib.aclrtSynchronizeDevice)
    _release(entries)


def _release(entries: list[_Entry]) -> None:
    # Outside the lock: letting go may run any finalizer.
    for device, event, _ in entries:
        destroy(device, lib.aclrtDestroyEvent, event)
    entries.clear()
