# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""What a call of `attention` may have beside queries, keys and values, each as one argument."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from ..spec import Spec
from ..tensor import ArrayLike

__all__ = ["Alibi", "FullQuant", "KvQuant", "LeftPadding", "OutQuant", "Prefix", "Rope", "Scheme"]

Scheme: TypeAlias = Literal["per_tensor", "mla", "gqa_fp8", "mxfp8"]

# Compared by identity: arrays have no truth value.


@dataclass(frozen=True, eq=False)
class Rope:
    """The rotary channels of query and key, kept apart from the others (MLA).

    Scores are ``query @ key.T + rope.query @ rope.key.T``, as if the channels stood behind one another.

    Parameters
    ----------
    query, key : array-like
        Shaped like query and key, but for the last axis, which holds 64 channels a head. `key` of a paged cache is
        paged likewise.

    See Also
    --------
    attention : Takes it as `rope`.

    Examples
    --------
    Decode with absorbed projections: keys are latent vectors, and values the same ones.

    >>> import numpy as np, acl_attn
    >>> rng = np.random.default_rng(0)
    >>> q, q_rope = (rng.standard_normal((1, 1, 16, dim)).astype(np.float16) for dim in (512, 64))
    >>> latent, k_rope = (rng.standard_normal((1, 30, 1, dim)).astype(np.float16) for dim in (512, 64))
    >>> acl_attn.attention(q, latent, None, rope=acl_attn.Rope(q_rope, k_rope), scale=192**-0.5).shape
    (1, 1, 16, 512)
    """

    query: ArrayLike | Spec
    key: ArrayLike | Spec


@dataclass(frozen=True, eq=False)
class Alibi:
    """A bias that grows with the distance of query and key.

    From the score of row i and key j, ``slopes[head] * abs((j + kv_start) - (i + q_start))`` is subtracted, or the
    slope times the root of the distance. Rows and keys count from the beginning of their sequence, which has as many of
    one as of the other.

    Parameters
    ----------
    slopes : array-like
        Of dtype float32, ``(N,)``.
    sqrt : bool
        Whether to take the root of the distance.
    q_start, kv_start : int
        Positions of the first row and the first key.

    See Also
    --------
    attention : Takes it as `alibi`.

    Examples
    --------
    >>> import numpy as np, acl_attn
    >>> x = np.ones((1, 6, 4, 64), np.float16)
    >>> alibi = acl_attn.Alibi(np.array([0.5, 0.25, 0.125, 0.0625], np.float32))
    >>> acl_attn.attention(x, x, x, alibi=alibi, mask="causal").shape
    (1, 6, 4, 64)
    """

    slopes: ArrayLike | Spec
    sqrt: bool = False
    q_start: int = 0
    kv_start: int = 0


@dataclass(frozen=True, eq=False)
class Prefix:
    """Keys and values that stand before those of every sequence, stored once.

    Lengths do not count them. Masks and biases do: their columns begin with the prefix.

    Parameters
    ----------
    key, value : array-like
        Ordered like key and value, for a single sequence.
    length : int, optional
        How many of the tokens count; all without it.

    See Also
    --------
    attention : Takes it as `prefix`.

    Examples
    --------
    >>> import numpy as np, acl_attn
    >>> q = np.ones((3, 1, 4, 64), np.float16)
    >>> own = np.ones((3, 10, 4, 64), np.float16)
    >>> shared = np.ones((1, 20, 4, 64), np.float16)
    >>> acl_attn.attention(q, own, own, kv_lengths=[10, 3, 7], prefix=acl_attn.Prefix(shared, shared)).shape
    (3, 1, 4, 64)
    """

    key: ArrayLike | Spec
    value: ArrayLike | Spec
    length: int | None = None


@dataclass(frozen=True, eq=False)
class LeftPadding:
    """Sequences that stand at the end of their token axis, and not at its beginning.

    Parameters
    ----------
    query, key : int or array-like, optional
        Padding tokens that follow all the same, 0 for none; an array is of dtype int64 and shape ``(1,)``, and is read
        when a run computes. None if the operand's sequences stand at the beginning. `q_lengths` and `kv_lengths` must
        be given with them.

    See Also
    --------
    attention : Takes it as `left_padding`.

    Examples
    --------
    >>> import numpy as np, acl_attn
    >>> q = np.ones((2, 1, 4, 64), np.float16)
    >>> kv = np.ones((2, 32, 4, 64), np.float16)  # tokens 22 to 31 of the first sequence, 27 to 31 of the second
    >>> acl_attn.attention(q, kv, kv, kv_lengths=[10, 5], left_padding=acl_attn.LeftPadding(key=0)).shape
    (2, 1, 4, 64)
    """

    query: int | ArrayLike | Spec | None = None
    key: int | ArrayLike | Spec | None = None


@dataclass(frozen=True, eq=False)
class KvQuant:
    """How quantised keys and values are read: as ``(stored + offset) * scale``.

    Parameters
    ----------
    mode : AntiquantMode, int or pair of them
        Which elements share a scale; (0, 1) for keys by channel and values by token.
    key_scale, value_scale : array-like
        Scales, in the shapes that `AntiquantMode` lists.
    key_offset, value_offset : array-like, optional
        Offsets, shaped like the scales; both or none.

    See Also
    --------
    quantize_kv : Makes keys, values and scales; `attention` takes what it gives as `kv_quant`.
    AntiquantMode : The modes.

    Examples
    --------
    >>> import numpy as np, acl_attn
    >>> q = np.ones((1, 1, 4, 64), np.float16)
    >>> kv = np.ones((1, 20, 2, 64), np.int8)
    >>> scale = np.full((1, 20), 0.1, np.float32)
    >>> kv_quant = acl_attn.KvQuant(acl_attn.AntiquantMode.PER_TOKEN, scale, scale)
    >>> acl_attn.attention(q, kv, kv, kv_quant=kv_quant).dtype
    dtype('float16')
    """

    mode: int | tuple[int, int]
    key_scale: ArrayLike | Spec
    value_scale: ArrayLike | Spec
    key_offset: ArrayLike | Spec | None = None
    value_offset: ArrayLike | Spec | None = None


@dataclass(frozen=True, eq=False)
class FullQuant:
    """How queries, keys and values that are all quantised are read.

    The three are of one 8-bit dtype. Their products are exact; probabilities are rounded to that dtype as well.

    Parameters
    ----------
    scheme : {"per_tensor", "mla", "gqa_fp8", "mxfp8"}
        ``"per_tensor"``: int8, one scale a tensor. ``"mla"``: decode with absorbed projections in int8, float8_e4m3fn
        or hifloat8; needs `rope`, whose query is divided by the scales of query and key. ``"gqa_fp8"``: float8_e4m3fn
        with a scale for each token and head, and for each head of the value; paged. ``"mxfp8"``: float8_e4m3fn with a
        power of two for every 32 channels, and for every 32 tokens of the value; layout TND.
    query_scale, key_scale, value_scale : array-like, optional
        Scales of all schemes but ``"per_tensor"``: of dtype float32, or float8_e8m0fnu for ``"mxfp8"``. One number does
        for key and value of ``"mla"``.
    score_scale : float or array-like, optional
        Of ``"per_tensor"``, ``(1,)``: the scale of query times that of key, as float32, or as uint64 words.
    p_scale : float or array-like, optional
        What probabilities, of which the largest is 1, are multiplied by before they are rounded. Float32, ``(1,)``.
        Needed for ``"per_tensor"``; without it 1 for ``"gqa_fp8"`` and ``"mxfp8"``. ``"mla"`` has a fixed one.
    out_scale : float or array-like, optional
        Of ``"per_tensor"``, ``(1,)``: the scale of value divided by `p_scale`, as float32, or as uint64 words.
    dtype : dtype or its name
        Of the output: bfloat16 or float16.

    See Also
    --------
    attention : Takes it as `full_quant`.
    kvcache.quantize_mxfp8 : Makes operands and scales of one scheme, and `attention` takes what it gives; so do
        `kvcache.quantize_per_tensor`, `kvcache.quantize_mla` and `kvcache.quantize_gqa_fp8` those of the others.

    Examples
    --------
    >>> import numpy as np, acl_attn
    >>> x = np.full((1, 4, 2, 64), 10, np.int8)
    >>> full_quant = acl_attn.FullQuant("per_tensor", score_scale=0.01, p_scale=127, out_scale=0.1 / 127)
    >>> float(acl_attn.attention(x, x, x, full_quant=full_quant)[0, 0, 0, 0])
    1.0
    """

    scheme: Scheme
    query_scale: ArrayLike | Spec | None = None
    key_scale: float | ArrayLike | Spec | None = None
    value_scale: float | ArrayLike | Spec | None = None
    score_scale: float | ArrayLike | Spec | None = None
    p_scale: float | ArrayLike | Spec | None = None
    out_scale: float | ArrayLike | Spec | None = None
    dtype: npt.DTypeLike = "bfloat16"


@dataclass(frozen=True, eq=False)
class OutQuant:
    """How the output is quantised: as ``out * scale + offset``, rounded and saturated.

    Rows that see no key stay 0, whatever the offset.

    Parameters
    ----------
    scale : float or array-like
        One number, or one for each channel of each head, ``(N, D)``: of dtype float32, or bfloat16 if query is.
    offset : float or array-like, optional
        Shaped like the scale.
    dtype : dtype or its name
        Of the output: int8, float8_e4m3fn or hifloat8.

    See Also
    --------
    attention : Takes it as `out_quant`.

    Examples
    --------
    >>> import numpy as np, acl_attn
    >>> x = np.ones((1, 4, 2, 64), np.float16)
    >>> int(acl_attn.attention(x, x, x, out_quant=acl_attn.OutQuant(50.0))[0, 0, 0, 0])
    50
    """

    scale: float | ArrayLike | Spec
    offset: float | ArrayLike | Spec | None = None
    dtype: npt.DTypeLike = np.int8
