# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""List the calls of the AscendC API that the kernels make, with the section of the notes that documents each.

``api_probe.cpp`` marks every name with its section, ``// [7.2] Cast``. A name that a kernel uses and the probe does not
mark, or that the probe marks and no kernel uses, is an error: exit code 1. So is a wrapper's call outside ``tile/``,
the only place with raw calls.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
NAME = re.compile(r"AscendC::((?:Reg::)?\w+)|\b(asc_vf_call)\b")
MARK = re.compile(r"// \[(\d+(?:\.\d+)?)\] ([\w: ]+)$", re.MULTILINE)
# What kernels may name outside tile/: types and constants, no calls.
TYPES = {"LocalTensor", "GlobalTensor", "HardEvent", "RoundMode", "CMPMODE", "int4b_t"}


def marked(probe: str) -> dict[str, str]:
    """Section of each name that the probe marks."""
    return {name: section for section, names in MARK.findall(probe) for name in names.split()}


def used(folder: Path) -> dict[str, list[str]]:
    """Files that use each name, without the probe."""
    files: dict[str, list[str]] = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix not in {".h", ".cpp"} or path.name == "api_probe.cpp":
            continue
        text = path.read_text(encoding="utf-8")
        for name in sorted({match[1] or match[2] for match in NAME.finditer(text)}):
            files.setdefault(name, []).append(path.relative_to(folder).as_posix())
    return files


def problems(sections: dict[str, str], files: dict[str, list[str]]) -> list[str]:
    """Say what is wrong, a line each."""
    out = [
        f"{name}: used in {', '.join(where)}, not marked in api_probe.cpp"
        for name, where in files.items()
        if name not in sections
    ]
    out += [f"{name}: marked in api_probe.cpp, used by no kernel" for name in sections if name not in files]
    for name, where in files.items():
        outside = [path for path in where if not path.startswith("tile/")]
        if name not in TYPES and outside:
            out.append(f"{name}: called outside tile/, in {', '.join(outside)}")
    return out


def main() -> int:
    """Print the list; return the exit code."""
    sections = marked((FOLDER / "api_probe.cpp").read_text(encoding="utf-8"))
    files = used(FOLDER)
    for name in sorted(sections, key=lambda n: ([int(part) for part in sections[n].split(".")], n)):
        print(f"{sections[name]:5} {name:24} {', '.join(files.get(name, []))}")
    wrong = problems(sections, files)
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
