# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Try CANN's libraries in a process of their own: a runtime that lacks a part of itself ends the process it is in.

This file is both sides: `probe` starts it as a program, which says each step before taking it, so that the last line
tells where it ended. It imports nothing of the package, which keeps the program's start short.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Probe", "probe"]

_SECONDS = 120  # the first call to a device may take many
_REPEAT_INITIALIZE, _STUB = 100002, 100039
_HINTS = (
    # What the loader or the runtime says, and what helps.
    (r"libascend_hal\.so|libdrv", "the driver's libraries are not found: install the driver, or source its set_env.sh"),
    (
        r"cannot open shared object",
        "a library that it needs is not found: source <CANN>/set_env.sh before Python starts",
    ),
    (r"undefined symbol", "libraries of different CANN versions are mixed: source the set_env.sh of one installation"),
)


@dataclass(frozen=True)
class Probe:
    """What the other process saw.

    Attributes
    ----------
    problem : str
        Why the libraries can't be used; empty if they can.
    devices : int
        How many there are.
    soc_name : str
        The chip's name.
    """

    problem: str
    devices: int = 0
    soc_name: str = ""


def probe(libraries: list[tuple[str, bool]], runtime: str) -> Probe:
    """Load libraries in another process, and ask the runtime for its devices.

    Parameters
    ----------
    libraries : list of (str, bool)
        Paths in order, each with whether later ones must see its functions.
    runtime : str
        Which of them is the runtime.

    Returns
    -------
    Probe
        What came of it.
    """
    python = _interpreter()
    if python is None:
        return Probe("no Python interpreter was found to try CANN's libraries in a process of its own")
    request = json.dumps({"libraries": libraries, "runtime": runtime})
    try:
        done = subprocess.run(  # noqa: S603 - this very file
            [python, "-I", "-S", __file__, request], capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return Probe(f"CANN's libraries gave no answer in {_SECONDS} s when tried in a process of their own")
    except OSError as problem:
        return Probe(f"{python} could not be started to try CANN's libraries: {problem}")
    return _read(done.stdout, done.stderr, done.returncode)


def _interpreter() -> str | None:
    """Find Python's program. In a program that embeds Python, ``sys.executable`` may be that program."""
    candidates = [Path(sys.executable)] if sys.executable else []
    candidates += [Path(prefix, "bin", "python3") for prefix in (sys.prefix, sys.base_prefix)]
    for path in candidates:
        if re.fullmatch(r"python[\d.]*[a-z]*", path.name) and path.exists():
            return str(path)
    return None


def _read(output: str, noise: str, code: int) -> Probe:
    last = "start"
    result: dict[str, Any] = {}
    for line in output.splitlines():  # the libraries print, too
        try:
            said = json.loads(line)
        except ValueError:
            continue
        if not isinstance(said, dict):
            continue
        if "step" in said:
            last = said["step"]
        elif "end" in said:
            result = said["end"]
    if not result:
        ending = f"signal {-code}" if code < 0 else f"status {code}"
        words = " ".join(noise.split())[-300:]
        reason = f"{last}: ended the process with {ending}" + (f" ({words})" if words else "")
        return Probe(f"{reason}; {_hint(words) or 'source <CANN>/set_env.sh before Python starts'}")
    problem = result["problem"]
    if problem and (hint := _hint(problem)):
        problem = f"{problem}; {hint}"
    return Probe(problem, result.get("devices", 0), result.get("soc_name", ""))


def _hint(words: str) -> str:
    return next((hint for pattern, hint in _HINTS if re.search(pattern, words)), "")


def _say(**words: object) -> None:
    # On a line of its own, whatever the libraries have printed.
    print(f"\n{json.dumps(words)}", flush=True)  # noqa: T201 - the other side of the pipe


def _try_libraries(libraries: list[tuple[str, bool]], runtime: str) -> dict[str, Any]:
    acl = None
    for path, is_global in libraries:
        _say(step=f"load {path}")
        try:
            loaded = ctypes.CDLL(path, (ctypes.RTLD_GLOBAL if is_global else ctypes.RTLD_LOCAL) | os.RTLD_NOW)
        except OSError as problem:
            return {"problem": f"{path} could not be loaded: {problem}"}
        acl = loaded if path == runtime else acl
    if acl is None:
        return {"problem": f"{runtime} is not among the libraries"}
    count = ctypes.c_uint32()
    for name, arguments in (("aclInit", (None,)), ("aclrtGetDeviceCount", (ctypes.byref(count),))):
        _say(step=name)
        try:
            status = getattr(acl, name)(*arguments)
        except AttributeError:
            return {"problem": f"{runtime} does not export {name}"}
        if status == _STUB:
            return {"problem": f"{name}: {runtime} is a stub for building (status {status}): no driver is installed"}
        if status and not (name == "aclInit" and status == _REPEAT_INITIALIZE):
            return {
                "problem": f"{name} failed with status {status}: is the driver installed, and may this user use it?"
            }
    if not count.value:
        return {"problem": "aclrtGetDeviceCount: no device; see ASCEND_RT_VISIBLE_DEVICES and npu-smi info"}
    _say(step="aclrtGetSocName")
    acl.aclrtGetSocName.restype = ctypes.c_char_p
    name = (acl.aclrtGetSocName() or b"").decode(errors="replace")
    return {"problem": "", "devices": count.value, "soc_name": name}


def main() -> None:
    """Try what the command line asks for, and leave without what the libraries do at exit."""
    request = json.loads(sys.argv[1])
    _say(end=_try_libraries(request["libraries"], request["runtime"]))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
