# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The two phases on devices with memory of their own, whose operators are the vendor's or built for its runtime.

What differs from the host: operands are placed on the device first, an executor need not be repeatable, and rules that
the vendor's library would break off at are asked before it is called.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from ._inflight import Keeping
from ._lib import ffi, lib, selected
from ._process import regain_device
from ._targets import CANN, HOST, current_target, target_number
from .addresses import placeholder_address
from .device import profile_of
from .errors import AclAttnError, check, error, recent_message
from .handle_set import HandleSet
from .memory import Buffer, WorkspaceCache, pointer_of
from .prepared import Call, Slot, destroy_executor, phase_one, places_of
from .staging import Placement, StagedHandles, set_addresses

__all__ = ["PlacedPrepared", "check_by_host", "new_buffer", "run_placed"]


def run_placed(call: Call, queue: ffi.CData, device: int, cache: WorkspaceCache) -> None:
    """Run a call: without a stream until its results are there, else queued on the stream."""
    handles = _handles_for(call, device)
    try:
        arguments = call.arguments(handles)
        try:
            _run(call, arguments, handles, queue, cache)
        except AclAttnError:
            if not regain_device(device):
                raise
            _run(call, arguments, handles, queue, cache)
    finally:
        handles.destroy()


def _run(call: Call, arguments: list[Any], handles: StagedHandles, queue: ffi.CData, cache: WorkspaceCache) -> None:
    waits = queue == ffi.NULL
    allocate = cache.borrow if waits else new_buffer
    held: list[object] = [call.operands()]
    with contextlib.nullcontext() if waits else Keeping(queue, held):
        placement = Placement(((operand, operand.tensor._pointer) for operand in handles.operands), allocate)
        set_addresses(handles.operands, placement.addresses)
        size, executor = phase_one(call, arguments)
        try:
            workspace = allocate(size)
            held += workspace, placement.arena
            placement.upload(queue)
        except BaseException:
            lib.aclDestroyAclOpExecutor(executor)
            raise
        pointer = ffi.NULL if workspace is None else pointer_of(workspace)
        _launch(call, pointer, size, executor, queue, placement)
    if waits:
        cache.give_back(workspace)
        cache.give_back(placement.arena)


def _launch(
    call: Call, workspace: ffi.CData, size: int, executor: ffi.CData, queue: ffi.CData, placement: Placement
) -> None:
    """Phase two, and the results: without a stream after the default one has run it."""
    status = call.operator.phase_two(workspace, size, executor, queue)
    if status:
        raise error(status, call.operator.name, call.parameter_names)
    if queue == ffi.NULL:
        check(lib.aclrtSynchronizeStream(queue), "aclrtSynchronizeStream")
    placement.download(queue)


def new_buffer(nbytes: int) -> Buffer | None:
    """Allocate device memory; None for 0 bytes."""
    return Buffer(nbytes) if nbytes else None


def _handles_for(call: Call, device: int) -> StagedHandles:
    target = current_target()
    if target_number(device) == CANN and target is not None:
        call.adapt(frozenset(target.missing), profile_of(device))
    return StagedHandles()


def check_by_host(call: Call, profile: int) -> None:
    """Raise what the rules of a chip have against a call, for operators that only phase one can ask about.

    What the host target alone does not do counts for nothing.
    """
    handles, problem = HandleSet(), ffi.new("aclAttnProblem *")
    with selected(HOST):
        check(lib.aclAttnSetThreadProfile(profile), "aclAttnSetThreadProfile")
        try:
            lib.aclDestroyAclOpExecutor(phase_one(call, call.arguments(handles))[1])
        except AclAttnError as refusal:
            if not (lib.aclAttnGetRecentProblem(problem) and problem.isTargetLimit):
                raise refusal from None
        finally:
            handles.destroy()
            lib.aclAttnSetThreadProfile(lib.ACL_ATTN_PROFILE_UNSET)


class PlacedPrepared:
    """What a plan keeps: a repeatable executor where there is one, and handles for phase one before each run otherwise.

    Attributes
    ----------
    executor : ffi.CData
        Null if the vendor's operator has no repeatable one.
    """

    __slots__ = (
        *("__weakref__", "_arguments", "_fixed", "_handles", "_operands", "_places", "executor", "finalizer"),
        "workspace_bytes",
    )

    def __init__(self, call: Call, slots: Sequence[Slot], device: int) -> None:
        handles = _handles_for(call, device)
        try:
            self._arguments = call.arguments(handles)  # holds the strings, which the executor may look at
            self._place(handles, slots)
            self.workspace_bytes, self.executor = phase_one(call, self._arguments)
        except BaseException:
            handles.destroy()
            raise
        if lib.aclSetAclOpExecutorRepeatable(self.executor):
            recent_message()
            lib.aclDestroyAclOpExecutor(self.executor)
            self.executor = ffi.NULL
        self.finalizer = weakref.finalize(self, destroy_executor, device, self.executor, handles)
        self._places, self._handles = places_of(call, self._arguments, slots)

    def _place(self, handles: StagedHandles, slots: Sequence[Slot]) -> None:
        """Give the kept operands their place for good, and those of the slots an address to be replaced."""
        self._operands = [handles.find(self._arguments[slot.argument], slot.member) for slot in slots]
        kept = [operand for operand in handles.operands if operand not in self._operands]
        self._fixed = Placement(((operand, operand.tensor._pointer) for operand in kept), new_buffer)
        set_addresses(kept, self._fixed.addresses)
        set_addresses(self._operands, [placeholder_address() for _ in self._operands])

    def run(
        self,
        call: Call,
        pointers: Sequence[ffi.CData],
        workspace: ffi.CData,
        queue: ffi.CData,
        allocate: Callable[[int], Buffer | None],
        held: list[object],
    ) -> None:
        """Run with operands at `pointers`, in the slots' order. What the stream needs meanwhile joins `held`."""
        placement = Placement(zip(self._operands, pointers, strict=True), allocate)
        held += placement.arena, self._fixed.arena
        addresses, executor = placement.addresses, self.executor
        if executor == ffi.NULL:
            set_addresses(self._operands, addresses)
            executor = phase_one(call, self._arguments)[1]
        else:
            status = lib.acl_attn_set_addresses(executor, self._places, self._handles, addresses, len(addresses))
            check(status, call.operator.name, call.parameter_names)
        try:
            self._fixed.upload(queue)
            placement.upload(queue)
        except BaseException:
            if self.executor == ffi.NULL:
                lib.aclDestroyAclOpExecutor(executor)
            raise
        _launch(call, workspace, self.workspace_bytes, executor, queue, placement)
