# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""One contestant in a process of its own: JSON requests on standard input, JSON replies on standard output.

Another interpreter runs this file by its path, so that a peer needs nothing of this package but its files.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import json
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any

if not __package__:  # by its path: give the folder a package name, so that its modules find each other
    _folder = Path(__file__).resolve().parent
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != _folder]
    __package__ = "acl_attn_bench"
    _spec = importlib.util.spec_from_file_location(
        __package__, _folder / "__init__.py", submodule_search_locations=[str(_folder)]
    )
    if _spec is None or _spec.loader is None:
        raise ImportError(f"cannot import from {_folder}")
    sys.modules[__package__] = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules[__package__])

from .cases import Case
from .contestants import Contestant, UnsupportedCaseError, make

__all__ = ["answer", "main"]


def answer(contestant: Contestant, request: dict[str, Any]) -> dict[str, Any]:
    """Do what is asked.

    Parameters
    ----------
    contestant : Contestant
        Who is asked.
    request : dict
        ``op`` is "about", "prepare" (with ``case``), "time" (with ``samples`` and ``seconds``) or "free".

    Returns
    -------
    dict
        JSON-like; ``ok`` tells whether it went well, ``why`` what went wrong.
    """
    try:
        if request["op"] == "about":
            return {"ok": True, "versions": contestant.versions, "note": contestant.note}
        if request["op"] == "prepare":
            start = time.perf_counter()
            found = contestant.prepare(Case.from_dict(request["case"]))
            return {"ok": True, "took": time.perf_counter() - start, **found}
        if request["op"] == "time":
            return {"ok": True, **contestant.time(int(request["samples"]), float(request["seconds"]))}
        contestant.free()
        gc.collect()
    except UnsupportedCaseError as problem:
        return {"ok": False, "unsupported": True, "why": str(problem)}
    except Exception as problem:  # whatever a library throws is an answer
        traceback.print_exc()
        return {"ok": False, "unsupported": False, "why": f"{type(problem).__name__}: {str(problem)[:300]}"}
    return {"ok": True}


def main(name: str, threads: int, *arguments: str) -> None:
    """Answer requests until the input ends."""
    out = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(2, 1)  # what libraries print goes to standard error
    with contextlib.suppress(OSError):  # out of memory: this process goes first
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    try:
        contestant = make(name, threads, *arguments)
    except Exception as problem:
        traceback.print_exc()
        out.write(json.dumps({"ok": False, "why": f"{type(problem).__name__}: {problem}"}) + "\n")
        return
    for line in sys.stdin:
        out.write(json.dumps(answer(contestant, json.loads(line))) + "\n")
    out.flush()
    os._exit(0)  # some libraries' threads do not end by themselves


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
