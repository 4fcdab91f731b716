# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Calls of `attention` that are like an earlier one in all but addresses: straight to the executor kept for it.

Reading the arguments of a call takes several times as long as the rest of a small one. What they mean depends on
shapes, dtypes and plain values only, so these are compared instead. Features, tensor lists and arrays of other
libraries go the long way, and so does everything that is refused.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._lib import ffi, lib
from .._process import use_device
from .._targets import OWN_MEMORY
from ..addresses import output_pointer
from ..lengths import Lengths
from ..plan import Named, run_kept
from ..prepared import Prepared, drop_surplus
from ..spec import Spec
from ..tensor import Tensor
from .fia_call import POSITION

if TYPE_CHECKING:
    from .attention_call import AttentionCall
    from .fia_call import FiaCall

__all__ = ["Repeat", "Repeats"]

_ndarray = np.ndarray
_from_buffer = ffi.from_buffer
_MASK, _TABLE = POSITION["attenMask"], POSITION["blockTable"]
_PLAIN = frozenset({bool, float, int, str, type(None)})


class Repeat(NamedTuple):
    """How to make a call again."""

    prepared: weakref.ref[Prepared]
    addresses: tuple[ffi.CData | None, ...]  # in the executor's order; None: the call's
    out_spec: Spec
    lse_spec: Spec | None
    out_order: str
    call: Named
    device: int

    def run(self, operands: Sequence[Any], out: Any, lse: Any) -> bool:
        """Run with these operands, unless the executor is in use or gone, or the memory is not dense."""
        prepared = self.prepared()
        if prepared is None or not prepared.in_use.acquire(False):
            return False
        try:
            try:
                given = [_from_buffer(operand) for operand in operands]
            except (BufferError, ValueError, TypeError):
                return False
            given.append(output_pointer(out, "out", self.out_spec, self.device))
            if self.lse_spec is not None:
                given.append(output_pointer(lse, "lse_out", self.lse_spec, self.device))
            own = iter(given)
            addresses = [next(own) if address is None else address for address in self.addresses]
            failed = run_kept(prepared, self.call, addresses, None)
        finally:
            prepared.in_use.release()
        if failed:
            raise failed.pop()
        return True


class Repeats:
    """The calls that can be made again, by what is compared of them."""

    def __init__(self) -> None:
        self._known: dict[object, Repeat] = {}  # the oldest first

    def key(self, operands: Sequence[Any], plain: tuple[object, ...], numbers: tuple[object, ...]) -> object:
        """Give what is compared of a call on the thread's device; None if it has to go the long way.

        Parameters
        ----------
        operands : sequence
            Query, key, value, and the block table if there is one.
        plain : tuple
            Arguments whose meaning lies in type and value; others, such as a mask with an array, go the long way.
        numbers : tuple
            Those that are a number, a sequence of numbers, or None.
        """
        forms = []
        for operand in operands:
            if type(operand) is not _ndarray:
                return None
            forms.append((operand.shape, operand.dtype))
        frozen = tuple([None if given is None else _frozen(given) for given in numbers])
        if () in frozen:
            return None
        settings, current = lib.aclAttnGetSettings(), use_device()
        if not settings or current >= OWN_MEMORY:
            return None
        types = tuple(map(type, plain))  # 1 == 1.0 == True
        if not _PLAIN.issuperset(types):
            return None
        return (current, settings, *forms, plain, types, frozen)

    def find(self, key: object) -> Repeat | None:
        """Look up the call that this one is like."""
        return self._known.get(key)

    def add(self, key: object, call: AttentionCall, prepared: Prepared) -> None:
        """Remember how a call was made, if it can be made again from its arrays alone."""
        fia = call.fia
        places = _places(fia)
        if places is None or fia.out is None:
            return
        current: int = use_device()
        self._known.pop(key, None)
        self._known[key] = Repeat(
            weakref.ref(prepared), places, call.out_spec, call.lse_spec,
            call.layout.out_order, Named(fia.operator, fia.parameter_names), current,
        )  # fmt: skip
        drop_surplus(self._known)


def _frozen(given: Any) -> object:
    """Make numbers comparable; empty if that takes reading them."""
    kind = type(given)
    if kind is int or kind is Lengths:
        return kind, given
    if kind is not tuple and kind is not list:
        return ()
    for number in given:
        if type(number) is not int:
            return ()
    return tuple(given)


def _places(fia: FiaCall) -> tuple[ffi.CData | None, ...] | None:
    """Give the addresses in the executor's order, None for those of the call's arrays."""
    tensors: list[Tensor | None] = [fia.query, *fia.key, *fia.value, fia.out]
    if len(fia.key) != 1 or not {_MASK, _TABLE}.issuperset(fia.optional):
        return None
    table = fia.optional.get(_TABLE)
    if table is not None:
        tensors.append(table)
    if any(tensor is None or tensor.strides is not None or 0 in tensor.shape for tensor in tensors):
        return None
    middle = [fia.optional[position]._pointer if position == _MASK else None for position in sorted(fia.optional)]
    return (None, None, None, *middle, None, *(() if fia.lse is None else (None,)))
