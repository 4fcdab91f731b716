# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Calls go into files and come back the same; files of strangers are refused with a clear message, and do nothing."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import acl_attn
from acl_attn.dtypes import hifloat8, pack_int4
from acl_attn.testing.build import arguments
from acl_attn.testing.calls import Call
from acl_attn.testing.compare import assert_same_bits

if TYPE_CHECKING:
    from collections.abc import Callable

RNG = np.random.default_rng(5)
Q = RNG.standard_normal((2, 3, 4, 64)).astype(np.float16)
KV = RNG.standard_normal((2, 9, 2, 64)).astype(np.float16)
PLAIN: dict[str, Any] = {"query": Q, "key": KV, "value": KV[:, ::-1].copy(), "mask": "causal", "kv_lengths": [9, 4]}


def same(one: Any, other: Any) -> bool:
    """Compare arguments, arrays by bits."""
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.strides == other.strides and one.tobytes() == other.tobytes()
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(same(*pair) for pair in zip(one, other, strict=True))
    return type(one) is type(other) and one == other


@pytest.mark.parametrize(
    "call",
    [
        Call(layout="BSND", q_lengths=(3, 2), kv_lengths=(7, 9), heads=4, kv_heads=2, dim=32, dim_v=32, mask=0.3),
        Call(layout="TND", q_lengths=(3, 2), kv_lengths=(7, 9), dtype="bfloat16", sparse_mode=3),
        Call(layout="BNSD", q_lengths=(1,), kv_lengths=(40,), storage="BnNBsD", block_gap=64, dim=32, dim_v=32),
        Call(layout="BSH", q_lengths=(2, 2), kv_lengths=(5, 8), storage="list", bias="slope", starts=(3, 1)),
        Call(layout="BSND", q_lengths=(1,), kv_lengths=(40,), kv_format="int4", modes=(3, 3), dim=32, dim_v=32),
        Call(layout="BSND", q_lengths=(1,), kv_lengths=(40,), kv_format="hifloat8", dim=32, dim_v=32),
        Call(layout="BSND", q_lengths=(3,), kv_lengths=(40,), out_format="float8_e4m3fn", dim=32, dim_v=32),
    ],
    ids=["masked", "packed", "gaps", "list", "int4", "hifloat8", "fp8 output"],
)
def test_what_is_stored_comes_back(call: Call, tmp_path: Path) -> None:
    given = arguments(call)
    given = {name: value for name, value in given.items() if value is not None}
    acl_attn.save_call(tmp_path / "call.npz", "fused_infer_attention_score", **given)
    stored = acl_attn.load_call(tmp_path / "call.npz")
    assert stored.operator == "fused_infer_attention_score"
    assert set(stored.arguments) == set(given)
    for name, value in given.items():
        assert same(value, stored.arguments[name]), name
    want, _ = acl_attn.fused_infer_attention_score(**given)
    got, _ = stored.run()
    assert_same_bits(got, want.copy(), name="attention_out")


def test_objects_come_back(tmp_path: Path) -> None:
    hidden = RNG.random((2, 3, 9)) < 0.2
    call = {
        **PLAIN,
        "mask": acl_attn.Mask.dense(hidden, true_means="masked"),
        "q_lengths": acl_attn.Lengths((3, 2)),
        "out_quant": acl_attn.OutQuant(np.float32(20.0), dtype=np.int8),
        "return_lse": np.bool_(True),
        "scale": np.float64(0.1),
    }
    acl_attn.save_call(tmp_path / "call.npz", "attention", **call)
    stored = acl_attn.load_call(str(tmp_path / "call.npz"))
    assert stored.arguments["q_lengths"] == acl_attn.Lengths((3, 2))
    out, lse = stored.run()
    want, want_lse = acl_attn.attention(**call)
    assert_same_bits(out, want, name="out")
    assert_same_bits(lse.array, want_lse.array, name="lse")


def test_a_quantised_pair_is_stored_as_its_parts(tmp_path: Path) -> None:
    numbers = KV.astype(np.float32)
    pair = acl_attn.quantize_kv(numbers, numbers, acl_attn.AntiquantMode.PER_TOKEN, layout="BSND")
    call = {"query": Q[:, :1].copy(), "key": pair.key, "value": pair.value, "kv_quant": pair}
    acl_attn.save_call(tmp_path / "call.npz", "attention", **call)
    assert_same_bits(acl_attn.load_call(tmp_path / "call.npz").run(), acl_attn.attention(**call), name="out")


def test_fully_quantised_operands_are_stored_as_their_scales(tmp_path: Path) -> None:
    found = acl_attn.kvcache.quantize_per_tensor(*(RNG.standard_normal((1, 5, 2, 64)) for _ in range(3)))
    call = {"query": found.query, "key": found.key, "value": found.value, "full_quant": found}
    acl_attn.save_call(tmp_path / "call.npz", "attention", **call)
    stored = acl_attn.load_call(tmp_path / "call.npz")
    assert isinstance(stored.arguments["full_quant"], acl_attn.FullQuant)
    assert_same_bits(stored.run(), acl_attn.attention(**call), name="out")


def test_json_keeps_shapes_alone(tmp_path: Path) -> None:
    strided = np.zeros((2, 9, 2, 128), ml_dtypes.bfloat16)[..., :64]
    acl_attn.save_call(tmp_path / "call.json", "attention", **{**PLAIN, "key": strided, "value": strided})
    stored = acl_attn.load_call(tmp_path / "call.json")
    assert not stored.has_arrays
    assert stored.arguments["key"] == acl_attn.Spec((2, 9, 2, 64), "bfloat16", (2304, 256, 128, 1))
    assert stored.arguments["query"] == acl_attn.Spec(Q.shape, "float16")
    with pytest.raises(acl_attn.InvalidArgumentError, match=r"call: expected one with arrays"):
        stored.run()


@pytest.mark.parametrize(
    ("path", "call", "match"),
    [
        ("call.pkl", {}, r"path: expected a file that ends in \.npz or \.json, got call\.pkl"),
        ("call.npz", {"stream": 7}, "stream: expected None"),
        ("call.npz", {"query": object()}, "query: expected a value that can be stored, got object"),
        ("call.npz", {"query": np.array([None], object)}, "query: expected a numeric dtype"),
        ("call.npz", {"mask": {"a": 1}}, "mask: expected a value that can be stored, got dict"),
    ],
)
def test_what_cannot_be_stored(path: str, call: dict[str, Any], match: str, tmp_path: Path) -> None:
    with pytest.raises(acl_attn.AclAttnError, match=match):
        acl_attn.save_call(tmp_path / path, "attention", **call)
    with pytest.raises(acl_attn.InvalidArgumentError, match="operator: expected one of"):
        acl_attn.save_call(tmp_path / "call.npz", "conv2d", **call)


# --- files of strangers ---------------------------------------------------------------------------------------------


class Canary:
    """Leaves a trace if it is ever unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return (Path.touch, (self.path,))


def description(**change: Any) -> bytes:
    spec = {"shape": [2, 3, 4, 64], "dtype": "float16"}
    whole = {"format": "acl_attn.call", "version": 1, "operator": "attention"}
    return json.dumps({**whole, "arguments": {"query": spec, "key": spec, "value": spec}, **change}).encode()


def npy(array: np.ndarray[Any, Any]) -> bytes:
    content = io.BytesIO()
    np.lib.format.write_array(content, array, allow_pickle=True)
    return content.getvalue()


def npy_header(descr: str, shape: tuple[int, ...], *, fortran: bool = False) -> bytes:
    content = io.BytesIO()
    np.lib.format.write_array_header_1_0(content, {"descr": descr, "fortran_order": fortran, "shape": shape})
    return content.getvalue()


def archive(members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", compression) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return content.getvalue()


def call_member(text: bytes) -> bytes:
    return npy(np.frombuffer(text, np.uint8))


def refused(content: bytes, name: str, folder: Path) -> str:
    path = folder / name
    path.write_bytes(content)
    with pytest.raises(acl_attn.InvalidArgumentError) as caught:
        acl_attn.load_call(path)
    message = str(caught.value)
    assert message.startswith(f"{name}: expected a stored call, got "), message
    return message


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\0" * 100,
        b"\xff\xfe{}",
        b"[]",
        b"null",
        b'"call"',
        b"{}",
        b"[" * 200_000,
        b'{"format": "acl_attn.call"' + b"," * 10,
        description(format="other"),
        description(version=2),
        description(version="1"),
        description(operator="conv2d"),
        description(operator=["attention"]),
        description(arguments=[1, 2]),
        description(arguments={"stream": 12345678}),
        description(arguments={"device": 0}),
        description(arguments={"query": {"shape": [2, -3], "dtype": "float16"}}),
        description(arguments={"query": {"shape": [2.5], "dtype": "float16"}}),
        description(arguments={"query": {"shape": "23", "dtype": "float16"}}),
        description(arguments={"query": {"shape": [2**70], "dtype": "float16"}}),
        description(arguments={"query": {"shape": [2], "dtype": "object"}}),
        description(arguments={"query": {"shape": [2], "dtype": "O"}}),
        description(arguments={"query": {"shape": [2], "dtype": 16}}),
        description(arguments={"query": {"shape": [2], "dtype": "float16", "strides": [1, 2]}}),
        description(arguments={"query": {"shape": [2], "dtype": "float16", "more": 1}}),
        description(arguments={"query": {"type": "Popen", "fields": {"args": ["touch", "x"]}}}),
        description(arguments={"query": {"type": ["Rope"], "fields": {}}}),
        description(arguments={"query": {"type": "Rope", "fields": {"__class__": 1}}}),
        description(arguments={"query": {"type": "Rope", "fields": {}}}),
        description(arguments={"query": {"type": "Rope", "fields": 3}}),
        description(arguments={"query": {"type": "Lengths", "fields": {"per_sequence": [-1]}}}),
        description(arguments={"query": {"type": "Lengths", "fields": {"per_sequence": "abc"}}}),
        description(arguments={"mask": {"type": "Mask", "fields": {"hidden": [[1]]}}}),
    ],
)
def test_descriptions_that_are_none(text: bytes, tmp_path: Path) -> None:
    assert len(refused(text, "call.json", tmp_path)) < 600
    refused(archive({"call.npy": call_member(text)}), "call.npz", tmp_path)


SOUND = call_member(description())
ARRAY = npy(np.zeros((2, 3, 4, 64), np.float16))


def test_a_sound_archive_is_read(tmp_path: Path) -> None:
    (tmp_path / "call.npz").write_bytes(archive({"call.npy": SOUND, "query.npy": ARRAY, "key.npy": ARRAY}))
    stored = acl_attn.load_call(tmp_path / "call.npz")
    assert stored.arguments["query"].shape == (2, 3, 4, 64)
    assert isinstance(stored.arguments["value"], acl_attn.Spec), "without a member"


@pytest.mark.parametrize(
    "member",
    [
        b"",
        b"not numpy",
        ARRAY[:-1],
        ARRAY[:20],
        ARRAY + b"\0",
        npy(np.zeros((2, 3, 4, 63), np.float16)),
        npy(np.zeros((2, 3, 4, 64), np.float32)),
        npy(np.zeros((2, 3, 4, 64), ">f2")),
        npy(np.asfortranarray(np.zeros((2, 3, 4, 64), np.float16))),
        npy_header("<f2", (2**40, 2**20)),
        npy_header("<f2", (2**62, 4)),
        npy_header("<f2", (-2, -3, 4, 64)) + b"\0" * 3072,
        npy_header("|O", (2, 3, 4, 64)) + pickle.dumps(1),
        b"\x93NUMPY\x03\x00" + ARRAY[8:],
        b"\x93NUMPY\x09\x09" + ARRAY[8:],
        b"\x93NUMPY\x01\x00\x40\x00{'descr': __import__('os').getpid(), 'fortran_order': 0, 'shape': ()}",
    ],
)
def test_arrays_that_are_none(member: bytes, tmp_path: Path) -> None:
    refused(archive({"call.npy": SOUND, "query.npy": member}), "call.npz", tmp_path)


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    trace = tmp_path / "executed"
    canary = np.array([Canary(trace)], object)
    refused(archive({"call.npy": npy(canary)}), "call.npz", tmp_path)
    refused(archive({"call.npy": SOUND, "query.npy": npy(canary)}), "call.npz", tmp_path)
    refused(archive({"call.npy": SOUND, "query.npy": pickle.dumps(Canary(trace))}), "call.npz", tmp_path)
    refused(pickle.dumps(Canary(trace)), "call.npz", tmp_path)
    assert not trace.exists()
    pickle.loads(pickle.dumps(Canary(trace)))
    assert trace.exists(), "the canary sings"


def test_archives_that_ask_for_memory(tmp_path: Path) -> None:
    zeros = npy(np.zeros(50_000_000, np.uint8))
    squeezed = archive({"call.npy": SOUND, "query.npy": zeros}, zipfile.ZIP_DEFLATED)
    assert len(squeezed) < 100_000
    assert "without compression" in refused(squeezed, "call.npz", tmp_path)
    # A directory that says that there is more than the file holds.
    sound = bytearray(archive({"call.npy": SOUND, "query.npy": ARRAY}))
    entry = sound.rindex(b"PK\x01\x02")
    sound[entry + 20 : entry + 28] = (2**31).to_bytes(4, "little") * 2
    refused(bytes(sound), "call.npz", tmp_path)
    spec = {"shape": [2, 3, 4, 64], "dtype": "float16", "strides": [2**40, 2**30, 64, 1]}
    text = description(arguments={"query": spec})
    refused(archive({"call.npy": call_member(text), "query.npy": ARRAY}), "call.npz", tmp_path)
    text = description(arguments={"query": {**spec, "strides": [-768, 256, 64, 1]}})
    refused(archive({"call.npy": call_member(text), "query.npy": ARRAY}), "call.npz", tmp_path)
    dense = {"type": "Mask", "fields": {"hidden": {"shape": [2**20, 1, 2**20, 2**20], "dtype": "bool"}}}
    refused(description(arguments={"mask": dense}), "call.json", tmp_path)


@pytest.mark.parametrize("name", ["call.npz", "call.json"])
def test_files_that_are_not_there(name: str, tmp_path: Path) -> None:
    with pytest.raises(acl_attn.InvalidArgumentError, match=f"{name}: expected a readable file"):
        acl_attn.load_call(tmp_path / name)
    (tmp_path / name).mkdir()
    with pytest.raises(acl_attn.InvalidArgumentError, match=f"{name}: expected a readable file"):
        acl_attn.load_call(tmp_path / name)


def whole_file() -> bytes:
    given = {"query": Q, "key": pack_int4(np.zeros((2, 9, 2, 64), np.int8)), "value": np.zeros((2, 9, 2, 64), hifloat8)}
    with io.BytesIO() as content, zipfile.ZipFile(content, "w") as file:
        arguments = {
            name: {"shape": list(array.shape), "dtype": array.dtype.names[0] if array.dtype.names else "float16"}
            for name, array in given.items()
        }
        file.writestr("call.npy", call_member(description(arguments=arguments)))
        for name, array in given.items():
            plain = array.view(np.uint8) if array.dtype.names else array
            file.writestr(f"{name}.npy", npy(plain))
        file.close()
        return content.getvalue()


WHOLE = whole_file()


@settings(max_examples=300, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_damaged_files_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    content = bytearray(WHOLE)
    for _ in range(data.draw(st.integers(1, 4))):
        # Mostly where it hurts: headers, the description, the directory at the end.
        place = data.draw(st.one_of(st.integers(0, 900), st.integers(len(content) - 600, len(content) - 1)))
        content[place] = data.draw(st.integers(0, 255))
    cut = data.draw(st.one_of(st.none(), st.integers(0, len(content))))
    path = tmp_path_factory.mktemp("damaged") / "call.npz"
    path.write_bytes(bytes(content[:cut]))
    with suppress(acl_attn.InvalidArgumentError):
        assert acl_attn.load_call(path).operator in ("attention", "fused_infer_attention_score")
