# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Devices, streams and events."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar, runtime_checkable

from ._handles import Closing, Handle, adopt, destroy
from ._inflight import release_finished
from ._lib import ffi, lib, text
from ._process import borrowed_device, call, use_device
from ._targets import CANN, NAMES, NPU, device_key, device_number, target_number
from .errors import invalid, type_name, wrong_type
from .profiles import PROFILES, RULES, profile_of_chip
from .values import instance, number

__all__ = [
    "Device",
    "Event",
    "Stream",
    "StreamLike",
    "SupportsAclStream",
    "device_id",
    "device_of",
    "names_in_force",
    "profile_of",
    "stream_pointer",
    "target_named",
]

_Self = TypeVar("_Self", bound="Stream | Event")


@runtime_checkable
class SupportsAclStream(Protocol):
    """An object of another library that stands for a stream: its method gives ``(0, handle)``."""

    def __acl_stream__(self) -> tuple[int, int]: ...


class Device:
    """A device of a target. The host target has one, device 0, whose memory is ordinary memory.

    Nothing need be set up: threads get a current device when they first need one.

    Parameters
    ----------
    device_id : int
        Number of the device. The same number, of the same target, gives the same object.
    target : {"host", "sim", "npu", "cann"}, optional
        Whose device; the one in use without it.
    profile : {"ascend950", "ascend910b", "ascend910_93", "host"}, optional
        Whose limits calls on this device are held against from now on: a product's, or only those of the host target.
        Without it nothing changes; at first it is what the environment variable ``ACL_ATTN_PROFILE`` says, or else
        that of the chip, ``"ascend950"`` where there is none.

    See Also
    --------
    Device.current : The calling thread's device.
    use : Choose the target of the whole process.

    Examples
    --------
    >>> device = Device(0)
    >>> with device.create_stream() as stream:
    ...     stream.synchronize()
    """

    __slots__ = ("_key", "_profile")

    _known: ClassVar[dict[tuple[int, int], Device]] = {}  # by target and number
    _key: int
    _profile: str | None  # of targets whose library has no rules

    def __new__(cls, device_id: int = 0, target: str | None = None, *, profile: str | None = None) -> Device:
        """Give the one object of the device."""
        if isinstance(device_id, bool) or not isinstance(device_id, int):
            raise wrong_type("device_id", "an int", type_name(device_id))
        device = cls._of(target_named(target), device_id)
        if profile is not None:
            device.profile = profile
        return device

    @classmethod
    def _of(cls, target: int, device_id: int) -> Device:
        known = cls._known.get((target, device_id))
        if known is not None:
            return known
        count = cls.count(NAMES[target])
        if not 0 <= device_id < count:
            raise invalid("device_id", f"a device in 0..{count - 1}", device_id)
        device = super().__new__(cls)
        device._key = device_key(target, device_id)
        device._profile = None
        if target == NPU and "ACL_ATTN_PROFILE" not in os.environ:
            device.profile = profile_of_chip(device.name)
        return cls._known.setdefault((target, device_id), device)

    @staticmethod
    def count(target: str | None = None) -> int:
        """Count the devices of a target.

        Parameters
        ----------
        target : str, optional
            The one in use without it.

        Returns
        -------
        int
            At least 1.
        """
        count = ffi.new("uint32_t *")
        device = None if target is None else device_key(target_named(target), 0)
        call(lib.aclrtGetDeviceCount, "aclrtGetDeviceCount", count, device=device)
        return int(count[0])

    @property
    def id(self) -> int:
        """Number of the device among its target's."""
        return device_number(self._key)

    @property
    def target(self) -> str:
        """Whose device it is."""
        return NAMES[target_number(self._key)]

    @classmethod
    def current(cls) -> Device:
        """Tell the calling thread's device, which is device 0 if nothing else was chosen.

        Returns
        -------
        Device
            The device.
        """
        key = use_device()
        return cls._of(target_number(key), device_number(key))

    def make_current(self) -> None:
        """Make it the calling thread's device."""
        use_device(self._key)

    @property
    def name(self) -> str:
        """Name of the chip; ``"Host"`` on the host target."""
        with borrowed_device(self._key):
            return text(lib.aclrtGetSocName())

    @property
    def profile(self) -> str:
        """Whose limits calls on this device are held against; may be set, for calls prepared from then on."""
        if target_number(self._key) == CANN:
            if self._profile is None:
                self._profile = os.environ.get("ACL_ATTN_PROFILE") or profile_of_chip(self.name)
            return self._profile
        found = ffi.new("aclAttnProfile *")
        call(lib.aclAttnGetProfile, "aclAttnGetProfile", self.id, found, device=self._key)
        return PROFILES[found[0]]

    @profile.setter
    def profile(self, profile: str) -> None:
        if profile not in PROFILES:
            raise invalid("profile", f"one of {', '.join(PROFILES)}", repr(profile))
        if target_number(self._key) == CANN:
            self._profile = profile
        else:
            call(lib.aclAttnSetProfile, "aclAttnSetProfile", self.id, PROFILES.index(profile), device=self._key)

    def memory_info(self) -> tuple[int, int]:
        """Tell how much memory there is.

        Returns
        -------
        free : int
            Bytes that are free.
        total : int
            All bytes.
        """
        sizes = ffi.new("size_t[2]")
        call(lib.aclrtGetMemInfo, "aclrtGetMemInfo", lib.ACL_HBM_MEM, sizes, sizes + 1, device=self._key)
        return int(sizes[0]), int(sizes[1])

    def synchronize(self) -> None:
        """Wait for all streams of the device; raise the first failure among their tasks."""
        _wait(self._key, lib.aclrtSynchronizeDevice, "aclrtSynchronizeDevice")

    def create_stream(self) -> Stream:
        """Make a stream: a queue whose tasks run in order, beside the caller.

        Returns
        -------
        Stream
            The stream; destroyed by its ``close()``, or when it is not used any more.
        """
        slot = ffi.new("aclrtStream *")
        call(lib.aclrtCreateStream, "aclrtCreateStream", slot, device=self._key)
        return _adopt(Stream, self._key, slot[0], lib.aclrtDestroyStream)

    def create_event(self) -> Event:
        """Make an event: a mark in a stream, to wait for and to take the time.

        Returns
        -------
        Event
            The event; destroyed by its ``close()``, or when it is not used any more.
        """
        slot = ffi.new("aclrtEvent *")
        call(lib.aclrtCreateEvent, "aclrtCreateEvent", slot, device=self._key)
        return _adopt(Event, self._key, slot[0], lib.aclrtDestroyEvent)

    def __repr__(self) -> str:
        return f"Device({self.id})" if self.target == NAMES[0] else f"Device({self.id}, {self.target!r})"


def _adopt(kind: type[_Self], device: int, pointer: ffi.CData, destructor: Any) -> _Self:
    handle = kind.__new__(kind)
    adopt(handle, pointer, destroy, device, destructor, pointer)
    handle._device = device
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
        _wait(self._device, function, api, self._live(), _milliseconds(timeout))

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
            device = use_device() if self._device is None else self._device
            event = Device._of(target_number(device), device_number(device)).create_event()
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
        _wait(self._device, function, api, self._live(), _milliseconds(timeout))

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


def target_named(name: str | None) -> int:
    """Give a target's number; that of the thread's device without a name."""
    if name is None:
        return target_number(use_device())
    if not isinstance(name, str):
        raise wrong_type("target", "a str", type_name(name))
    if name not in NAMES:
        raise invalid("target", f"one of {', '.join(NAMES)}", repr(name))
    return NAMES.index(name)


def profile_of(device: int) -> int:
    """Give the number of the profile that calls on a device are held against, by the device's key."""
    return PROFILES.index(Device._of(target_number(device), device_number(device)).profile)


def names_in_force() -> tuple[str, str]:
    """Name the profile of the thread's device, and the edition of rules."""
    return Device.current().profile, RULES[lib.aclAttnGetRules()]


def device_id(device: Device | None) -> int | None:
    """Read an argument that chooses a device: the key that the modules below know it by."""
    if device is None:
        return None
    if not isinstance(device, Device):
        raise wrong_type("device", "a Device", type_name(device), "use Device(number)")
    return device._key


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


def _wait(device: int | None, function: Callable[..., int], api: str, *arguments: object) -> None:
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
