# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The benchmark's end of a worker process."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, Any

import acl_attn

from .contestants import ENGINE, LIMITS

__all__ = ["Worker", "library"]

_SILENCE = 600  # seconds after which a worker hangs
_FOLDER = Path(__file__).parent


def library() -> Path:
    """Give the benchmark's native library, which is installed beside the target's."""
    return acl_attn.get_library().with_name("libacl_attn_bench.so")


def _command(name: str, threads: int, python: str, cpu: str) -> list[str]:
    if name == ENGINE:
        return [sys.executable, "-m", "acl_attn.bench.worker", name, str(threads), *([cpu] if cpu else [])]
    script = [python or sys.executable, str(_FOLDER / "worker.py"), name, str(threads)]
    return [*script, str(library())] if name == LIMITS else script


def _environment(threads: int) -> dict[str, str]:
    # A machine's defaults for OpenBLAS may name a processor that it is not, and slow NumPy down.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")}
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        environment[name] = str(threads)
    # Some cases are beyond what a product takes; what is measured is the host's engine.
    return environment | {"ACL_ATTN_PROFILE": "host"}


class Worker:
    """A process that answers requests; see `acl_attn.bench.worker`.

    Parameters
    ----------
    name : str
        Who computes there.
    threads : int
        With how many threads.
    python : str
        The interpreter, this one without it.
    cpu : str
        Instruction set of the engine, its own choice without it.
    """

    def __init__(self, name: str, threads: int, python: str = "", cpu: str = "") -> None:
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process
        # Not the caller's directory, where there may be a folder that is called like a library; nor the terminal's
        # session, whose control-C is for the benchmark alone.
        self._process = subprocess.Popen(  # noqa: S603 - the command is our own
            _command(name, threads, python, cpu), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
            text=True, bufsize=1, env=_environment(threads), cwd=_FOLDER.parents[1],
            start_new_session=True,
        )  # fmt: skip

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked."""
        return self._process.poll() is None

    def ask(self, op: str, **arguments: Any) -> dict[str, Any]:
        """Send a request and wait for the reply; a dead or hanging process is a reply too."""
        requests, replies = self._process.stdin, self._process.stdout
        if requests is None or replies is None:
            raise RuntimeError("the worker was started without pipes")
        try:
            requests.write(json.dumps({"op": op, **arguments}) + "\n")
            requests.flush()
        except OSError:
            pass  # it may have said why before it ended
        ready, _, _ = select.select([replies], [], [], _SILENCE)
        line = replies.readline() if ready else ""
        if line:
            reply: dict[str, Any] = json.loads(line)
            return reply
        self._process.kill()
        self._process.wait()
        why = f"ended with {self._process.returncode}" if ready else f"no answer in {_SILENCE} s"
        return {"ok": False, "unsupported": False, "why": f"{why}: {self._last_words()}"}

    def _last_words(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1][:200] if lines else "no message"

    def close(self) -> None:
        """End the process."""
        if self._process.stdin is not None:
            try:
                self._process.stdin.close()
                self._process.wait(20)
            except (OSError, subprocess.TimeoutExpired):
                self._process.kill()
                self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._errors.close()
