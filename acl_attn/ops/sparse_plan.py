# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Sparse attention with the parameters that people think in, prepared once and run often."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._lib import ffi
from ..addresses import as_output_or_placeholder, as_tensor_or_placeholder, output_pointer
from ..device import Device, device_id
from ..errors import ArgumentTypeError, InvalidArgumentError, invalid, wrong_type
from ..lengths import LengthsLike
from ..plan import OperatorPlan
from ..spec import Spec
from ..streams import StreamLike
from ..tensor import ArrayLike, Tensor
from ..values import flag, new_array
from .describe_metadata import describe_metadata
from .sparse_arguments import Arrays, SparseArguments, SparseLengths, names_of_the_plan
from .sparse_call import METADATA, SparseCall, lse_spec, no_lse

__all__ = ["SparsePlan"]

_OPERANDS = ("q", "ori_kv", "cmp_kv", "cmp_sparse_indices", "sinks")  # what a run may be given


class _State(NamedTuple):
    """What `update` replaces as a whole, so that runs in flight keep theirs."""

    lengths: SparseLengths
    arrays: Arrays  # the metadata among them
    pointers: list[ffi.CData]  # of all inputs, as planned; null where an array comes later


class SparsePlan(OperatorPlan):
    """Sparse attention that is checked and prepared once, and run often; it makes its metadata by itself.

    What is given decides what a query sees: `ori_kv` alone a window of original tokens (SWA); with `cmp_kv` also all
    compressed rows that are not ahead of it (HCA); with `cmp_sparse_indices` those of them that its list names (CSA).
    Rows of float8_e4m3fn or hifloat8, packed to 640 bytes, are computed with by `kv_quant_sparse_attn_sharedkv`, others
    by `sparse_flash_mla`. Lists of original rows, counts of entries and compressed rows without a mask are for calls of
    these operators themselves.

    Shapes, dtypes, lengths, window and scale are the plan's and are copied; `update` changes the lengths. The contents
    of arrays, block tables and lists included, are read when a run computes. May be used from several threads; runs of
    one plan then follow one another. A context manager.

    Parameters
    ----------
    q : array-like or Spec
        Of dtype float16 or bfloat16: ``(B, S, N, 512)``, or ``(T, N, 512)`` with the sequences packed one behind the
        other. A sequence's last query is its last original token. A `Spec` stands for what `run` will be given.
    ori_kv, cmp_kv : array-like or Spec
        Original and compressed rows, of query's dtype: ``(B, S, 1, 512)``, ``(T, 1, 512)`` as `q` is, or with block
        tables pools of pages ``(blocks, block_size, 1, 512)``; or packed rows, ``(blocks, block_size, 1, 640)``. Of a
        sequence of n original tokens there are ``n // cmp_ratio`` compressed rows. No `cmp_kv` for the window alone.
    sinks : array-like
        Of dtype float32, ``(N,)``: a further logit of each head, in the denominator only; it is not scaled.
    cmp_ratio : int, optional
        Original tokens that a compressed row stands for; goes with `cmp_kv`.
    cmp_sparse_indices : array-like or Spec, optional
        Of dtype int32, ``(B, S, 1, K)`` or ``(T, 1, K)``: compressed rows of its sequence that each query sees; the
        first -1 ends a list. Rows that are ahead of the query are passed over.
    q_lengths, kv_lengths : int, sequence of int or Lengths, optional
        Queries and original tokens of each sequence, as plain lengths; one int for all. Needed for packed queries, and
        `kv_lengths` for pools; without them all tokens count.
    window : tuple of int or None
        Original tokens before and after its own that a query sees, -1 for all. None: all up to its own.
    scale : float, optional
        What scores are multiplied by; ``512 ** -0.5`` without it.
    ori_block_table, cmp_block_table : array-like, optional
        Of dtype int32, ``(B, blocks of a sequence)``: which blocks of the pools hold a sequence. Entries that no query
        needs are not read.
    out, lse_out : array-like, optional
        Where each run writes that is not given another place. Without it each run makes a new array.
    return_lse : bool
        Whether runs return the log-sum-exp as well.
    device : Device, optional
        Where runs without a stream go. The calling thread's device by default.

    See Also
    --------
    sparse_flash_mla : A single call, with all of the C interface's parameters and metadata of the caller's own.

    Examples
    --------
    >>> import numpy as np, acl_attn
    >>> from acl_attn.reference import select_topk
    >>> rng = np.random.default_rng(0)
    >>> q = rng.standard_normal((1, 6, 8, 512)).astype(np.float16)  # the last 6 of 300 tokens, 8 heads
    >>> kv = rng.standard_normal((1, 300, 1, 512)).astype(np.float16)
    >>> chosen = select_topk(q, kv, topk=16, cmp_ratio=4)
    >>> options = {"cmp_ratio": 4, "cmp_sparse_indices": chosen.cmp_sparse_indices, "sinks": np.zeros(8, np.float32)}
    >>> with acl_attn.SparsePlan(q, kv, chosen.cmp_kv, **options) as plan:
    ...     plan.run().shape
    (1, 6, 8, 512)
    """

    def __init__(
        self,
        q: ArrayLike | Spec,
        ori_kv: ArrayLike | Spec,
        cmp_kv: ArrayLike | Spec | None = None,
        *,
        sinks: ArrayLike,
        cmp_ratio: int | None = None,
        cmp_sparse_indices: ArrayLike | Spec | None = None,
        q_lengths: LengthsLike | None = None,
        kv_lengths: LengthsLike | None = None,
        window: tuple[int, int] | None = (127, 0),
        scale: float | None = None,
        ori_block_table: ArrayLike | None = None,
        cmp_block_table: ArrayLike | None = None,
        out: ArrayLike | None = None,
        lse_out: ArrayLike | None = None,
        return_lse: bool = False,
        device: Device | None = None,
    ) -> None:
        given = {
            "q": q, "ori_kv": ori_kv, "cmp_kv": cmp_kv, "cmp_sparse_indices": cmp_sparse_indices,
            "ori_block_table": ori_block_table, "cmp_block_table": cmp_block_table, "sinks": sinks,
        }  # fmt: skip
        self._operands = {name: given[name] for name in _OPERANDS}
        self._options: dict[str, Any] = {
            "cmp_ratio": cmp_ratio, "window": window, "scale": scale, "ori_block_table": ori_block_table,
            "cmp_block_table": cmp_block_table, "return_lse": return_lse, "device": device,
        }  # fmt: skip
        tensors = {
            name: as_tensor_or_placeholder(value, name)
            for name, value in given.items()
            if value is not None or name in ("q", "ori_kv", "sinks")
        }
        self._later = {name for name, value in given.items() if isinstance(value, Spec)}
        for name in self._later.difference(_OPERANDS):
            raise wrong_type(name, "an array, as runs are given none", "a Spec")
        lists = tensors.get("cmp_sparse_indices")
        _check_axes(tensors)
        self._arguments = SparseArguments(
            tensors["q"], tensors["ori_kv"], tensors.get("cmp_kv"),
            topk=lists.shape[-1] if lists is not None else 0,
            is_paged=ori_block_table is not None, cmp_ratio=cmp_ratio, window=window, scale=scale,
        )  # fmt: skip
        self._device_id = device_id(device)
        lengths = self._arguments.lengths(q_lengths, kv_lengths)
        wants_lse = flag(return_lse, "return_lse") or lse_out is not None
        query = tensors["q"]
        self._out_spec = Spec(query.shape, query.dtype)
        self._lse_spec = lse_spec(query.shape) if wants_lse else None
        self._outputs = {"attn_out": out, "softmax_lse": lse_out}
        outputs = {"attn_out": as_output_or_placeholder(out, "out", self._out_spec)}
        signature = self._arguments.signature
        if self._lse_spec is not None:
            outputs["softmax_lse"] = as_output_or_placeholder(lse_out, "lse_out", self._lse_spec)
        elif signature.needs_lse:
            outputs["softmax_lse"] = no_lse()
        attributes = {**self._arguments.attributes, "return_softmax_lse": wants_lse}
        arrays = {**self._arguments.length_arrays(lengths), "metadata": np.zeros(METADATA.shape, np.int32)}
        call = SparseCall(signature, {**attributes, **arrays, **tensors}, outputs)
        call.parameter_names = names_of_the_plan(signature)
        self._sparse = call
        self._positions = {name: position for position, name in enumerate(call.inputs)}
        written = ["attn_out", *(["softmax_lse"] if wants_lse else [])]
        super().__init__(call, [signature.slot(name) for name in (*call.inputs, *written)], self._device_id)
        # Only now: the operator says of a shape what is wrong with it, the metadata's producer merely of a number.
        try:
            self._state = self._make_state(lengths)
        except BaseException:
            self.close()
            raise

    @property
    def out_spec(self) -> Spec:
        """Shape and dtype of the output."""
        return self._out_spec

    @property
    def lse_spec(self) -> Spec | None:
        """Shape and dtype of the log-sum-exp; None if it is not wanted."""
        return self._lse_spec

    @property
    def max_workspace_bytes(self) -> int:
        """Scratch memory that a run needs at most, whatever lengths `update` is given: what any run needs."""
        return self.workspace_bytes

    @property
    def metadata(self) -> npt.NDArray[np.int32]:
        """A copy of the metadata that runs are given."""
        made: npt.NDArray[np.int32] = self._state.arrays["metadata"].copy()
        return made

    def run(
        self,
        q: ArrayLike | None = None,
        ori_kv: ArrayLike | None = None,
        cmp_kv: ArrayLike | None = None,
        *,
        cmp_sparse_indices: ArrayLike | None = None,
        sinks: ArrayLike | None = None,
        out: ArrayLike | None = None,
        lse_out: ArrayLike | None = None,
        stream: StreamLike | None = None,
        workspace: ArrayLike | None = None,
    ) -> Any:
        """Compute attention as planned.

        Parameters
        ----------
        q, ori_kv, cmp_kv, cmp_sparse_indices, sinks : array-like, optional
            Arrays of the planned shape, dtype and strides. Without one, the array that the plan was made with.
        out, lse_out : array-like, optional
            Where to write; what the plan was made with, or else a new array.
        stream : Stream, int or object with ``__acl_stream__``, optional
            Where to queue the run; it returns at once, and what it uses is kept alive until the stream has passed it.
            Without it the run returns when the result is there.
        workspace : Buffer or array-like, optional
            Scratch memory of at least `workspace_bytes`; the plan's own without it.

        Returns
        -------
        out : numpy.ndarray, or what was given as `out`
            The output, of query's shape and dtype. Queries that see nothing, and those beyond `q_lengths`, give 0.
        lse : numpy.ndarray, or what was given as `lse_out`
            Only if the plan was made with ``return_lse=True``: float32, ``(B, 1, S, N)`` or ``(1, T, N)``, natural
            logarithm, sinks included; 0 where the output is 0 as above.

        Raises
        ------
        ClosedError
            The plan was closed.
        InvalidArgumentError
            An array is not as planned, or a block table or a list names what is not there.
        """
        given = (q, ori_kv, cmp_kv, cmp_sparse_indices, sinks)
        state = self._state
        pointers = state.pointers.copy()
        try:
            for name, value in zip(_OPERANDS, given, strict=True):
                if value is not None or name in self._later:
                    position = self._positions.get(name)
                    if position is None:
                        raise invalid(name, "None, as planned", "an array", "make a new plan")
                    pointers[position] = self._pointer(value, name, self._sparse.inputs[name])
        except (ArgumentTypeError, InvalidArgumentError) as refusal:
            self._refuse(refusal, {*self._options, "q_lengths", "kv_lengths"}, lambda: self._try_plan(given))
        out = self._output(out, "attn_out", self._out_spec)
        pointers.append(output_pointer(out, "out", self._out_spec, self._device))
        if self._lse_spec is None:
            if lse_out is not None:
                raise invalid("lse_out", "None, as planned", "an array", "make the plan with return_lse=True")
            self._run(pointers, (given, state, out), stream, workspace)
            return out
        lse_out = self._output(lse_out, "softmax_lse", self._lse_spec)
        pointers.append(output_pointer(lse_out, "lse_out", self._lse_spec, self._device))
        self._run(pointers, (given, state, out, lse_out), stream, workspace)
        return out, lse_out

    def _try_plan(self, given: tuple[ArrayLike | None, ...]) -> None:
        """Make the plan of such arrays, and let it go."""
        others = {name: array for name, array in zip(_OPERANDS, given, strict=True) if array is not None}
        lengths = self._state.lengths
        operands: dict[str, Any] = {**self._operands, **others}
        SparsePlan(**operands, **self._options, q_lengths=lengths.q, kv_lengths=lengths.kv).close()

    def update(self, *, kv_lengths: LengthsLike | None = None, q_lengths: LengthsLike | None = None) -> None:
        """Change the sequences' lengths, and with them the metadata, for runs from now on.

        Parameters
        ----------
        kv_lengths, q_lengths : int, sequence of int or Lengths, optional
            The new lengths, of as many sequences; without one the old ones stay.

        Raises
        ------
        InvalidArgumentError
            The lengths are not allowed; the plan stays as it was.
        """
        self._live()
        old = self._state.lengths
        lengths = self._arguments.lengths(
            old.q if q_lengths is None else q_lengths, old.kv if kv_lengths is None else kv_lengths
        )
        if lengths.kv.batch != old.kv.batch:
            raise invalid("q_lengths", f"{old.kv.batch} lengths as planned", lengths.kv.batch, "make a new plan")
        if (lengths.q is None) != (old.q is None):
            raise invalid("q_lengths", "None, as planned", q_lengths, "make the plan with q_lengths")
        self._state = self._make_state(lengths)

    def describe(self) -> str:
        """Say in words what a run does: geometry, path taken, and what the metadata has each core do.

        Returns
        -------
        str
            Several lines.
        """
        return f"{super().describe()}\n{describe_metadata(self._state.arrays['metadata'])}"

    def _make_state(self, lengths: SparseLengths) -> _State:
        arrays = self._arguments.length_arrays(lengths)
        arrays["metadata"] = self._arguments.metadata(lengths, arrays, self._device_id)
        pointers = [
            ffi.from_buffer(arrays[name]) if name in arrays else ffi.NULL if name in self._later else tensor._pointer
            for name, tensor in self._sparse.inputs.items()
        ]
        return _State(lengths, arrays, pointers)

    def _output(self, given: ArrayLike | None, name: str, spec: Spec) -> Any:
        if given is None:
            given = self._outputs[name]
        return new_array(spec.shape, spec.dtype, name) if given is None else given

    def __repr__(self) -> str:
        state = "closed" if self.is_closed else f"workspace {self.workspace_bytes} bytes"
        return f"<SparsePlan {self._sparse.operator.name} {self._out_spec.shape}, {state}>"


def _check_axes(tensors: Mapping[str, Tensor]) -> None:
    """Refuse what the C interface would take for an absent tensor: what was given here is not to be passed over."""
    query = tensors["q"].shape
    axes = {"cmp_sparse_indices": len(query), "ori_block_table": 2, "cmp_block_table": 2}
    shapes = {
        "cmp_sparse_indices": "(B, S, 1, K) or (T, 1, K), as q",
        "ori_block_table": "(B, blocks of a sequence)",
        "cmp_block_table": "(B, blocks of a sequence)",
    }
    for name, tensor in tensors.items():
        if name in axes and len(tensor.shape) != axes[name]:
            raise invalid(name, f"shape {shapes[name]}", f"shape {tensor.shape}")
        if name != "q" and tensor.shape[:1] == (0,) and query[:1] != (0,):
            fix = "if nothing is compressed yet, leave out cmp_kv and what goes with it" if name == "cmp_kv" else ""
            raise invalid(name, "a first axis that is not empty", f"shape {tensor.shape}", fix)
