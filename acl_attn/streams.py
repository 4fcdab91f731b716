# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Streams and events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

from ._handles import Closing, Handle, adopt, destroy
from ._inflight import release_finished
from ._lib import ffi, lib
from ._process import call, use_device
from ._target_numbers import NAMES, device_number, target_number
from .errors import invalid, type_name, wrong_type
from .values import instance, number

__all__ = [
    "Event",
    "Stream",
    "StreamLike",
    "SupportsAclStream",
    "create_event",
    "create_stream",
    "device_of",
    "stream_pointer",
    "wait_for",
]

_Self = TypeVar("_Self", bound="Stream | Event")


@runtime_checkable
class SupportsAclStream(Protocol):
    """An object of another library that stands for a stream: its method gives ``(0, handle)``."""

    def __acl_stream__(self) -> tuple[int, int]: ...


class Stream(Handle, Closing):
    """A queue of tasks that run one after the other, beside the caller.

    Made by `Device.create_stream` or `Stream.from_handle`. A context manager: leaving it waits and closes.

    See Also
    --------
    Device.create_stream : Make a stream.

    Examples
    --------
    >>> with Device.current().create_stream() as stream:
    ...     stream.is_idle
    True
    """

    __slots__ = ("_device", "_owner")

    _device: int | None  # None: borrowed from who knows which device; the thread's when it is used
    _owner: object

    def __init__(self) -> None:
        raise TypeError("Stream: expected Device.create_stream() or Stream.from_handle(handle), got Stream()")

    @classmethod
    def from_handle(cls, handle: int, owner: object = None) -> Stream:
        """Use a stream that another library or a C++ program made.

        Parameters
        ----------
        handle : int
            The ``aclrtStream``. It stays the other's to destroy.
        owner : object
            Kept alive as long as the new object.

        Returns
        -------
        Stream
            The same stream.
        """
        if isinstance(handle, bool) or not isinstance(handle, int):
            raise wrong_type("handle", "an int", type_name(handle))
        stream = cls.__new__(cls)
        adopt(stream, _pointer(handle), None)
        stream._device = None
        stream._owner = owner
        return stream

    @property
    def handle(self) -> int:
        """The ``aclrtStream``, for other libraries."""
        return int(ffi.cast("uintptr_t", self._live()))

    def __acl_stream__(self) -> tuple[int, int]:
        """Stand for the stream in other libraries: version 0 of the protocol, and the handle."""
        return 0, self.handle

    def synchronize(self, timeout: float | None = None) -> None:
        """Wait until everything queued so far has run; raise the first failure among the tasks.

        Parameters
        ----------
        timeout : float, optional
            Seconds to wait at most.

        Raises
        ------
        DeviceFaultError
            The time ran out (code 507046), or a task could not be carried out.
        """
        function, api = lib.aclrtSynchronizeStreamWithTimeout, "aclrtSynchronizeStreamWithTimeout"
        wait_for(self._device, function, api, self._live(), _milliseconds(timeout))

    @property
    def is_idle(self) -> bool:
        """Whether everything queued so far has run."""
        status = ffi.new("aclrtStreamStatus *")
        call(lib.aclrtStreamQuery, "aclrtStreamQuery", self._live(), status, device=self._device)
        return bool(status[0] == lib.ACL_STREAM_STATUS_COMPLETE)

    def record(self, event: Event | None = None) -> Event:
        """Put a mark behind what is queued.

        Parameters
        ----------
        event : Event, optional
            The event to use again; a new one without it.

        Returns
        -------
        Event
            Complete once the stream has passed the mark.
        """
        if event is None:
            event = create_event(use_device() if self._device is None else self._device)
        event = _same_target(instance(event, Event, "event"), self)
        call(lib.aclrtRecordEvent, "aclrtRecordEvent", event._live(), self._live(), device=self._device)
        return event

    def wait(self, event: Event) -> None:
        """Let tasks queued from now on wait for an event of another stream.

        Parameters
        ----------
        event : Event
            What to wait for.
        """
        event = _same_target(instance(event, Event, "event"), self)
        call(lib.aclrtStreamWaitEvent, "aclrtStreamWaitEvent", self._live(), event._live(), device=self._device)

    def close(self) -> None:
        """Wait for the stream and destroy it; one that was borrowed is only let go. May be repeated.

        Raises
        ------
        AclError
            A task had failed and nobody had been told; the stream is destroyed even then.
        """
        if self._finalizer is None or self.is_closed:
            return
        try:
            self.synchronize()
        finally:
            super().close()

    def __repr__(self) -> str:
        return "<Stream closed>" if self.is_closed else f"<Stream {self.handle:#x}>"


class Event(Handle):
    """A mark in a stream.

    Made by `Device.create_event` or `Stream.record`.

    See Also
    --------
    Stream.record : Put an event into a stream.

    Examples
    --------
    >>> with Device.current().create_stream() as stream:
    ...     start, end = stream.record(), stream.record()
    ...     end.synchronize()
    ...     end.elapsed_ms(start) >= 0
    True
    """

    __slots__ = ("_device",)

    _device: int

    def __init__(self) -> None:
        raise TypeError("Event: expected Device.create_event() or Stream.record(), got Event()")

    @property
    def handle(self) -> int:
        """The ``aclrtEvent``, for other libraries."""
        return int(ffi.cast("uintptr_t", self._live()))

    @property
    def is_complete(self) -> bool:
        """Whether the stream has passed the mark; false if it was never recorded."""
        status = ffi.new("aclrtEventRecordedStatus *")
        call(lib.aclrtQueryEventStatus, "aclrtQueryEventStatus", self._live(), status, device=self._device)
        return bool(status[0] == lib.ACL_EVENT_RECORDED_STATUS_COMPLETE)

    def synchronize(self, timeout: float | None = None) -> None:
        """Wait until the stream has passed the mark. Failures of its tasks are the stream's to report.

        Parameters
        ----------
        timeout : float, optional
            Seconds to wait at most.

        Raises
        ------
        DeviceFaultError
            The time ran out (code 507047).
        """
        function, api = lib.aclrtSynchronizeEventWithTimeout, "aclrtSynchronizeEventWithTimeout"
        wait_for(self._device, function, api, self._live(), _milliseconds(timeout))

    def elapsed_ms(self, since: Event) -> float:
        """Take the time between two marks.

        Parameters
        ----------
        since : Event
            The earlier one.

        Returns
        -------
        float
            Milliseconds.
        """
        since = _same_target(instance(since, Event, "since"), self)
        elapsed = ffi.new("float *")
        pair = (since._live(), self._live())
        call(lib.aclrtEventElapsedTime, "aclrtEventElapsedTime", elapsed, *pair, device=self._device)
        return float(elapsed[0])

    def __repr__(self) -> str:
        return "<Event closed>" if self.is_closed else f"<Event {self.handle:#x}>"


def _same_target(event: Event, other: Stream | Event) -> Event:
    """Refuse an event of another target, whose library would not know its handle."""
    if other._device is not None and target_number(event._device) != target_number(other._device):
        expected, got = NAMES[target_number(other._device)], NAMES[target_number(event._device)]
        raise invalid("event", f"an event of target {expected!r}", f"one of target {got!r}")
    return event


def create_stream(device: int) -> Stream:
    """Make a stream of a device, by the device's key."""
    slot = ffi.new("aclrtStream *")
    call(lib.aclrtCreateStream, "aclrtCreateStream", slot, device=device)
    return _adopt(Stream, device, slot[0], lib.aclrtDestroyStream)


def create_event(device: int) -> Event:
    """Make an event of a device, by the device's key."""
    slot = ffi.new("aclrtEvent *")
    call(lib.aclrtCreateEvent, "aclrtCreateEvent", slot, device=device)
    return _adopt(Event, device, slot[0], lib.aclrtDestroyEvent)


def _adopt(kind: type[_Self], device: int, pointer: ffi.CData, destructor: Any) -> _Self:
    handle = kind.__new__(kind)
    adopt(handle, pointer, destroy, device, destructor, pointer)
    handle._device = device
    return handle


StreamLike: TypeAlias = Stream | SupportsAclStream | int


def device_of(stream: StreamLike | None, device: int | None = None) -> int | None:
    """Give the key of the device that a call runs on, if a stream or an argument says it."""
    if stream is None or not isinstance(stream, Stream) or stream._device is None:
        return device
    if device is not None and device != stream._device:
        raise invalid("device", "None, or that of the stream", f"device {device_number(device)}")
    return stream._device


def stream_pointer(stream: StreamLike) -> ffi.CData:
    """Give the ``aclrtStream`` of whatever stands for a stream."""
    if isinstance(stream, Stream):
        return stream._live()
    if isinstance(stream, int) and not isinstance(stream, bool):
        return _pointer(stream)
    if isinstance(stream, SupportsAclStream):
        answer = stream.__acl_stream__()
        if not isinstance(answer, tuple) or len(answer) != 2 or not all(type(part) is int for part in answer):
            raise wrong_type("stream", "an __acl_stream__ that gives (version, handle)", repr(answer))
        version, handle = answer
        if version != 0:
            raise invalid("stream", "version 0 of the __acl_stream__ protocol", version)
        return _pointer(handle)
    raise wrong_type("stream", "a Stream, an int handle or an object with __acl_stream__", type_name(stream))


def _pointer(handle: int) -> ffi.CData:
    # 0 would mean "the driver's default stream of the moment", which nobody asks for on purpose.
    if not 0 < handle < 2**64:
        raise invalid("stream", "a stream's handle", handle, "leave stream out for a call that waits for its result")
    return ffi.cast("aclrtStream", handle)


def wait_for(device: int | None, function: Callable[..., int], api: str, *arguments: object) -> None:
    """Synchronise, and let go of what finished work held, also when the work failed."""
    try:
        call(function, api, *arguments, device=device)
    finally:
        release_finished()


def _milliseconds(timeout: float | None) -> int:
    if timeout is None:
        return -1
    seconds = number(timeout, "timeout")
    if not seconds >= 0:
        raise invalid("timeout", "seconds, at least 0", timeout)
    return round(min(seconds * 1000, 2**31 - 1))
