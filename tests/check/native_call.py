# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""From facts to a call of the C interface, below everything that Python would refuse or fill in by itself."""

from __future__ import annotations

import itertools
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from acl_attn._lib import ffi, lib
from acl_attn.ops.fia_call import INPUTS, NEWEST, VERSIONS, snake_case_names

from .facts import ATTRIBUTES

if TYPE_CHECKING:
    from .facts import Facts

_NAMES = snake_case_names()
# Never read, as rules look at shapes; but outputs must not lie over inputs.
_addresses = itertools.cycle(range(1, 1 << 20))


def version_of(facts: Facts) -> int:
    """The newest entry point that the product has, and that has the parameters."""
    return 5 if facts.profile == "ascend950" or facts.attributes.get("pse_type") else 4


def arguments(facts: Facts, stack: ExitStack, *, all_of_them: bool = False) -> list[Any]:
    """Phase one's arguments in header order, without the two results: those that the version has, or the newest's.

    The stack destroys what was made.
    """
    version = VERSIONS[NEWEST if all_of_them else version_of(facts)]
    given = {**ATTRIBUTES, **facts.attributes}
    attributes = [value.encode() if isinstance(value, str) else value for value in given.values()]
    outputs = [_tensor(facts.tensors.get(name), stack) for name in ("attention_out", "softmax_lse")]
    return [
        *(_input(facts, name, kind, stack) for name, kind in list(INPUTS.items())[: version.inputs]),
        *attributes[: version.attributes],
        *outputs,
    ]


def _input(facts: Facts, c_name: str, kind: str, stack: ExitStack) -> ffi.CData:
    name = _NAMES[c_name]
    if kind == "list":
        members = [_create(each) for each in facts.tensors[name]]
        made = lib.aclCreateTensorList(members, len(members))
        stack.callback(lib.aclDestroyTensorList, made)
        return made
    if kind == "ints":
        values = facts.lengths.get(name)
        if values is None:
            return ffi.NULL
        entries = [0] * values if isinstance(values, int) else values
        made = lib.aclCreateIntArray(entries, len(entries))
        stack.callback(lib.aclDestroyIntArray, made)
        return made
    return _tensor(facts.tensors.get(name), stack)


def _tensor(described: list[Any] | None, stack: ExitStack) -> ffi.CData:
    if described is None:
        return ffi.NULL
    made = _create(described)
    stack.callback(lib.aclDestroyTensor, made)
    return made


def _create(described: list[Any]) -> ffi.CData:
    shape, dtype, *rest = described
    form = getattr(lib, f"ACL_FORMAT_{rest[0]}" if rest else "ACL_FORMAT_ND")
    address = ffi.cast("void *", next(_addresses) << 40)
    made = lib.aclCreateTensor(
        shape, len(shape), getattr(lib, f"ACL_{dtype}"), ffi.NULL, 0, form, shape, len(shape), address
    )
    assert made, (described, ffi.string(lib.aclGetRecentErrMsg()))
    return made
