# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Phase one: from a call to an executor that can be run often, and the executors that wait for a call like theirs."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from ._handles import destroy
from ._lib import ffi, lib
from .errors import check, error
from .tensor import HandleSet, Outline

__all__ = ["Call", "Kept", "Operator", "Prepared", "Slot", "max_workspace", "phase_one"]


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


class Slot(NamedTuple):
    """A tensor whose address may change from run to run."""

    argument: int  # position among phase one's arguments
    member: int = -1  # of a list; -1: a plain tensor


def phase_one(call: Call, arguments: list[Any]) -> tuple[int, ffi.CData]:
    """Check a call. Gives the size of its workspace, and its executor, which is the caller's to destroy."""
    return _ask(call, call.operator.phase_one, f"{call.operator.name}GetWorkspaceSize", arguments)


def max_workspace(call: Call) -> int:
    """Give the size of the workspace for the longest sequences that the call's tensors have room for."""
    operator = call.operator
    if operator.max_workspace is None:
        raise TypeError(f"max_workspace_bytes: expected an operator that tells it, got {operator.name}")
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


def _destroy_executor(executor: ffi.CData, handles: HandleSet) -> None:
    destroy(lib.aclDestroyAclOpExecutor, executor)
    handles.destroy()


class Prepared:
    """A repeatable executor, with the handles that it may look at until it is destroyed, and where addresses go."""

    __slots__ = (
        *("__weakref__", "_arguments", "_handles", "count", "executor", "finalizer", "in_use", "places"),
        "workspace_bytes",
    )

    def __init__(self, call: Call, slots: Sequence[Slot]) -> None:
        handles = HandleSet()
        try:
            arguments = call.arguments(handles)
            self.workspace_bytes, self.executor = phase_one(call, arguments)
        except BaseException:
            handles.destroy()
            raise
        self.finalizer = weakref.finalize(self, _destroy_executor, self.executor, handles)
        check(lib.aclSetAclOpExecutorRepeatable(self.executor), "aclSetAclOpExecutorRepeatable")
        self.in_use = threading.Lock()
        self._arguments = arguments  # the strings, which the executor may look at
        first_output = call.first_output
        self.count = len(slots)
        self.places = ffi.new(
            "aclAttnTensorPlace[]",
            [
                (position >= first_output, position - first_output if position >= first_output else position, member)
                for position, member in slots
            ],
        )
        self._handles = ffi.new("void *[]", [arguments[slot.argument] for slot in slots])

    def run(self, addresses: list[ffi.CData], workspace: ffi.CData, size: int) -> int:
        """Run at these addresses, in the slots' order, on the current context's default stream, and wait."""
        return int(lib.aclAttnRunAt(self.places, addresses, self.count, workspace, size, self.executor, ffi.NULL))

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

    _MOST = 16

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
        if len(self._seen) > self._MOST:
            _drop_oldest(self._seen)
        return False

    def add(self, form: object, prepared: Prepared) -> None:
        """Keep an executor, which the caller uses first, for calls of this form. What it displaces goes when unused."""
        prepared.in_use.acquire()
        prepared.finalizer.atexit = False  # a daemon thread may be using it even then
        self._known[form] = prepared
        if len(self._known) > self._MOST:
            _drop_oldest(self._known)

    def clear(self) -> None:
        """Destroy what is not in use."""
        self._seen.clear()
        _destroy_unused(self._known)


def _drop_oldest(entries: dict[object, Any]) -> None:
    with contextlib.suppress(KeyError, RuntimeError, StopIteration):  # another thread drops one as well
        del entries[next(iter(entries))]


def _destroy_unused(known: dict[object, Prepared]) -> None:
    for prepared in list(known.values()):
        if prepared.in_use.acquire(False):  # for ever: nobody shall take it any more
            prepared.finalizer()
    known.clear()
