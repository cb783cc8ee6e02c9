"""Importing this module loads the kernels that each broker loads: `tests.forked` does, once.

How a broker that has none goes on with plain Python, and changes over, is for
`tests/broker/test_kernels.py` and for the brokers of `tests/testing` and `tests/cli`.
"""

from __future__ import annotations

from sapwood.matching.readiness import RECORDS
from sapwood.wire.runs import FRAMES

for kernels in (RECORDS, FRAMES):
    kernels.load()
