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


@pytest.mark.parametrize("name", ["profile", "rules", "self"])
def test_a_stored_call_may_name_what_check_names(name: str, tmp_path: Path) -> None:
    acl_attn.save_call(tmp_path / "call.json", "attention", query=Q, key=Q, value=Q)
    text = (tmp_path / "call.json").read_text().replace('"arguments": {', f'"arguments": {{"{name}": "host",')
    (tmp_path / "call.json").write_text(text)
    first = acl_attn.load_call(tmp_path / "call.json").check().first
    assert first is not None
    assert first.parameter == name
