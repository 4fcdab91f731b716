# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""How the tests of the fused operator call it and what they compare."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

import acl_attn
from acl_attn import reference
from acl_attn.testing.compare import Tolerance, assert_close, assert_same_bits, tolerance_of
from acl_attn.testing.layouts import dense_arguments, lse_to_sequences, out_axes, to_sequences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from acl_attn.testing.cases import Batch, Case

Arguments = dict[str, Any]
Array = np.ndarray[Any, Any]


def run(arguments: Arguments, case: Case) -> tuple[Array, Array]:
    """Output and softmax_lse of the operator."""
    out, lse = acl_attn.fused_infer_attention_score(**arguments, **case.attributes, softmax_lse_flag=True)
    return out, np.asarray(lse)


def tolerance_of_rows(out: Array, lse: Array) -> Tolerance:
    """Tell how far an output may be off, given one logarithm a row."""
    # Errors go with the size of what was summed up, which a row of few channels hardly shows.
    return tolerance_of(out.dtype).times(3 if out.size < 8 * lse.size else 1)


def check(arguments: Arguments, case: Case, tolerance: Tolerance | None = None) -> tuple[Array, Array]:
    """Run the operator and hold the whole result, padding included, against the reference on the same arguments."""
    out, lse = run(arguments, case)
    want, want_lse = reference.fused_infer_attention_score(**arguments, **case.attributes, softmax_lse_flag=True)
    assert out.dtype == arguments["query"].dtype
    assert lse.dtype == np.float32
    assert want_lse is not None
    assert_close(out, want, name="attention_out", tolerance=tolerance or tolerance_of_rows(out, lse))
    assert_close(lse, want_lse, name="softmax_lse")
    return out, lse


def by_sequence(arguments: Arguments, case: Case, batch: Batch | None = None) -> list[Array]:
    """Outputs (rows, heads, dim_v) and then softmax_lse (rows, heads) of each sequence: the same for every storage."""
    out, lse = run(arguments, case)
    made = case.build() if batch is None else batch
    layout = arguments["input_layout"]
    outs = to_sequences(out, out_axes(layout), made.q_lengths, made.heads)
    return [np.ascontiguousarray(x) for x in outs + lse_to_sequences(lse, layout, made.q_lengths)]


@cache
def plain(case: Case) -> tuple[Array, ...]:
    """What `by_sequence` gives for one dense, packed call; every other storage must give the same bits."""
    return tuple(by_sequence(dense_arguments(case.build(), "TND"), case))


def assert_same_sequences(actual: Sequence[Array], expected: Sequence[Array]) -> None:
    """Bit for bit, sequence by sequence."""
    assert len(actual) == len(expected)
    count = len(actual) // 2
    for position, (got, want) in enumerate(zip(actual, expected, strict=True)):
        kind = "attention_out" if position < count else "softmax_lse"
        assert_same_bits(got, want, name=f"{kind} of sequence {position % count}")
