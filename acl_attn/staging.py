# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Operands on devices with memory of their own: NumPy arrays are copied there, and results back.

A call's arrays lie side by side in one piece of device memory, the arena. What is on the device already stays where it
is. Copies are part of a stream's order, as the call between them is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ._lib import ffi, lib
from ._process import use_device
from .errors import check
from .handle_set import HandleSet, create_handle
from .memory import Buffer, copy, pointer_of
from .tensor import Tensor, byte_span

__all__ = ["Operand", "Placement", "StagedHandles", "is_programs", "set_addresses"]

# Segments begin where the vendor's allocator would put them, and kernels move 32 bytes beyond the last element.
_ALIGNMENT, _SLACK = 64, 32

_PROGRAMS = (ffi.typeof("char *"), ffi.typeof("char[]"))


class Operand(NamedTuple):
    """A tensor of a call, and its handle, whose address is set before each phase one."""

    tensor: Tensor
    handle: ffi.CData
    is_output: bool


class StagedHandles(HandleSet):
    """Handles that have no addresses until they are placed: no address of the program's memory reaches the device."""

    __slots__ = ("_lists", "operands")

    def __init__(self) -> None:
        super().__init__()
        self.operands: list[Operand] = []
        self._lists: dict[int, list[Operand]] = {}  # members, by the list's handle

    def output(self, tensor: Tensor | None, parameter: str) -> ffi.CData:
        """Make the ``aclTensor`` of what the operator writes; null for None."""
        handle = self.tensor(tensor, parameter)
        if tensor is not None:
            self.operands[-1] = self.operands[-1]._replace(is_output=True)
        return handle

    def tensor_list(self, tensors: Sequence[Tensor], parameter: str) -> ffi.CData:
        """Make an ``aclTensorList``, which owns its members."""
        handle = super().tensor_list(tensors, parameter)
        self._lists[_number(handle)] = self.operands[len(self.operands) - len(tensors) :]
        return handle

    def find(self, handle: ffi.CData, member: int) -> Operand:
        """Give the operand that an argument of phase one stands for, or a member of a list; -1 for a plain tensor."""
        if member >= 0:
            return self._lists[_number(handle)][member]
        return next(operand for operand in self.operands if operand.handle == handle)

    def _create(self, tensor: Tensor, parameter: str) -> ffi.CData:
        handle = create_handle(tensor, parameter, ffi.NULL)
        self.operands.append(Operand(tensor, handle, is_output=False))
        return handle


class Placement:
    """Where the operands of a run lie on the device.

    Parameters
    ----------
    pairs : iterable of (Operand, address)
        The operands, each with where its elements are now: of type ``char *`` in the program's memory, of type
        ``void *`` on the device.
    allocate : callable
        Gives device memory of a number of bytes; None for 0.

    Attributes
    ----------
    addresses : list of address
        Of the operands on the device, in their order.
    arena : Buffer or None
        What the copies lie in.
    """

    __slots__ = ("_copies", "addresses", "arena")

    def __init__(self, pairs: Iterable[tuple[Operand, ffi.CData]], allocate: Callable[[int], Buffer | None]) -> None:
        given = list(pairs)
        offsets: dict[tuple[int, int, bool], int] = {}  # operands that are the same array have one copy
        keys: list[tuple[int, int, bool] | None] = []
        total = 0
        for operand, pointer in given:
            nbytes = byte_span(operand.tensor)
            key = (_number(pointer), nbytes, operand.is_output) if nbytes and is_programs(pointer) else None
            keys.append(key)
            if key is not None and key not in offsets:
                offsets[key] = total
                total += (nbytes + _SLACK + _ALIGNMENT - 1) // _ALIGNMENT * _ALIGNMENT
        self.arena = allocate(total)
        base = ffi.NULL if self.arena is None else ffi.cast("char *", pointer_of(self.arena))
        self.addresses = []
        self._copies: list[tuple[ffi.CData, ffi.CData, int, bool]] = []
        for (operand, pointer), key in zip(given, keys, strict=True):
            if key is None:
                self.addresses.append(pointer if byte_span(operand.tensor) else ffi.NULL)
                continue
            address = ffi.cast("void *", base + offsets[key])
            self.addresses.append(address)
            self._copies.append((address, pointer, key[1], operand.is_output))

    def upload(self, stream: ffi.CData) -> None:
        """Copy what the program has to the device; outputs too, since an operator need not write all of them."""
        device = use_device()
        for address, pointer, nbytes, _ in self._copies:
            copy(device, address, pointer, nbytes, lib.ACL_MEMCPY_HOST_TO_DEVICE, stream)

    def download(self, stream: ffi.CData) -> None:
        """Copy results to the program's arrays."""
        device = use_device()
        for address, pointer, nbytes, is_output in self._copies:
            if is_output:
                copy(device, pointer, address, nbytes, lib.ACL_MEMCPY_DEVICE_TO_HOST, stream)


def set_addresses(operands: Sequence[Operand], addresses: Sequence[ffi.CData]) -> None:
    """Put addresses into handles, which must not be in use between the phases."""
    for operand, address in zip(operands, addresses, strict=True):
        if address != ffi.NULL:
            check(lib.aclSetRawTensorAddr(operand.handle, address), "aclSetRawTensorAddr")


def is_programs(pointer: ffi.CData) -> bool:
    """Tell whether an address is one of the program's memory, by its type."""
    return ffi.typeof(pointer) in _PROGRAMS


def _number(pointer: ffi.CData) -> int:
    return int(ffi.cast("uintptr_t", pointer))
