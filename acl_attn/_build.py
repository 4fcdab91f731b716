# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Turn the headers of ``include/`` into the C source of ``acl_attn._native``.

Runs at build time only (see ``CMakeLists.txt`` beside this file). The headers are the one copy of every prototype: the
preprocessed headers are the cffi declarations, and the same headers are included by the generated source. That source
*defines* each function as a forwarder through a table of addresses filled at run time by ``dlopen``/``dlsym``, so that
nothing of any target is linked, and a forwarder that differs from its header is a compile error. There is a table for
each target; which one counts is a matter of the calling thread (see ``_glue.h``).
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import cffi
from pycparser import c_ast, c_generator, c_parser

MODULE = "acl_attn._native"

# Names that the C parser must know as types; the real ones come from the system headers at compile time.
_SYSTEM_TYPES = "\n".join(
    f"typedef int {name};"
    for name in (
        *(f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)),
        *("size_t", "ssize_t", "ptrdiff_t", "intptr_t", "uintptr_t", "bool"),
    )
)

_UNBOUND = "ACL_ATTN_STATUS_UNBOUND"
_STATUS_TYPES = frozenset({"aclError", "aclnnStatus"})
_HERE = Path(__file__).resolve().parent


def headers(include: Path) -> list[str]:
    """List the public headers, as they are written in ``#include "..."``."""
    return sorted(path.relative_to(include).as_posix() for path in include.rglob("*.h"))


def preprocess(include: Path, compiler: str, *extra: Path) -> tuple[str, list[str]]:
    """Preprocess all headers with the system's left empty.

    Returns
    -------
    tuple of str and list of str
        The declarations, and the names of the integer macros.
    """
    with tempfile.TemporaryDirectory() as scratch:
        empty = Path(scratch, "system")
        empty.mkdir()
        for header in headers(include):
            for name in re.findall(r"^\s*#\s*include\s*<([^>]+)>", Path(include, header).read_text(), re.MULTILINE):
                stub = empty / name
                stub.parent.mkdir(parents=True, exist_ok=True)
                stub.touch()
        unit = Path(scratch, "unit.c")
        unit.write_text("".join(f'#include "{header}"\n' for header in (*headers(include), *extra)))
        command = [compiler, "-E", "-P", "-std=c11", "-nostdinc", f"-I{empty}", f"-I{include}"]
        command += ["-DACL_FUNC_VISIBILITY=", str(unit)]
        text = _output(command)
        macros = _output([*command[:1], "-dM", *command[1:]])
    integers = re.findall(r"^#define (ACL\w+) \(*[-+]?(?:0[xX][0-9a-fA-F]+|\d+)[uUlL]*\)*$", macros, re.MULTILINE)
    return text, sorted(integers)


def _output(command: list[str]) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def functions(declarations: str) -> Iterator[c_ast.Decl]:
    """Yield the declaration of every function, in header order."""
    for node in c_parser.CParser().parse(_SYSTEM_TYPES + declarations).ext:
        if isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.FuncDecl):
            yield node


def groups(include: Path) -> dict[str, str]:
    """Map each function to the folder of its header: who provides it depends on that where libraries are split."""
    found = {}
    for header in headers(include):
        text = re.sub(r"/\*.*?\*/|^\s*#.*?$", "", Path(include, header).read_text(), flags=re.DOTALL | re.MULTILINE)
        for name in re.findall(r"ACL_FUNC_VISIBILITY\s[^;({]*?\b(\w+)\s*\(", text):
            found[name] = header.split("/", maxsplit=1)[0]
    return found


def forwarder(index: int, declaration: c_ast.Decl) -> str:
    """Write the C definition of a function that jumps to its address in the table."""
    arguments = declaration.type.args.params if declaration.type.args else []
    passed = ", ".join(argument.name for argument in arguments if argument.name)
    call = f"((__typeof__(&{declaration.name}))acl_attn_bound)({passed})"
    result = declaration.type.type
    names = result.type.names if isinstance(result, c_ast.TypeDecl) and hasattr(result.type, "names") else []
    if names == ["void"]:
        body = f"if (acl_attn_bound != NULL) {call};"
    else:
        unbound = _UNBOUND if _STATUS_TYPES.intersection(names) else "0"
        body = f"return acl_attn_bound != NULL ? {call} : {unbound};"
    fetch = f"void *acl_attn_bound = acl_attn_table[{index}];"  # a name that no parameter has
    return f"{c_generator.CGenerator().visit(declaration)}\n{{\n    {fetch}\n    {body}\n}}\n"


def generate(include: Path, compiler: str) -> cffi.FFI:
    """Build the cffi description of the extension module."""
    found = list(functions(preprocess(include, compiler)[0]))
    group = groups(include)
    source = [
        "#include <dlfcn.h>\n#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n",
        # The forwarders must stay private: exported, they would stand before the functions they forward to.
        "#define ACL_FUNC_VISIBILITY\n",
        *(f'#include "{header}"\n' for header in headers(include)),
        f'#include "{_HERE / "_glue.h"}"\n\n',
        f"enum {{ SYMBOL_COUNT = {len(found)} }};\n",
        "static void *acl_attn_tables[ACL_ATTN_TARGET_COUNT][SYMBOL_COUNT];\n",
        "static _Thread_local void **acl_attn_table = acl_attn_tables[0];\n",
        "static const struct { const char *name, *group; } symbols[SYMBOL_COUNT] = {\n",
        *(f'    {{"{declaration.name}", "{group[declaration.name]}"}},\n' for declaration in found),
        "};\n\n",
        *(forwarder(index, declaration) for index, declaration in enumerate(found)),
        f'\n#include "{_HERE / "_glue.c"}"\n',
    ]
    declarations, integers = preprocess(include, compiler, _HERE / "_glue.h")
    builder = cffi.FFI()
    builder.cdef(declarations + "".join(f"#define {name} ...\n" for name in integers))
    builder.set_source(MODULE, "".join(source))
    return builder


def main() -> None:
    """Write the C source named on the command line."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--include", type=Path, required=True, help="directory of the public headers")
    parser.add_argument("--compiler", required=True, help="C compiler, used as preprocessor")
    parser.add_argument("--output", type=Path, required=True, help="C file to write")
    options = parser.parse_args()
    generate(options.include.resolve(), options.compiler).emit_c_code(str(options.output))


if __name__ == "__main__":
    main()
