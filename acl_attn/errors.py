# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""What went wrong: the exception classes, and the one place where a status code becomes one.

A failed call leaves nothing behind: no handle, no half-written output that was not already being computed. The message
says *parameter: expected X, got Y; fix*, and the parts are attributes.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

from ._lib import ffi, lib, text
from ._target_numbers import HOST, TargetNotLoadedError, default_name, number_of
from ._targets import Target, current_target, load
from .profiles import profile_names

__all__ = [
    "AclAttnError",
    "AclAttnWarning",
    "AclError",
    "ArgumentTypeError",
    "BackendMissingError",
    "ClosedError",
    "DeviceFaultError",
    "InvalidArgumentError",
    "OutOfMemoryError",
    "UnsupportedError",
]


class AclAttnError(Exception):
    """Base of every exception that acl_attn raises on purpose.

    Attributes
    ----------
    detail : str
        The message itself, without what is added for people.
    parameter, expected, got, fix : str
        The parts of a message of the form *parameter: expected X, got Y; fix*; empty where it has no such part.
    allowed : str
        The same as `expected`: what is allowed.
    rule : str
        Id of the constraint that was violated, such as ``"MASK-C-06"``; empty if it has none.
    profiles : tuple of str
        Product profiles under which the call would be accepted; empty if there is none, or no rule was violated.
    """

    detail = ""
    profiles: tuple[str, ...] = ()
    _parts: Mapping[str, str] | None = None  # where the library told them

    @property
    def parameter(self) -> str:
        """Which parameter is wrong."""
        return self._part("parameter")

    @property
    def expected(self) -> str:
        """What it may be."""
        return self._part("expected")

    @property
    def allowed(self) -> str:
        """What it may be, by another name."""
        return self.expected

    @property
    def got(self) -> str:
        """What it was."""
        return self._part("got")

    @property
    def fix(self) -> str:
        """What to do, where it is known."""
        return self._part("fix")

    @property
    def rule(self) -> str:
        """Id of the violated constraint."""
        return self._part("rule")

    def _part(self, name: str) -> str:
        if self._parts is not None:
            return self._parts[name]
        match = _MESSAGE.fullmatch(self.detail or str(self))
        return (match[name] or "") if match else ""


class AclAttnWarning(UserWarning):
    """Something failed where nothing can be raised, such as while an object was being collected."""


class AclError(AclAttnError, RuntimeError):
    """A call of the C interface failed, or would.

    Parameters
    ----------
    message : str
        What to tell people.
    code : int
        The status code.
    name : str
        Its name in the headers, such as ``"ACL_ERROR_RT_CONTEXT_NULL"``.
    api : str
        The function that failed; empty if Python refused the call.
    detail : str
        The library's own message, empty if it left none.
    """

    def __init__(self, message: str, *, code: int = 0, name: str = "", api: str = "", detail: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.name = name
        self.api = api
        self.detail = detail


class InvalidArgumentError(AclError, ValueError):
    """An argument, or a combination of arguments, is not allowed."""


class UnsupportedError(AclError, NotImplementedError):
    """The call is legal, but the target does not offer it."""


class OutOfMemoryError(AclError, MemoryError):
    """Host or device memory ran out."""


class DeviceFaultError(AclError):
    """Work on a stream failed or timed out; the results of that stream are not to be trusted."""


class ArgumentTypeError(AclAttnError, TypeError):
    """An argument has a type (or an array a dtype) that can't be used."""


class BackendMissingError(AclAttnError, ImportError):
    """A target's library, or a function in it, is missing."""


class ClosedError(AclAttnError, ValueError):
    """An object was used after its ``close()``."""


_UNBOUND = lib.ACL_ATTN_STATUS_UNBOUND

# Codes where a caller would branch; all others are a plain AclError.
_MEMORY = {200000, 207001, 207018}
_UNSUPPORTED = {200001, 200006, 207000}
_FAULTS = {507000, 507001, *range(507010, 507019), *range(507034, 507037), *range(507042, 507058)}
_INSTALLATION = {561003, 561107, 561112, 148049}
_INVALID = {100000, 107000, 107001, 107017, 161001, 161002, 561001, 561002, 561103}

_MESSAGE = re.compile(
    r"(?P<parameter>[^\s:]+): expected (?P<expected>.*?), got (?P<got>.*?)"
    r"(?:; (?P<fix>.*?))?(?: \[(?P<rule>[A-Z0-9-]+)\])?",
    re.DOTALL,
)


def compose(parameter: str, expected: str, got: object, fix: str = "", rule: str = "") -> str:
    """Write a message in the one form that all messages have."""
    return f"{parameter}: expected {expected}, got {got}" + (f"; {fix}" if fix else "") + (f" [{rule}]" if rule else "")


def invalid(parameter: str, expected: str, got: object, fix: str = "", rule: str = "") -> InvalidArgumentError:
    """Build the exception for a value that Python itself can refuse.

    Parameters
    ----------
    parameter, expected, got, fix : str
        The parts of the message.
    rule : str
        Id of the operator's rule that the value would break, where it is one.
    """
    message = compose(parameter, expected, got, fix, rule)
    return InvalidArgumentError(
        message, code=lib.ACLNN_ERR_PARAM_INVALID, name="ACLNN_ERR_PARAM_INVALID", detail=message
    )


def wrong_type(parameter: str, expected: str, got: object, fix: str = "", rule: str = "") -> ArgumentTypeError:
    """Build the exception for an argument of the wrong type."""
    return ArgumentTypeError(compose(parameter, expected, got, fix, rule))


def type_name(value: object) -> str:
    """Name a value's type for a message, with the module where the bare name would not say enough."""
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


@functools.cache
def code_names() -> Mapping[int, str]:
    """Map status codes to their names in the headers."""
    prefixes = ("ACL_ERROR_", "ACLNN_ERR_", "ACLNN_SUCCESS", "ACL_SUCCESS")
    names: dict[int, str] = {}
    for name in dir(lib):
        if name.startswith(prefixes):
            names.setdefault(getattr(lib, name), name)
    return names


def recent_message() -> str:
    """Take the calling thread's recent error message from the library; empty if there is none."""
    return text(lib.aclGetRecentErrMsg())


def check(status: int, api: str, names: Mapping[str, str] | None = None) -> None:
    """Raise the exception for a status, if it is one.

    Parameters
    ----------
    status : int
        What the function returned.
    api : str
        The function's name.
    names : mapping of str to str, optional
        Python's name of each parameter that the library calls by its C name.
    """
    if status:
        raise error(status, api, names)


def check_handle(handle: ffi.CData, api: str) -> ffi.CData:
    """Return the handle, or raise if the function gave none."""
    if not handle:
        raise handle_error(api)
    return handle


def described(api: str, *arguments: object) -> str:
    """Read the text that a function of the library writes, whose last parameters are text, size, and size needed."""
    function, needed = getattr(lib, api), ffi.new("size_t *")
    check(function(*arguments, ffi.NULL, 0, needed), api)
    found = ffi.new("char[]", needed[0])
    check(function(*arguments, found, needed[0], needed), api)
    return text(found)


def handle_error(api: str) -> AclAttnError:
    """Build the exception for a function that gave no handle."""
    target = current_target()
    is_missing = target is None or api in target.missing
    return error(_UNBOUND if is_missing else lib.ACLNN_ERR_PARAM_INVALID, api)


def error(status: int, api: str, names: Mapping[str, str] | None = None) -> AclAttnError:
    """Build the exception for a status that is not 0, taking the library's message."""
    if status == _UNBOUND:
        target = current_target()
        return BackendMissingError(f"{api}: no target is loaded" if target is None else target.lacks(api))
    problem = ffi.new("aclAttnProblem *")
    broke_a_rule = bool(lib.aclAttnGetRecentProblem(problem))
    detail = recent_message()
    if names:
        detail = renamed(detail, names)
    name = code_names().get(status, "unknown status")
    message = detail or f"{api} failed and left no message"
    if status in _INSTALLATION:
        message += "; CANN did not find the operator's kernels: is their package for this chip installed, and was "
        message += "set_env.sh sourced before Python started?"
    found = _class_of(status, detail)(
        f"{message} [{api}: {status} {name}]", code=status, name=name, api=api, detail=detail
    )
    return _with_parts(found, problem, names) if broke_a_rule else found


def refusal(problem: ffi.CData, api: str, names: Mapping[str, str]) -> AclAttnError:
    """Build the exception for a problem that the rules found, an ``aclAttnProblem``."""
    status, detail = int(problem.status), renamed(text(problem.message), names)
    name = code_names().get(status, "unknown status")
    found = _class_of(status, detail)(
        f"{detail} [{api}: {status} {name}]", code=status, name=name, api=api, detail=detail
    )
    return _with_parts(found, problem, names)


def _with_parts(found: AclError, problem: ffi.CData, names: Mapping[str, str] | None) -> AclError:
    parts = {part: text(getattr(problem, part)) for part in ("parameter", "expected", "got", "fix", "rule")}
    found._parts = {part: renamed(words, names or {}) for part, words in parts.items()}
    found.profiles = profile_names(problem.acceptedBy)
    return found


# "actualSeqLengthsKv[3]: expected ..." begins with the name of a parameter, which may be any word. Further on only
# words with a capital inside are names; before a number, as in "sparseMode 3", they say what a code of C's means.
_NAME_IN_FRONT = re.compile(r"\w+(?=[\[.:]|$)")
_NAME_INSIDE = re.compile(r"\b[a-z]+[A-Z]\w*\b(?! -?\d)")


def renamed(message: str, names: Mapping[str, str]) -> str:
    """Replace the C names of parameters in a message, or in a part of one, by Python's."""

    def python_name(found: re.Match[str]) -> str:
        return names.get(found[0], found[0])

    front = _NAME_IN_FRONT.match(message)
    if front is None:
        return _NAME_INSIDE.sub(python_name, message)
    return python_name(front) + _NAME_INSIDE.sub(python_name, message[front.end() :])


def _class_of(status: int, detail: str) -> type[AclError]:
    # The vendor's codes do not tell "illegal" from "not offered here"; the library's wording does.
    if status in _UNSUPPORTED or "not supported yet" in detail:
        return UnsupportedError
    if status in _MEMORY:
        return OutOfMemoryError
    if status in _FAULTS:
        return DeviceFaultError
    return InvalidArgumentError if status in _INVALID else AclError


def load_target(number: int = HOST) -> Target:
    """Load a target, or say why it can't be. The host's has what this package adds to the operators."""
    try:
        return load(number)
    except TargetNotLoadedError as problem:
        raise BackendMissingError(str(problem)) from None


def default_target() -> int:
    """Give the number of the target that the environment asks for."""
    try:
        return number_of(default_name())
    except TargetNotLoadedError as problem:
        raise BackendMissingError(str(problem)) from None
