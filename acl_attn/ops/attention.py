# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Attention with the parameters that people think in, as a function and as a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .._lib import ffi
from ..addresses import (
    as_output,
    as_output_or_placeholder,
    as_tensor_or_placeholder,
    dense_form,
    dense_pointers,
    output_pointer,
    pointer_as_planned,
)
from ..device import Device, device_id, profile_name
from ..errors import ArgumentTypeError, InvalidArgumentError, invalid, type_name
from ..kvcache.pairs import QuantizedKV
from ..lengths import LengthsLike
from ..lse import LSE
from ..masks import Mask
from ..plan import OperatorPlan, run_once
from ..prepared import Slot
from ..spec import Spec
from ..streams import StreamLike
from ..tensor import ArrayLike, Tensor, as_tensor
from ..values import flag, integer, new_array
from .attention_call import AttentionCall, MaskLike, prepare
from .feature_arguments import Features, FeatureTensor
from .features import Alibi, KvQuant, LeftPadding, OutQuant, Prefix, Rope
from .fia_call import KEY, OUT, QUERY, VALUE
from .fia_call import LSE as LSE_ARGUMENT
from .full_quant import FullQuantLike
from .repeats import Repeats

__all__ = ["Plan", "attention"]


def attention(
    query: ArrayLike,
    key: ArrayLike | Sequence[ArrayLike],
    value: ArrayLike | Sequence[ArrayLike] | None,
    *,
    layout: str | None = None,
    num_heads: int | None = None,
    num_kv_heads: int | None = None,
    q_lengths: LengthsLike | None = None,
    kv_lengths: LengthsLike | None = None,
    mask: MaskLike | None = None,
    window: tuple[int, int] | None = None,
    scale: float | None = None,
    block_table: ArrayLike | None = None,
    block_size: int | None = None,
    rope: Rope | None = None,
    bias: ArrayLike | None = None,
    alibi: Alibi | None = None,
    sink: ArrayLike | None = None,
    prefix: Prefix | None = None,
    left_padding: LeftPadding | None = None,
    kv_quant: KvQuant | QuantizedKV | None = None,
    full_quant: FullQuantLike | None = None,
    out_quant: OutQuant | None = None,
    out: ArrayLike | None = None,
    lse_out: ArrayLike | None = None,
    return_lse: bool = False,
    inner_precise: int | None = None,
    stream: StreamLike | None = None,
    device: Device | None = None,
) -> Any:
    """Compute ``softmax(query @ key.T * scale + bias) @ value`` for each head, over the keys that the mask leaves.

    Parameters
    ----------
    query : array-like
        Of dtype float16 or bfloat16, or with `full_quant` of 8 bits: ``(B, S, N, D)``, or ``(T, N, D)`` with the
        sequences packed one behind the other, or what `layout` says.
    key, value : array-like or sequence of array-likes
        Of query's dtype, with as many heads as query or a divisor of it. Ordered like query; or a list of one array
        for each sequence, each with its own length; or, with `block_table`, a paged cache of shape
        ``(blocks, block_size, N * D)``, ``(blocks, N, block_size, D)`` or ``(blocks, N, D / 16, block_size, 16)``.
        With `kv_quant` of another dtype. No `value` (None) where, with `rope`, the key is the value too.
    layout : str, optional
        Order of axes: ``"BSH"``, ``"BSND"``, ``"BNSD"``, ``"TND"``, ``"NTD"``, or two of them as in ``"BNSD_BSND"``,
        the second for the output. ``"BSND"`` for a query of rank 4 and ``"TND"`` for one of rank 3 without it.
    num_heads, num_kv_heads : int, optional
        Heads of query, and of key and value. Taken from the shapes where these tell; BSH needs `num_heads`.
    q_lengths, kv_lengths : int, sequence of int or Lengths, optional
        Tokens of each sequence, as plain lengths; one int for all. Needed for packed layouts, and `kv_lengths` for
        paged ones; without them all tokens count.
    mask : {"causal", "causal_top_left"} or Mask, optional
        ``"causal"``: the last query stands at the last key. ``"causal_top_left"``: the first at the first. Any other
        pattern: `Mask.dense`.
    window : tuple of int, optional
        Keys before and after its own position that a row sees, -1 for all; the last query stands at the last key.
        A window of W tokens, the own one included, is ``(W - 1, 0)``. With ``mask="causal"`` none after.
    scale : float, optional
        What scores are multiplied by; ``1 / sqrt(D)`` without it, where D counts the channels of `rope`. Needed where
        the key is the value too: no shape tells which head dim the model had before projections were absorbed.
    block_table : array-like, optional
        Of dtype int32, ``(B, blocks of a sequence)``: which blocks of the cache hold a sequence. Entries that
        `kv_lengths` does not reach are not read.
    block_size : int, optional
        Tokens of a block; taken from the cache's shape without it.
    rope : Rope, optional
        Rotary channels of query and key that are kept apart (MLA).
    bias : array-like, optional
        Added to the scaled scores: of query's dtype, ``(B or 1, N, S or 1, keys)``, keys at least as many as the token
        axis of key has.
    alibi : Alibi, optional
        Bias by distance instead.
    sink : array-like, optional
        A further logit of each head, in the denominator only: of query's dtype, ``(N,)``. It is not scaled.
    prefix : Prefix, optional
        Keys and values that stand before those of every sequence.
    left_padding : LeftPadding, optional
        That sequences stand at the end of their token axes.
    kv_quant : KvQuant or QuantizedKV, optional
        How to read key and value of dtype int8, int4_x2, int32 (eight INT4), hifloat8, float8_e4m3fn or
        float4_e2m1fn_x2.
    full_quant : FullQuant, or what a quantiser of `kvcache` gives, optional
        How to read query, key and value that are all of dtype int8, float8_e4m3fn or hifloat8.
    out_quant : OutQuant, optional
        How to quantise the output.
    out : array-like, optional
        Where to write the output: C-contiguous, writable, of query's dtype, or that of `out_quant` or `full_quant`.
    lse_out : array-like, optional
        Where to write the log-sum-exp: float32, C-contiguous, writable. Implies `return_lse`.
    return_lse : bool
        Whether to return the log-sum-exp as well.
    inner_precise : int, optional
        The operator's precision mode, 0 to 3. By default 0, or 2 for dense masks, which makes rows that see no key
        come out as 0 on every device.
    stream : Stream, int or object with ``__acl_stream__``, optional
        Where to queue the call; it returns at once, and what it uses is kept alive until the stream has passed it.
        Without it the call returns when the result is there.
    device : Device, optional
        Where to run, without a stream. The calling thread's device by default.

    Returns
    -------
    out : numpy.ndarray, or what was given as `out`
        The output, ordered like query. Rows that see no key are 0, and so are rows beyond a sequence's length.
    lse : LSE
        Only with `return_lse`: natural logarithm, ``+inf`` for rows that see no key.

    Raises
    ------
    InvalidArgumentError
        An argument is not allowed; the message names it, and says what is.
    ArgumentTypeError
        An argument has a type or dtype that can't be used.

    See Also
    --------
    Plan : The same, checked once and run often.
    fused_infer_attention_score : The same operator with all of the C interface's parameters.

    Examples
    --------
    >>> import numpy as np, acl_attn
    >>> rng = np.random.default_rng(0)
    >>> q = rng.standard_normal((1, 4, 8, 64)).astype(np.float16)  # 4 new tokens, 8 heads
    >>> k, v = rng.standard_normal((2, 1, 20, 2, 64)).astype(np.float16)  # after 16 old ones, 2 heads
    >>> acl_attn.attention(q, k, v, mask="causal").shape
    (1, 4, 8, 64)
    """
    features = Features(rope, bias, alibi, sink, prefix, left_padding, kv_quant, full_quant, out_quant)
    key_of_call = None
    if stream is None and device is None and not features.is_given():
        operands = (query, key, value) if block_table is None else (query, key, value, block_table)
        options = (layout, num_heads, num_kv_heads, mask, scale, block_size, return_lse, inner_precise)
        said = (operands, (*options, lse_out is None), (q_lengths, kv_lengths, window))
        key_of_call = _repeats.key(*said)
        repeat = _repeats.find(key_of_call)
        if repeat is not None:
            made = new_array(repeat.out_spec.shape, repeat.out_spec.dtype, "out") if out is None else out
            lse = None
            if repeat.lse_spec is not None:
                lse = new_array(repeat.lse_spec.shape, repeat.lse_spec.dtype, "lse_out") if lse_out is None else lse_out
            if repeat.run(operands, made, lse):
                return made if lse is None else (made, _typed_lse(lse, repeat.out_order))
    call = prepare(
        query, key, value, layout=layout, num_heads=num_heads, num_kv_heads=num_kv_heads, q_lengths=q_lengths,
        kv_lengths=kv_lengths, mask=mask, window=window, scale=scale, block_table=block_table, block_size=block_size,
        wants_lse=flag(return_lse, "return_lse") or lse_out is not None, inner_precise=inner_precise,
        features=features, profile=lambda: profile_name(device),
    )  # fmt: skip
    fia = call.fia
    result, fia.out = _output(out, "out", call.out_spec)
    lse = None
    if call.lse_spec is not None:
        lse, fia.lse = _output(lse_out, "lse_out", call.lse_spec)
    prepared = run_once(fia, stream, device_id(device))
    # Not if settings or lists have changed meanwhile: the executor may be of what they were or of what they are.
    if prepared is not None and key_of_call is not None and key_of_call == _repeats.key(*said):
        _repeats.add(key_of_call, call, prepared)
    return result if lse is None else (result, _typed_lse(lse, call.layout.out_order))


_repeats = Repeats()


def _output(given: ArrayLike | None, parameter: str, spec: Spec) -> tuple[Any, Tensor]:
    if given is not None:
        return given, as_output(given, parameter, spec.shape, spec.dtype)
    made = new_array(spec.shape, spec.dtype, parameter)
    return made, as_tensor(made, parameter)


def _typed_lse(array: Any, out_order: str) -> LSE:
    found = array if isinstance(array, np.ndarray) else as_tensor(array, "lse_out").as_array()
    return LSE(found, out_order)


class Plan(OperatorPlan):
    """Attention that is checked and prepared once, and run often.

    For calls that differ only in where the data is, such as the layers of a model. Shapes, dtypes, lengths, mask and
    scale are the plan's and are copied; changing the caller's list afterwards has no effect, `update` has. The contents
    of arrays, the block table's included, are read when a run computes. May be used from several threads; runs of one
    plan then follow one another. A context manager.

    Parameters
    ----------
    query : array-like or Spec
        An array to use when `run` is given none, or a `Spec` of what will be given.
    key, value : array-like, Spec, or sequence of them
        Likewise.
    layout : str, optional
        Order of axes, as for `attention`.
    num_heads, num_kv_heads : int, optional
        Heads of query, and of key and value.
    q_lengths, kv_lengths : int, sequence of int or Lengths, optional
        Tokens of each sequence; `update` changes them.
    mask : {"causal", "causal_top_left"} or Mask, optional
        Which keys a row sees.
    window : tuple of int, optional
        Keys before and after its own position that a row sees.
    scale : float, optional
        What scores are multiplied by.
    block_table : array-like, optional
        Which blocks of a paged cache hold a sequence. Its contents are read by each run.
    block_size : int, optional
        Tokens of a block.
    rope, bias, alibi, sink, prefix, left_padding, kv_quant, full_quant, out_quant : optional
        Features, as for `attention`; their arrays may be a `Spec`.
    out, lse_out : array-like, optional
        Where each run writes that is not given another place. Without it each run makes a new array.
    return_lse : bool
        Whether runs return the log-sum-exp as well.
    inner_precise : int, optional
        The operator's precision mode.
    device : Device, optional
        Where runs without a stream go. The calling thread's device by default.

    See Also
    --------
    attention : A single call, with the same parameters.

    Examples
    --------
    >>> import numpy as np, acl_attn
    >>> q = acl_attn.Spec((2, 1, 8, 64), np.float16)
    >>> kv = acl_attn.Spec((2, 128, 2, 64), np.float16)
    >>> with acl_attn.Plan(q, kv, kv, kv_lengths=[100, 7]) as plan:
    ...     layers = [np.ones((3, *spec.shape), np.float16) for spec in (q, kv, kv)]
    ...     outs = [plan.run(*arrays) for arrays in zip(*layers)]
    >>> len(outs), plan.is_closed
    (3, True)
    """

    def __init__(
        self,
        query: ArrayLike | Spec,
        key: ArrayLike | Spec | Sequence[ArrayLike | Spec],
        value: ArrayLike | Spec | Sequence[ArrayLike | Spec] | None,
        *,
        layout: str | None = None,
        num_heads: int | None = None,
        num_kv_heads: int | None = None,
        q_lengths: LengthsLike | None = None,
        kv_lengths: LengthsLike | None = None,
        mask: MaskLike | None = None,
        window: tuple[int, int] | None = None,
        scale: float | None = None,
        block_table: ArrayLike | None = None,
        block_size: int | None = None,
        rope: Rope | None = None,
        bias: ArrayLike | Spec | None = None,
        alibi: Alibi | None = None,
        sink: ArrayLike | Spec | None = None,
        prefix: Prefix | None = None,
        left_padding: LeftPadding | None = None,
        kv_quant: KvQuant | QuantizedKV | None = None,
        full_quant: FullQuantLike | None = None,
        out_quant: OutQuant | None = None,
        out: ArrayLike | None = None,
        lse_out: ArrayLike | None = None,
        return_lse: bool = False,
        inner_precise: int | None = None,
        device: Device | None = None,
    ) -> None:
        self._keywords: dict[str, Any] = {
            "layout": layout, "num_heads": num_heads, "num_kv_heads": num_kv_heads, "q_lengths": q_lengths,
            "kv_lengths": kv_lengths, "mask": mask, "window": window, "scale": scale, "block_table": block_table,
            "block_size": block_size, "wants_lse": flag(return_lse, "return_lse") or lse_out is not None,
            "inner_precise": inner_precise,
            "features": Features(rope, bias, alibi, sink, prefix, left_padding, kv_quant, full_quant, out_quant),
            "profile": lambda: profile_name(device),
        }  # fmt: skip
        call = prepare(query, key, value, **self._keywords, describe=as_tensor_or_placeholder)
        self._keep_copies(call)
        self._later = {
            name for name, given in (("query", query), ("key", key), ("value", value)) if _has_spec(given)
        } | self._features.later()  # fmt: skip
        self._outputs = {"out": out, "lse_out": lse_out}
        fia = call.fia
        has_one_each = len(fia.key) == 1 and not call.value_is_key
        self._dense = dense_form(fia.query, *fia.key, *fia.value, call.out_spec) if has_one_each else None
        _set_outputs(call, out, lse_out)
        slots = [
            Slot(QUERY),
            *(Slot(KEY, member) for member in range(len(fia.key))),
            *(Slot(VALUE, member) for member in range(len(fia.value))),
            Slot(OUT),
        ]
        if call.lse_spec is not None:
            slots.append(Slot(LSE_ARGUMENT))
        slots.extend(Slot(place.position) for place in call.extras)
        self._planned_operands: list[ffi.CData] = []  # where nothing comes later; the same after every `update`
        if not self._later.intersection(("query", "key", "value")):
            self._planned_operands = self._operand_pointers(None, None, None)
        is_later = any(place.name in self._later for place in call.extras)
        self._planned_extras = [] if is_later else self._extra_pointers(call, {})
        super().__init__(fia, slots, device_id(device))

    def _lse_array(self, given: ArrayLike | None, spec: Spec) -> Any:
        given = self._outputs["lse_out"] if given is None else given
        return new_array(spec.shape, spec.dtype, "lse_out") if given is None else given

    @property
    def _features(self) -> Features:
        found: Features = self._keywords["features"]
        return found

    @property
    def out_spec(self) -> Spec:
        """Shape and dtype of the output."""
        return self._attention.out_spec

    @property
    def lse_spec(self) -> Spec | None:
        """Shape and dtype of the log-sum-exp; None if it is not wanted."""
        return self._attention.lse_spec

    def run(
        self,
        query: ArrayLike | None = None,
        key: ArrayLike | Sequence[ArrayLike] | None = None,
        value: ArrayLike | Sequence[ArrayLike] | None = None,
        *,
        rope: Rope | None = None,
        bias: ArrayLike | None = None,
        alibi: Alibi | None = None,
        sink: ArrayLike | None = None,
        prefix: Prefix | None = None,
        left_padding: LeftPadding | None = None,
        kv_quant: KvQuant | QuantizedKV | None = None,
        full_quant: FullQuantLike | None = None,
        out_quant: OutQuant | None = None,
        out: ArrayLike | None = None,
        lse_out: ArrayLike | None = None,
        stream: StreamLike | None = None,
        workspace: ArrayLike | None = None,
    ) -> Any:
        """Compute attention as planned.

        Parameters
        ----------
        query, key, value : array-like or sequence of array-likes, optional
            Arrays of the planned shape, dtype and strides. Without one, the array that the plan was made with.
        rope, bias, alibi, sink, prefix, left_padding, kv_quant, full_quant, out_quant : optional
            Features with other arrays of the planned shape, dtype and strides, and otherwise as planned. Without one,
            what the plan was made with.
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
            The output.
        lse : LSE
            Only if the plan was made with ``return_lse=True``.

        Raises
        ------
        ClosedError
            The plan was closed.
        InvalidArgumentError
            An array is not as planned, or a block table names a block that is not there.
        """
        call, lse = self._attention, None
        if out is None:
            out = self._outputs["out"]
            if out is None:
                out = new_array(call.out_spec.shape, call.out_spec.dtype, "out")
        features = replacing = None  # made only where there are any: this is on the path of every run
        if not (
            rope is None
            and bias is None
            and alibi is None
            and sink is None
            and prefix is None
            and left_padding is None
            and kv_quant is None
            and full_quant is None
            and out_quant is None
        ):
            features = Features(rope, bias, alibi, sink, prefix, left_padding, kv_quant, full_quant, out_quant)
            replacing = features.replacing(self._features)
        try:
            pointers = dense_pointers(query, key, value, out, self._dense)
            if pointers is None:
                pointers = self._operand_pointers(query, key, value)
                pointers.append(output_pointer(out, "out", call.out_spec, self._device))
            if call.lse_spec is not None:
                lse = self._lse_array(lse_out, call.lse_spec)
                pointers.append(output_pointer(lse, "lse_out", call.lse_spec, self._device))
            elif lse_out is not None:
                raise invalid("lse_out", "None, as planned", "an array", "make the plan with return_lse=True")
            if replacing is not None:
                pointers += self._extra_pointers(call, replacing)
            elif call.extras:
                pointers += self._planned_extras or self._extra_pointers(call, {})
        except (ArgumentTypeError, InvalidArgumentError) as refusal:
            self._refuse(refusal, self._keywords, lambda: self._try_plan(query, key, value, features))
        self._run(pointers, (query, key, value, features, out, lse), stream, workspace)
        return out if lse is None else (out, _typed_lse(lse, call.layout.out_order))

    def _try_plan(self, query: Any, key: Any, value: Any, features: Features | None) -> None:
        """Make what a new plan would have for such arrays, and let it go."""
        planned = self._attention
        others = {} if features is None else {name: one for name, one in features._asdict().items() if one is not None}
        call = prepare(
            planned.fia.query if query is None else query,
            planned.fia.key if key is None else key,
            (None if planned.value_is_key else planned.fia.value) if value is None else value,
            **{**self._keywords, "features": self._features._replace(**others)},
            describe=as_tensor_or_placeholder,
        )
        _set_outputs(call, None, None)
        self._prepare(call.fia).finalizer()

    def _operand_pointers(self, query: Any, key: Any, value: Any) -> list[ffi.CData]:
        if query is key is value is None and self._planned_operands:
            return self._planned_operands.copy()
        call = self._attention
        fia = call.fia
        pointers = [self._pointer(query, "query", fia.query)]
        self._add_members(pointers, key, "key", fia.key)
        if not call.value_is_key:
            self._add_members(pointers, value, "value", fia.value)
        elif value is None:
            pointers.extend(pointers[1:])
        else:
            raise invalid("value", "None, as planned", type_name(value), "make a new plan")
        return pointers

    def _add_members(
        self,
        pointers: list[ffi.CData],
        given: ArrayLike | Sequence[ArrayLike] | None,
        parameter: str,
        planned: Sequence[Tensor],
    ) -> None:
        if not isinstance(given, (list, tuple)):
            if given is not None and len(planned) > 1:
                raise invalid(parameter, f"a list of {len(planned)} arrays as planned", "one array")
            pointers += [self._pointer(given, parameter, member) for member in planned]
        else:
            if len(given) != len(planned):
                raise invalid(parameter, f"a list of {len(planned)} arrays as planned", len(given), "make a new plan")
            pointers.extend(
                pointer_as_planned(member, f"{parameter}[{position}]", planned[position], self._device)
                for position, member in enumerate(given)
            )

    def _extra_pointers(self, call: AttentionCall, given: Mapping[FeatureTensor, Any]) -> list[ffi.CData]:
        return [self._pointer(given.get(place), place.name, planned) for place, planned in call.extras.items()]

    def update(self, *, kv_lengths: LengthsLike | None = None, q_lengths: LengthsLike | None = None) -> None:
        """Change the sequences' lengths, for runs from now on.

        Parameters
        ----------
        kv_lengths, q_lengths : int, sequence of int or Lengths, optional
            The new lengths; without one the old ones stay.

        Raises
        ------
        InvalidArgumentError
            The lengths are not allowed; the plan stays as it was.
        """
        self._live()
        keywords = dict(self._keywords)
        if kv_lengths is not None:
            keywords["kv_lengths"] = kv_lengths
        if q_lengths is not None:
            keywords["q_lengths"] = q_lengths
        fia = self._attention.fia
        value = None if self._attention.value_is_key else fia.value
        call = prepare(fia.query, fia.key, value, **keywords, describe=as_tensor_or_placeholder)
        call.fia.out, call.fia.lse = fia.out, fia.lse
        self._replan(call.fia)
        self._keywords = keywords
        self._keep_copies(call)

    def _keep_copies(self, call: AttentionCall) -> None:
        self._attention = call
        # For `update`, in place of the caller's sequences. One int for all stays one: the batch may change.
        keywords = self._keywords
        for name, copy in (("q_lengths", call.q_lengths), ("kv_lengths", call.kv_lengths)):
            if not isinstance(keywords[name], (int, np.integer)):
                keywords[name] = copy
        keywords["mask"], keywords["window"] = call.mask, None

    def visible_keys(self, sequence: int, row: int) -> npt.NDArray[np.int64]:
        """List the keys that a query row sees.

        Parameters
        ----------
        sequence : int
            Which sequence.
        row : int
            Query row inside the sequence.

        Returns
        -------
        numpy.ndarray
            Positions of keys inside the sequence, ascending. With a prefix they count from its beginning.
        """
        call = self._attention
        if self._features.left_padding is not None and call.mask is not None and call.mask.hidden is not None:
            # A dense mask is indexed by places on the token axes, which the run computes from the padding.
            raise invalid("mask", "one without an array, with left_padding", "an array")
        lengths = call.sequence_lengths()
        sequence, row = integer(sequence, "sequence"), integer(row, "row")
        if not 0 <= sequence < len(lengths):
            raise invalid("sequence", f"a sequence in 0..{len(lengths) - 1}", sequence)
        sq, skv = lengths[sequence]
        return (call.mask or Mask()).visible_keys(row, sq, skv, sequence)

    def __repr__(self) -> str:
        state = "closed" if self.is_closed else f"workspace {self.workspace_bytes} bytes"
        return f"<Plan {self._attention.layout.name} {self._attention.fia.query.shape}, {state}>"


def _set_outputs(call: AttentionCall, out: ArrayLike | None, lse_out: ArrayLike | None) -> None:
    """Set the outputs of phase one. Their addresses are replaced before each run: they only have to be there."""
    call.fia.out = as_output_or_placeholder(out, "out", call.out_spec)
    if call.lse_spec is not None:
        call.fia.lse = as_output_or_placeholder(lse_out, "lse_out", call.lse_spec)


def _has_spec(given: object) -> bool:
    return isinstance(given, Spec) or (isinstance(given, (list, tuple)) and any(isinstance(g, Spec) for g in given))
