# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The targets' names and numbers, and one row of numbers for the devices of all targets."""

from __future__ import annotations

import os

__all__ = [
    "CANN",
    "HOST",
    "NAMES",
    "NPU",
    "OWN_MEMORY",
    "SIM",
    "TargetNotLoadedError",
    "default_name",
    "device_key",
    "device_number",
    "has_own_memory",
    "number_of",
    "target_number",
]

HOST, SIM, NPU, CANN = range(4)
NAMES = ("host", "sim", "npu", "cann")


class TargetNotLoadedError(Exception):
    """A target can't be loaded; `errors` turns it into the public exception."""


def number_of(name: str) -> int:
    """Look a target's name up."""
    if name not in NAMES:
        raise TargetNotLoadedError(
            f"ACL_ATTN_TARGET: expected one of {', '.join(NAMES)}, got {name!r}; unset it to use host"
        )
    return NAMES.index(name)


def default_name() -> str:
    """Give the target that the environment asks for."""
    return os.environ.get("ACL_ATTN_TARGET") or NAMES[HOST]


_SHIFT = 16  # a device's key: its target's number, then its own


def device_key(target: int, device: int) -> int:
    """Give the number of a target's device among those of all targets. The host's keep their own."""
    return target << _SHIFT | device


def target_number(key: int) -> int:
    """Tell the target of a device's key."""
    return key >> _SHIFT


def device_number(key: int) -> int:
    """Tell the number that the target knows a device by."""
    return key & ((1 << _SHIFT) - 1)


OWN_MEMORY = NPU << _SHIFT  # keys from here on are of devices whose memory is not the program's


def has_own_memory(key: int) -> bool:
    """Tell whether a device's memory is not the program's."""
    return key >= OWN_MEMORY
