# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Calls of the sparse operators and of their metadata's producers, from one table of parameters each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..addresses import as_output
from ..errors import invalid, type_name, wrong_type
from ..handle_set import HandleSet, Outline
from ..placed import check_by_host
from ..plan import run_once
from ..prepared import Operator, Slot
from ..spec import Spec
from ..streams import StreamLike
from ..tensor import ArrayLike, Tensor, as_tensor
from ..values import flag, integer, new_array, number

__all__ = ["METADATA", "Signature", "SparseCall", "lse_spec", "no_lse", "output_specs", "run_main", "run_metadata"]

Reader = Callable[[object, str], object]

# What a metadata's producer writes, and what the operators take.
METADATA = Spec((1024,), np.dtype(np.int32))
_FLOAT32 = np.dtype(np.float32)
_NO_LSE = Spec((0,), _FLOAT32)


def _text(value: object, parameter: str) -> bytes:
    """Read a string for C, which ends at its first zero."""
    if not isinstance(value, str):
        raise wrong_type(parameter, "a str", type_name(value))
    if not value.isascii() or "\0" in value:
        raise invalid(parameter, "a name in ASCII", repr(value))
    return value.encode()


_READERS: dict[type, Reader] = {int: integer, float: number, bool: flag, str: _text}


@dataclass(frozen=True)
class Signature:
    """Phase one of an operator: Python's name of each parameter, and the library's in messages, in header order.

    Attributes
    ----------
    name : str
        Phase two's name.
    inputs : mapping of str to str
        Tensors.
    attributes : mapping of str to (str, type)
        Values, with their type.
    outputs : mapping of str to str
        Tensors that the operator writes.
    needs_lse : bool
        Whether the log-sum-exp's tensor must be there even if nobody wants it.
    """

    name: str
    inputs: Mapping[str, str]
    attributes: Mapping[str, tuple[str, type]]
    outputs: Mapping[str, str]
    needs_lse: bool = False

    @cached_property
    def operator(self) -> Operator:
        """The C functions."""
        return Operator.named(self.name)

    @cached_property
    def parameter_names(self) -> dict[str, str]:
        """Python's names by the library's."""
        pairs = [*self.inputs.items(), *((ours, c) for ours, (c, _) in self.attributes.items()), *self.outputs.items()]
        return {c: ours for ours, c in pairs}

    def position(self, parameter: str) -> int:
        """Where a tensor stands among phase one's arguments."""
        if parameter in self.inputs:
            return list(self.inputs).index(parameter)
        return self.first_output + list(self.outputs).index(parameter)

    def slot(self, parameter: str) -> Slot:
        """Tell a plan where a tensor's address goes."""
        return Slot(self.position(parameter))

    @cached_property
    def first_output(self) -> int:
        """Where the outputs begin among phase one's arguments."""
        return len(self.inputs) + len(self.attributes)


class SparseCall:
    """One call of an operator with a `Signature`.

    Parameters
    ----------
    signature : Signature
        Whose call it is.
    given : mapping of str to object
        Values of attributes, and tensors or array-likes of inputs, by Python's names. None counts as absent.
    outputs : mapping of str to Tensor
        Tensors to write to.
    describe : callable
        How to read an input.
    """

    __slots__ = ("attributes", "first_output", "inputs", "operator", "outputs", "parameter_names", "signature")

    def __init__(
        self,
        signature: Signature,
        given: Mapping[str, Any],
        outputs: Mapping[str, Tensor],
        describe: Callable[[Any, str], Tensor] = as_tensor,
    ) -> None:
        self.signature = signature
        self.operator = signature.operator
        self.first_output = signature.first_output
        self.parameter_names: Mapping[str, str] = signature.parameter_names
        self.inputs = {name: describe(given[name], name) for name in signature.inputs if given.get(name) is not None}
        self.attributes = [_READERS[kind](given[name], name) for name, (_, kind) in signature.attributes.items()]
        self.outputs = dict(outputs)

    def arguments(self, handles: HandleSet | Outline) -> list[Any]:
        """Give phase one's arguments in header order, without the two results."""
        signature = self.signature
        return [
            *(handles.tensor(self.inputs.get(name), name) for name in signature.inputs),
            *self.attributes,
            *(handles.output(self.outputs.get(name), name) for name in signature.outputs),
        ]

    def adapt(self, missing: Set[str], profile: int) -> None:  # noqa: ARG002 - there are no older entry points
        """Refuse what the rules refuse."""
        check_by_host(self, profile)

    def operands(self) -> tuple[object, ...]:
        """Give what must stay alive until the stream has passed the call."""
        return (*self.inputs.values(), *self.outputs.values())


def lse_spec(q_shape: tuple[int, ...]) -> Spec:
    """Give shape and dtype of the log-sum-exp: (B, 1, S1, N1) or (1, T1, N1)."""
    rows = q_shape[:-1]
    return Spec((1, *rows) if len(rows) < 3 else (rows[0], 1, *rows[1:]), _FLOAT32)


def run_main(
    signature: Signature, given: Mapping[str, Any], stream: StreamLike | None, device: int | None
) -> tuple[Any, Any]:
    """Run one of the two attention operators.

    Parameters
    ----------
    signature : Signature
        Which.
    given : mapping of str to object
        The arguments of its Python function.
    stream : Stream, int or object with ``__acl_stream__``, optional
        Where to queue it.
    device : int or None
        Where to run it, without a stream.

    Returns
    -------
    attn_out, softmax_lse
        As that function returns them.
    """
    query = as_tensor(given["q"], "q")
    specs = output_specs(signature, given, query)
    made = {
        name: new_array(spec.shape, spec.dtype, name) if given[name] is None else given[name]
        for name, spec in specs.items()
    }
    outputs = {name: as_output(made[name], name, spec.shape, spec.dtype) for name, spec in specs.items()}
    run_once(SparseCall(signature, {**given, "q": query}, outputs), stream, device)
    return made["attn_out"], made["softmax_lse"] if given["return_softmax_lse"] else None


def output_specs(signature: Signature, given: Mapping[str, Any], query: Tensor) -> dict[str, Spec]:
    """Say what one of the two attention operators writes, by parameter.

    Parameters
    ----------
    signature : Signature
        Which operator.
    given : mapping of str to object
        The arguments of its Python function.
    query : Tensor
        Its query.

    Returns
    -------
    dict of str to Spec
        What each output is like.
    """
    specs = {"attn_out": Spec(query.shape, query.dtype)}
    if flag(given["return_softmax_lse"], "return_softmax_lse"):
        specs["softmax_lse"] = lse_spec(query.shape)
    elif given["softmax_lse"] is not None:
        raise invalid("softmax_lse", "None without return_softmax_lse", type_name(given["softmax_lse"]))
    elif signature.needs_lse:
        specs["softmax_lse"] = _NO_LSE
    return specs


def no_lse() -> Tensor:
    """Stand in for a log-sum-exp that nobody wants, where there must be one."""
    return as_tensor(new_array(_NO_LSE.shape, _NO_LSE.dtype, "softmax_lse"), "softmax_lse")


def run_metadata(
    signature: Signature,
    given: Mapping[str, Any],
    *,
    out: ArrayLike | None = None,
    stream: StreamLike | None = None,
    device: int | None = None,
    names: Mapping[str, str] | None = None,
) -> Any:
    """Run a producer of metadata.

    Parameters
    ----------
    signature : Signature
        Which.
    given : mapping of str to object
        The arguments of its Python function.
    out : array-like, optional
        Where to write; otherwise a new array.
    stream : Stream, int or object with ``__acl_stream__``, optional
        Where to queue it.
    device : int, optional
        Where to run it, without a stream.
    names : mapping of str to str, optional
        What the caller's parameters are called, by the library's names; the signature's names without it.

    Returns
    -------
    array-like
        The metadata.
    """
    if out is None:
        out = np.zeros(METADATA.shape, METADATA.dtype)
    written = as_output(out, "out", METADATA.shape, METADATA.dtype)
    call = SparseCall(signature, given, {"out": written})
    call.parameter_names = names or call.parameter_names
    run_once(call, stream, device)
    return out
