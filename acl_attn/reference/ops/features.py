# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The features of `acl_attn.attention` as the operator's parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from acl_attn.dtypes import as_dtype

if TYPE_CHECKING:
    from acl_attn import Alibi, FullQuant, KvQuant, LeftPadding, OutQuant, Prefix, QuantizedKV, Rope

Array = NDArray[Any]


def feature_arguments(
    *,
    rope: Rope | None = None,
    bias: Array | None = None,
    alibi: Alibi | None = None,
    sink: Array | None = None,
    prefix: Prefix | None = None,
    left_padding: LeftPadding | None = None,
    kv_quant: KvQuant | QuantizedKV | None = None,
    full_quant: FullQuant | Any | None = None,
    out_quant: OutQuant | None = None,
) -> dict[str, Any]:
    """Say features in the operator's words.

    Parameters
    ----------
    rope, bias, alibi, sink, prefix, left_padding, kv_quant, full_quant, out_quant
        As for `acl_attn.attention`; tensors are arrays or numbers.

    Returns
    -------
    dict
        Keyword arguments of `acl_attn.reference.fused_infer_attention_score`.
    """
    made: dict[str, Any] = {"pse_shift": bias, "learnable_sink": sink}
    if rope is not None:
        made.update(query_rope=rope.query, key_rope=rope.key)
    if alibi is not None:
        made.update(pse_shift=alibi.slopes, pse_type=3 if alibi.sqrt else 2)
        made.update(q_start_idx=[alibi.q_start], kv_start_idx=[alibi.kv_start])
    if prefix is not None:
        made.update(key_shared_prefix=prefix.key, value_shared_prefix=prefix.value)
        made["actual_shared_prefix_len"] = None if prefix.length is None else [prefix.length]
    if left_padding is not None:
        made.update(query_padding_size=_one(left_padding.query), kv_padding_size=_one(left_padding.key))
    if kv_quant is not None:
        for side in ("key", "value"):
            made[f"{side}_antiquant_mode"] = _mode(kv_quant, side)
            made[f"{side}_antiquant_scale"] = getattr(kv_quant, f"{side}_scale")
            made[f"{side}_antiquant_offset"] = getattr(kv_quant, f"{side}_offset")
    if full_quant is not None:
        made.update(_full_quant(full_quant))
    if out_quant is not None:
        made.update(quant_scale2=_one(out_quant.scale), quant_offset2=_one(out_quant.offset))
        made["attention_out"] = np.empty(0, as_dtype(out_quant.dtype))
    return made


_FULL_QUANT = {
    "query_scale": "dequant_scale_query",
    "key_scale": "key_antiquant_scale",
    "value_scale": "value_antiquant_scale",
    "score_scale": "deq_scale1",
    "p_scale": "quant_scale1",
    "out_scale": "deq_scale2",
}
_MODES = ("query_quant_mode", "key_antiquant_mode", "value_antiquant_mode")
_SCHEMES = {"per_tensor": (0, 0, 0), "mla": (3, 0, 0), "gqa_fp8": (3, 3, 2), "mxfp8": (6, 6, 8)}


def _full_quant(given: Any) -> dict[str, Any]:
    scheme = getattr(given, "scheme", None)
    if scheme is None:  # operands of a quantiser, which go by the operator's names
        return {name: getattr(given, name) for name in (*_FULL_QUANT.values(), *_MODES) if hasattr(given, name)}
    made = {name: _one(getattr(given, field)) for field, name in _FULL_QUANT.items()}
    return {**made, **dict(zip(_MODES, _SCHEMES[scheme], strict=True))}


def _one(given: Any) -> Array | None:
    return None if given is None else np.atleast_1d(np.asarray(given))


def _mode(kv_quant: Any, side: str) -> int:
    own = getattr(kv_quant, f"{side}_mode", None)
    if own is not None:
        return int(own)
    both = kv_quant.mode
    return int(both[0 if side == "key" else 1]) if isinstance(both, tuple | list) else int(both)
