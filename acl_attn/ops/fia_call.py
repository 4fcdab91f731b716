# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""One call of ``aclnnFusedInferAttentionScoreV5``, or an older version: its parameters in header order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any, NamedTuple

import numpy as np

from .._lib import ffi, lib, selected
from .._target_numbers import HOST
from ..errors import UnsupportedError, check, compose, invalid, refusal
from ..handle_set import HandleSet, Outline
from ..prepared import Operator
from ..profiles import PROFILES
from ..tensor import ArrayLike, Tensor, as_tensor

__all__ = [
    "ATTRIBUTES",
    "INPUTS",
    "NEWEST",
    "POSITION",
    "VERSIONS",
    "FiaCall",
    "Version",
    "element_shape",
    "members",
    "snake_case_names",
]

# The C interface's inputs in header order, without the suffix "Optional", and what each is.
INPUTS: dict[str, str] = {
    "query": "tensor",
    "key": "list",
    "value": "list",
    "pseShift": "tensor",
    "attenMask": "tensor",
    "actualSeqLengths": "ints",
    "actualSeqLengthsKv": "ints",
    "deqScale1": "tensor",
    "quantScale1": "tensor",
    "deqScale2": "tensor",
    "quantScale2": "tensor",
    "quantOffset2": "tensor",
    "antiquantScale": "tensor",
    "antiquantOffset": "tensor",
    "blockTable": "tensor",
    "queryPaddingSize": "tensor",
    "kvPaddingSize": "tensor",
    "keyAntiquantScale": "tensor",
    "keyAntiquantOffset": "tensor",
    "valueAntiquantScale": "tensor",
    "valueAntiquantOffset": "tensor",
    "keySharedPrefix": "tensor",
    "valueSharedPrefix": "tensor",
    "actualSharedPrefixLen": "ints",
    "queryRope": "tensor",
    "keyRope": "tensor",
    "keyRopeAntiquantScale": "tensor",
    "dequantScaleQuery": "tensor",
    "learnableSink": "tensor",
    "qStartIdx": "ints",
    "kvStartIdx": "ints",
}

ATTRIBUTES = (
    "numHeads",
    "scaleValue",
    "preTokens",
    "nextTokens",
    "inputLayout",
    "numKeyValueHeads",
    "sparseMode",
    "innerPrecise",
    "blockSize",
    "antiquantMode",
    "softmaxLseFlag",
    "keyAntiquantMode",
    "valueAntiquantMode",
    "queryQuantMode",
    "pseType",
)

_INT32 = np.dtype(np.int32)


class Version(NamedTuple):
    """An entry point: the first ones of the newest's inputs and attributes."""

    operator: Operator
    inputs: int
    attributes: int

    def surplus(self, positions: Iterable[int], attributes: Sequence[Any]) -> tuple[str, str, object] | None:
        """Find something that says more than the entry point can: its C name, what it would have to be, what it is."""
        names = tuple(INPUTS)
        for position in positions:
            if position >= self.inputs:
                return names[position], "None", "one"
        for name, value in zip(ATTRIBUTES[self.attributes :], attributes[self.attributes :], strict=True):
            if value:
                return name, "0", value
        return None


VERSIONS: dict[int, Version] = {
    number: Version(Operator.named(f"aclnnFusedInferAttentionScore{suffix}"), inputs, attributes)
    for number, suffix, inputs, attributes in (
        (1, "", 17, 11),
        (2, "V2", 24, 13),
        (3, "V3", 27, 13),
        (4, "V4", 29, 14),
        (5, "V5", 31, 15),
    )
}
NEWEST = 5

# What chips have of them (API-S-03); others what their CANN has.
_OF_PROFILE: dict[str, tuple[int, ...]] = {
    "ascend950": (5,),
    "ascend910b": (1, 2, 3, 4),
    "ascend910_93": (1, 2, 3, 4),
}

# Positions among phase one's arguments.
QUERY, KEY, VALUE = 0, 1, 2
POSITION: dict[str, int] = {name: position for position, name in enumerate(INPUTS)}
_C_NAMES = tuple(INPUTS)
_NO_INPUTS: list[Any] = [ffi.NULL] * len(INPUTS)
OUT, LSE = -2, -1  # from the end: how many come before depends on the version


def _snake_case(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def snake_case_names() -> dict[str, str]:
    """Map the C names, with and without "Optional", to their Python spelling."""
    names = [*INPUTS, *ATTRIBUTES, "attentionOut", "softmaxLse"]
    return {spelled: _snake_case(name) for name in names for spelled in (name, f"{name}Optional")}


class FiaCall:
    """Operands and attributes of one call.

    Parameters
    ----------
    query : Tensor
        The query.
    key, value : sequence of Tensor
        The members of the lists.
    optional : mapping of int to Tensor
        Further tensors by their position in `INPUTS`.
    lengths : mapping of int to sequence of int
        Integer arrays by their position in `INPUTS`.
    attributes : list
        Values of `ATTRIBUTES`, in that order.
    parameter_names : mapping of str to str
        Python's name of each parameter, by its C name.
    version : int
        Of the entry point. It must have all inputs and attributes that say something.

    Attributes
    ----------
    out, lse : Tensor or None
        The outputs; to be set before phase one.
    """

    __slots__ = (
        *("attributes", "first_output", "key", "lengths", "lse", "operator", "optional", "out", "parameter_names"),
        *("query", "value", "version"),
    )

    def __init__(
        self,
        query: Tensor,
        key: Sequence[Tensor],
        value: Sequence[Tensor],
        optional: Mapping[int, Tensor],
        lengths: Mapping[int, Sequence[int]],
        attributes: list[Any],
        parameter_names: Mapping[str, str],
        version: int = NEWEST,
    ) -> None:
        self.query = query
        self.key = key
        self.value = value
        self.optional = optional
        self.lengths = lengths
        self.attributes = attributes
        self.parameter_names = parameter_names
        self._use(VERSIONS[version])
        self.out: Tensor | None = None
        self.lse: Tensor | None = None

    def arguments(self, handles: HandleSet | Outline) -> list[Any]:
        """Give phase one's arguments in header order, without the two results."""
        arguments = self.newest_arguments(handles)
        if self.version is VERSIONS[NEWEST]:
            return arguments
        inputs, attributes = arguments[: len(INPUTS)], arguments[len(INPUTS) : OUT]
        return [*inputs[: self.version.inputs], *attributes[: self.version.attributes], *arguments[OUT:]]

    def newest_arguments(self, handles: HandleSet | Outline) -> list[Any]:
        """Give the arguments that the newest version's phase one would have."""
        names = self.parameter_names
        inputs = _NO_INPUTS.copy()
        inputs[QUERY] = handles.tensor(self.query, "query")
        inputs[KEY] = handles.tensor_list(self.key, "key")
        inputs[VALUE] = handles.tensor_list(self.value, "value")
        for position in sorted(self.optional) if len(self.optional) > 1 else self.optional:  # in header order
            inputs[position] = handles.tensor(self.optional[position], names[_C_NAMES[position]])
        for position, values in self.lengths.items():
            inputs[position] = handles.int_array(values)
        out = handles.output(self.out, names["attentionOut"])
        lse = handles.output(self.lse, names["softmaxLse"])
        return [*inputs, *self.attributes, out, lse]

    def _use(self, version: Version) -> None:
        self.version, self.operator = version, version.operator
        self.first_output = version.inputs + version.attributes

    def adapt(self, missing: Set[str], profile: int) -> None:
        """Take the newest entry point that the chip and its CANN have, and refuse what the rules refuse."""
        if self.version is VERSIONS[NEWEST]:
            self._fall_back(missing, PROFILES[profile])
        options = ffi.new("aclAttnCheckOptions *")
        options.version = next(number for number, version in VERSIONS.items() if version is self.version)
        options.profile, options.rules = profile, lib.ACL_ATTN_RULES_UNSET
        with selected(HOST):
            found = self._first_problem(options)
        if found is not None:
            raise found

    def _fall_back(self, missing: Set[str], profile: str) -> None:
        of_chip = _OF_PROFILE.get(profile, VERSIONS)
        present = [n for n in of_chip if f"{VERSIONS[n].operator.name}GetWorkspaceSize" not in missing]
        if not present:
            return  # phase one says what is missing
        newest = VERSIONS[max(present)]
        surplus = newest.surplus([*self.optional, *self.lengths], self.attributes)
        if surplus is not None:
            name, nothing, got = surplus
            expected = (
                f"{nothing}, as {newest.operator.name} does not have it, the newest that the chip and its CANN have"
            )
            fix = f"install a CANN with {self.operator.name}" if NEWEST in of_chip else ""
            message = compose(self.parameter_names[name], expected, got, fix)
            raise UnsupportedError(message, api=newest.operator.name, detail=message)
        self._use(newest)

    def _first_problem(self, options: ffi.CData) -> Exception | None:
        """Ask the host library, whose limits are not the vendor's: those are left out."""
        report, problem = ffi.new("aclAttnReport **"), ffi.new("aclAttnProblem *")
        handles, api = HandleSet(), "aclAttnCheckFusedInferAttentionScore"
        try:
            arguments = self.newest_arguments(handles)
            check(lib.aclAttnCheckFusedInferAttentionScore(*arguments, options, report), api, self.parameter_names)
        finally:
            handles.destroy()
        try:
            for index in range(lib.aclAttnGetReportCount(report[0])):
                check(lib.aclAttnGetReportProblem(report[0], index, problem), "aclAttnGetReportProblem")
                if not problem.isTargetLimit:
                    return refusal(problem, f"{self.operator.name}GetWorkspaceSize", self.parameter_names)
        finally:
            lib.aclAttnDestroyReport(report[0])
        return None

    def operands(self) -> tuple[object, ...]:
        """Give what must stay alive until the stream has passed the call."""
        return (self.query, self.key, self.value, self.optional, self.out, self.lse)


def members(
    value: ArrayLike | Sequence[ArrayLike], parameter: str, describe: Callable[[Any, str], Tensor] = as_tensor
) -> list[Tensor]:
    """Describe the members of a tensor list; a single array is a list of one."""
    if not isinstance(value, (list, tuple)):
        return [describe(value, parameter)]
    if not value:
        raise invalid(parameter, "an array, or a list of one array for each sequence", "an empty list")
    return [describe(member, f"{parameter}[{position}]") for position, member in enumerate(value)]


def element_shape(tensor: Tensor) -> tuple[int, ...]:
    """Give the shape of a key or value in elements: eight INT4 are in an item of int32."""
    shape = tensor.shape
    return (*shape[:-1], shape[-1] * 8) if shape and tensor.dtype == _INT32 else shape
