# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The two-phase protocol, once for all operators. The only module that sees an executor.

Phase one (``aclnn...GetWorkspaceSize``) checks a call, sizes its workspace and hands over an executor; phase two runs
it on a stream. `run_once` does both for a single call; `OperatorPlan` keeps the executor, for calls that differ only
in addresses.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ._handles import Closing, destroy
from ._inflight import keep
from ._lib import ffi, lib, selected
from ._process import borrowed_device, is_current, on_device, regain_device, reset_after_fork, use_device
from ._targets import CANN, HOST, NAMES, current_target, has_own_memory, target_number
from .device import StreamLike, device_of, profile_of, stream_pointer
from .errors import (
    AclAttnError,
    ClosedError,
    UnsupportedError,
    check,
    compose,
    described,
    error,
    invalid,
    recent_message,
)
from .memory import Buffer, WorkspaceCache, pointer_of, workspace_of_stream
from .staging import Operand, Placement, StagedHandles, is_programs, set_addresses
from .tensor import ArrayLike, HandleSet, Tensor, as_tensor, check_device, placeholder_address, pointer_as_planned

__all__ = ["Call", "Operator", "OperatorPlan", "Slot", "check_by_host", "run_once", "workspace_cache"]


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

    def arguments(self, handles: HandleSet) -> list[Any]:
        """Give phase one's arguments in header order, without the two results. Handles are made in `handles`."""

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


workspace_cache = WorkspaceCache()


def _phase_one(call: Call, arguments: list[Any]) -> tuple[int, ffi.CData]:
    size, executor = ffi.new("uint64_t *"), ffi.new("aclOpExecutor **")
    operator = call.operator
    status = operator.phase_one(*arguments, size, executor)
    if status:
        raise error(status, f"{operator.name}GetWorkspaceSize", call.parameter_names)
    return size[0], executor[0]


def _max_workspace(call: Call) -> int:
    operator = call.operator
    if operator.max_workspace is None:
        raise UnsupportedError(compose("max_workspace_bytes", "an operator that tells it", operator.name))
    size, executor = ffi.new("uint64_t *"), ffi.new("aclOpExecutor **")
    handles = HandleSet()
    try:
        status = operator.max_workspace(*call.arguments(handles), size, executor)
        if status:
            raise error(status, f"{operator.name}GetMaxWorkspaceSize", call.parameter_names)
        lib.aclDestroyAclOpExecutor(executor[0])
    finally:
        handles.destroy()
    return int(size[0])


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
    device = device_of(stream, device)
    if device is not None and not is_current(device):
        with borrowed_device(device):
            return run_once(call, stream)
    current = use_device()
    queue = ffi.NULL if stream is None else stream_pointer(stream)
    if has_own_memory(current):
        return _run_staged(call, queue, current)
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
    return None


def _both_phases(call: Call, arguments: list[Any], queue: ffi.CData) -> AclAttnError | None:
    size, executor = _phase_one(call, arguments)
    waits = queue == ffi.NULL
    try:
        workspace = workspace_cache.borrow(size) if waits else workspace_of_stream(queue, size)
    except BaseException:
        lib.aclDestroyAclOpExecutor(executor)
        raise
    pointer = ffi.NULL if workspace is None else pointer_of(workspace)
    status = _launch(call, pointer, size, executor, queue)
    if waits:
        workspace_cache.give_back(workspace)
    elif not status:
        keep(queue, call.operands(), workspace)
    return error(status, call.operator.name, call.parameter_names) if status else None


def _launch(call: Call, workspace: ffi.CData, size: int, executor: ffi.CData, queue: ffi.CData) -> int:
    """Phase two: on a stream, or, without one, on the current context's default stream and waited for."""
    if queue == ffi.NULL:
        return int(lib.aclAttnRun(workspace, size, executor, queue))
    return call.operator.phase_two(workspace, size, executor, queue)


def _run_staged(call: Call, queue: ffi.CData, device: int) -> None:
    """Do what `run_once` does on a device with memory of its own."""
    handles = _staged_handles(call, device)
    try:
        arguments = call.arguments(handles)
        try:
            _run_placed(call, arguments, handles, queue)
        except AclAttnError:
            if not regain_device(device):
                raise
            _run_placed(call, arguments, handles, queue)
    finally:
        handles.destroy()


def check_by_host(call: Call, profile: int) -> None:
    """Raise what the rules of a chip have against a call, for operators that only phase one can ask about.

    What the host target alone does not do counts for nothing.
    """
    handles, problem = HandleSet(), ffi.new("aclAttnProblem *")
    with selected(HOST):
        check(lib.aclAttnSetThreadProfile(profile), "aclAttnSetThreadProfile")
        try:
            lib.aclDestroyAclOpExecutor(_phase_one(call, call.arguments(handles))[1])
        except AclAttnError as refusal:
            if not (lib.aclAttnGetRecentProblem(problem) and problem.isTargetLimit):
                raise refusal from None
        finally:
            handles.destroy()
            lib.aclAttnSetThreadProfile(lib.ACL_ATTN_PROFILE_UNSET)


def _staged_handles(call: Call, device: int) -> StagedHandles:
    target = current_target()
    if target_number(device) == CANN and target is not None:
        call.adapt(frozenset(target.missing), profile_of(device))
    return StagedHandles()


def _run_placed(call: Call, arguments: list[Any], handles: StagedHandles, queue: ffi.CData) -> None:
    waits = queue == ffi.NULL
    allocate = workspace_cache.borrow if waits else _new_buffer
    placement = Placement(((operand, operand.tensor._pointer) for operand in handles.operands), allocate)
    set_addresses(handles.operands, placement.addresses)
    size, executor = _phase_one(call, arguments)
    try:
        placement.upload(queue)
        workspace = allocate(size)
    except BaseException:
        lib.aclDestroyAclOpExecutor(executor)
        raise
    pointer = ffi.NULL if workspace is None else pointer_of(workspace)
    _finish_placed(call, call.operator.phase_two(pointer, size, executor, queue), placement, queue)
    if waits:
        workspace_cache.give_back(workspace)
        workspace_cache.give_back(placement.arena)
    else:
        keep(queue, call.operands(), workspace, placement.arena)


def _finish_placed(call: Call, status: int, placement: Placement, queue: ffi.CData) -> None:
    """Hand on what phase two says; fetch the results, after the run if nobody else waits for it."""
    if status:
        raise error(status, call.operator.name, call.parameter_names)
    if queue == ffi.NULL:
        check(lib.aclrtSynchronizeStream(queue), "aclrtSynchronizeStream")
    try:
        placement.download(queue)
    except BaseException:
        lib.aclrtSynchronizeStream(queue)  # the call itself runs, in memory that is about to be let go
        raise


def _new_buffer(nbytes: int) -> Buffer | None:
    return Buffer(nbytes) if nbytes else None


@dataclass(frozen=True)
class Slot:
    """A tensor of a plan whose address may change from run to run."""

    argument: int  # position among phase one's arguments
    index: int  # among the operator's inputs, or among its outputs
    is_output: bool = False
    is_list: bool = False
    member: int = 0


def _destroy_executor(device: int, executor: ffi.CData, handles: HandleSet) -> None:
    if executor != ffi.NULL:
        destroy(device, lib.aclDestroyAclOpExecutor, executor)
    on_device(device, handles.destroy)


class _Prepared:
    """A repeatable executor, with the handles that it may look at until it is destroyed.

    The vendor's operators need not have repeatable ones. `executor` is null then, and each run begins with phase one.
    """

    __slots__ = (
        *("__weakref__", "arguments", "executor", "finalizer", "fixed", "operands", "slots"),
        "workspace_bytes",
    )

    operands: list[Operand]  # those of the slots, on a device with memory of its own
    fixed: Placement  # of the others there: arrays that a plan keeps, such as block tables

    def __init__(self, call: Call, slots: Sequence[Slot], device: int) -> None:
        staged = _staged_handles(call, device) if has_own_memory(device) else None
        handles = HandleSet() if staged is None else staged
        try:
            self.arguments = call.arguments(handles)  # holds the strings, which the executor may look at
            if staged is not None:
                self._place(staged, slots)
            self.workspace_bytes, self.executor = _phase_one(call, self.arguments)
        except BaseException:
            handles.destroy()
            raise
        status = lib.aclSetAclOpExecutorRepeatable(self.executor)
        if status and staged is not None:
            recent_message()
            lib.aclDestroyAclOpExecutor(self.executor)
            self.executor, status = ffi.NULL, 0
        self.finalizer = weakref.finalize(self, _destroy_executor, device, self.executor, handles)
        check(status, "aclSetAclOpExecutorRepeatable")
        self.slots = ffi.new(
            "acl_attn_slot[]",
            [(slot.is_output, slot.is_list, slot.index, slot.member, self.arguments[slot.argument]) for slot in slots],
        )

    def _place(self, handles: StagedHandles, slots: Sequence[Slot]) -> None:
        """Give the kept operands their place for good, and those of the slots an address to be replaced."""
        self.operands = [handles.find(self.arguments[slot.argument], slot.member) for slot in slots]
        kept = [operand for operand in handles.operands if operand not in self.operands]
        self.fixed = Placement(((operand, operand.tensor._pointer) for operand in kept), _new_buffer)
        set_addresses(kept, self.fixed.addresses)
        set_addresses(self.operands, [placeholder_address() for _ in self.operands])


class OperatorPlan(Closing):
    """A call that is checked and prepared once, and run often. Base of the operators' plans."""

    _later: Set[str] = frozenset()  # operands of which only a `Spec` was known

    def __init__(self, call: Call, slots: Sequence[Slot], device: int | None = None) -> None:
        self._device = use_device() if device is None else device
        self._call = call
        self._slots = tuple(slots)
        self._lock = threading.Lock()
        self._workspace: Buffer | None = None
        self._arena: Buffer | None = None
        self._prepared: _Prepared | None = on_device(self._device, _Prepared, call, self._slots, self._device)
        reset_after_fork(self)

    def _reset_after_fork(self) -> None:
        self._lock = threading.Lock()

    def _live(self) -> _Prepared:
        if self._prepared is None:
            raise ClosedError("plan: expected an open plan, got one that was closed; make a new one")
        return self._prepared

    def _replan(self, call: Call) -> None:
        prepared = on_device(self._device, _Prepared, call, self._slots, self._device)
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
        return int(on_device(self._device, _max_workspace, self._call))

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
            prepared, self._prepared, self._workspace, self._arena = self._prepared, None, None, None
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
        if has_own_memory(device):
            return self._run_staged(pointers, held, stream, workspace)
        if stream is not None:
            return self._enqueue(pointers, held, stream, workspace)
        with self._lock:
            prepared = self._live()
            size = prepared.workspace_bytes
            scratch = self._own_workspace(size) if workspace is None else _foreign_workspace(workspace, size, device)
            arguments = (prepared.executor, prepared.slots, len(pointers), pointers, scratch, size)
            status = lib.acl_attn_run(*arguments)
            if status:
                failure = self._error(status)
                if not regain_device(self._device):
                    raise failure
                status = lib.acl_attn_run(*arguments)
        if status:
            raise self._error(status)
        return None

    def _enqueue(
        self, pointers: list[ffi.CData], held: object, stream: StreamLike, workspace: ArrayLike | None
    ) -> None:
        queue = stream_pointer(stream)
        call = self._call
        with self._lock:
            prepared = self._live()
            size, executor = prepared.workspace_bytes, prepared.executor
            scratch = workspace_of_stream(queue, size) if workspace is None else None
            if workspace is not None:
                pointer = _foreign_workspace(workspace, size, self._device)
            else:
                pointer = ffi.NULL if scratch is None else pointer_of(scratch)
            status = lib.acl_attn_set_addresses(executor, prepared.slots, len(pointers), pointers)
            if not status:
                status = call.operator.phase_two(pointer, size, executor, queue)
        if status:
            raise self._error(status)
        # Not the plan: work in flight has its own copy of what it needs from the executor.
        keep(queue, held, pointers, call.operands(), scratch, workspace)

    def _run_staged(
        self, pointers: list[ffi.CData], held: object, stream: StreamLike | None, workspace: ArrayLike | None
    ) -> None:
        """Run on a device with memory of its own."""
        queue, call = ffi.NULL if stream is None else stream_pointer(stream), self._call
        with self._lock:
            prepared = self._live()
            # Runs in flight on several streams do not share an arena; the one that is waited for has the plan's.
            placement = Placement(
                zip(prepared.operands, pointers, strict=True), self._own_arena if stream is None else _new_buffer
            )
            size, executor = prepared.workspace_bytes, prepared.executor
            if executor == ffi.NULL:
                set_addresses(prepared.operands, placement.addresses)
                size, executor = _phase_one(call, prepared.arguments)
            else:
                addresses = placement.addresses
                check(
                    lib.acl_attn_set_addresses(executor, prepared.slots, len(addresses), addresses), call.operator.name
                )
            try:
                prepared.fixed.upload(queue)
                placement.upload(queue)
                scratch = workspace_of_stream(queue, size) if workspace is None and stream is not None else None
                if workspace is not None:
                    pointer = _foreign_workspace(workspace, size, self._device)
                elif stream is None:
                    pointer = self._own_workspace(size)
                else:
                    pointer = ffi.NULL if scratch is None else pointer_of(scratch)
            except BaseException:
                if prepared.executor == ffi.NULL:
                    lib.aclDestroyAclOpExecutor(executor)
                raise
            _finish_placed(call, call.operator.phase_two(pointer, size, executor, queue), placement, queue)
        if stream is not None:
            keep(queue, held, pointers, call.operands(), scratch, workspace, placement.arena, prepared.fixed.arena)

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

    def _error(self, status: int) -> AclAttnError:
        return error(status, self._call.operator.name, self._call.parameter_names)

    def _own_workspace(self, size: int) -> ffi.CData:
        if size == 0:
            return ffi.NULL
        if self._workspace is None or self._workspace.nbytes < size:
            self._workspace = Buffer(size)
        return pointer_of(self._workspace)


def _foreign_workspace(workspace: ArrayLike, size: int, device: int) -> ffi.CData:
    is_buffer = isinstance(workspace, Buffer)
    tensor = (
        Tensor.from_buffer(workspace, (workspace.nbytes,), np.uint8) if is_buffer else as_tensor(workspace, "workspace")
    )
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
