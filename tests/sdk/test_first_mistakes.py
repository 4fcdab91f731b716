# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""What newcomers do wrong, and what a hostile file can name."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import acl_attn
from acl_attn import Alibi, Buffer, Device, InvalidArgumentError, KvQuant, Plan, Prefix, Rope

Q = np.ones((1, 2, 4, 64), np.float16)


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, pickle.dumps])
def test_what_owns_a_c_object_is_not_copied(how: Callable[[Any], Any]) -> None:
    with Plan(Q, Q, Q) as plan, Device.current().create_stream() as stream, Buffer(8) as buffer:
        for one in (plan, stream, buffer, stream.record()):
            with pytest.raises(TypeError, match="expected no copying or pickling"):
                how(one)


@pytest.mark.parametrize(
    ("feature", "given", "name"),
    [
        ("rope", Rope(None, None), "rope.query"),
        ("prefix", Prefix(Q, None), "prefix.value"),
        ("alibi", Alibi(None), "alibi.slopes"),
        ("kv_quant", KvQuant(0, None, None), "kv_quant.key_scale"),
    ],
)
def test_a_feature_without_its_array_is_refused(feature: str, given: Any, name: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"^{name}: expected an array, got None"):
        acl_attn.attention(Q, Q, Q, **{feature: given})


def test_a_token_major_cache_is_told_how_to_be_reshaped() -> None:
    q, cache = np.ones((2, 1, 8, 64), np.float16), np.ones((16, 128, 2, 64), np.float16)
    table = np.zeros((2, 2), np.int32)
    with pytest.raises(InvalidArgumentError, match=r"cache\.reshape\(16, 128, 128\)"):
        acl_attn.attention(q, cache, cache, block_table=table, kv_lengths=[5, 5])
    flat = cache.reshape(16, 128, 128)
    assert acl_attn.attention(q, flat, flat, block_table=table, kv_lengths=[5, 5]).shape == q.shape


def test_specs_have_few_axes() -> None:
    with pytest.raises(InvalidArgumentError, match="at most 64 axes"):
        acl_attn.Spec((1,) * 65, np.dtype(np.float16))


def test_a_wrong_number_of_heads_is_not_the_outputs_fault() -> None:
    with pytest.raises(InvalidArgumentError, match=r"^query: expected 2 heads \(num_heads\), got 8 in shape"):
        acl_attn.attention(np.ones((1, 1, 8, 16), np.float16), *[np.ones((1, 1, 2, 16), np.float16)] * 2, num_heads=2)


def test_outputs_that_no_array_can_have() -> None:
    query = acl_attn.Tensor.from_ptr(64, (2**62, 1, 1, 16), np.float16)
    with pytest.raises(InvalidArgumentError, match=r"^out: expected a shape that an array can have, got "):
        acl_attn.attention(query, query, query)
    with pytest.raises(InvalidArgumentError, match=r"^dim: expected a shape that an array can have, got "):
        acl_attn.pad_heads(np.ones((2, 16), np.float16), 2**62)


def test_memory_beyond_the_last_address() -> None:
    array = np.ones((1, 3, 1, 16), np.float16)
    beyond = acl_attn.Tensor.from_ptr(2**64 - 2, array.shape, array.dtype)
    with acl_attn.Plan(array, array, array) as plan:
        for call in (acl_attn.attention, plan.run):
            with pytest.raises(InvalidArgumentError, match=r"^key(\[0\])?: expected memory for 96 bytes from its"):
                call(array, beyond, array)


def test_lengths_beyond_the_arrays_of_a_sparse_plan() -> None:
    q, kv = np.ones((1, 3, 1, 512), np.float16), np.ones((1, 5, 1, 512), np.float16)
    for name, most, where in (("q_lengths", 3, "q"), ("kv_lengths", 5, "ori_kv")):
        words = rf"^{name}\[0\]: expected 0 to {most}, what {where} has for the sequence, got 9"
        with pytest.raises(InvalidArgumentError, match=words):
            acl_attn.SparsePlan(q, kv, sinks=np.zeros(1, np.float32), **{name: 9})


@pytest.mark.parametrize("name", ["profile", "rules", "self"])
def test_a_stored_call_may_name_what_check_names(name: str, tmp_path: Path) -> None:
    acl_attn.save_call(tmp_path / "call.json", "attention", query=Q, key=Q, value=Q)
    text = (tmp_path / "call.json").read_text().replace('"arguments": {', f'"arguments": {{"{name}": "host",')
    (tmp_path / "call.json").write_text(text)
    first = acl_attn.load_call(tmp_path / "call.json").check().first
    assert first is not None
    assert first.parameter == name
