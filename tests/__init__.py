# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The tests, as a package: some are programs as well, run as ``python -m tests.ops.property``.

Both ``python -m`` and pytest put the checkout on the path, where the package's sources lie without what the build adds.
The tests are for the installed package; only without one does the checkout have to do. It stays on the path for the
tests' own modules, behind everything else.
"""

from __future__ import annotations

import sys
from pathlib import Path

_CHECKOUT = Path(__file__).resolve().parents[1]
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != _CHECKOUT] + [str(_CHECKOUT)]
