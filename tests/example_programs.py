# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Build and run the programs of docs/examples."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import cmake
import ninja

EXAMPLES = Path(__file__).resolve().parent.parent / "docs" / "examples"


def run(
    *command: str | Path, timeout: float = 120, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command that must succeed, and return its output."""
    result = run_any(*command, timeout=timeout, env=env)
    assert result.returncode == 0, f"{command}: exit status {result.returncode}\n{result.stdout}\n{result.stderr}"
    return result


def run_any(
    *command: str | Path, timeout: float = 120, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command whatever it returns; not in the source tree, so that nothing is imported from there by chance."""
    return subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        cwd="/",
        env={**_user_environment(), **(env or {})},
    )


def _user_environment() -> dict[str, str]:
    """The environment without what the tests set for themselves: examples must run under the default profile."""
    return {name: value for name, value in os.environ.items() if name != "ACL_ATTN_PROFILE"}


def run_script(name: str, *arguments: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Run an example written in Python, with warnings as errors."""
    return run(sys.executable, "-W", "error", EXAMPLES / name, *arguments, timeout=timeout)


def build(name: str, directory: Path) -> Path:
    """Build an example written in C++ with its own CMakeLists.txt against the installed package."""
    # The build tools come from the package index too: of the system, only a compiler is needed.
    program = Path(cmake.CMAKE_BIN_DIR) / "cmake"
    run(
        program,
        f"-S{EXAMPLES / name}",
        f"-B{directory}",
        "-GNinja",
        f"-DCMAKE_MAKE_PROGRAM={Path(ninja.BIN_DIR) / 'ninja'}",
        f"-DPython3_EXECUTABLE={sys.executable}",
        "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror",
    )
    run(program, "--build", directory)
    return directory / name
