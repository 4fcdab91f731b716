# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Choose a target, and ask which there are."""

from __future__ import annotations

from ._process import set_default_device
from ._target_search import TargetInfo
from ._targets import find_targets
from .device import Device

__all__ = ["TargetInfo", "targets", "use"]


def use(target: str, device: int = 0) -> Device:
    """Choose the target, and the device of it, that all calls of the process use from now on.

    Objects of other targets stay what they are: a stream, event, plan or buffer goes on with the target that it was
    made on. Threads that had chosen a device are on the new one from their next call on.

    Parameters
    ----------
    target : {"host", "sim", "npu", "cann"}
        ``"host"``: this package's engine on the processor; ``"sim"``: its NPU kernels in the simulator; ``"npu"``:
        these kernels on an NPU; ``"cann"``: the vendor's operators on an NPU.
    device : int
        Number of the device.

    Returns
    -------
    Device
        The device.

    Raises
    ------
    BackendMissingError
        The target can't be used; the message says why. The choice stays as it was.

    See Also
    --------
    targets : Say which of them can be used here.
    Device : One device, whatever the process uses.

    Examples
    --------
    >>> import acl_attn
    >>> acl_attn.use("host")
    Device(0)
    """
    chosen = Device(device, target)
    set_default_device(chosen._key)
    return chosen


def targets() -> dict[str, TargetInfo]:
    """Say of each target whether it can be used here, and if not, why.

    CANN's libraries are tried in a process of their own, once: the first call may take as long as starting a device.

    Returns
    -------
    dict of str to TargetInfo
        By name.

    See Also
    --------
    use : Choose one.
    environment : Everything else that is known of the surroundings.

    Examples
    --------
    >>> import acl_attn
    >>> list(acl_attn.targets())
    ['host', 'sim', 'npu', 'cann']
    >>> acl_attn.targets()["host"].is_available
    True
    """
    return {found.name: found for found in find_targets()}
