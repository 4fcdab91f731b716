# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""What tests of attention need: problems as data, storage in every layout, poison, and staged comparison."""
