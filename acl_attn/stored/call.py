# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""One call in a file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..checking import check_arguments, operator_named
from ..errors import AclAttnError, invalid, type_name
from ..report import Report
from ..spec import Spec
from ..tensor import as_tensor
from .archive import Archive, read_archive, write_archive
from .description import decode, describe, encode

__all__ = ["StoredCall", "load_call", "save_call"]

_FORMAT, _VERSION = "acl_attn.call", 1
_MEMBER = "call"  # of an archive: the description, as bytes of JSON
_LONGEST = 64 << 20  # bytes of JSON
_BYTES = np.dtype(np.uint8)


@dataclass(frozen=True, eq=False)
class StoredCall:
    """A call out of a file; made by `load_call`.

    Parameters
    ----------
    operator : str
        Which operator, as for `acl_attn.check`.
    arguments : dict
        Its arguments by name; arrays, or a `Spec` of each if the file had none.
    has_arrays : bool
        Whether it can be run.

    See Also
    --------
    load_call : Makes it.

    Examples
    --------
    >>> import numpy as np, acl_attn, pathlib, tempfile
    >>> q = np.ones((1, 2, 4, 64), np.float16)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "call.npz")
    ...     acl_attn.save_call(path, "attention", query=q, key=q, value=q, mask="causal")
    ...     acl_attn.load_call(path).run().shape
    (1, 2, 4, 64)
    """

    operator: str
    arguments: dict[str, Any]
    has_arrays: bool

    def check(self, *, profile: str | None = None, rules: str | None = None) -> Report:
        """Ask the rules about the call.

        Parameters
        ----------
        profile, rules : str, optional
            As for `acl_attn.check`.

        Returns
        -------
        Report
            What they say.
        """
        return check_arguments(self.operator, self.arguments, profile=profile, rules=rules)

    def run(self) -> Any:
        """Make the call.

        Returns
        -------
        numpy.ndarray or tuple
            What the operator returns.
        """
        if not self.has_arrays:
            raise invalid("call", "one with arrays (.npz)", "shapes and dtypes alone (.json)", "check it instead")
        return operator_named(self.operator).run(**self.arguments)


def save_call(path: str | os.PathLike[str], operator: str, /, **call: Any) -> None:
    """Write a call to a file, to be looked at elsewhere: ``acl-attn check FILE`` and ``acl-attn run FILE``.

    Parameters
    ----------
    path : str or path
        Where to: ``.npz`` for the whole call, ``.json`` for its shapes, dtypes and everything that is no array.
    operator : str
        Which operator, as for `acl_attn.check`.
    **call : Any
        Its arguments. Contents of arrays are read now; views with strides keep them.

    See Also
    --------
    load_call : Reads it.

    Examples
    --------
    >>> import numpy as np, acl_attn, pathlib, tempfile
    >>> q = np.ones((1, 2, 4, 64), np.float16)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "call.json")
    ...     acl_attn.save_call(path, "attention", query=q, key=q, value=q)
    ...     print(path.read_text())
    {"format": "acl_attn.call", "version": 1, "operator": "attention", "arguments": {
    "query": {"shape": [1, 2, 4, 64], "dtype": "float16"},
    "key": {"shape": [1, 2, 4, 64], "dtype": "float16"},
    "value": {"shape": [1, 2, 4, 64], "dtype": "float16"}}}
    """
    target, arrays = Path(path), {}
    operator_named(operator)
    has_arrays = _has_arrays(target)

    def save_array(place: str, value: Any) -> dict[str, Any]:
        tensor = as_tensor(value, place)
        array = tensor.as_array()
        if has_arrays:
            arrays[place] = array
        steps = None if array.flags.c_contiguous else tuple(step // array.itemsize for step in array.strides)
        return describe(array.shape, array.dtype, steps)

    arguments = encode(call, save_array)
    text = json.dumps({"format": _FORMAT, "version": _VERSION, "operator": operator, "arguments": {}})
    lines = ",".join(f"\n{json.dumps(name)}: {json.dumps(value)}" for name, value in arguments.items())
    text = f"{text[:-2]}{lines}}}}}"
    if has_arrays:
        write_archive(target, {_MEMBER: np.frombuffer(text.encode(), _BYTES), **arrays})
    else:
        target.write_text(text, encoding="utf-8")


def load_call(path: str | os.PathLike[str]) -> StoredCall:
    """Read a call from a file.

    The file may come from anybody: nothing in it is executed, and it cannot ask for more memory than it has bytes (but
    for gaps of arrays with strides, which are bounded).

    Parameters
    ----------
    path : str or path
        An ``.npz`` or ``.json`` file of `save_call`.

    Returns
    -------
    StoredCall
        The call.

    Raises
    ------
    InvalidArgumentError
        The file is not such a file, or damaged; the message says where.

    See Also
    --------
    save_call : Writes it.

    Examples
    --------
    >>> import acl_attn, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "call.json")
    ...     path.write_text("no call") and None
    ...     acl_attn.load_call(path)
    Traceback (most recent call last):
    acl_attn.errors.InvalidArgumentError: call.json: expected a stored call, got Expecting value: line 1 column 1...
    """
    source = Path(path)
    has_arrays = _has_arrays(source)
    with _clear_errors(source.name):
        if not has_arrays:
            with source.open("rb") as file:
                text = file.read(_LONGEST + 1)
            return _read(text, None)
        with read_archive(source) as archive:
            return _read(archive.read(_MEMBER, _BYTES).tobytes(), archive)


def _has_arrays(path: Path) -> bool:
    if path.suffix not in (".npz", ".json"):
        raise invalid("path", "a file that ends in .npz or .json", path.name)
    return path.suffix == ".npz"


@contextmanager
def _clear_errors(name: str) -> Iterator[None]:
    """Turn everything that a damaged or hostile file can cause into one kind of error that names the file."""
    try:
        yield
    except (FileNotFoundError, IsADirectoryError, PermissionError) as problem:
        raise invalid(name, "a readable file", problem.strerror) from None
    except AclAttnError as problem:
        raise invalid(name, "a stored call", str(problem)) from None
    except Exception as problem:  # parsers of archives, headers and JSON raise nearly everything on nonsense
        raise invalid(name, "a stored call", str(problem) or type_name(problem)) from None


def _read(text: bytes, archive: Archive | None) -> StoredCall:
    if len(text) > _LONGEST:
        raise invalid("description", f"at most {_LONGEST} bytes", "more")
    found = json.loads(text)
    if not isinstance(found, dict) or found.get("format") != _FORMAT:
        raise invalid("format", repr(_FORMAT), "something else")
    if found.get("version") != _VERSION:
        raise invalid("version", _VERSION.__str__(), repr(found.get("version"))[:20])
    operator = found.get("operator")
    if not isinstance(operator, str):
        raise invalid("operator", "its name", type_name(operator))
    operator_named(operator)

    def take_array(place: str, spec: Spec) -> Any:
        # A spec in a file with arrays is one that was stored as such.
        return spec if archive is None or place not in archive else _with_strides(archive, place, spec)

    arguments = decode(found.get("arguments"), take_array)
    return StoredCall(operator, arguments, archive is not None)


def _with_strides(archive: Archive, place: str, spec: Spec) -> npt.NDArray[Any]:
    array = archive.read(place, spec.dtype, spec.shape)
    if spec.strides is None:
        return array
    if min(spec.strides, default=0) < 0:
        raise invalid(place, "strides of at least 0", spec.strides)
    span = 1 + sum((extent - 1) * step for extent, step in zip(spec.shape, spec.strides, strict=True) if extent)
    if span > 64 * array.size + (1 << 20):
        raise invalid(place, "gaps of at most 64 times the elements", f"shape {spec.shape} with strides {spec.strides}")
    memory = np.zeros(span, spec.dtype)
    steps = tuple(step * spec.dtype.itemsize for step in spec.strides)
    view = np.lib.stride_tricks.as_strided(memory, spec.shape, steps)
    view[...] = array
    return view
