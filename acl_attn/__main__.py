# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Run the ``acl-attn`` command as ``python -m acl_attn``."""

import sys

from .cli import main

sys.exit(main())
