# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""A call's arguments as JSON, and back.

======================================================================  ================================================
JSON                                                                    argument
======================================================================  ================================================
null, true, a number, a string                                          the same
a list                                                                  a list
``{"shape": [..], "dtype": "float16"}``, perhaps with ``"strides"``     an array; in a file without arrays its `Spec`
``{"type": "Rope", "fields": {..}}``                                    an object of that class, one of `_CLASSES`
======================================================================  ================================================
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..dtypes import as_dtype, dtype_name
from ..errors import AclAttnError, invalid, type_name, wrong_type
from ..kvcache.pairs import QuantizedKV
from ..lengths import Lengths
from ..masks import Mask
from ..ops.features import Alibi, FullQuant, KvQuant, LeftPadding, OutQuant, Prefix, Rope
from ..ops.full_quant import KINDS, as_full_quant
from ..spec import Spec
from ..tensor import Tensor

__all__ = ["SaveArray", "TakeArray", "decode", "encode"]

SaveArray: TypeAlias = Callable[[str, Any], dict[str, Any]]  # where it stands, and the array: gives its description
TakeArray: TypeAlias = Callable[[str, Spec], Any]  # where it stands, and what it is like: gives the array

_FEATURES = (Alibi, FullQuant, KvQuant, LeftPadding, OutQuant, Prefix, Rope)
_CLASSES = {kind.__name__: kind for kind in (*_FEATURES, Lengths, Mask)}
_LARGEST_MASK = 1 << 34
# Arguments that say where a call runs and not what it is; a file that names one is not to be trusted.
_NOT_STORED = ("stream", "device")


def encode(arguments: Mapping[str, Any], save_array: SaveArray) -> dict[str, Any]:
    """Describe arguments; arrays go to `save_array`."""
    chosen = {name: value for name, value in arguments.items() if value is not None}
    for name in _NOT_STORED:
        if name in chosen:
            raise invalid(name, "None for a call to be stored", type_name(chosen[name]), "it is not a part of the call")
    return {name: _encode(value, name, save_array) for name, value in chosen.items()}


def _encode(value: Any, place: str, save_array: SaveArray) -> Any:
    if isinstance(value, (bool, str)) or value is None:
        return value
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value)
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, (list, tuple)):
        return [_encode(member, f"{place}.{position}", save_array) for position, member in enumerate(value)]
    if isinstance(value, QuantizedKV):
        modes = (value.key_mode, value.value_mode)
        value = KvQuant(modes, value.key_scale, value.value_scale, value.key_offset, value.value_offset)
    elif isinstance(value, KINDS):
        value = as_full_quant(value)
    if type(value) in _CLASSES.values():
        members = {field.name: getattr(value, field.name) for field in fields(value)}
        inner = {name: _encode(member, f"{place}.{name}", save_array) for name, member in members.items()}
        return {"type": type(value).__name__, "fields": inner}
    if isinstance(value, Spec):
        return describe(value.shape, value.dtype, value.strides)
    if isinstance(value, (np.dtype, type)):
        return dtype_name(as_dtype(value, place))
    if isinstance(value, (np.ndarray, Tensor)) or hasattr(value, "__array_interface__") or hasattr(value, "__dlpack__"):
        return save_array(place, value)
    raise wrong_type(place, "a value that can be stored", type_name(value))


def describe(shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...] | None) -> dict[str, Any]:
    """Describe an array."""
    found: dict[str, Any] = {"shape": list(shape), "dtype": dtype_name(dtype)}
    if strides is not None:
        found["strides"] = list(strides)
    return found


def decode(described: object, take_array: TakeArray) -> dict[str, Any]:
    """Make arguments of their description; arrays come from `take_array`."""
    if not isinstance(described, dict):
        raise wrong_type("arguments", "an object of arguments by name", type_name(described))
    for name in _NOT_STORED:
        if name in described:
            raise invalid(f"arguments.{name}", "nothing in a stored call", "a value")
    return {name: _decode(value, name, take_array) for name, value in described.items()}


def _decode(value: Any, place: str, take_array: TakeArray) -> Any:
    if isinstance(value, list):
        return [_decode(member, f"{place}.{position}", take_array) for position, member in enumerate(value)]
    if not isinstance(value, dict):
        return value
    if set(value) == {"type", "fields"}:
        return _object(value["type"], value["fields"], place, take_array)
    if {"shape", "dtype"} <= set(value) <= {"shape", "dtype", "strides"}:
        if not isinstance(value["dtype"], str):
            raise wrong_type(f"arguments.{place}.dtype", "a name such as 'float16'", type_name(value["dtype"]))
        try:
            spec = Spec(value["shape"], as_dtype(value["dtype"]), value.get("strides"))
        except AclAttnError as problem:
            raise invalid(f"arguments.{place}", "shape, dtype and strides of an array", str(problem)) from None
        return take_array(place, spec)
    expected = "an array's shape and dtype, or an object's type and fields"
    raise invalid(f"arguments.{place}", expected, f"an object with {', '.join(sorted(map(repr, value))) or 'nothing'}")


def _nothing_hidden(spec: Spec, place: str) -> npt.NDArray[Any]:
    """Make a mask of that shape, for calls without arrays. Memory is only taken where it is written."""
    if math.prod(spec.shape) > _LARGEST_MASK:
        raise invalid(f"arguments.{place}.hidden", f"at most {_LARGEST_MASK} elements", spec.shape)
    return np.zeros(spec.shape, spec.dtype)


def _object(name: object, members: object, place: str, take_array: TakeArray) -> Any:
    kind = _CLASSES.get(name) if isinstance(name, str) else None
    if kind is None:
        raise invalid(f"arguments.{place}.type", f"one of {', '.join(_CLASSES)}", repr(name)[:40])
    known = {field.name for field in fields(kind)}
    if not isinstance(members, dict) or not set(members) <= known:
        got = ", ".join(sorted(set(members) - known)) if isinstance(members, dict) else type_name(members)
        raise invalid(f"arguments.{place}.fields", f"fields of {name}: {', '.join(sorted(known))}", got[:80])
    inner = {field: _decode(member, f"{place}.{field}", take_array) for field, member in members.items()}
    if kind is Mask and isinstance(inner.get("hidden"), Spec):
        inner["hidden"] = _nothing_hidden(inner["hidden"], place)
    try:
        return kind(**inner)
    except TypeError as problem:  # a field without a default is missing
        raise invalid(f"arguments.{place}.fields", f"the fields of {name}", str(problem)) from None
