# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Programs in a process of their own, for what happens once in a process."""

from __future__ import annotations

import subprocess
import sys


def run_python(program: str, **environment: str) -> str:
    """Run a program that must end well and leave nothing on standard error; gives its output."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={"PATH": "/usr/bin:/bin", **environment},
        cwd="/",
    )
    assert done.returncode == 0, done.stderr + done.stdout
    assert done.stderr == ""
    return done.stdout.strip()
