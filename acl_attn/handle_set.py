# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The C objects that describe a call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._lib import ffi, lib
from ._process import use_device
from .errors import check_handle, handle_error, invalid
from .tensor import Tensor, check_device, element_span, form_of

__all__ = ["HandleSet", "Outline", "create_handle"]


class HandleSet:
    """The C objects that describe one call, destroyed together. Operands lie where the operator can reach them."""

    __slots__ = ("_objects",)

    def __init__(self) -> None:
        self._objects: list[tuple[Any, ffi.CData]] = []

    def tensor(self, tensor: Tensor | None, parameter: str) -> ffi.CData:
        """Make an ``aclTensor``; null for None."""
        if tensor is None:
            return ffi.NULL
        handle = self._create(tensor, parameter)
        self._objects.append((lib.aclDestroyTensor, handle))
        return handle

    def output(self, tensor: Tensor | None, parameter: str) -> ffi.CData:
        """Make the ``aclTensor`` of what the operator writes; null for None."""
        return self.tensor(tensor, parameter)

    def tensor_list(self, tensors: Sequence[Tensor], parameter: str) -> ffi.CData:
        """Make an ``aclTensorList``, which owns its members."""
        members: list[ffi.CData] = []
        try:
            members.extend(self._create(tensor, parameter) for tensor in tensors)
            handle = check_handle(lib.aclCreateTensorList(members, len(members)), "aclCreateTensorList")
        except BaseException:
            for member in members:
                lib.aclDestroyTensor(member)
            raise
        self._objects.append((lib.aclDestroyTensorList, handle))
        return handle

    def int_array(self, values: Sequence[int]) -> ffi.CData:
        """Make an ``aclIntArray``."""
        handle = check_handle(lib.aclCreateIntArray(values, len(values)), "aclCreateIntArray")
        self._objects.append((lib.aclDestroyIntArray, handle))
        return handle

    def destroy(self) -> None:
        """Destroy everything. May be repeated."""
        while self._objects:
            destructor, handle = self._objects.pop()
            destructor(handle)

    def _create(self, tensor: Tensor, parameter: str) -> ffi.CData:
        return create_handle(tensor, parameter, tensor._pointer)


# What stands for the address of a tensor without elements: nobody reads it, but null would mean that it is missing.
_NOWHERE = ffi.cast("void *", 1 << 46)


class Outline:
    """What a call asks a `HandleSet` for, without C objects: values that two calls of one form share, and addresses."""

    __slots__ = ("_forms", "addresses")

    def __init__(self) -> None:
        self._forms: list[tuple[Any, int]] = []  # what was given, and how many members of a list it describes, or -1
        self.addresses: list[ffi.CData] = []

    def tensor(self, tensor: Tensor | None, parameter: str) -> object:
        """Describe a tensor."""
        if tensor is None:
            return None
        form = self._add(tensor, parameter)
        self._forms.append((form, -1))
        return form

    output = tensor

    def tensor_list(self, tensors: Sequence[Tensor], parameter: str) -> object:
        """Describe a list of tensors."""
        form = tuple([self._add(tensor, parameter) for tensor in tensors])
        self._forms.append((form, len(form)))
        return form

    def int_array(self, values: Sequence[int]) -> object:
        """Describe an array of integers."""
        return tuple(values)

    def places(self, arguments: Sequence[object]) -> list[tuple[int, int]]:
        """Give the position of each address among the call's arguments, and its member of a list or -1."""
        found: list[tuple[int, int]] = []
        position = -1
        for form, members in self._forms:
            position = next(at for at in range(position + 1, len(arguments)) if arguments[at] is form)
            found.extend((position, member) for member in (range(members) if members >= 0 else (-1,)))
        return found

    def _add(self, tensor: Tensor, parameter: str) -> tuple[object, ...]:
        if tensor._memory >= 0:
            check_device(tensor, parameter, use_device())
        shape = tensor.shape
        self.addresses.append(_NOWHERE if 0 in shape else tensor._pointer)
        return tensor._code, shape, tensor.strides


def create_handle(tensor: Tensor, parameter: str, pointer: ffi.CData) -> ffi.CData:
    """Make an ``aclTensor`` of a tensor's form over the memory at `pointer`."""
    if tensor._memory >= 0:
        check_device(tensor, parameter, use_device())
    shape, rank, strides = tensor.shape, len(tensor.shape), tensor.strides
    pointer = ffi.NULL if 0 in shape else pointer
    if strides is None:
        handle = lib.aclCreateTensor(shape, rank, tensor._code, ffi.NULL, 0, lib.ACL_FORMAT_ND, shape, rank, pointer)
    else:
        span = [element_span(tensor)]
        handle = lib.aclCreateTensor(shape, rank, tensor._code, strides, 0, lib.ACL_FORMAT_ND, span, 1, pointer)
    if handle:
        return handle
    # The library does not know which parameter it is.
    refusal = handle_error("aclCreateTensor")
    fix = "copy it with numpy.ascontiguousarray" if strides else ""
    raise invalid(parameter, "an array that the target can describe", f"{form_of(tensor)} ({refusal.detail})", fix)
