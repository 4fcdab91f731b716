# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Statuses and messages become exceptions in one place, with their parts as attributes."""

from __future__ import annotations

import pytest

import acl_attn
from acl_attn import errors
from acl_attn._lib import ffi, lib


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (161001, acl_attn.InvalidArgumentError),
        (561002, acl_attn.InvalidArgumentError),
        (207000, acl_attn.UnsupportedError),
        (207001, acl_attn.OutOfMemoryError),
        (507046, acl_attn.DeviceFaultError),
        (500000, acl_attn.AclError),
    ],
)
def test_codes_have_their_class(code: int, kind: type[acl_attn.AclError]) -> None:
    errors.recent_message()
    found = errors.error(code, "aclnnSomething")
    assert type(found) is kind
    assert (found.code, found.api, found.detail) == (code, "aclnnSomething", "")
    assert found.name in str(found)


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        (acl_attn.InvalidArgumentError, ValueError),
        (acl_attn.UnsupportedError, NotImplementedError),
        (acl_attn.OutOfMemoryError, MemoryError),
        (acl_attn.AclError, RuntimeError),
        (acl_attn.ArgumentTypeError, TypeError),
        (acl_attn.ClosedError, ValueError),
        (acl_attn.BackendMissingError, ImportError),
    ],
)
def test_classes_are_also_the_builtin_ones(kind: type[Exception], builtin: type[Exception]) -> None:
    assert issubclass(kind, builtin)
    assert issubclass(kind, acl_attn.AclAttnError)


def test_a_message_of_the_library_comes_with_its_parts() -> None:
    with pytest.raises(acl_attn.AclError) as caught:
        errors.check(lib.aclrtMalloc(ffi.new("void **"), 0, lib.ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc")
    assert caught.value.code == lib.ACL_ERROR_INVALID_PARAM
    assert caught.value.name == "ACL_ERROR_INVALID_PARAM"
    assert caught.value.parameter == "size"
    assert caught.value.got.startswith("0")
    assert errors.recent_message() == "", "the message is taken once"


def test_parts_of_a_message() -> None:
    found = errors.invalid("kv_lengths[3]", "at most 128", 200, "split: it")
    assert (found.parameter, found.expected, found.got, found.fix) == (
        "kv_lengths[3]",
        "at most 128",
        "200",
        "split: it",
    )
    text = "attenMask: expected 2048 columns, got 128; use (2048, 2048) [MASK-C-06]"
    assert acl_attn.AclError(text, detail=text).rule == "MASK-C-06"
    assert acl_attn.AclError("went wrong", detail="went wrong").parameter == ""


def test_parameters_get_their_python_names() -> None:
    query = acl_attn.Buffer(64).as_array("float16", (1, 1, 1, 32))
    with pytest.raises(acl_attn.InvalidArgumentError, match=r"^inner_precise: expected") as caught:
        acl_attn.attention(query, query, query, inner_precise=7)
    assert caught.value.parameter == "inner_precise"
    with pytest.raises(acl_attn.InvalidArgumentError, match=r"^kv_lengths\[0\]: expected"):
        acl_attn.attention(query, query, query, kv_lengths=9)
    with pytest.raises(acl_attn.InvalidArgumentError, match=r"^actual_seq_lengths_kv\[0\]: expected"):
        acl_attn.fused_infer_attention_score(
            query, query, query, num_heads=1, input_layout="BSND", actual_seq_lengths_kv=[9]
        )


def test_names_come_from_the_headers() -> None:
    names = errors.code_names()
    assert names[107002] == "ACL_ERROR_RT_CONTEXT_NULL"
    assert names[161002] == "ACLNN_ERR_PARAM_INVALID"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("actualSeqLengthsKv[3]: expected 1, got 2", "kv_lengths[3]: expected 1, got 2"),
        ("x: expected as many as actualSeqLengthsKv, got 2", "x: expected as many as kv_lengths, got 2"),
        ("x: expected 2 axes for sparseMode 3, got 4", "x: expected 2 axes for sparseMode 3, got 4"),
        ("sparseMode: expected 0, got 4", "mask: expected 0, got 4"),
        ("actualSeqLengthsKvX: expected 0, got sparse", "actualSeqLengthsKvX: expected 0, got sparse"),
        ("every entry that actualSeqLengthsKv reaches", "every entry that kv_lengths reaches"),
    ],
)
def test_messages_speak_of_pythons_names(given: str, expected: str) -> None:
    assert (
        errors.renamed(given, {"actualSeqLengthsKv": "kv_lengths", "sparseMode": "mask", "sparse": "wrong"}) == expected
    )
