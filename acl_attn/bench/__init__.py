# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The benchmark behind ``acl-attn bench``: this package, other libraries and the machine's limits, side by side.

Every contestant runs in a process of its own (`worker`), perhaps of another Python interpreter, so the modules that a
worker needs import nothing of `acl_attn`. What is measured and what it is held against are data (`groups`).
"""
