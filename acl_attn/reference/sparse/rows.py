# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Where the rows of a stream lie."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from acl_attn.reference.storage import Paged

if TYPE_CHECKING:
    from acl_attn.reference.sparse.lengths import Extents
    from acl_attn.reference.sparse.visible import Indices

Array = NDArray[Any]


class Rows:
    """The rows of a stream, by sequence and position.

    Parameters
    ----------
    tensor : ndarray
        Shape (batch, rows, 1, d), (tokens, 1, d), or with a block table (blocks, block_size, 1, d).
    block_table : ndarray of int32, shape (batch, blocks of a sequence), or None
        Which blocks a sequence has.
    parameter : str
        Name in messages.

    Attributes
    ----------
    room : int
        Rows that there is room for: on the token axis, or for each sequence.
    """

    def __init__(self, tensor: Array, block_table: Array | None, parameter: str) -> None:
        if tensor.ndim not in (3, 4) or tensor.shape[-2] != 1:
            raise ValueError(f"{parameter}: expected 3 or 4 axes and one head, got shape {tensor.shape}")
        self._tokens = tensor[..., 0, :]
        self._pages = None
        if block_table is not None:
            self._pages = Paged(self._tokens, block_table, tensor.shape[1], 1, parameter)
            self.room = block_table.shape[1] * tensor.shape[1]
        else:
            self.room = self._tokens.shape[-2]

    def read(self, extents: Extents, sequence: int, positions: Indices) -> Array:
        """Gather rows of a sequence.

        Parameters
        ----------
        extents : Extents
            The stream's sequences.
        sequence : int
            Which one.
        positions : ndarray of int64
            Which of its rows.

        Returns
        -------
        ndarray, shape (positions, d)
            The rows as they are stored.
        """
        if self._pages is not None:
            return self._pages.at(self._pages.blocks, sequence, positions)[:, 0]
        own = self._tokens if self._tokens.ndim == 2 else self._tokens[sequence]
        found: Array = own[np.asarray(positions) + extents.starts[sequence]]
        return found
