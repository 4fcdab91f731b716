# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Devices."""

from __future__ import annotations

import os
from typing import ClassVar

from ._lib import ffi, lib, text
from ._process import borrowed_device, call, use_device
from ._target_numbers import CANN, NAMES, NPU, device_key, device_number, target_number
from .errors import invalid, type_name, wrong_type
from .profiles import PROFILES, RULES, profile_of_chip
from .streams import Event, Stream, create_event, create_stream, wait_for

__all__ = ["Device", "device_id", "names_in_force", "profile_name", "profile_of", "target_named"]


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
        wait_for(self._key, lib.aclrtSynchronizeDevice, "aclrtSynchronizeDevice")

    def create_stream(self) -> Stream:
        """Make a stream: a queue whose tasks run in order, beside the caller.

        Returns
        -------
        Stream
            The stream; destroyed by its ``close()``, or when it is not used any more.
        """
        return create_stream(self._key)

    def create_event(self) -> Event:
        """Make an event: a mark in a stream, to wait for and to take the time.

        Returns
        -------
        Event
            The event; destroyed by its ``close()``, or when it is not used any more.
        """
        return create_event(self._key)

    def __repr__(self) -> str:
        return f"Device({self.id})" if self.target == NAMES[0] else f"Device({self.id}, {self.target!r})"


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


def profile_name(device: Device | None) -> str:
    """Name the profile of a device, or of the thread's where none is given."""
    device_id(device)  # that it is one
    return (Device.current() if device is None else device).profile


def names_in_force() -> tuple[str, str]:
    """Name the profile of the thread's device, and the edition of rules."""
    return profile_name(None), RULES[lib.aclAttnGetRules()]


def device_id(device: Device | None) -> int | None:
    """Read an argument that chooses a device: the key that the modules below know it by."""
    if device is None:
        return None
    if not isinstance(device, Device):
        raise wrong_type("device", "a Device", type_name(device), "use Device(number)")
    return device._key
