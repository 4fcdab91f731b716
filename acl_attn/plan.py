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
from collections.abc import Callable, Container, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

import numpy as np

from ._handles import Closing
from ._inflight import Keeping
from ._lib import ffi, lib
from ._process import borrowed_device, is_current, on_device, regain_device, reset_after_fork, use_device
from ._target_numbers import NAMES, OWN_MEMORY, has_own_memory, target_number
from .addresses import pointer_as_planned
from .errors import AclAttnError, ClosedError, described, error, invalid
from .handle_set import HandleSet, Outline
from .memory import Buffer, WorkspaceCache, pointer_of, workspace_of_stream
from .placed import PlacedPrepared, new_buffer, run_placed
from .prepared import Call, Kept, Operator, Prepared, Slot, max_workspace, phase_one
from .staging import is_programs
from .streams import StreamLike, device_of, stream_pointer
from .tensor import ArrayLike, Tensor, as_tensor, check_device

__all__ = ["Named", "OperatorPlan", "kept", "run_kept", "run_once", "workspace_cache"]

workspace_cache = WorkspaceCache()
kept = Kept()

# The error of a run, or nothing; raised once locks and memory have been given back. It is popped then: a frame that
# still held it would be kept by its traceback, and with it the operands.
Failed: TypeAlias = list[AclAttnError]


@dataclass
class Named:
    """What messages need of a call, without its operands."""

    operator: Operator
    parameter_names: Mapping[str, str]


def run_once(call: Call, stream: StreamLike | None, device: int | None = None) -> Prepared | None:
    """Run a call: without a stream until its results are there, else queued on the stream.

    Parameters
    ----------
    call : Call
        What to run.
    stream : Stream, int or object with ``__acl_stream__``, optional
        Where to queue it. Operands and workspace are then kept alive until the stream has passed.
    device : int, optional
        Where to run it, without a stream.

    Returns
    -------
    Prepared or None
        What is kept for calls of the same form.
    """
    if stream is not None:
        device = device_of(stream, device)
    if device is not None and not is_current(device):
        with borrowed_device(device):
            return run_once(call, stream)
    current = use_device()
    queue = ffi.NULL if stream is None else stream_pointer(stream)
    if current >= OWN_MEMORY:
        run_placed(call, queue, current, workspace_cache)
        return None
    outline = Outline()
    arguments = call.arguments(outline)
    settings = lib.aclAttnGetSettings()
    form = (current, call.operator.name, settings, *arguments)
    prepared = kept.take(form)
    # Without settings the library does not tell what else its executors depend on.
    if prepared is None and settings and kept.is_worth_keeping(form):
        made = Prepared(call, [Slot(*place) for place in outline.places(arguments)], current)
        if lib.aclAttnGetSettings() == settings:  # else another thread changed them: it may be of either
            kept.add(form, made)
            prepared = made
    if prepared is None:
        _run_unkept(call, queue, device)
        return None
    try:
        if queue == ffi.NULL:
            failed = run_kept(prepared, call, outline.addresses, device)
        else:
            workspace = workspace_of_stream(queue, prepared.workspace_bytes)
            with Keeping(queue, call.operands(), workspace):
                failed = _enqueue(prepared, call, outline.addresses, _start_of(workspace), queue)
    finally:
        prepared.in_use.release()
    if failed:
        raise failed.pop()
    return prepared


def run_kept(prepared: Prepared, call: Call | Named, addresses: list[ffi.CData], device: int | None) -> Failed:
    """Run with these addresses and wait; the executor is the caller's for that long."""
    workspace = workspace_cache.borrow(prepared.workspace_bytes)
    start, size = _start_of(workspace), prepared.workspace_bytes
    status = prepared.run(addresses, start, size)
    failed = _run_again(status, prepared, call, addresses, start, device) if status else []
    workspace_cache.give_back(workspace)
    return failed


def _start_of(workspace: Buffer | None) -> ffi.CData:
    return ffi.NULL if workspace is None else pointer_of(workspace)


def _run_again(
    status: int, prepared: Prepared, call: Call | Named, addresses: list[ffi.CData], workspace: ffi.CData,
    device: int | None,
) -> Failed:  # fmt: skip
    """Read the error of a run, and repeat the run if all that it lacked was a context, which others may take away."""
    failed = [error(status, call.operator.name, call.parameter_names)]
    if not regain_device(device):
        return failed
    status = prepared.run(addresses, workspace, prepared.workspace_bytes)
    return [error(status, call.operator.name, call.parameter_names)] if status else []


def _enqueue(
    prepared: Prepared, call: Call, addresses: list[ffi.CData], workspace: ffi.CData, queue: ffi.CData
) -> Failed:
    status = prepared.enqueue(call, addresses, workspace, queue)
    return [error(status, call.operator.name, call.parameter_names)] if status else []


def _run_unkept(call: Call, queue: ffi.CData, device: int | None) -> None:
    handles = HandleSet()
    try:
        arguments = call.arguments(handles)
        failed = _both_phases(call, arguments, queue)
        if failed and regain_device(device):
            failed = _both_phases(call, arguments, queue)
        if failed:
            raise failed.pop()
    finally:
        handles.destroy()


def _both_phases(call: Call, arguments: list[Any], queue: ffi.CData) -> Failed:
    size, executor = phase_one(call, arguments)
    waits = queue == ffi.NULL
    try:
        workspace = workspace_cache.borrow(size) if waits else workspace_of_stream(queue, size)
    except BaseException:
        lib.aclDestroyAclOpExecutor(executor)
        raise
    with contextlib.nullcontext() if waits else Keeping(queue, call.operands(), workspace):
        status = _launch(call, _start_of(workspace), size, executor, queue)
        failed = [error(status, call.operator.name, call.parameter_names)] if status else []
    if waits:
        workspace_cache.give_back(workspace)
    return failed


def _launch(call: Call, workspace: ffi.CData, size: int, executor: ffi.CData, queue: ffi.CData) -> int:
    """Phase two: on a stream, or, without one, on the current context's default stream and waited for."""
    if queue == ffi.NULL:
        return int(lib.aclAttnRun(workspace, size, executor, queue))
    return call.operator.phase_two(workspace, size, executor, queue)


class OperatorPlan(Closing):
    """A call that is checked and prepared once, and run often. Base of the operators' plans."""

    _later: Set[str] = frozenset()  # operands of which only a `Spec` was known

    def __init__(self, call: Call, slots: Sequence[Slot], device: int | None = None) -> None:
        self._device = use_device() if device is None else device
        self._is_placed = has_own_memory(self._device)
        self._call = call
        self._slots = tuple(slots)
        self._lock = threading.Lock()
        self._scratch, self._scratch_bytes = ffi.NULL, 0  # own workspace: the pointer keeps it
        self._arena: Buffer | None = None
        self._prepared = self._prepare(call)
        reset_after_fork(self)

    def _prepare(self, call: Call) -> Any:
        """Make a `Prepared`, or a `PlacedPrepared` on a device with memory of its own."""
        kind = PlacedPrepared if self._is_placed else Prepared
        return on_device(self._device, kind, call, self._slots, self._device)

    def _reset_after_fork(self) -> None:
        self._lock = threading.Lock()

    def _live(self) -> Any:
        if self._prepared is None:
            raise ClosedError("plan: expected an open plan, got one that was closed; make a new one")
        return self._prepared

    def _refuse(self, refusal: AclAttnError, options: Container[str], make_plan: Callable[[], None]) -> NoReturn:
        """Raise what a run refuses its operands with: what planning would, if no plan takes them, else `refusal`.

        Parameters
        ----------
        refusal : AclAttnError
            Says what is not as planned, and to make a new plan.
        options : container of str
            The plan's other parameters: a new plan may have others.
        make_plan : callable
            Makes a plan of what was given, with the same options, and lets it go.
        """
        self._live()
        try:
            make_plan()
        except AclAttnError as reason:
            if reason.parameter not in options:
                raise reason from None
        raise refusal

    def _replan(self, call: Call) -> None:
        prepared = self._prepare(call)
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
        return int(self._live().workspace_bytes)

    @property
    def max_workspace_bytes(self) -> int:
        """Scratch memory that a run needs at most, whatever lengths `update` is given."""
        self._live()
        return int(on_device(self._device, max_workspace, self._call))

    def describe(self) -> str:
        """Say in words what a run does: geometry, path taken, work items.

        Returns
        -------
        str
            Several lines.
        """
        with self._lock:
            return str(on_device(self._device, described, "aclAttnDescribeExecutor", self._live().executor))

    def close(self) -> None:
        """Release the plan. Runs in flight end normally. May be repeated."""
        with self._lock:
            prepared, self._prepared, self._arena = self._prepared, None, None
            self._scratch_bytes, self._scratch = 0, ffi.NULL  # in this order: a signal may come in between
        if prepared is not None:
            prepared.finalizer()

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called."""
        return self._prepared is None

    def _pointer(self, given: ArrayLike | None, parameter: str, planned: Tensor) -> ffi.CData:
        """Give the address of an operand of a run: of the given array, or of the one that was planned with."""
        if given is not None:
            return pointer_as_planned(given, parameter, planned, self._device)
        if parameter in self._later:
            self._live()
            raise invalid(parameter, "an array (the plan was made from a Spec)", None)
        return planned._pointer

    def _run(
        self, pointers: list[ffi.CData], held: object, stream: StreamLike | None, workspace: ArrayLike | None
    ) -> None:
        """Run with the given addresses, in the slots' order; `held` is what keeps their memory."""
        device = self._device
        if not is_current(device):
            with borrowed_device(device):
                return self._run(pointers, held, stream, workspace)
        if stream is not None:
            self._check_stream(stream)
        if self._is_placed:
            return self._run_placed(pointers, held, stream, workspace)
        if stream is not None:
            return self._enqueue(pointers, held, stream, workspace)
        with self._lock:
            prepared = self._prepared or self._live()
            size = prepared.workspace_bytes
            scratch = self._own_workspace(size) if workspace is None else _foreign_workspace(workspace, size, device)
            status = prepared.run(pointers, scratch, size)
            failed = _run_again(status, prepared, self._call, pointers, scratch, device) if status else []
        if failed:
            raise failed.pop()
        return None

    def _enqueue(
        self, pointers: list[ffi.CData], held: object, stream: StreamLike, workspace: ArrayLike | None
    ) -> None:
        queue = stream_pointer(stream)
        # Not the plan: work in flight has its own copy of what it needs from the executor.
        kept_alive = [held, pointers, workspace]
        # Letting go of finished work may run any finalizer: not under the lock.
        with Keeping(queue, kept_alive), self._lock:
            prepared, call = self._live(), self._call
            scratch, start = self._workspace_on(queue, prepared.workspace_bytes, workspace)
            kept_alive += call.operands(), scratch
            failed = _enqueue(prepared, call, pointers, start, queue)
        if failed:
            raise failed.pop()

    def _run_placed(
        self, pointers: list[ffi.CData], held: object, stream: StreamLike | None, workspace: ArrayLike | None
    ) -> None:
        """Run on a device with memory of its own."""
        queue = ffi.NULL if stream is None else stream_pointer(stream)
        # Runs in flight on several streams do not share an arena; those that are waited for have the plan's.
        allocate = self._own_arena if stream is None else new_buffer
        kept_alive = [held, pointers, workspace]
        with contextlib.nullcontext() if stream is None else Keeping(queue, kept_alive), self._lock:
            prepared, call = self._live(), self._call
            scratch, start = self._workspace_on(queue, prepared.workspace_bytes, workspace)
            kept_alive += call.operands(), scratch
            prepared.run(call, pointers, start, queue, allocate, kept_alive)

    def _workspace_on(
        self, queue: ffi.CData, size: int, workspace: ArrayLike | None
    ) -> tuple[Buffer | None, ffi.CData]:
        """Give the workspace of a run, with what has to be kept for it."""
        if workspace is not None:
            return None, _foreign_workspace(workspace, size, self._device)
        if queue == ffi.NULL:
            return None, self._own_workspace(size)
        scratch = workspace_of_stream(queue, size)
        return scratch, _start_of(scratch)

    def _own_arena(self, size: int) -> Buffer | None:
        if size and (self._arena is None or self._arena.nbytes < size):
            self._arena = Buffer(size)
        return self._arena

    def _check_stream(self, stream: StreamLike) -> None:
        """Refuse a stream of another target: its handle means nothing to the plan's."""
        device = device_of(stream)
        if device is not None and target_number(device) != target_number(self._device):
            expected, got = (NAMES[target_number(key)] for key in (self._device, device))
            raise invalid("stream", f"a stream of target {expected!r}, as the plan's", f"one of {got!r}")

    def _own_workspace(self, size: int) -> ffi.CData:
        if self._scratch_bytes < size:
            self._scratch, self._scratch_bytes = pointer_of(Buffer(size)), size
        return self._scratch


def _foreign_workspace(workspace: ArrayLike, size: int, device: int) -> ffi.CData:
    if isinstance(workspace, Buffer):
        workspace = Tensor.from_buffer(workspace, (workspace.nbytes,), np.uint8)
    tensor = as_tensor(workspace, "workspace")
    check_device(tensor, "workspace", device)
    if has_own_memory(device) and is_programs(tensor._pointer):
        raise invalid("workspace", "a Buffer or a Tensor in the device's memory", "an array in the program's")
    if tensor.strides is not None:
        raise invalid("workspace", "contiguous memory", f"strides {tensor.strides}")
    if tensor.nbytes < size:
        raise invalid("workspace", f"at least {size} bytes", tensor.nbytes, "see plan.workspace_bytes")
    if not tensor.is_writable:
        raise invalid("workspace", "writable memory", "a read-only array")
    return tensor._pointer
