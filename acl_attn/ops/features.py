# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""What a call of `attention` may have beside queries, keys and values, each as one argument."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..tensor import ArrayLike, Spec

__all__ = ["Alibi", "KvQuant", "LeftPadding", "OutQuant", "Prefix", "Rope"]

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
