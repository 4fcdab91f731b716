# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Phase one: from a call to an executor that can be run often, and the executors that wait for a call like theirs."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from ._handles import destroy
from ._lib import ffi, lib
from ._process import on_device
from .errors import UnsupportedError, check, compose, error
from .handle_set import HandleSet, Outline

__all__ = [
    "Call",
    "Kept",
    "Operator",
    "Prepared",
    "Slot",
    "destroy_executor",
    "drop_surplus",
    "max_workspace",
    "phase_one",
    "places_of",
]

# On the path of every run.
_run_at = lib.aclAttnRunAt
_NULL = ffi.NULL


@dataclass(frozen=True)
class Operator:
    """The C functions of an operator."""

    name: str
    phase_one: Callable[..., int]
    phase_two: Callable[..., int]
    max_workspace: Callable[..., int] | None  # phase one for the longest sequences that the tensors have room for

    @classmethod
    def named(cls, name: str) -> Operator:
        """Look an operator up by the name of its phase two."""
        max_workspace = getattr(lib, f"{name}GetMaxWorkspaceSize", None)
        return cls(name, getattr(lib, f"{name}GetWorkspaceSize"), getattr(lib, name), max_workspace)


class Call(Protocol):
    """What an operator's module knows about one call."""

    operator: Operator
    parameter_names: Mapping[str, str]  # Python's name of each parameter, by its C name
    first_output: int  # position of the outputs among phase one's arguments; those before are inputs and attributes

    def arguments(self, handles: HandleSet | Outline) -> list[Any]:
        """Give phase one's arguments in header order, without the two results.

        Tensors, lists and integer arrays are what `handles` makes of them, and are made in header order.
        """

    def operands(self) -> tuple[object, ...]:
        """Give what must stay alive until the stream has passed the call."""

    def adapt(self, missing: Set[str], profile: int) -> None:
        """Refuse what the chip's rules refuse, and take an entry point that chip and library have.

        Parameters
        ----------
        missing : set of str
            Functions that the vendor's libraries lack.
        profile : int
            Number of the chip's profile.
        """


class Slot(NamedTuple):
    """A tensor whose address may change from run to run."""

    argument: int  # position among phase one's arguments; below 0 from their end
    member: int = -1  # of a list; -1: a plain tensor


def phase_one(call: Call, arguments: list[Any]) -> tuple[int, ffi.CData]:
    """Check a call. Gives the size of its workspace, and its executor, which is the caller's to destroy."""
    return _ask(call, call.operator.phase_one, f"{call.operator.name}GetWorkspaceSize", arguments)


def max_workspace(call: Call) -> int:
    """Give the size of the workspace for the longest sequences that the call's tensors have room for."""
    operator = call.operator
    if operator.max_workspace is None:
        raise UnsupportedError(compose("max_workspace_bytes", "an operator that tells it", operator.name))
    handles = HandleSet()
    try:
        api = f"{operator.name}GetMaxWorkspaceSize"
        size, executor = _ask(call, operator.max_workspace, api, call.arguments(handles))
        lib.aclDestroyAclOpExecutor(executor)
    finally:
        handles.destroy()
    return size


def _ask(call: Call, function: Callable[..., int], api: str, arguments: list[Any]) -> tuple[int, ffi.CData]:
    size, executor = ffi.new("uint64_t *"), ffi.new("aclOpExecutor **")
    status = function(*arguments, size, executor)
    if status:
        raise error(status, api, call.parameter_names)
    return int(size[0]), executor[0]


def destroy_executor(device: int, executor: ffi.CData, handles: HandleSet) -> None:
    """Destroy an executor and what it may look at, on the device that it was prepared for; it may be null."""
    if executor != ffi.NULL:
        destroy(device, lib.aclDestroyAclOpExecutor, executor)
    on_device(device, handles.destroy)


def places_of(call: Call, arguments: Sequence[Any], slots: Sequence[Slot]) -> tuple[ffi.CData, ffi.CData]:
    """Give the slots' places in the form that C has, and their handles."""
    first, count = call.first_output, len(arguments)
    positions = [slot.argument % count for slot in slots]
    places = [
        (position >= first, position - first if position >= first else position, slot.member)
        for position, slot in zip(positions, slots, strict=True)
    ]
    handles = [arguments[position] for position in positions]
    return ffi.new("aclAttnTensorPlace[]", places), ffi.new("void *[]", handles)


class Prepared:
    """A repeatable executor, with the handles that it may look at until it is destroyed, and where addresses go."""

    __slots__ = (
        *("__weakref__", "_arguments", "_handles", "count", "executor", "finalizer", "in_use", "places"),
        "workspace_bytes",
    )

    def __init__(self, call: Call, slots: Sequence[Slot], device: int) -> None:
        handles = HandleSet()
        try:
            arguments = call.arguments(handles)
            self.workspace_bytes, self.executor = phase_one(call, arguments)
        except BaseException:
            handles.destroy()
            raise
        self.finalizer = weakref.finalize(self, destroy_executor, device, self.executor, handles)
        check(lib.aclSetAclOpExecutorRepeatable(self.executor), "aclSetAclOpExecutorRepeatable")
        self.in_use = threading.Lock()
        self._arguments = arguments  # the strings, which the executor may look at
        self.count = len(slots)
        self.places, self._handles = places_of(call, arguments, slots)

    def run(self, addresses: list[ffi.CData], workspace: ffi.CData, size: int) -> int:
        """Run at these addresses, in the slots' order, on the current context's default stream, and wait."""
        status: int = _run_at(self.places, addresses, self.count, workspace, size, self.executor, _NULL)
        return status

    def enqueue(self, call: Call, addresses: list[ffi.CData], workspace: ffi.CData, queue: ffi.CData) -> int:
        """Queue a run at these addresses on a stream."""
        status = lib.acl_attn_set_addresses(self.executor, self.places, self._handles, addresses, self.count)
        return int(status or call.operator.phase_two(workspace, self.workspace_bytes, self.executor, queue))


class Kept:
    """Executors that wait for another call of the same form, so that it need not be checked and prepared again.

    One is made when a form comes for the second time: preparing it costs more than a call that is made once.
    Everything that phase one looks at is part of the form: what `Outline` makes of the call, and the library's
    settings. What it does not look at, such as addresses and what tensors hold, each run looks at itself.
    """

    def __init__(self) -> None:
        self._known: dict[object, Prepared] = {}  # the oldest first
        self._seen: dict[object, None] = {}  # forms that came once, likewise
        weakref.finalize(self, _destroy_unused, self._known)  # at exit

    def take(self, form: object) -> Prepared | None:
        """Hand out an executor for calls of this form, to be used by the caller alone until it is given back."""
        prepared = self._known.get(form)
        return prepared if prepared is not None and prepared.in_use.acquire(False) else None

    def is_worth_keeping(self, form: object) -> bool:
        """Whether to make an executor for calls of this form, which `take` had none for."""
        if form in self._known:  # in use
            return False
        if form in self._seen:
            return True
        self._seen[form] = None
        drop_surplus(self._seen)
        return False

    def add(self, form: object, prepared: Prepared) -> None:
        """Keep an executor, which the caller uses first, for calls of this form. What it displaces goes when unused."""
        prepared.in_use.acquire()
        prepared.finalizer.atexit = False  # a daemon thread may be using it even then
        self._known[form] = prepared
        drop_surplus(self._known)

    def clear(self) -> None:
        """Destroy what is not in use."""
        self._seen.clear()
        _destroy_unused(self._known)


_MOST = 16  # entries that are kept


def drop_surplus(entries: dict[object, Any]) -> None:
    """Drop the oldest entry, the first one, where there are more than are kept."""
    if len(entries) <= _MOST:
        return
    with contextlib.suppress(KeyError, RuntimeError, StopIteration):  # another thread drops one as well
        del entries[next(iter(entries))]


def _destroy_unused(known: dict[object, Prepared]) -> None:
    for prepared in list(known.values()):
        if prepared.in_use.acquire(False):  # for ever: nobody shall take it any more
            prepared.finalizer()
    known.clear()
