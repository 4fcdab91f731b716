# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Calls in files: with their arrays as ``.npz``, or with nothing but shapes and dtypes as ``.json``."""

from __future__ import annotations

from .call import StoredCall, load_call, save_call

__all__ = ["StoredCall", "load_call", "save_call"]
