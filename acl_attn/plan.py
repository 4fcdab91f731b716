# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The two-phase protocol, once for all operators.

Phase one (``aclnn...GetWorkspaceSize``) checks a call, sizes its workspace and hands over an executor; phase two runs
it on a stream. `run_once` does both for a single call; `OperatorPlan` keeps the executor, for calls that differ only
in addresses.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence, Set
from typing import Any

from ._handles import Closing
from ._inflight import Keeping
from ._lib import ffi, lib
from ._process import regain_device, reset_after_fork, use_device
from .device import StreamLike, stream_pointer
from .errors import AclAttnError, ClosedError, described, error, invalid
from .memory import Buffer, WorkspaceCache, pointer_of, workspace_of_stream
from .prepared import Call, Kept, Prepared, Slot, max_workspace, phase_one
from .tensor import ArrayLike, HandleSet, Outline, Tensor, as_tensor, pointer_as_planned

__all__ = ["OperatorPlan", "kept", "run_once", "workspace_cache"]

workspace_cache = WorkspaceCache()
kept = Kept()


def run_once(call: Call, stream: StreamLike | None, device: int | None = None) -> None:
    """Run a call: without a stream until its results are there, else queued on the stream.

    Parameters
    ----------
    call : Call
        What to run.
    stream : Stream, int or object with ``__acl_stream__``, optional
        Where to queue it. Operands and workspace are then kept alive until the stream has passed.
    device : int, optional
        Where to run it, without a stream.
    """
    use_device(device)
    queue = ffi.NULL if stream is None else stream_pointer(stream)
    outline = Outline()
    arguments = call.arguments(outline)
    settings = lib.aclAttnGetSettings()
    form = (call.operator.name, settings, *arguments)
    prepared = kept.take(form)
    if prepared is None:
        # Without settings the library does not tell what else its executors depend on.
        if not settings or not kept.is_worth_keeping(form):
            _run_unkept(call, queue, device)
            return
        prepared = Prepared(call, [Slot(*place) for place in outline.places(arguments)])
        kept.add(form, prepared)
    try:
        if queue == ffi.NULL:
            workspace = workspace_cache.borrow(prepared.workspace_bytes)
            failure = _run_now(prepared, call, outline.addresses, _start_of(workspace), device)
            workspace_cache.give_back(workspace)
        else:
            workspace = workspace_of_stream(queue, prepared.workspace_bytes)
            with Keeping(queue, call.operands(), workspace):
                failure = _enqueue(prepared, call, outline.addresses, _start_of(workspace), queue)
    finally:
        prepared.in_use.release()
    if failure:
        raise failure


def _start_of(workspace: Buffer | None) -> ffi.CData:
    return ffi.NULL if workspace is None else pointer_of(workspace)


def _run_now(
    prepared: Prepared, call: Call, addresses: list[ffi.CData], workspace: ffi.CData, device: int | None
) -> AclAttnError | None:
    size = prepared.workspace_bytes
    status = prepared.run(addresses, workspace, size)
    if not status:
        return None
    failure = error(status, call.operator.name, call.parameter_names)
    if not regain_device(device):
        return failure
    status = prepared.run(addresses, workspace, size)
    return error(status, call.operator.name, call.parameter_names) if status else None


def _enqueue(
    prepared: Prepared, call: Call, addresses: list[ffi.CData], workspace: ffi.CData, queue: ffi.CData
) -> AclAttnError | None:
    status = prepared.enqueue(call, addresses, workspace, queue)
    return error(status, call.operator.name, call.parameter_names) if status else None


def _run_unkept(call: Call, queue: ffi.CData, device: int | None) -> None:
    handles = HandleSet()
    try:
        arguments = call.arguments(handles)
        failure = _both_phases(call, arguments, queue)
        if failure and regain_device(device):
            failure = _both_phases(call, arguments, queue)
        if failure:
            raise failure
    finally:
        handles.destroy()


def _both_phases(call: Call, arguments: list[Any], queue: ffi.CData) -> AclAttnError | None:
    size, executor = phase_one(call, arguments)
    waits = queue == ffi.NULL
    try:
        workspace = workspace_cache.borrow(size) if waits else workspace_of_stream(queue, size)
    except BaseException:
        lib.aclDestroyAclOpExecutor(executor)
        raise
    with contextlib.nullcontext() if waits else Keeping(queue, call.operands(), workspace):
        status = _launch(call, _start_of(workspace), size, executor, queue)
        failure = error(status, call.operator.name, call.parameter_names) if status else None
    if waits:
        workspace_cache.give_back(workspace)
    return failure


def _launch(call: Call, workspace: ffi.CData, size: int, executor: ffi.CData, queue: ffi.CData) -> int:
    """Phase two: on a stream, or, without one, on the current context's default stream and waited for."""
    if queue == ffi.NULL:
        return int(lib.aclAttnRun(workspace, size, executor, queue))
    return call.operator.phase_two(workspace, size, executor, queue)


class OperatorPlan(Closing):
    """A call that is checked and prepared once, and run often. Base of the operators' plans."""

    _later: Set[str] = frozenset()  # operands of which only a `Spec` was known

    def __init__(self, call: Call, slots: Sequence[Slot], device: int | None = None) -> None:
        self._device = use_device(device)
        self._call = call
        self._slots = tuple(slots)
        self._lock = threading.Lock()
        self._workspace: Buffer | None = None
        self._prepared: Prepared | None = Prepared(call, self._slots)
        reset_after_fork(self)

    def _reset_after_fork(self) -> None:
        self._lock = threading.Lock()

    def _live(self) -> Prepared:
        if self._prepared is None:
            raise ClosedError("plan: expected an open plan, got one that was closed; make a new one")
        return self._prepared

    def _replan(self, call: Call) -> None:
        prepared = Prepared(call, self._slots)
        with self._lock:
            if self._prepared is None:
                prepared.finalizer()
                self._live()
            old, self._prepared, self._call = self._prepared, prepared, call
        if old is not None:
            old.finalizer()

    @property
    def workspace_bytes(self) -> int:
        """Scratch memory that a run needs."""
        return self._live().workspace_bytes

    @property
    def max_workspace_bytes(self) -> int:
        """Scratch memory that a run needs at most, whatever lengths `update` is given."""
        self._live()
        return max_workspace(self._call)

    def describe(self) -> str:
        """Say in words what a run does: geometry, path taken, work items.

        Returns
        -------
        str
            Several lines.
        """
        with self._lock:
            return described("aclAttnDescribeExecutor", self._live().executor)

    def close(self) -> None:
        """Release the plan. Runs in flight end normally. May be repeated."""
        with self._lock:
            prepared, self._prepared, self._workspace = self._prepared, None, None
        if prepared is not None:
            prepared.finalizer()

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called."""
        return self._prepared is None

    def _pointer(self, given: ArrayLike | None, parameter: str, planned: Tensor) -> ffi.CData:
        """Give the address of an operand of a run: of the given array, or of the one that was planned with."""
        if given is not None:
            return pointer_as_planned(given, parameter, planned)
        if parameter in self._later:
            self._live()
            raise invalid(parameter, "an array (the plan was made from a Spec)", None)
        return planned._pointer

    def _run(
        self, pointers: list[ffi.CData], held: object, stream: StreamLike | None, workspace: ArrayLike | None
    ) -> None:
        """Run with the given addresses, in the slots' order; `held` is what keeps their memory."""
        if stream is not None:
            return self._enqueue(pointers, held, stream, workspace)
        use_device(self._device)
        with self._lock:
            prepared = self._prepared or self._live()
            size = prepared.workspace_bytes
            scratch = self._own_workspace(size) if workspace is None else _foreign_workspace(workspace, size)
            failure = _run_now(prepared, self._call, pointers, scratch, self._device)
        if failure:
            raise failure
        return None

    def _enqueue(
        self, pointers: list[ffi.CData], held: object, stream: StreamLike, workspace: ArrayLike | None
    ) -> None:
        use_device()
        queue = stream_pointer(stream)
        # Not the plan: work in flight has its own copy of what it needs from the executor.
        kept_alive = [held, pointers, workspace]
        # Letting go of finished work may run any finalizer: not under the lock.
        with Keeping(queue, kept_alive), self._lock:
            prepared, call = self._live(), self._call
            size = prepared.workspace_bytes
            scratch = workspace_of_stream(queue, size) if workspace is None else None
            start = _start_of(scratch) if workspace is None else _foreign_workspace(workspace, size)
            kept_alive += call.operands(), scratch
            failure = _enqueue(prepared, call, pointers, start, queue)
        if failure:
            raise failure

    def _own_workspace(self, size: int) -> ffi.CData:
        own = self._workspace
        if own is None or own.nbytes < size:
            if size == 0:
                return ffi.NULL
            self._workspace = own = Buffer(size)
        return pointer_of(own)


def _foreign_workspace(workspace: ArrayLike, size: int) -> ffi.CData:
    if isinstance(workspace, Buffer):
        given, pointer, is_writable = workspace.nbytes, pointer_of(workspace), True
    else:
        tensor = as_tensor(workspace, "workspace")
        if tensor.strides is not None:
            raise invalid("workspace", "contiguous memory", f"strides {tensor.strides}")
        given, pointer, is_writable = tensor.nbytes, tensor._pointer, tensor.is_writable
    if given < size:
        raise invalid("workspace", f"at least {size} bytes", given, "see plan.workspace_bytes")
    if not is_writable:
        raise invalid("workspace", "writable memory", "a read-only array")
    return pointer
