# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Which installation is found, by what, and what is said where there is none that can be used."""

from __future__ import annotations

import pytest

from .standin import StandIn

SHOW = """
for name, target in acl_attn.targets().items():
    print(name, "|", target.problem, "|", target.root, "|", target.versions, "|", target.devices, target.soc_name)
"""
CANN = "print(acl_attn.targets()['cann'].problem or 'fine')"
LIBRARIES = "print(*acl_attn.targets()['cann'].libraries)"


def test_nothing_is_installed(standin: StandIn) -> None:
    said = dict(line.split(" |", 1) for line in standin.run(SHOW).splitlines())
    assert said["host"].startswith("  |")
    for name in ("npu", "cann"):
        assert "no CANN installation was found; install CANN and source its set_env.sh" in said[name]


@pytest.mark.parametrize("variable", ["ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"])
def test_variables_name_the_installation(standin: StandIn, variable: str) -> None:
    root = standin.tree("split")
    said = standin.run(SHOW, **{variable: str(root)})
    expected = f"cann |  | {root} | {{'ops-transformer': '9.1.0', 'runtime': '9.1.0'}} | 1 Ascend910B3"
    assert expected in said


def test_the_loader_path_is_looked_at(standin: StandIn) -> None:
    folder = standin.tree("aggregate") / "lib64"
    said = standin.run(SHOW, LD_LIBRARY_PATH=f"/nowhere:{folder}")
    assert f"cann |  | {standin.tree('aggregate')} | {{'toolkit': '8.0.RC1'}} | 1 Ascend910B3" in said


def test_a_variable_that_names_no_installation_is_reported(standin: StandIn) -> None:
    said = standin.run(CANN, ASCEND_HOME_PATH="/nowhere")
    assert "(/nowhere (ASCEND_HOME_PATH) has no lib64/libacl_rt.so or libascendcl.so)" in said


def test_both_generations_have_their_libraries(standin: StandIn) -> None:
    names = [path.rsplit("/", 1)[1] for path in standin.run(LIBRARIES, "split").split()]
    operators = ["libcust_opapi.so", "libopapi_transformer.so"]
    assert names == ["libacl_rt.so", "libnnopbase.so", "libopapi_math.so", *operators]
    names = [path.rsplit("/", 1)[1] for path in standin.run(LIBRARIES, "aggregate").split()]
    assert names == ["libascendcl.so", "libnnopbase.so", "libopapi.so"]


def test_custom_packages_come_first_and_once(standin: StandIn) -> None:
    vendors = standin.tree("split") / "opp" / "vendors"
    package = vendors / "custom_transformer"
    said = standin.run(LIBRARIES, "aggregate", ASCEND_CUSTOM_OPP_PATH=f"/nowhere:{package}")
    assert said.split()[2].startswith(str(package))
    said = standin.run(LIBRARIES, "split", ASCEND_CUSTOM_OPP_PATH=str(package))
    assert said.count("libcust_opapi.so") == 1
    said = standin.run(LIBRARIES, "aggregate", ASCEND_OPP_PATH=str(standin.tree("split") / "opp"))
    assert said.split()[2].startswith(str(package)), "a vendor's package by the priority of config.ini"


def test_what_set_env_would_have_set_is_set(standin: StandIn) -> None:
    program = """
acl_attn.use("cann")
print(os.environ["ASCEND_HOME_PATH"], os.environ["ASCEND_OPP_PATH"], os.environ["ASCEND_CUSTOM_OPP_PATH"])
"""
    root = standin.tree("split")
    said = standin.run(program, ASCEND_TOOLKIT_HOME=str(root), ASCEND_OPP_PATH=str(root / "opp"))
    assert said.split() == [str(root), f"{root}/opp", f"{root}/opp/vendors/custom_transformer"]


def test_a_runtime_that_ends_the_process_ends_another_one(standin: StandIn) -> None:
    said = standin.run(CANN, "ends")
    library = standin.tree("ends") / "lib64" / "libacl_rt.so"
    assert said.startswith(f"load {library}: ended the process with status 255 (a library of the runtime is missing)")
    assert said.endswith("source <CANN>/set_env.sh before Python starts")
    said = standin.run("print(refused(lambda: acl_attn.use('cann'), acl_attn.BackendMissingError))", "ends")
    assert "ended the process with status 255" in said


def test_a_missing_driver_is_named(standin: StandIn) -> None:
    said = standin.run(CANN, "no_driver")
    assert "libacl_rt.so could not be loaded: libascend_hal.so: cannot open shared object file" in said
    assert "the driver's libraries are not found: install the driver, or source its set_env.sh" in said


@pytest.mark.parametrize(
    ("faults", "message"),
    [
        ("aclInit=100039", "is a stub for building (status 100039): no driver is installed"),
        ("aclInit=500000", "aclInit failed with status 500000: is the driver installed, and may this user use it?"),
        ("aclrtGetDeviceCount=207006", "aclrtGetDeviceCount failed with status 207006"),
        ("aclrtGetDeviceCount=0", "aclrtGetDeviceCount: no device; see ASCEND_RT_VISIBLE_DEVICES"),
    ],
)
def test_a_runtime_that_cannot_be_used_says_why(standin: StandIn, faults: str, message: str) -> None:
    assert message in standin.run(CANN, "split", STANDIN_FAULTS=faults)


def test_operators_that_are_not_installed(standin: StandIn) -> None:
    said = standin.run(CANN, "bare")
    assert said.endswith("the operators' package is not installed")


def test_a_program_that_embeds_python_is_not_started_again(standin: StandIn) -> None:
    program = """
from acl_attn import _probe
sys.executable = "/usr/bin/my_server"
assert _probe._interpreter().endswith("python3")
sys.prefix = sys.base_prefix = "/nowhere"
print(acl_attn.targets()["cann"].problem)
"""
    assert standin.run(program, "split").startswith("no Python interpreter was found")


def test_the_environment_shows_all_targets(standin: StandIn) -> None:
    said = standin.run("from acl_attn import cli; print(cli.main(['env']))", "split", ACL_ATTN_TARGET="cann")
    assert "target        cann" in said
    assert f"cann available; 1 x Ascend910B3; {standin.tree('split')}; ops-transformer 9.1.0, runtime 9.1.0" in said
    assert "npu  not available: " in said
    assert "profile       ascend910b, page rules" in said
    assert said.endswith("0")
    said = standin.run("from acl_attn import cli; print(cli.main(['env']))", "ends", ACL_ATTN_TARGET="cann")
    assert "problem       target 'cann' can't be used" in said
    assert said.endswith("1")
