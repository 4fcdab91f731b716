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

import functools
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ._installation import Installation, find_installation
from ._lib import INSTALLED, Attempt, Symbol, bind, get_library, lib, open_library, symbols
from ._probe import Probe, probe
from .profiles import profile_of_chip, wrong_choice

__all__ = [
    "CANN",
    "HOST",
    "NAMES",
    "NPU",
    "OWN_MEMORY",
    "SIM",
    "Target",
    "TargetInfo",
    "TargetNotLoadedError",
    "current_target",
    "default_name",
    "device_key",
    "device_number",
    "find_targets",
    "has_own_memory",
    "is_loaded",
    "load",
    "number_of",
    "target_number",
]

HOST, SIM, NPU, CANN = range(4)
NAMES = ("host", "sim", "npu", "cann")

# Each names a library to take instead of the bundled one.
_VARIABLES = {HOST: "ACL_ATTN_LIBRARY", SIM: "ACL_ATTN_SIM_LIBRARY", NPU: "ACL_ATTN_NPU_LIBRARY"}

# Of AI cores, by the profile of a chip: each has kernels of its own.
_GENERATIONS = {"ascend950": "3510", "ascend910b": "2201", "ascend910_93": "2201"}

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


class TargetNotLoadedError(Exception):
    """A target can't be loaded; `errors` turns it into the public exception."""


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


@dataclass(frozen=True)
class TargetInfo:
    """What is known of a target that need not be loaded; made by `targets`.

    Parameters
    ----------
    name : str
        ``"host"``, ``"sim"``, ``"npu"`` or ``"cann"``.
    problem : str
        Why it can't be used, and what to do about it; empty if it can.
    libraries : tuple of str
        Its libraries, in the order in which they are loaded; those that were found, if it can't be used.
    root : str
        Where CANN is installed; empty if it needs none, or there is none.
    versions : dict of str to str
        Versions of CANN's packages.
    devices : int
        How many devices CANN shows.
    soc_name : str
        CANN's name for the chip.

    See Also
    --------
    targets : Makes these.

    Examples
    --------
    >>> import acl_attn
    >>> acl_attn.targets()["host"].problem
    ''
    """

    name: str
    problem: str
    libraries: tuple[str, ...] = ()
    root: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    devices: int = 0
    soc_name: str = ""

    @property
    def is_available(self) -> bool:
        """Whether it can be used."""
        return not self.problem


_lock = threading.RLock()
_loaded: dict[int, Target] = {}


# --- Devices of all targets have one row of numbers: the target's, then the device's own. -----------------------------

_SHIFT = 16


def device_key(target: int, device: int) -> int:
    """Give the number of a target's device among those of all targets. The host's keep their own."""
    return target << _SHIFT | device


def target_number(key: int) -> int:
    """Tell the target of a device's key."""
    return key >> _SHIFT


def device_number(key: int) -> int:
    """Tell the number that the target knows a device by."""
    return key & ((1 << _SHIFT) - 1)


OWN_MEMORY = NPU << _SHIFT  # keys from here on are of devices whose memory is not the program's


def has_own_memory(key: int) -> bool:
    """Tell whether a device's memory is not the program's."""
    return key >= OWN_MEMORY


# --- Loading ----------------------------------------------------------------------------------------------------------


def number_of(name: str) -> int:
    """Look a target's name up."""
    if name not in NAMES:
        raise TargetNotLoadedError(
            f"ACL_ATTN_TARGET: expected one of {', '.join(NAMES)}, got {name!r}; unset it to use host"
        )
    return NAMES.index(name)


def default_name() -> str:
    """Give the target that the environment asks for."""
    return os.environ.get("ACL_ATTN_TARGET") or NAMES[HOST]


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
    path = _own_library(number)
    return [(str(path), False)] if os.environ.get(_VARIABLES[number]) else [(path.name, True), (str(path), False)]


def _own_library(number: int) -> Path:
    """Give the library of this package that a target needs: the one named by its variable, or the bundled one."""
    if chosen := os.environ.get(_VARIABLES[number]):
        return Path(chosen)
    return get_library() if number == HOST else INSTALLED / "lib" / f"libacl_attn_{NAMES[number]}.so"


def _lacks_kernels(library: Path, soc_name: str) -> str:
    """Say what target npu lacks of this package: its library, or kernels for the chip, which that one finds itself."""
    if not library.exists():
        return f"{library} is not there: this package was built without it"
    file = f"libacl_attn_npu_{_GENERATIONS.get(profile_of_chip(soc_name), '*')}.so"  # any, for a chip that is not known
    folders = [library.parent / NAMES[NPU] / soc_name, library.parent]
    if any(path for folder in folders for path in folder.glob(file)):
        return ""
    looked = " and ".join(map(str, folders))
    return f"no kernels for {soc_name} ({file}) in {looked}: CANN's compiler has to build them"


def _load_with_cann(number: int) -> Target:
    found, installation, attempts = _look_for_cann(number)
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


# --- What can be loaded, without loading CANN into this process -------------------------------------------------------


def find_targets() -> list[TargetInfo]:
    """Say of each target whether it can be used, and if not, why."""
    return [_look_for(number) for number in range(len(NAMES))]


def _look_for(number: int) -> TargetInfo:
    if number in (NPU, CANN):
        return _look_for_cann(number)[0]
    if not _own_library(number).exists() and number == SIM:
        return TargetInfo(NAMES[SIM], f"{_own_library(SIM)} is not there: this package was built without the simulator")
    try:
        target = load(number)
    except TargetNotLoadedError as problem:
        return TargetInfo(NAMES[number], str(problem))
    return TargetInfo(target.name, "", target.libraries)


def _look_for_cann(number: int) -> tuple[TargetInfo, Installation | None, list[Attempt]]:
    name, attempts = NAMES[number], list[Attempt]()
    installation = find_installation(attempts)
    if installation is None:
        looked = "; ".join(f"{attempt.path} {attempt.outcome}" for attempt in attempts)
        why = f"no CANN installation was found{f' ({looked})' if looked else ''}"
        return (
            TargetInfo(name, f"{why}; install CANN and source its set_env.sh, or set ASCEND_HOME_PATH"),
            None,
            attempts,
        )
    root, versions = str(installation.root), installation.versions
    if number == CANN and not installation.operators:
        libraries = (str(installation.runtime), str(installation.meta))
        why = "no libopapi_transformer.so, libopapi.so or libcust_opapi.so: the operators' package is not installed"
        return TargetInfo(name, f"{installation.root}: {why}", libraries, root, versions), installation, attempts
    order = installation.load_order(with_operators=number == CANN)
    seen = _probed(tuple(order), str(installation.runtime))
    paths, problem = [path for path, _ in order], seen.problem
    if number == NPU:
        library = _own_library(NPU)
        paths.append(str(library))
        problem = problem or _lacks_kernels(library, seen.soc_name)
    found = TargetInfo(name, problem, tuple(paths), root, versions, seen.devices, seen.soc_name)
    return found, installation, attempts


@functools.lru_cache(maxsize=8)
def _probed(order: tuple[tuple[str, bool], ...], runtime: str) -> Probe:
    """Try the libraries once a process: starting a device may take seconds."""
    return probe(list(order), runtime)


def _in_words(versions: dict[str, str]) -> str:
    return ", ".join(f"{package} {version}" for package, version in versions.items()) or "of unknown version"
