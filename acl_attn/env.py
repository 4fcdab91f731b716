# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""What the library finds around it: versions, target, processor, libraries."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ._lib import get_include, get_library, lib, text
from ._process import current_device
from ._target_numbers import CANN, HOST, NAMES, TargetNotLoadedError, default_name, number_of, target_number
from ._target_search import TargetInfo
from ._targets import find_targets, is_loaded, load
from .controls import get_cpu_target, get_cpu_targets, get_num_threads
from .device import names_in_force
from .errors import AclAttnError

__all__ = ["Environment", "environment"]

_VARIABLES = (
    *("ACL_ATTN_TARGET", "ACL_ATTN_LIBRARY", "ACL_ATTN_SIM_LIBRARY", "ACL_ATTN_NPU_LIBRARY"),
    *("ACL_ATTN_CPU", "ACL_ATTN_NUM_THREADS"),
    *("ACL_ATTN_PROFILE", "ACL_ATTN_RULES"),
    *("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "ASCEND_OPP_PATH", "ASCEND_CUSTOM_OPP_PATH"),
    *("ASCEND_RT_VISIBLE_DEVICES", "LD_LIBRARY_PATH"),
)
_PACKAGES = ("numpy", "cffi", "ml_dtypes")


@dataclass(frozen=True)
class Environment:
    """What the library finds around it; made by `environment`.

    Parameters
    ----------
    version, library_version : str
        Of the Python package, and of the loaded library.
    target : str
        The target, such as ``"host"``.
    problem : str
        Why the target can't be loaded; empty if it can.
    targets : list of TargetInfo
        All targets, and why one can't be used.
    profile, rules : str
        Whose rules calls are held against, and which edition of them; empty if the target can't be loaded.
    libraries : list of str
        Libraries loaded.
    searched : list of tuple of str
        Places looked at, and what came of each.
    missing : list of str
        Functions that no loaded library has.
    cpu_features : list of str
        Detected processor features.
    cpu_targets : dict of str to bool
        Instruction sets built in, and whether this machine can run each.
    cpu_target : str
        The one in use.
    threads : int
        Threads that one operator may use.
    include, library : str
        Where the C headers and the bundled library are.
    python, machine : str
        Python's version, and the machine.
    packages, variables : dict of str to str
        Versions of packages, and environment variables that are set.

    See Also
    --------
    environment : Look around.

    Examples
    --------
    >>> import acl_attn
    >>> acl_attn.environment().target
    'host'
    """

    version: str
    library_version: str
    target: str
    problem: str
    targets: list[TargetInfo]
    profile: str
    rules: str
    libraries: list[str]
    searched: list[tuple[str, str]]
    missing: list[str]
    cpu_features: list[str]
    cpu_targets: dict[str, bool]
    cpu_target: str
    threads: int
    include: str
    library: str
    python: str
    machine: str
    packages: dict[str, str]
    variables: dict[str, str]

    def as_dict(self) -> dict[str, Any]:
        """Give everything as plain dictionaries and lists, for JSON.

        Returns
        -------
        dict
            The attributes by name.
        """
        return asdict(self)


def environment() -> Environment:
    """Look around: loads the target if that can be done, and never raises because it can't.

    Returns
    -------
    Environment
        What was found; ``python -m acl_attn env`` prints it.

    See Also
    --------
    get_cpu_targets : The instruction sets alone.

    Examples
    --------
    >>> import acl_attn
    >>> acl_attn.environment().problem
    ''
    """
    # Here, because the two take longer to import than the rest of the package.
    import platform
    from importlib import metadata

    problem, libraries, searched, missing = "", [], [], []
    key = current_device()
    name = default_name() if key is None else NAMES[target_number(key)]
    try:
        target = load(number_of(name))
        libraries, missing = list(target.libraries), list(target.missing)
        searched = [(attempt.path, attempt.outcome) for attempt in target.attempts]
    except TargetNotLoadedError as failure:
        problem = str(failure)
    targets = find_targets()
    has_host = is_loaded(HOST)
    profile, rules = "", ""
    # A library of ours that lacks functions still gets its report, which lists them. CANN's never have all.
    if not problem and (name == NAMES[CANN] or not missing):
        try:
            profile, rules = names_in_force()
        except AclAttnError as failure:  # its first use, such as a driver that refuses
            problem = str(failure)
    return Environment(
        version=metadata.version("acl_attn"),
        library_version=text(lib.aclAttnGetVersion()) if has_host else "",
        target=name,
        problem=problem,
        targets=targets,
        profile=profile,
        rules=rules,
        libraries=libraries,
        searched=searched,
        missing=missing,
        cpu_features=text(lib.aclAttnGetCpuFeatures()).split() if has_host else [],
        cpu_targets=get_cpu_targets() if has_host else {},
        cpu_target=get_cpu_target() if has_host else "",
        threads=get_num_threads() if has_host else 0,
        include=str(get_include()),
        library=str(get_library()),
        python=platform.python_version(),
        machine=f"{platform.system()} {platform.machine()}",
        packages={"numpy": np.__version__, **{name: metadata.version(name) for name in _PACKAGES[1:]}},
        variables={name: os.environ[name] for name in _VARIABLES if name in os.environ},
    )
