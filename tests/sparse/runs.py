# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""How the tests of the sparse operators call them and what they compare."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

import acl_attn
from acl_attn import reference
from acl_attn.testing.compare import assert_close, assert_same_bits
from acl_attn.testing.sparse.build import arguments, make_batch, metadata_arguments, sequences_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from acl_attn.testing.sparse.build import SparseBatch
    from acl_attn.testing.sparse.cases import SparseCase

Arguments = dict[str, Any]
Array = np.ndarray[Any, Any]


def functions(given: Arguments) -> tuple[Any, Any, Any]:
    """The operator that arguments are for, its metadata's producer, and its reference."""
    if "kv_quant_mode" in given:
        return (
            acl_attn.kv_quant_sparse_attn_sharedkv,
            acl_attn.kv_quant_sparse_attn_sharedkv_metadata,
            reference.kv_quant_sparse_attn_sharedkv,
        )
    return acl_attn.sparse_flash_mla, acl_attn.sparse_flash_mla_metadata, reference.sparse_flash_mla


def metadata_of(given: Arguments) -> Array:
    """Metadata of the call that arguments are for."""
    made: Array = functions(given)[1](**metadata_arguments(given))
    return made


def run(given: Arguments, **others: Any) -> tuple[Array, Array]:
    """Output and log-sum-exp."""
    options = {"return_softmax_lse": True, **given, **others}
    if "metadata" not in options:
        options["metadata"] = metadata_of(given)
    out, lse = functions(given)[0](**options)
    return out, np.asarray(lse)


def compare(given: Arguments, out: Array, lse: Array) -> None:
    """Hold the whole result, padding included, against the reference on the same arguments."""
    want, want_lse = functions(given)[2](**given, return_softmax_lse=True)
    assert out.dtype == given["q"].dtype
    assert lse.dtype == np.float32
    assert_close(lse, want_lse, name="softmax_lse")
    assert_close(out, want, name="attn_out")


def check(case: SparseCase) -> tuple[Array, Array]:
    """Run a case and hold it against the reference."""
    given = arguments(case)
    out, lse = run(given)
    compare(given, out, lse)
    return out, lse


def by_sequence(case: SparseCase, batch: SparseBatch | None = None) -> list[Array]:
    """Outputs and then log-sum-exps of the sequences' queries that count: the same for every storage."""
    out, lse = run(arguments(case, batch))
    return [np.ascontiguousarray(part) for part in (*sequences_of(case, out), *sequences_of(case, lse))]


def plain(case: SparseCase) -> list[Array]:
    """What `by_sequence` gives for the same sequences, packed without gaps; every storage must give the same bits."""
    if case.kv_format:
        simple = replace(case, layout="TND", block_size=16, cmp_block_size=16, block_gap=0, is_fused=False)
    else:
        simple = replace(case, layout="TND", is_paged=False, q_room=0, kv_room=0)
    return by_sequence(simple, make_batch(case))


def assert_same_sequences(actual: Sequence[Array], expected: Sequence[Array]) -> None:
    """Bit for bit, sequence by sequence."""
    count = len(actual) // 2
    assert len(expected) == 2 * count
    for position, (got, want) in enumerate(zip(actual, expected, strict=True)):
        kind = "attn_out" if position < count else "softmax_lse"
        assert_same_bits(got, want, name=f"{kind} of sequence {position % count}")
