# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""A C++ program that hosts Python, and uses acl_attn from both sides."""
