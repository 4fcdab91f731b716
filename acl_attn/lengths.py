# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""How many tokens each sequence has: one type for the several forms that C interfaces and libraries use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .errors import invalid, wrong_type
from .values import integer, integers

__all__ = ["Lengths", "LengthsLike", "as_lengths", "packed_lengths"]


@dataclass(frozen=True)
class Lengths:
    """Token counts of a batch of sequences.

    Libraries write them down in three ways: as plain lengths, as running totals without a leading 0 (what the fused
    operators take for packed layouts), and as running totals with a leading 0 (``cu_seqlens``). Mixing them up gives
    plausible but wrong results. Build a `Lengths` from what you have; each operator takes the form that it needs.

    Parameters
    ----------
    per_sequence : tuple of int
        Tokens of each sequence, none negative.

    See Also
    --------
    Lengths.from_lengths : From plain lengths.
    Lengths.from_cu_seqlens : From running totals.

    Examples
    --------
    >>> lengths = Lengths.from_cu_seqlens([0, 65, 72])
    >>> lengths.per_sequence, lengths.cumulative, lengths.total
    ((65, 7), (65, 72), 72)
    """

    per_sequence: tuple[int, ...]

    def __post_init__(self) -> None:
        lengths = _integers(self.per_sequence, "lengths")
        object.__setattr__(self, "per_sequence", lengths)
        if lengths and min(lengths) < 0:
            position = _first_negative(lengths)
            raise invalid(f"lengths[{position}]", "a length of at least 0", lengths[position])

    @classmethod
    def _known(cls, lengths: tuple[int, ...]) -> Lengths:
        """Take what has been read already, and has nothing negative."""
        known = cls.__new__(cls)
        known.__dict__["per_sequence"] = lengths
        return known

    @classmethod
    def from_lengths(cls, lengths: Sequence[int] | npt.NDArray[Any]) -> Lengths:
        """Take plain lengths, one a sequence.

        Parameters
        ----------
        lengths : sequence of int
            Tokens of each sequence.

        Returns
        -------
        Lengths
            The same lengths.
        """
        return cls(_integers(lengths, "lengths"))

    @classmethod
    def from_cu_seqlens(cls, cu_seqlens: Sequence[int] | npt.NDArray[Any]) -> Lengths:
        """Take running totals that begin with 0, one entry more than there are sequences.

        Parameters
        ----------
        cu_seqlens : sequence of int
            ``[0, n0, n0 + n1, ...]``.

        Returns
        -------
        Lengths
            The differences.
        """
        totals = _integers(cu_seqlens, "cu_seqlens")
        if not totals or totals[0] != 0:
            got = f"{totals[0]} first" if totals else "no entries"
            raise invalid(
                "cu_seqlens", "running totals that begin with 0", got, "plain lengths go to Lengths.from_lengths"
            )
        for position in range(1, len(totals)):
            if totals[position] < totals[position - 1]:
                raise invalid(
                    f"cu_seqlens[{position}]", f"at least the entry before it, {totals[position - 1]}", totals[position]
                )
        return cls(tuple(after - before for before, after in pairwise(totals)))

    @property
    def batch(self) -> int:
        """Number of sequences."""
        return len(self.per_sequence)

    @property
    def total(self) -> int:
        """Tokens of all sequences together."""
        return sum(self.per_sequence)

    @property
    def max(self) -> int:
        """Tokens of the longest sequence; 0 if there is none."""
        return max(self.per_sequence, default=0)

    @property
    def cumulative(self) -> tuple[int, ...]:
        """Running totals without a leading 0: what the fused operators take for packed layouts."""
        return tuple(accumulate(self.per_sequence))

    @property
    def cu_seqlens(self) -> npt.NDArray[np.int32]:
        """Running totals with a leading 0, as int32.

        Raises
        ------
        InvalidArgumentError
            There are more tokens than int32 counts.
        """
        most = np.iinfo(np.int32).max
        if self.total > most:
            raise invalid("lengths", f"at most {most} tokens altogether, which int32 holds", self.total)
        return np.array((0, *self.cumulative), np.int32)

    def __len__(self) -> int:
        return len(self.per_sequence)


LengthsLike: TypeAlias = int | Sequence[int] | npt.NDArray[Any] | Lengths


def as_lengths(value: LengthsLike, batch: int, parameter: str, derived: str) -> Lengths:
    """Read a caller's lengths: one for all sequences, one a sequence, or a `Lengths`.

    Parameters
    ----------
    value : int, sequence of int, array or Lengths
        What the caller gave. A bare sequence means plain lengths, never running totals.
    batch : int
        Number of sequences.
    parameter : str
        The parameter's name, for messages.
    derived : str
        Where `batch` comes from, for messages.
    """
    if isinstance(value, Lengths):
        lengths = value
    elif isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        length = integer(value, parameter)
        if length < 0:
            raise invalid(parameter, "a length of at least 0", length)
        lengths = Lengths._known((length,) * batch)
    else:
        found = _integers(value, parameter)
        if found and min(found) < 0:
            negative = _first_negative(found)
            raise invalid(f"{parameter}[{negative}]", "a length of at least 0", found[negative])
        lengths = Lengths._known(found)
    if lengths.batch != batch:
        fix = "give one length for each sequence, or a single int for all"
        plain = lengths.per_sequence
        if lengths.batch == batch + 1 and plain[0] == 0 and list(plain) == sorted(plain):
            fix = "these look like running totals: use Lengths.from_cu_seqlens(...)"
        raise invalid(parameter, f"{batch} lengths ({derived})", lengths.batch, fix)
    return lengths


def packed_lengths(value: LengthsLike | None, tokens: int, parameter: str, tensor: str, layout: str) -> Lengths:
    """Read a caller's lengths of packed sequences, whose number they tell.

    Parameters
    ----------
    value : int, sequence of int, array, Lengths or None
        What the caller gave. One int stands for as many sequences of that length as there are tokens for.
    tokens : int
        Tokens of all sequences.
    parameter : str
        The parameter's name, for messages.
    tensor : str
        That of the tensor that holds the tokens.
    layout : str
        Its layout.
    """
    if value is None:
        fix = f"for a single sequence {parameter}=[{tokens}]"
        raise invalid(parameter, f"the length of each packed sequence for layout {layout}", None, fix)
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        if value <= 0 or tokens % value:
            raise invalid(parameter, f"a length that divides {tensor}'s {tokens} tokens", value)
        return Lengths((int(value),) * (tokens // int(value)))
    lengths = value if isinstance(value, Lengths) else Lengths(_integers(value, parameter))
    if lengths.total != tokens:
        total, plain = lengths.total, lengths.per_sequence
        fix = f"pass {tensor}[:{total}], or append {tokens - total} for a padding sequence" if total < tokens else ""
        if len(plain) > 1 and plain[-1] == tokens and list(plain) == sorted(plain):
            fix = f"these look like running totals: {parameter} are plain lengths"
            fix += ", use Lengths.from_cu_seqlens(...)" if plain[0] == 0 else ""
        raise invalid(parameter, f"lengths that sum to {tensor}'s {tokens} tokens", total, fix)
    return lengths


def _first_negative(lengths: tuple[int, ...]) -> int:
    return next(position for position, length in enumerate(lengths) if length < 0)


def _integers(values: Any, parameter: str) -> tuple[int, ...]:
    if isinstance(values, np.ndarray):
        if values.dtype.kind not in "iu" or values.ndim != 1:
            raise wrong_type(parameter, "integers along one axis", f"{values.dtype} of shape {values.shape}")
        values = values.tolist()
    return integers(values, parameter, "an int, a sequence of int or a Lengths")
