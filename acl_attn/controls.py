# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""How the host target computes: threads, instruction sets; and what it holds."""

from __future__ import annotations

import gc

from ._inflight import drain, release_finished
from ._lib import ffi, lib, selected, text
from ._target_numbers import HOST, SIM
from ._targets import is_loaded
from .errors import check, invalid, load_target, type_name, wrong_type
from .plan import kept, workspace_cache

__all__ = [
    "get_cpu_target",
    "get_cpu_targets",
    "get_num_threads",
    "live_objects",
    "set_cpu_target",
    "set_num_threads",
    "shutdown",
]


def get_num_threads() -> int:
    """Tell how many threads one operator may use, the calling one included.

    Returns
    -------
    int
        What `set_num_threads` said, else the environment variable ``ACL_ATTN_NUM_THREADS``, else the processors that
        the process may run on.

    See Also
    --------
    set_num_threads : Change it.

    Examples
    --------
    >>> import acl_attn
    >>> acl_attn.get_num_threads() >= 1
    True
    """
    load_target()
    return int(lib.aclAttnGetNumThreads())


def set_num_threads(count: int) -> None:
    """Say how many threads one operator may use. Results do not depend on it, bit for bit.

    Parameters
    ----------
    count : int
        1 to 1024, the calling thread included; 0 for the default.

    See Also
    --------
    get_num_threads : Ask for it.

    Examples
    --------
    >>> import acl_attn
    >>> acl_attn.set_num_threads(0)
    """
    if isinstance(count, bool) or not isinstance(count, int):
        raise wrong_type("count", "an int", type_name(count))
    if not 0 <= count <= 1024:
        raise invalid("count", "0 to 1024 threads", count)
    load_target()
    check(lib.aclAttnSetNumThreads(count), "aclAttnSetNumThreads")


def get_cpu_targets() -> dict[str, bool]:
    """List the instruction sets that the host target was built for.

    Returns
    -------
    dict of str to bool
        Name, and whether this machine can run it; the best last.

    See Also
    --------
    get_cpu_target : The one in use.

    Examples
    --------
    >>> import acl_attn
    >>> acl_attn.get_cpu_targets()["portable"]
    True
    """
    load_target()
    return {
        text(lib.aclAttnGetCpuTargetName(index)): bool(lib.aclAttnIsCpuTargetUsable(index))
        for index in range(lib.aclAttnGetCpuTargetCount())
    }


def get_cpu_target() -> str:
    """Tell which instruction set calls prepared from now on will use.

    Returns
    -------
    str
        One of `get_cpu_targets`.

    See Also
    --------
    set_cpu_target : Choose another.

    Examples
    --------
    >>> import acl_attn
    >>> acl_attn.get_cpu_target() in acl_attn.get_cpu_targets()
    True
    """
    load_target()
    return text(lib.aclAttnGetCpuTarget())


def set_cpu_target(name: str | None) -> None:
    """Choose the instruction set of calls prepared from now on.

    Parameters
    ----------
    name : str or None
        One of `get_cpu_targets` that this machine can run; None for the best (or what the environment variable
        ``ACL_ATTN_CPU`` says).

    See Also
    --------
    get_cpu_target : The one in use.

    Examples
    --------
    >>> import acl_attn
    >>> acl_attn.set_cpu_target("portable")
    >>> acl_attn.set_cpu_target(None)
    """
    if name is not None and not isinstance(name, str):
        raise wrong_type("name", "a str or None", type_name(name))
    usable = [target for target, is_usable in get_cpu_targets().items() if is_usable]
    if name is not None and name not in usable:
        raise invalid("name", f"one of {', '.join(usable)} on this machine", repr(name))
    check(lib.aclAttnSetCpuTarget(ffi.NULL if name is None else name.encode()), "aclAttnSetCpuTarget")


def live_objects() -> dict[str, int]:
    """Count the objects of targets host and sim that are alive, so that a program can prove that it leaks nothing.

    What finished work held is let go first, and so are calls that are kept prepared. Scratch memory that waits for the
    next call is not counted; `shutdown` frees it.

    Returns
    -------
    dict of str to int
        Live objects of each kind (``"tensor"``, ``"executor"``, ``"stream"``, ...), and ``"bytes"`` of device and
        pinned host memory.

    See Also
    --------
    shutdown : Let everything go that can be let go.

    Examples
    --------
    >>> import acl_attn
    >>> acl_attn.live_objects()["executor"]
    0
    """
    load_target()
    release_finished()
    kept.clear()
    loaded = [number for number in (HOST, SIM) if is_loaded(number)]
    prefix = "ACL_ATTN_OBJECT_"
    kinds = {
        name[len(prefix) :].lower(): getattr(lib, name)
        for name in dir(lib)
        if name.startswith(prefix) and name != f"{prefix}KIND_COUNT"
    }
    counts = dict.fromkeys((*kinds, "bytes"), 0)
    for target in loaded:
        with selected(target):
            for kind, number in kinds.items():
                counts[kind] += int(lib.aclAttnGetLiveObjects(number))
            counts["bytes"] += int(lib.aclAttnGetLiveBytes())
    idle = workspace_cache.idle(loaded)
    counts["device_memory"] -= len(idle)
    counts["bytes"] -= sum(idle)
    return counts


def shutdown() -> None:
    """Wait for all work in flight, and free what is kept for later.

    For programs that embed Python, before they end it; otherwise it happens at exit by itself. The library can be used
    again afterwards.

    See Also
    --------
    live_objects : What is alive.

    Examples
    --------
    >>> import acl_attn
    >>> acl_attn.shutdown()
    """
    drain()
    kept.clear()
    workspace_cache.clear()
    gc.collect()
