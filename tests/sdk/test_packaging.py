# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""What is installed: one binary for all Pythons that exports nothing of the ABI, headers, library, command, types."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import acl_attn
from acl_attn import _native, cli
from acl_attn._lib import lib

PACKAGE = Path(_native.__file__).parent


def exported(library: Path) -> set[str]:
    done = subprocess.run(["nm", "-D", "--defined-only", str(library)], check=True, capture_output=True, text=True)
    return {line.split()[-1] for line in done.stdout.splitlines()}


def test_the_extension_is_for_every_python() -> None:
    assert Path(_native.__file__).name == "_native.abi3.so"
    undefined = subprocess.run(["nm", "-D", "-u", _native.__file__], check=True, capture_output=True, text=True).stdout
    assert not re.search(r"\bacl\w+", undefined), "nothing of a target is linked"
    needed = subprocess.run(["objdump", "-p", _native.__file__], check=True, capture_output=True, text=True).stdout
    assert "acl" not in "".join(line for line in needed.splitlines() if "NEEDED" in line)


def test_the_extension_exports_only_its_init_function() -> None:
    # An exported forwarder would stand before the function that it forwards to.
    assert exported(Path(_native.__file__)) - {"_init", "_fini"} == {"PyInit__native"}


def test_every_function_of_the_headers_is_bound() -> None:
    acl_attn.live_objects()
    declared = set()
    for header in acl_attn.get_include().rglob("*.h"):
        text = re.sub(r"/\*.*?\*/|^\s*#.*?$", "", header.read_text(), flags=re.DOTALL | re.MULTILINE)
        declared |= set(re.findall(r"ACL_FUNC_VISIBILITY\s[^;({]*?\b(\w+)\s*\(", text))
    assert len(declared) > 100
    assert declared <= set(dir(lib))
    assert acl_attn.environment().missing == []
    assert declared <= exported(acl_attn.get_library())


def test_headers_library_and_types_are_installed() -> None:
    assert (acl_attn.get_include() / "aclnnop" / "aclnn_fused_infer_attention_score_v5.h").is_file()
    assert acl_attn.get_library().is_file()
    assert (PACKAGE / "py.typed").is_file()
    assert not (PACKAGE / "_build.py").exists()


def test_sources_without_a_compiled_part_say_so(tmp_path: Path) -> None:
    (tmp_path / "acl_attn").mkdir()
    for name in ("__init__.py", "_lib.py"):
        (tmp_path / "acl_attn" / name).write_text((Path(acl_attn.__file__).parent / name).read_text())
    # -S: without the finders of an editable install, which come before the working directory.
    done = subprocess.run(
        [sys.executable, "-S", "-c", "import acl_attn"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert f"got {tmp_path / 'acl_attn'}, which has no compiled part; start Python in another directory" in done.stderr


def test_versions_agree() -> None:
    found = acl_attn.environment()
    assert acl_attn.__version__ == found.version == found.library_version
    with pytest.raises(AttributeError, match="nothing"):
        acl_attn.nothing  # noqa: B018


def test_env_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["env"]) == 0
    text = capsys.readouterr().out
    for part in (acl_attn.__version__, "host", "threads", "portable", "(in use)", str(acl_attn.get_library())):
        assert part in text
    assert cli.main(["env", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["target"] == "host"
    assert found["cpu_target"] in found["cpu_targets"]
    with pytest.raises(SystemExit):
        cli.main([])


def test_config_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["config", "--include", "--library"]) == 0
    assert capsys.readouterr().out.splitlines() == [str(acl_attn.get_include()), str(acl_attn.get_library())]
    with pytest.raises(SystemExit):
        cli.main(["config"])


def test_reference_and_testing_need_no_import_of_their_own() -> None:
    script = "import acl_attn; print(callable(acl_attn.reference.attention), acl_attn.testing.__name__)"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, cwd="/")
    assert done.stdout.split() == ["True", "acl_attn.testing"]


def test_the_command_is_on_the_path_and_a_module() -> None:
    command = Path(sys.executable).with_name("acl-attn")
    for start in ([str(command)], [sys.executable, "-m", "acl_attn"]):
        done = subprocess.run([*start, "env", "--json"], check=True, capture_output=True, text=True, cwd="/")
        assert json.loads(done.stdout)["version"] == acl_attn.__version__


def test_a_problem_is_the_exit_status(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "acl_attn", "env"],
        env={"ACL_ATTN_LIBRARY": str(tmp_path / "missing.so")},
        capture_output=True,
        text=True,
        cwd="/",
        check=False,
    )
    assert done.returncode == 1
    assert "problem" in done.stdout
    assert "missing.so" in done.stdout
    assert done.stderr == ""


def test_controls() -> None:
    before = acl_attn.get_num_threads()
    acl_attn.set_num_threads(3)
    assert acl_attn.get_num_threads() == 3
    acl_attn.set_num_threads(0)
    assert acl_attn.get_num_threads() == before
    for wrong in (-1, 5000):
        with pytest.raises(acl_attn.InvalidArgumentError, match="count: expected 0 to 1024 threads"):
            acl_attn.set_num_threads(wrong)
    with pytest.raises(acl_attn.ArgumentTypeError, match="count"):
        acl_attn.set_num_threads("2")  # type: ignore[arg-type]
    acl_attn.set_cpu_target("portable")
    assert acl_attn.get_cpu_target() == "portable"
    acl_attn.set_cpu_target(None)
    assert acl_attn.get_cpu_targets()[acl_attn.get_cpu_target()]
    with pytest.raises(acl_attn.InvalidArgumentError, match="name: expected one of portable"):
        acl_attn.set_cpu_target("sse9")
    with pytest.raises(acl_attn.ArgumentTypeError, match="name"):
        acl_attn.set_cpu_target(3)  # type: ignore[arg-type]
