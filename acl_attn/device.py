# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Devices, streams and events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar, runtime_checkable

from ._handles import Closing, Handle, adopt, destroy
from ._inflight import release_finished
from ._lib import ffi, lib, text
from ._process import call, use_device
from .errors import invalid, type_name, wrong_type
from .profiles import PROFILES, RULES
from .values import instance, number

__all__ = [
    "Device",
    "Event",
    "Stream",
    "StreamLike",
    "SupportsAclStream",
    "device_id",
    "names_in_force",
    "stream_pointer",
]

_Self = TypeVar("_Self", bound="Stream | Event")


@runtime_checkable
class SupportsAclStream(Protocol):
    """An object of another library that stands for a stream: its method gives ``(0, handle)``."""

    def __acl_stream__(self) -> tuple[int, int]: ...


class Device:
    """A device. The host target has one, device 0, whose memory is ordinary memory.

    Nothing need be set up: threads get a current device when they first need one.

    Parameters
    ----------
    device_id : int
        Number of the device. The same number gives the same object.
    profile : {"ascend950", "ascend910b", "ascend910_93", "host"}, optional
        Whose limits calls on this device are held against from now on: a product's, or only those of the host target.
        Without it nothing changes; at first it is what the environment variable ``ACL_ATTN_PROFILE`` says, or
        ``"ascend950"``.

    See Also
    --------
    Device.current : The calling thread's device.

    Examples
    --------
    >>> device = Device(0)
    >>> with device.create_stream() as stream:
    ...     stream.synchronize()
    """

    __slots__ = ("id",)

    _known: ClassVar[dict[int, Device]] = {}
    id: int

    def __new__(cls, device_id: int = 0, *, profile: str | None = None) -> Device:
        """Give the one object of the device."""
        device = cls._numbered(device_id)
        if profile is not None:
            device.profile = profile
        return device

    @classmethod
    def _numbered(cls, device_id: int) -> Device:
        if isinstance(device_id, bool) or not isinstance(device_id, int):
            raise wrong_type("device_id", "an int", type_name(device_id))
        known = cls._known.get(device_id)
        if known is not None:
            return known
        count = cls.count()
        if not 0 <= device_id < count:
            raise invalid("device_id", f"a device in 0..{count - 1}", device_id)
        device = super().__new__(cls)
        device.id = device_id
        return cls._known.setdefault(device_id, device)

    @staticmethod
    def count() -> int:
        """Count the devices of the target.

        Returns
        -------
        int
            At least 1.
        """
        count = ffi.new("uint32_t *")
        call(lib.aclrtGetDeviceCount, "aclrtGetDeviceCount", count)
        return int(count[0])

    @classmethod
    def current(cls) -> Device:
        """Tell the calling thread's device, which is device 0 if nothing else was chosen.

        Returns
        -------
        Device
            The device.
        """
        return cls(use_device())

    def make_current(self) -> None:
        """Make it the calling thread's device."""
        use_device(self.id)

    @property
    def name(self) -> str:
        """Name of the chip; ``"Host"`` on the host target."""
        self.make_current()
        return text(lib.aclrtGetSocName())

    @property
    def profile(self) -> str:
        """Whose limits calls on this device are held against; may be set, for calls prepared from then on."""
        found = ffi.new("aclAttnProfile *")
        call(lib.aclAttnGetProfile, "aclAttnGetProfile", self.id, found)
        return PROFILES[found[0]]

    @profile.setter
    def profile(self, profile: str) -> None:
        if profile not in PROFILES:
            raise invalid("profile", f"one of {', '.join(PROFILES)}", repr(profile))
        call(lib.aclAttnSetProfile, "aclAttnSetProfile", self.id, PROFILES.index(profile))

    def memory_info(self) -> tuple[int, int]:
        """Tell how much memory there is.

        Returns
        -------
        free : int
            Bytes that are free.
        total : int
            All bytes.
        """
        self.make_current()
        sizes = ffi.new("size_t[2]")
        call(lib.aclrtGetMemInfo, "aclrtGetMemInfo", lib.ACL_HBM_MEM, sizes, sizes + 1)
        return int(sizes[0]), int(sizes[1])

    def synchronize(self) -> None:
        """Wait for all streams of the device; raise the first failure among their tasks."""
        self.make_current()
        _wait(lib.aclrtSynchronizeDevice, "aclrtSynchronizeDevice")

    def create_stream(self) -> Stream:
        """Make a stream: a queue whose tasks run in order, beside the caller.

        Returns
        -------
        Stream
            The stream; destroyed by its ``close()``, or when it is not used any more.
        """
        self.make_current()
        slot = ffi.new("aclrtStream *")
        call(lib.aclrtCreateStream, "aclrtCreateStream", slot)
        return _adopt(Stream, slot[0], lib.aclrtDestroyStream)

    def create_event(self) -> Event:
        """Make an event: a mark in a stream, to wait for and to take the time.

        Returns
        -------
        Event
            The event; destroyed by its ``close()``, or when it is not used any more.
        """
        self.make_current()
        slot = ffi.new("aclrtEvent *")
        call(lib.aclrtCreateEvent, "aclrtCreateEvent", slot)
        return _adopt(Event, slot[0], lib.aclrtDestroyEvent)

    def __repr__(self) -> str:
        return f"Device({self.id})"


def _adopt(kind: type[_Self], pointer: ffi.CData, destructor: Any) -> _Self:
    handle = kind.__new__(kind)
    adopt(handle, pointer, destroy, destructor, pointer)
    return handle


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

    __slots__ = ("_owner",)

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
        _wait(function, api, self._live(), _milliseconds(timeout))

    @property
    def is_idle(self) -> bool:
        """Whether everything queued so far has run."""
        status = ffi.new("aclrtStreamStatus *")
        call(lib.aclrtStreamQuery, "aclrtStreamQuery", self._live(), status)
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
        event = Device.current().create_event() if event is None else instance(event, Event, "event")
        call(lib.aclrtRecordEvent, "aclrtRecordEvent", event._live(), self._live())
        return event

    def wait(self, event: Event) -> None:
        """Let tasks queued from now on wait for an event of another stream.

        Parameters
        ----------
        event : Event
            What to wait for.
        """
        event = instance(event, Event, "event")
        call(lib.aclrtStreamWaitEvent, "aclrtStreamWaitEvent", self._live(), event._live())

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

    __slots__ = ()

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
        call(lib.aclrtQueryEventStatus, "aclrtQueryEventStatus", self._live(), status)
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
        _wait(function, api, self._live(), _milliseconds(timeout))

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
        since = instance(since, Event, "since")
        elapsed = ffi.new("float *")
        call(lib.aclrtEventElapsedTime, "aclrtEventElapsedTime", elapsed, since._live(), self._live())
        return float(elapsed[0])

    def __repr__(self) -> str:
        return "<Event closed>" if self.is_closed else f"<Event {self.handle:#x}>"


def names_in_force() -> tuple[str, str]:
    """Name the profile of the thread's device, and the edition of rules."""
    return Device.current().profile, RULES[lib.aclAttnGetRules()]


def device_id(device: Device | None) -> int | None:
    """Read an argument that chooses a device."""
    if device is None:
        return None
    if not isinstance(device, Device):
        raise wrong_type("device", "a Device", type_name(device), "use Device(number)")
    return device.id


StreamLike: TypeAlias = Stream | SupportsAclStream | int


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


def _wait(function: Callable[..., int], api: str, *arguments: object) -> None:
    """Synchronise, and let go of what finished work held, also when the work failed."""
    try:
        call(function, api, *arguments)
    finally:
        release_finished()


def _milliseconds(timeout: float | None) -> int:
    if timeout is None:
        return -1
    seconds = number(timeout, "timeout")
    if not seconds >= 0:
        raise invalid("timeout", "seconds, at least 0", timeout)
    return round(min(seconds * 1000, 2**31 - 1))
