# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The four targets: pairs of a runtime and operators, each with a table of functions that is filled once.

========  ==================================  ==========================================
target    runtime (``aclrt*``)                operators, tensors, executors
========  ==================================  ==========================================
``host``  ``libacl_attn.so``                  the same
``sim``   ``libacl_attn_sim.so``              the same
``npu``   CANN's                              ``libacl_attn_npu.so``
``cann``  CANN's                              CANN's ``libnnopbase.so`` and ``libopapi*``
========  ==================================  ==========================================

What only this package has (rules, packed rows, processor targets) is the host library's in every table, except what
speaks about objects and calls of the target.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from ._lib import Attempt, Symbol, bind, lib, open_library, symbols
from ._target_numbers import CANN, HOST, NAMES, NPU, SIM, TargetNotLoadedError, default_name, number_of
from ._target_search import TargetInfo, is_chosen, look_for_cann, own_library
from .profiles import wrong_choice

__all__ = ["Target", "current_target", "find_targets", "is_loaded", "load"]

# Functions of ours about objects and calls: those of the target that has them, where it offers such.
_ABOUT_CALLS = frozenset({
    "aclAttnRun", "aclAttnRunAt", "aclAttnGetSettings", "aclAttnDescribeExecutor", "aclAttnGetRecentProblem",
    "aclAttnGetLiveObjects", "aclAttnGetLiveBytes", "aclAttnGetProfile", "aclAttnSetProfile", "aclAttnSetThreadProfile",
})  # fmt: skip

# Without these nothing works; others are missed when they are called.
_NEEDED = (
    *("aclInit", "aclrtGetDeviceCount", "aclrtSetDevice", "aclrtResetDevice", "aclrtGetDevice"),
    *("aclrtGetSocName", "aclrtCreateStream", "aclrtDestroyStream", "aclrtSynchronizeStream", "aclrtSynchronizeDevice"),
    *("aclrtMalloc", "aclrtFree", "aclrtMemcpy", "aclrtMemcpyAsync", "aclrtCreateEvent", "aclrtDestroyEvent"),
    *("aclrtRecordEvent", "aclrtQueryEventStatus", "aclrtSynchronizeEvent", "aclCreateTensor", "aclDestroyTensor"),
    *("aclCreateIntArray", "aclDestroyIntArray", "aclCreateTensorList", "aclDestroyTensorList"),
    *("aclSetRawTensorAddr", "aclDestroyAclOpExecutor"),
)


@dataclass(frozen=True)
class Target:
    """A loaded target."""

    number: int
    libraries: tuple[str, ...]
    missing: tuple[str, ...]
    attempts: tuple[Attempt, ...]
    root: str = ""
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its name."""
        return NAMES[self.number]

    def lacks(self, function: str) -> str:
        """Say that it has no such function, and where it was looked for."""
        found = f"CANN at {self.root} ({_in_words(self.versions)}); " if self.root else ""
        libraries = ", ".join(self.libraries)
        return f"{function}: target {self.name!r} does not export this function; {found}loaded: {libraries}"


_lock = threading.RLock()
_loaded: dict[int, Target] = {}


def is_loaded(number: int) -> bool:
    """Tell whether a target is loaded."""
    return number in _loaded


def current_target() -> Target | None:
    """Give the target that the thread calls; None before anything is loaded."""
    return _loaded.get(lib.acl_attn_select(-1))


def load(number: int = HOST) -> Target:
    """Load a target, if it isn't yet. The host's comes first: all others take functions from it.

    A library that the process has already, such as one linked by a C++ program that embeds Python, is taken in
    preference to the bundled one: two copies would not know each other's handles.
    """
    found = _loaded.get(number)
    if found is None:
        with _lock:
            found = _loaded.get(number)
            if found is None:
                number_of(default_name())  # a variable that names no target is not ignored, whatever is loaded
                if problem := wrong_choice():
                    raise TargetNotLoadedError(problem)
                if number != HOST:
                    load(HOST)
                found = _load_bundled(number) if number in (HOST, SIM) else _load_with_cann(number)
                _loaded[number] = found
    return found


def _load_bundled(number: int) -> Target:
    """Load a target that is one library with everything in it."""
    attempts: list[Attempt] = []
    for path, loaded_only in _places(number):
        library = open_library(path, attempts, loaded_only=loaded_only)
        if library is None:
            continue
        ours = [
            symbol for symbol in symbols() if number == HOST or symbol.group != "acl_attn" or _is_about_calls(symbol)
        ]
        if bind(number, library, ours):
            return _finish(number, attempts)
        attempts[-1] = Attempt(path, "loaded, but exports none of the functions")
    tried = "\n".join(f"  {attempt.path}: {attempt.outcome}" for attempt in attempts)
    raise TargetNotLoadedError(f"no library of target {NAMES[number]!r} could be loaded; tried\n{tried}")


def _places(number: int) -> list[tuple[str, bool]]:
    """List the paths to try, each with whether only a copy that is loaded already counts."""
    path = own_library(number)
    return [(str(path), False)] if is_chosen(number) else [(path.name, True), (str(path), False)]


def _load_with_cann(number: int) -> Target:
    found, installation, attempts = look_for_cann(number)
    if found.problem or installation is None:
        raise TargetNotLoadedError(f"target {NAMES[number]!r} can't be used: {found.problem}")
    installation.set_environment()
    handles = {}
    for path, is_global in installation.load_order(with_operators=number == CANN):
        handles[path] = open_library(path, attempts, is_global=is_global)
        if handles[path] is None:
            raise TargetNotLoadedError(f"target {NAMES[number]!r}: {path}: {attempts[-1].outcome}")
    wanted = symbols()
    if number == NPU:  # comes first: its recent message is its own or else CANN's
        path = found.libraries[-1]
        ours = open_library(path, attempts)
        if ours is None:
            raise TargetNotLoadedError(f"target 'npu': {path}: {attempts[-1].outcome}")
        own = ("aclGetRecentErrMsg",)
        bind(number, ours, (s for s in wanted if s.name in own or (s.group != "acl" and not _is_shared(s))))
    bind(number, handles[str(installation.runtime)], (symbol for symbol in wanted if symbol.group == "acl"))
    if number == CANN:
        bind(number, handles[str(installation.meta)], (symbol for symbol in wanted if symbol.group == "aclnn"))
        _bind_operators(number, [handles[str(path)] for path in installation.operators], wanted)
    target = _finish(number, attempts, str(installation.root), installation.versions)
    lacking = [name for name in _NEEDED if name in target.missing]
    if lacking:
        raise TargetNotLoadedError(
            f"target {target.name!r} can't be used: {', '.join(lacking)} missing in CANN at {target.root} "
            f"({_in_words(target.versions)}); looked in {', '.join(target.libraries)}"
        )
    return target


def _bind_operators(number: int, libraries: Sequence[object], wanted: Sequence[Symbol]) -> None:
    """Take each operator from the first library that has both phases: an executor is its own library's."""
    by_name = {symbol.name: symbol for symbol in wanted if symbol.name.startswith("aclnn") and symbol.group != "aclnn"}
    for name, phase_two in by_name.items():
        phase_one = by_name.get(f"{name}GetWorkspaceSize")
        if phase_one is None:
            continue
        for library in libraries:
            if all(lib.acl_attn_exports(library, symbol.number) for symbol in (phase_one, phase_two)):
                extra = by_name.get(f"{name}GetMaxWorkspaceSize")
                bind(number, library, (symbol for symbol in (phase_one, phase_two, extra) if symbol))
                break


def _is_about_calls(symbol: Symbol) -> bool:
    return symbol.name in _ABOUT_CALLS or symbol.name.startswith("aclnn")


def _is_shared(symbol: Symbol) -> bool:
    return symbol.group == "acl_attn" and not _is_about_calls(symbol)


def _finish(number: int, attempts: list[Attempt], root: str = "", versions: dict[str, str] | None = None) -> Target:
    """Fill the table with what is the host's in every target, and take stock."""
    if number != HOST:
        for symbol in filter(_is_shared, symbols()):
            lib.acl_attn_share(number, symbol.number, HOST)
    own = [symbol for symbol in symbols() if number == HOST or not _is_shared(symbol)]
    provider = {symbol.name: symbol.library(number) for symbol in own}
    return Target(
        number=number,
        libraries=tuple(dict.fromkeys(path for path in provider.values() if path)),
        missing=tuple(name for name, path in provider.items() if not path),
        attempts=tuple(attempts),
        root=root,
        versions=versions or {},
    )


def find_targets() -> list[TargetInfo]:
    """Say of each target whether it can be used, and if not, why."""
    return [_look_for(number) for number in range(len(NAMES))]


def _look_for(number: int) -> TargetInfo:
    if number in (NPU, CANN):
        return look_for_cann(number)[0]
    if not own_library(number).exists() and number == SIM:
        return TargetInfo(NAMES[SIM], f"{own_library(SIM)} is not there: this package was built without the simulator")
    try:
        target = load(number)
    except TargetNotLoadedError as problem:
        return TargetInfo(NAMES[number], str(problem))
    return TargetInfo(target.name, "", target.libraries)


def _in_words(versions: dict[str, str]) -> str:
    return ", ".join(f"{package} {version}" for package, version in versions.items()) or "of unknown version"
