# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Which libraries a target needs, where they are, and what it lacks: without loading CANN into this process."""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass, field
from pathlib import Path

from ._installation import Installation, find_installation
from ._lib import INSTALLED, Attempt, get_library
from ._probe import Probe, probe
from ._target_numbers import CANN, HOST, NAMES, NPU, SIM
from .profiles import profile_of_chip

__all__ = ["TargetInfo", "is_chosen", "look_for_cann", "own_library"]

# Each names a library to take instead of the bundled one.
_VARIABLES = {HOST: "ACL_ATTN_LIBRARY", SIM: "ACL_ATTN_SIM_LIBRARY", NPU: "ACL_ATTN_NPU_LIBRARY"}

# Of AI cores, by the profile of a chip: each has kernels of its own.
_GENERATIONS = {"ascend950": "3510", "ascend910b": "2201", "ascend910_93": "2201"}


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


def is_chosen(number: int) -> bool:
    """Tell whether the environment names the library of this package that a target needs."""
    return bool(os.environ.get(_VARIABLES[number]))


def own_library(number: int) -> Path:
    """Give the library of this package that a target needs: the one named by its variable, or the bundled one."""
    if chosen := os.environ.get(_VARIABLES[number]):
        return Path(chosen)
    return get_library() if number == HOST else INSTALLED / "lib" / f"libacl_attn_{NAMES[number]}.so"


def look_for_cann(number: int) -> tuple[TargetInfo, Installation | None, list[Attempt]]:
    """Say whether a target can be had with CANN, or why not; give its installation, and where it was looked for."""
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
        library = own_library(NPU)
        paths.append(str(library))
        problem = problem or _lacks_kernels(library, seen.soc_name)
    found = TargetInfo(name, problem, tuple(paths), root, versions, seen.devices, seen.soc_name)
    return found, installation, attempts


@functools.lru_cache(maxsize=8)
def _probed(order: tuple[tuple[str, bool], ...], runtime: str) -> Probe:
    """Try the libraries once a process: starting a device may take seconds."""
    return probe(list(order), runtime)


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
