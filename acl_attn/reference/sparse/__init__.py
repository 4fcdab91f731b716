# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Reference of the sparse operators, whose one key row a token is its value too.

`lengths` says how long sequences are, `visible` which rows of a stream a query row sees, `rows` where these lie, and
`attention` puts them together.
"""
