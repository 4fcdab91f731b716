# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Where CANN is installed, and which of its libraries have the functions: found from files alone, nothing is loaded.

Two generations of CANN differ in their file names: up to 8.3 ``libascendcl.so`` is the runtime and ``libopapi.so`` has
all operators; later ``libacl_rt.so`` is the runtime, and operators are split into ``libopapi_*.so``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ._lib import Attempt

__all__ = ["Installation", "find_installation"]

_RUNTIMES = ("libacl_rt.so", "libascendcl.so")  # the newer one first
_META = "libnnopbase.so"
_VARIABLES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")
_DEFAULT_ROOTS = (
    *("/usr/local/Ascend/cann", "~/Ascend/cann"),
    *("/usr/local/Ascend/ascend-toolkit/latest", "~/Ascend/ascend-toolkit/latest"),
    *("/usr/local/Ascend/latest", "/usr/local/Ascend/nnrt/latest", "/usr/local/Ascend/nnae/latest"),
)
_SUBFOLDERS = ("lib64", f"{os.uname().machine}-linux/lib64", "runtime/lib64", "opp/lib64")
_DRIVER = "/usr/local/Ascend/driver/lib64"
_CUSTOM = "op_api/lib/libcust_opapi.so"


@dataclass(frozen=True)
class Installation:
    """An installation of CANN.

    Attributes
    ----------
    root : pathlib.Path
        Its top folder.
    found_by : str
        How it was found.
    runtime, meta : pathlib.Path
        The library of ``acl*`` and ``aclrt*``, and that of tensors and executors.
    shared : tuple of pathlib.Path
        Libraries that the operators' libraries need in sight: level-0 helpers.
    operators : tuple of pathlib.Path
        The operators' libraries, in the order in which they are asked; custom packages come first.
    custom_packages : tuple of pathlib.Path
        The folders of those.
    versions : dict of str to str
        Versions of its packages.
    """

    root: Path
    found_by: str
    runtime: Path
    meta: Path
    shared: tuple[Path, ...]
    operators: tuple[Path, ...]
    custom_packages: tuple[Path, ...]
    versions: dict[str, str]

    def load_order(self, *, with_operators: bool) -> list[tuple[str, bool]]:
        """List the libraries in the order in which they need each other, each with whether others must see it."""
        driver = [Path(_DRIVER, "driver/libascend_hal.so"), Path(_DRIVER, "libascend_hal.so")]
        seen = [*[path for path in driver if path.exists()][:1], self.runtime]
        if not with_operators:
            return [(str(path), True) for path in seen]
        seen += [self.meta, *self.shared]
        return [*((str(path), True) for path in seen), *((str(path), False) for path in self.operators)]

    def set_environment(self) -> None:
        """Set what CANN's libraries read at their first use and ``set_env.sh`` would have set; what is set stays."""
        os.environ.setdefault("ASCEND_HOME_PATH", str(self.root))
        os.environ.setdefault("ASCEND_OPP_PATH", str(self.root / "opp"))
        if self.custom_packages:  # kernels of the metadata operators are looked for nowhere else
            os.environ.setdefault("ASCEND_CUSTOM_OPP_PATH", ":".join(map(str, self.custom_packages)))


def find_installation(attempts: list[Attempt]) -> Installation | None:
    """Find the installation to use: the one that the process has loaded already, else by variables, else by place.

    Parameters
    ----------
    attempts : list of Attempt
        Takes what was looked at.

    Returns
    -------
    Installation or None
        None if there is none.
    """
    for root, found_by in _roots():
        folders = [*(root / name for name in _SUBFOLDERS), *_loader_path()]
        runtime = next((path for path in (_first(folders[:3], name) for name in _RUNTIMES) if path), None)
        if runtime is None:
            attempts.append(Attempt(str(root), f"({found_by}) has no lib64/{' or '.join(_RUNTIMES)}"))
            continue
        meta = _first(folders, _META)
        if meta is None:
            attempts.append(Attempt(str(root), f"({found_by}) has {runtime.name} but no {_META}"))
            continue
        attempts.append(Attempt(str(root), f"CANN found ({found_by})"))
        transformer = _first(folders, "libopapi_transformer.so")
        aggregate = None if transformer else _first(folders, "libopapi.so")  # never both: they have the same functions
        shared = [path for path in (_first(folders, "libopapi_math.so"), _first(folders, "libopapi_nn.so")) if path]
        packages = tuple(_custom_packages(root))
        return Installation(
            root=root,
            found_by=found_by,
            runtime=runtime,
            meta=meta,
            shared=tuple(shared) if transformer else (),
            operators=(
                *(package / _CUSTOM for package in packages),
                *(path for path in (transformer, aggregate) if path),
            ),
            custom_packages=packages,
            versions=_versions(root),
        )
    return None


def _roots() -> Iterator[tuple[Path, str]]:
    mapped = _mapped_runtime()
    if mapped is not None:
        folder = mapped.parent
        is_nested = folder.parent.name.endswith("-linux")  # what lib64 is a link to
        yield folder.parent.parent if is_nested else folder.parent, "already in the process"
    for variable in _VARIABLES:
        if value := os.environ.get(variable):
            yield Path(value), variable
    for folder in _loader_path():
        if any((folder / name).exists() for name in _RUNTIMES):
            yield folder.parent, "LD_LIBRARY_PATH"
    for place in _DEFAULT_ROOTS:
        path = Path(place).expanduser()
        if path.exists():
            yield path, "usual place"


def _mapped_runtime() -> Path | None:
    """Find the runtime that another library of the process uses: two copies would not know each other's handles."""
    try:
        maps = Path("/proc/self/maps").read_text(errors="replace")
    except OSError:
        return None
    for name in _RUNTIMES:
        if found := re.search(rf"\s(/\S.*/{re.escape(name)})$", maps, re.MULTILINE):
            return Path(found[1])
    return None


def _loader_path() -> list[Path]:
    return [Path(folder) for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]


def _first(folders: list[Path], name: str) -> Path | None:
    return next((folder / name for folder in folders if (folder / name).exists()), None)


def _custom_packages(root: Path) -> Iterator[Path]:
    """List packages of custom operators by their priority."""
    seen = set()
    for folder in os.environ.get("ASCEND_CUSTOM_OPP_PATH", "").split(":"):
        if folder and (Path(folder) / _CUSTOM).exists():
            seen.add(Path(folder).resolve())
            yield Path(folder)
    vendors = Path(os.environ.get("ASCEND_OPP_PATH") or root / "opp") / "vendors"
    try:
        config = (vendors / "config.ini").read_text()
    except OSError:
        return
    priority = re.search(r"^\s*load_priority\s*=\s*(.*)$", config, re.MULTILINE)
    for name in priority[1].split(",") if priority else ():
        package = vendors / name.strip()
        if (package / _CUSTOM).exists() and package.resolve() not in seen:
            yield package


def _versions(root: Path) -> dict[str, str]:
    """Read the versions of an installation's packages from its files."""
    files = {path.parent.name: path for path in sorted((root / "share" / "info").glob("*/version.info"))}
    for name in ("version.cfg", "compiler/version.info", f"{os.uname().machine}-linux/ascend_toolkit_install.info"):
        files.setdefault("toolkit", root / name)
        if files["toolkit"].exists():
            break
        del files["toolkit"]
    found = {}
    for package, path in files.items():
        try:
            content = path.read_text(errors="replace")
        except OSError:
            continue
        version = re.search(r"^\s*[\w.]*version\w*\s*=\s*\[?(?:[^\]:\n]*:)?([\w.+-]+)", content, re.I | re.MULTILINE)
        if version:
            found[package] = version[1]
    return found
