# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""What the metadata of a sparse operator says, in words."""

from __future__ import annotations

from .._lib import ffi
from ..errors import described, invalid, wrong_type
from ..tensor import ArrayLike, as_tensor
from .sparse_call import METADATA

__all__ = ["describe_metadata"]


def describe_metadata(metadata: ArrayLike) -> str:
    """Say what metadata of a sparse operator says: what call it is for, and which core computes what.

    Parameters
    ----------
    metadata : array-like
        What `sparse_flash_mla_metadata` or `kv_quant_sparse_attn_sharedkv_metadata` gave, or another implementation of
        theirs.

    Returns
    -------
    str
        Several lines.

    See Also
    --------
    sparse_flash_mla_metadata : Makes metadata.

    Examples
    --------
    >>> import acl_attn
    >>> options = {"ori_mask_mode": 4, "ori_win_left": 127, "ori_win_right": 0, "has_cmp_kv": False}
    >>> metadata = acl_attn.sparse_flash_mla_metadata(
    ...     64, 1, 512, batch_size=2, max_seqlen_q=5, max_seqlen_ori_kv=300, **options
    ... )
    >>> len(acl_attn.describe_metadata(metadata).splitlines()) > 1
    True
    """
    tensor = as_tensor(metadata, "metadata")
    if tensor.dtype != METADATA.dtype:
        raise wrong_type("metadata", "dtype int32", f"dtype {tensor.dtype}")
    if tensor.shape != METADATA.shape or tensor.strides is not None:
        raise invalid("metadata", f"shape {METADATA.shape}, dense", f"shape {tensor.shape}")
    return described("aclAttnDescribeMetadata", ffi.cast("int32_t *", tensor._pointer)).rstrip("\n")
