# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Calls of the sparse operators: as data, as arguments, and drawn at random."""
