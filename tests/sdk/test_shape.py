# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The package's shape: who imports whom, what is public, and that all of it is documented."""

from __future__ import annotations

import ast
import enum
import inspect
from pathlib import Path

import pytest
from numpydoc.validate import validate

import acl_attn

PACKAGE = Path(acl_attn.__file__).parent

# Lowest first: a module imports only from lines above its own, never from its own line or below.
LAYERS = (
    ("_native",),
    ("profiles", "_probe", "_target_numbers"),
    ("_lib",),
    ("_installation",),
    ("_target_search",),
    ("_targets",),
    ("errors",),
    ("values",),
    ("dtypes.carriers",),
    ("dtypes.acl", "dtypes.hifloat8_codes", "dtypes.packed", "dtypes.scales"),
    ("dtypes.convert",),
    ("dtypes", "dtypes.__init__"),
    ("lengths", "masks", "layouts", "lse"),
    ("kvcache.axes", "kvcache.modes", "kvcache.padding", "kvcache.scaling"),
    ("kvcache.scale_shapes", "kvcache.packed_layout", "kvcache.packed_planes"),
    ("kvcache.packed_calls",),
    ("kvcache.packed",),
    ("kvcache.packed_check", "kvcache.packed_convert", "kvcache.packed_pool"),
    ("kvcache.antiquant", "kvcache.full_quant", "kvcache.mxfp8"),
    ("kvcache.pairs",),
    ("kvcache", "kvcache.__init__"),
    ("_process",),
    ("_handles",),
    ("_inflight",),
    ("streams",),
    ("device", "memory", "spec"),
    ("tensor", "selection"),
    ("addresses",),
    ("handle_set",),
    ("prepared", "staging"),
    ("placed",),
    ("plan",),
    ("ops.fia_call", "ops.features", "ops.sparse_call", "controls"),
    ("ops.full_quant", "ops.sparse_signatures", "ops.describe_metadata"),
    ("ops.feature_arguments", "ops.fia_arguments", "ops.single_token"),
    ("ops.attention_call", "ops.sparse_arguments", "env"),
    ("ops.repeats",),
    ("ops.attention", "ops.fused_infer_attention_score"),
    ("ops.sparse_plan", "ops.sparse_flash_mla", "ops.kv_quant_sparse_attn_sharedkv"),
    ("report",),
    ("ops.judge",),
    ("ops.fia_judge", "ops.sparse_judge"),
    ("catalogue", "checking"),
    ("stored.archive", "stored.description", "kinds"),
    ("stored.call",),
    ("stored", "stored.__init__"),
    ("bench.command", "cli_calls", "scenarios"),
    ("cli_sim",),
    ("cli",),
    ("__init__", "ops.__init__", "__main__"),
)
# These use the package as its users do, plus the parts that need no library.
OUTSIDE = ("bench", "reference", "testing")
_PUBLIC_PARTS = {"bench", "dtypes", "kvcache", "errors", "lengths", "lse", "masks", "reference", "testing"}


def modules() -> list[str]:
    found = [".".join(path.relative_to(PACKAGE).with_suffix("").parts) for path in PACKAGE.rglob("*.py")]
    return sorted(name for name in found if name != "_build")


def imports(module: str) -> set[str]:
    """List the package's own modules that a module imports, anywhere in it."""
    path = PACKAGE / Path(*module.split(".")).with_suffix(".py")
    package = module.split(".")[:-1]
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            parts = [*base, *(node.module or "").split(".")] if node.module else base
            if not node.level:
                if parts[0] != "acl_attn":
                    continue
                parts = parts[1:]
            for alias in node.names:
                deeper = ".".join([*parts, alias.name])
                names.add(
                    deeper if (PACKAGE / Path(*deeper.split("."))).with_suffix(".py").exists() else ".".join(parts)
                )
        elif isinstance(node, ast.Import):
            names |= {
                alias.name.removeprefix("acl_attn").lstrip(".") for alias in node.names if "acl_attn" in alias.name
            }
    return names


RANK = {module: rank for rank, layer in enumerate(LAYERS) for module in layer}


@pytest.mark.parametrize("module", [module for module in modules() if not module.startswith(OUTSIDE)])
def test_dependencies_point_downwards(module: str) -> None:
    assert module in RANK, "a new module: give it its place in LAYERS"
    for imported in imports(module):
        if module == "_lib" and imported in ("", "_native"):
            continue
        if module == "checking" and imported == "ops":  # its registered operators
            continue
        assert RANK[imported] < RANK[module], f"{module} imports {imported}"


@pytest.mark.parametrize("module", [module for module in modules() if module.startswith(OUTSIDE)])
def test_reference_and_testing_stand_outside(module: str) -> None:
    for imported in imports(module):
        assert imported.split(".")[0] in {"", *_PUBLIC_PARTS}, f"{module} imports {imported}"


def test_only_one_module_knows_the_extension_and_one_the_executor() -> None:
    for module in modules():
        text = (PACKAGE / Path(*module.split(".")).with_suffix(".py")).read_text()
        assert ("_native" in text) == (module in ("_lib",)), module
        assert "aclOpExecutor" not in text or module == "prepared", module
        assert "lib.aclGetRecentErrMsg" not in text or module == "errors", module
        assert "def __del__" not in text, module


def public() -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    for name in acl_attn.__all__:
        thing = getattr(acl_attn, name)
        found.append((name, thing))
        if inspect.isclass(thing):
            for attribute, member in vars(thing).items():
                if not attribute.startswith("_") and (inspect.isroutine(member) or isinstance(member, property)):
                    found.append((f"{name}.{attribute}", member))
    return found


def test_all_is_sorted_and_complete() -> None:
    assert list(acl_attn.__all__) == sorted(acl_attn.__all__, key=lambda name: (not name.isupper(), name))
    imported = {
        name
        for name, thing in vars(acl_attn).items()
        if not name.startswith("_") and not inspect.ismodule(thing) and name != "annotations"
    }
    assert imported == set(acl_attn.__all__)


# ES01 no extended summary, EX01 no example, SA01 no "See Also".
_NOT_NEEDED = {"ES01"}
_MEMBERS_DO_NOT_NEED = {"ES01", "EX01", "SA01"}


@pytest.mark.parametrize("name", [name for name, _ in public()])
def test_docstrings_are_complete(name: str) -> None:
    thing = dict(public())[name]
    is_member = "." in name
    is_exception = inspect.isclass(thing) and issubclass(thing, BaseException)
    ignored = _MEMBERS_DO_NOT_NEED if is_member or is_exception else _NOT_NEEDED
    if is_exception and name != "AclError":
        ignored = ignored | {"PR01"}  # the constructor is inherited
    if inspect.isclass(thing) and issubclass(thing, enum.Enum):
        ignored = ignored | {"PR01"}  # nobody calls it
    errors = [f"{code}: {text}" for code, text in validate(f"acl_attn.{name}")["errors"] if code not in ignored]
    assert errors == []
