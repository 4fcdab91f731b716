# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""CANN that fails, and objects that must be let go all the same."""

from __future__ import annotations

import pytest

from .standin import StandIn


@pytest.mark.parametrize("tree", ["split", "aggregate"])
def test_executors_that_are_not_repeatable(standin: StandIn, tree: str) -> None:
    program = """
q, k, v = operands()
host = acl_attn.attention(q, k, v, mask="causal")
shorter = acl_attn.attention(q, k, v, mask="causal", kv_lengths=40, q_lengths=40)
device = acl_attn.use("cann")
with acl_attn.Plan(q, k, v, mask="causal", kv_lengths=48, q_lengths=48) as plan:
    assert not plan._prepared.executor
    for _ in range(3):
        same(plan.run(), host)
    other = [array[::-1].copy() for array in (q, k, v)]
    same(plan.run(*other), acl_attn.attention(*other, mask="causal"))
    with device.create_stream() as stream:
        queued = [plan.run(stream=stream) for _ in range(4)]
        stream.synchronize()
    for out in queued:
        same(out, host)
    plan.update(kv_lengths=40, q_lengths=40)
    same(plan.run()[:, :40], shorter[:, :40])
    assert "aclnnFusedInferAttentionScoreV4" in refused(lambda: plan.max_workspace_bytes, acl_attn.UnsupportedError)
assert set(device_objects()) == {0}
"""
    standin.run(program, tree, STANDIN_FAULTS="aclSetAclOpExecutorRepeatable=561000")


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("aclrtSynchronizeStream=507015", "DeviceFaultError"),
        ("aclrtMalloc=207001", "OutOfMemoryError"),
        ("aclrtMemcpy=507053", "DeviceFaultError"),
        ("aclrtSetDevice=507033", "AclError"),
        ("aclnnFusedInferAttentionScoreV4GetWorkspaceSize=561002", "InvalidArgumentError"),
        ("aclnnFusedInferAttentionScoreV4GetWorkspaceSize=561003", "AclError"),
        ("aclSetRawTensorAddr=161002", "InvalidArgumentError"),
    ],
)
def test_a_failure_has_its_class_and_leaves_nothing(standin: StandIn, fault: str, kind: str) -> None:
    name, status = fault.split("=")
    program = f"""
q, k, v = operands()
expected = acl_attn.attention(q, k, v)
def both():
    acl_attn.use("cann")
    acl_attn.attention(q, k, v)
def planned():
    acl_attn.use("cann")
    with acl_attn.Plan(q, k, v) as plan:
        plan.run()
for call in (both, planned):
    message = refused(call, acl_attn.{kind})
    assert "EZ9999: {name} was told to fail" in message and "{status}" in message, message
print(message)
acl_attn.use("host")
same(acl_attn.attention(q, k, v), expected)
assert set(device_objects()[:8]) == {{0}}
"""
    said = standin.run(program, "split", STANDIN_FAULTS=fault)
    assert ("is their package for this chip installed" in said) == (status == "561003")


def test_a_failure_on_a_stream_is_reported_where_it_is_waited_for(standin: StandIn) -> None:
    program = """
import warnings
q, k, v = operands()
device = acl_attn.use("cann")
stream = device.create_stream()
acl_attn.attention(q, k, v, stream=stream)
print(refused(stream.synchronize, acl_attn.DeviceFaultError))
try:
    stream.close()
except acl_attn.DeviceFaultError:
    pass
assert stream.is_closed
assert set(device_objects()) == {0}
"""
    said = standin.run(program, "split", STANDIN_FAULTS="aclrtSynchronizeStreamWithTimeout=507018")
    assert "507018 ACL_ERROR_RT_AICPU_EXCEPTION" in said


def test_an_object_that_is_not_released_only_warns(standin: StandIn) -> None:
    program = """
import warnings
device = acl_attn.use("cann")
stream = device.create_stream()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    del stream
    gc.collect()
print(*(str(warning.message) for warning in caught if warning.category is acl_attn.AclAttnWarning))
"""
    said = standin.run(program, "split", STANDIN_FAULTS="aclrtDestroyStream=507000")
    assert said == "an object was not released: EZ9999: aclrtDestroyStream was told to fail"


def test_a_lost_context_is_regained(standin: StandIn) -> None:
    program = """
q, k, v = operands()
expected = acl_attn.attention(q, k, v)
device = acl_attn.use("cann")
plan = acl_attn.Plan(q, k, v)
same(acl_attn.attention(q, k, v), expected)
acl = ctypes.CDLL(acl_attn.targets()["cann"].libraries[0])
assert acl.aclrtResetDeviceForce(0) == 0 or True
acl.aclrtSetCurrentContext(None)
same(acl_attn.attention(q, k, v), expected)
"""
    standin.run(program, "split")


def test_rules_of_the_chip_are_asked_first(standin: StandIn) -> None:
    program = """
q, k, v = operands(dim=100)
acl_attn.use("cann")
for call in (lambda: acl_attn.attention(q, k, v), lambda: acl_attn.Plan(q, k, v)):
    try:
        call()
    except acl_attn.InvalidArgumentError as refusal:
        print(refusal.rule, refusal.parameter, refusal.profiles)
report = acl_attn.check("attention", query=q, key=k, value=v)
assert not report and report.profile == os.environ["PROFILE"], report
acl_attn.Device(0).profile = "host"
acl_attn.attention(q, k, v)
"""
    for chip, profile in (("Ascend910B3", "ascend910b"), ("Ascend910_9391", "ascend910_93")):
        said = standin.run(program, "split", STANDIN_SOC=chip, PROFILE=profile).splitlines()
        assert said[0] == said[1]
        assert said[0].startswith("COM-S-11 value")
    program = "acl_attn.use('cann'); print(acl_attn.Device(0).profile)"
    assert standin.run(program, "split", STANDIN_SOC="Ascend950PR_9599") == "ascend950"
    assert standin.run(program, "split", STANDIN_SOC="Ascend310P3") == "host"
    assert standin.run(program, "split", ACL_ATTN_PROFILE="ascend910b", STANDIN_SOC="Ascend310P3") == "ascend910b"


def test_the_end_of_the_process_with_everything_alive(standin: StandIn) -> None:
    program = """
q, k, v = operands(256, 8)
device = acl_attn.use("cann")
stream = device.create_stream()
plan = acl_attn.Plan(q, k, v)
things = [stream, stream.record(), acl_attn.Buffer(1 << 20), plan]
for _ in range(20):
    things.append(plan.run(stream=stream))
    things.append(acl_attn.attention(q, k, v, stream=stream))
del q, k, v
"""
    standin.run(program, "split")
