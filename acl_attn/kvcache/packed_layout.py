# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Where the parts of packed rows lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import ml_dtypes
import numpy as np

from .._lib import lib
from ..dtypes import DType, as_dtype, dtype_name, hifloat8
from ..errors import invalid, wrong_type

__all__ = ["PACKED", "ROPE", "RowLayout", "check_codes", "find_layout", "packed_byte_map"]

ROPE = 64
_E4M3 = np.dtype(ml_dtypes.float8_e4m3fn)
_SCALE_TYPES: Final[dict[str, DType]] = {
    "e8m0": np.dtype(ml_dtypes.float8_e8m0fnu),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "fp32": np.dtype(np.float32),
}


@dataclass(frozen=True)
class RowLayout:
    """One kind of row: the first byte of each part, and what the parts hold."""

    row_bytes: int
    scale_kind: str
    kind: int  # aclAttnRowKind
    rope: int
    codes: int
    scales: int
    scaled: int = 448
    tile: int = 64

    @property
    def channels(self) -> int:
        """Numbers of a row."""
        return self.scaled + ROPE

    @property
    def scale_dtype(self) -> DType:
        """Dtype of the scales."""
        return _SCALE_TYPES[self.scale_kind]

    @property
    def parts(self) -> dict[str, slice]:
        """Bytes of each part."""
        scale_bytes = self.scaled // self.tile * self.scale_dtype.itemsize
        parts = {
            "rope": slice(self.rope, self.rope + 2 * ROPE),
            "nope": slice(self.codes, self.codes + self.scaled),
            "scales": slice(self.scales, self.scales + scale_bytes),
        }
        end = max(part.stop for part in parts.values())
        return {**parts, "padding": slice(end, self.row_bytes)}

    def part(self, octets: Any, name: str) -> Any:
        """View, or copy, one part of rows of octets; scales as numbers of their dtype."""
        taken = octets[..., self.parts[name]]
        return np.ascontiguousarray(taken).view(self.scale_dtype) if name == "scales" else taken


_LAYOUTS: Final = {
    (layout.row_bytes, layout.scale_kind): layout
    for layout in (
        RowLayout(640, "e8m0", lib.ACL_ATTN_ROW_640_E8M0, 0, 128, 576),
        RowLayout(640, "bf16", lib.ACL_ATTN_ROW_640_BF16, 0, 128, 576),
        RowLayout(608, "bf16", lib.ACL_ATTN_ROW_608_BF16, 0, 128, 576),
        RowLayout(584, "e8m0", lib.ACL_ATTN_ROW_584_E8M0, 448, 0, 576),
        RowLayout(656, "fp32", lib.ACL_ATTN_ROW_656_FLOAT, 528, 0, 512, scaled=512, tile=128),
    )
}
PACKED: Final = _LAYOUTS[640, "e8m0"]


def find_layout(row_bytes: int, scale_kind: str | None = None) -> RowLayout:
    """Find the layout of rows; only those of 640 bytes have a choice of scales."""
    kinds = [kind for size, kind in _LAYOUTS if size == row_bytes]
    if not kinds:
        raise invalid("row_bytes", "640, 608, 584 or 656", repr(row_bytes))
    if scale_kind is None and len(kinds) == 1:
        return _LAYOUTS[row_bytes, kinds[0]]
    if scale_kind not in kinds:
        raise invalid(
            "scale_kind", f"{' or '.join(map(repr, kinds))} for rows of {row_bytes} bytes", repr(scale_kind),
            "the operator takes rows of 640 bytes with 'e8m0'",
        )  # fmt: skip
    return _LAYOUTS[row_bytes, scale_kind]


def check_codes(dtype: Any, layout: RowLayout, parameter: str = "dtype") -> DType:
    """Check the dtype of a row's one-byte floats."""
    found = as_dtype(dtype, parameter)
    if found != _E4M3 and not (found == hifloat8 and layout.row_bytes == PACKED.row_bytes):
        choice = " or hifloat8" if layout.row_bytes == PACKED.row_bytes else ""
        raise wrong_type(parameter, f"float8_e4m3fn{choice} in rows of {layout.row_bytes} bytes", dtype_name(found))
    return found


def packed_byte_map(row_bytes: int = 640, scale_kind: str | None = None) -> str:
    """Draw which bytes of a packed row hold what.

    Parameters
    ----------
    row_bytes : {640, 608, 584, 656}
        Which rows: the operator's own, or those of other operators and libraries.
    scale_kind : {"e8m0", "bf16", "fp32"}, optional
        Kind of scale; rows of 640 bytes may have ``"e8m0"``, which is the operator's and the default, or ``"bf16"``.

    Returns
    -------
    str
        A line for each part.

    See Also
    --------
    pack : Makes such rows.

    Examples
    --------
    >>> print(packed_byte_map())
    640 bytes, scales e8m0
        0 - 127  rope      64 bfloat16, little endian; channels 448 - 511
      128 - 575  nope     448 one-byte floats; channels 0 - 447
      576 - 582  scales     7 float8_e8m0fnu, one for each 64 of nope
      583 - 639  padding   57 bytes, written as 0, not looked at
    """
    layout = find_layout(row_bytes, "e8m0" if scale_kind is None and row_bytes == PACKED.row_bytes else scale_kind)
    scales = layout.scaled // layout.tile
    content = {
        "rope": f"{ROPE:3} bfloat16, little endian; channels {layout.scaled} - {layout.channels - 1}",
        "nope": f"{layout.scaled:3} one-byte floats; channels 0 - {layout.scaled - 1}",
        "scales": f"{scales:3} {layout.scale_dtype}, one for each {layout.tile} of nope",
    }
    lines = [f"{layout.row_bytes} bytes, scales {layout.scale_kind}"]
    for name, part in sorted(layout.parts.items(), key=lambda item: item[1].start):
        size = part.stop - part.start
        if size:
            holds = content.get(name, f"{size:3} byte{'s' if size > 1 else ''}, written as 0, not looked at")
            lines.append(f"  {part.start:3} - {part.stop - 1:3}  {name:7}  {holds}")
    return "\n".join(lines)
