"""The longest wait of a test for what has to come: one that fails by this hangs, and is not slow.

No test asserts a time, and machines that do ten things at once take minutes for what takes a
second; so there is one bound, far from both.
"""

from __future__ import annotations

from typing import Final

PATIENCE_S: Final = 600.0
