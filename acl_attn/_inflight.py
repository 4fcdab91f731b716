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
from ._process import on_device, reset_after_fork, use_device
from .errors import check

__all__ = ["drain", "keep", "release_finished"]

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


def keep(stream: ffi.CData, *objects: object) -> None:
    """Hold references until the stream has passed everything queued on it so far."""
    release_finished()
    device = use_device()
    slot = ffi.new("aclrtEvent *")
    status = lib.aclrtCreateEventExWithFlag(slot, lib.ACL_EVENT_SYNC)
    if status == lib.ACL_ATTN_STATUS_UNBOUND:  # older CANN: an event that holds a hardware id while it lives
        status = lib.aclrtCreateEvent(slot)
    check(status, "aclrtCreateEventExWithFlag")
    event = slot[0]
    status = lib.aclrtRecordEvent(event, stream)
    if status:
        # The call itself was queued. Without an event the only safe moment to let go is when the stream is idle.
        lib.aclrtSynchronizeStream(stream)
        destroy(device, lib.aclrtDestroyEvent, event)
        return
    with _registry.lock:
        _registry.entries.append((device, event, objects))
        if not _registry.is_watched:
            _registry.is_watched = True
            # At exit, worker threads must be done before Python frees the arrays they use.
            weakref.finalize(_registry, drain)


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
    """Wait for all work in flight and let go of what it held."""
    while True:
        with _registry.lock:
            entries, _registry.entries = list(_registry.entries), deque()
        if not entries:
            return
        for device, event, _ in entries:
            on_device(device, lib.aclrtSynchronizeEvent, event)
        _release(entries)


def _release(entries: list[_Entry]) -> None:
    # Outside the lock: letting go may run any finalizer.
    for device, event, _ in entries:
        destroy(device, lib.aclrtDestroyEvent, event)
    entries.clear()
