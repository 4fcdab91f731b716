# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Which function is taken from which library, what is done about missing ones, and who initialises."""

from __future__ import annotations

import pytest

from .standin import StandIn


def test_each_function_comes_from_its_library(standin: StandIn) -> None:
    program = """
from acl_attn._lib import symbols
acl_attn.use("cann")
for symbol in symbols():
    print(symbol.name, symbol.library(3))
"""
    found = dict(line.split(" ", 1) for line in standin.run(program, "split").splitlines() if " " in line)
    expected = {
        "aclrtMalloc": "libacl_rt.so",
        "aclCreateTensor": "libnnopbase.so",
        "aclnnFusedInferAttentionScoreV5": "libopapi_transformer.so",
        "aclnnFusedInferAttentionScoreV5GetMaxWorkspaceSize": "libopapi_transformer.so",
        "aclnnKvQuantSparseAttnSharedkv": "libcust_opapi.so",
        "aclnnKvQuantSparseAttnSharedkvGetWorkspaceSize": "libcust_opapi.so",
        "aclAttnCheckFusedInferAttentionScore": "libacl_attn.so",
        "aclAttnPackRows": "libacl_attn.so",
    }
    for name, library in expected.items():
        assert found[name].endswith(f"/{library}"), (name, found[name])
    assert found.get("aclAttnRun", "") == ""
    assert found.get("aclAttnGetRecentProblem", "") == "", "the host's last problem is not CANN's"


def test_a_runtime_without_a_needed_function_is_reported_with_versions(standin: StandIn) -> None:
    program = "print(refused(lambda: acl_attn.use('cann'), acl_attn.BackendMissingError))"
    said = standin.run(program, "incomplete")
    root = standin.tree("incomplete")
    expected = f"aclrtMemcpyAsync missing in CANN at {root} (ops-transformer 9.1.0, runtime 8.5.0); looked in "
    assert expected in said
    assert f"{root}/lib64/libacl_rt.so" in said


@pytest.mark.parametrize(("tree", "version"), [("split", "V4"), ("aggregate", "V4"), ("older", "V3")])
def test_a_call_falls_back_as_far_as_its_arguments_permit(standin: StandIn, tree: str, version: str) -> None:
    program = f"""
q, k, v = operands()
expected = acl_attn.attention(q, k, v, mask="causal")
acl_attn.use("cann")
same(acl_attn.attention(q, k, v, mask="causal"), expected)
with acl_attn.Plan(q, k, v, mask="causal") as plan:
    same(plan.run(), expected)
    assert plan._call.operator.name == "aclnnFusedInferAttentionScore{version}"
out, _ = acl_attn.fused_infer_attention_score(q, k, v, num_heads=2, input_layout="BSND", version=2)
same(out, acl_attn.attention(q, k, v))
print(refused(lambda: acl_attn.attention(q, k, v, alibi=acl_attn.Alibi(np.ones(2, np.float32))),
              acl_attn.UnsupportedError))
assert set(device_objects()) == {{0}}
"""
    api = f"aclnnFusedInferAttentionScore{version}"
    expected = f", as {api} does not have it, the newest that the chip and its CANN have, got "
    said = standin.run(program, tree)
    assert said.startswith("alibi")
    assert expected in said
    assert "install a CANN" not in said, "A2 has versions up to 4 whatever its CANN"
    said = standin.run(program, tree, STANDIN_SOC="Ascend310P3") if tree != "split" else ""
    assert tree == "split" or said.endswith("install a CANN with aclnnFusedInferAttentionScoreV5")


def test_ascend950_has_version_5_alone(standin: StandIn) -> None:
    program = """
q, k, v = operands()
expected = acl_attn.attention(q, k, v)
acl_attn.use("cann")
try:
    same(acl_attn.attention(q, k, v), expected)
    print("computed")
except acl_attn.BackendMissingError as refusal:
    print(refusal)
print(refused(lambda: acl_attn.fused_infer_attention_score(q, k, v, num_heads=2, input_layout="BSND", version=4)))
"""
    said = standin.run(program, "split", STANDIN_SOC="Ascend950PR_9599").splitlines()
    assert said[0] == "computed"
    assert "[API-S-03]" in said[1]
    said = standin.run(program, "aggregate", STANDIN_SOC="Ascend950PR_9599").splitlines()
    assert said[0].startswith("aclnnFusedInferAttentionScoreV5GetWorkspaceSize: target 'cann' does not export")


def test_a_sink_needs_version_4(standin: StandIn) -> None:
    program = """
q, k, v = operands(dtype=np.float16)
sink = np.zeros(2, np.float16)
acl_attn.use("cann")
print(refused(lambda: acl_attn.attention(q, k, v, sink=sink), acl_attn.UnsupportedError))
"""
    assert standin.run(program, "older").startswith("sink: expected None, as aclnnFusedInferAttentionScoreV3")


def test_an_operator_that_no_library_has_is_named(standin: StandIn) -> None:
    program = """
acl_attn.use("cann")
call = lambda: acl_attn.sparse_flash_mla_metadata(
    64, 1, 512, batch_size=1, max_seqlen_q=4, max_seqlen_ori_kv=4, has_cmp_kv=False,
    ori_mask_mode=4, ori_win_left=127, ori_win_right=0)
print(refused(call, acl_attn.BackendMissingError))
"""
    said = standin.run(program, "aggregate")
    root = standin.tree("aggregate")
    assert said.startswith("aclnnSparseFlashMlaMetadataGetWorkspaceSize: target 'cann' does not export this function; ")
    assert f"CANN at {root} (toolkit 8.0.RC1)" in said
    assert f"{root}/lib64/libopapi.so" in said


def test_someone_elses_initialisation_is_used_and_left_alone(standin: StandIn) -> None:
    program = """
acl = ctypes.CDLL(os.environ["RUNTIME"], ctypes.RTLD_GLOBAL)
assert acl.aclInit(None) == 0
q, k, v = operands()
expected = acl_attn.attention(q, k, v)
acl_attn.use("cann")
same(acl_attn.attention(q, k, v), expected)
gc.collect()
from acl_attn import _process
_process._shut_down(False, 3)  # what the end of the process does when the initialisation was not ours
count = ctypes.c_uint64()
assert acl.aclrtSetDevice(0) == 0
assert acl.aclFinalizeReference(ctypes.byref(count)) == 0
"""
    runtime = str(standin.tree("split") / "lib64" / "libacl_rt.so")
    # The variable names another installation: the one that the process has counts.
    standin.run(program, "aggregate", RUNTIME=runtime)


def test_the_host_keeps_to_itself_beside_a_global_runtime(standin: StandIn) -> None:
    """Its exported functions call each other, under names that the runtime has too."""
    program = """
acl = ctypes.CDLL(os.environ["RUNTIME"], ctypes.RTLD_GLOBAL)
with acl_attn.Device(0, "host").create_stream() as stream:
    acl_attn.attention(*operands(), stream=stream)
"""
    runtime = str(standin.tree("split") / "lib64" / "libacl_rt.so")
    standin.run(program, RUNTIME=runtime, STANDIN_FAULTS="aclrtCreateStreamWithConfig=500000")


def test_the_installation_that_the_process_has_counts(standin: StandIn) -> None:
    program = """
acl = ctypes.CDLL(os.environ["RUNTIME"])
print(acl_attn.targets()["cann"].root)
"""
    runtime = str(standin.tree("split") / "lib64" / "libacl_rt.so")
    assert standin.run(program, "aggregate", RUNTIME=runtime) == str(standin.tree("split"))


def test_our_initialisation_is_undone_at_the_end(standin: StandIn) -> None:
    program = """
acl_attn.use("cann")
acl_attn.attention(*operands())
acl = ctypes.CDLL(acl_attn.targets()["cann"].libraries[0])
assert acl.aclInit(None) == 100002
from acl_attn import _process
_process._shut_down(True, 3)
count = ctypes.c_uint64(99)
assert acl.aclFinalizeReference(ctypes.byref(count)) == 0 and count.value == 0
"""
    standin.run(program, "split")
