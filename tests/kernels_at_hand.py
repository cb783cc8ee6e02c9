"""Importing this module loads what each broker and client loads: `tests.forked` does, once.

How a broker that has no kernels goes on with plain Python, and changes over, is for
`tests/broker/test_kernels.py` and for the brokers of `tests/testing` and `tests/cli`.
"""

from __future__ import annotations

import gc
from importlib import import_module

from sapwood.matching.readiness import RECORDS
from sapwood.wire.runs import FRAMES

for name in (
    "sapwood.broker.reloading",
    "sapwood.broker.running",
    "sapwood.cli.broker",
    "sapwood.cli.broker_settings",
    "sapwood.cli.main",
    "sapwood.cli.protocol_choice",
    "sapwood.cli.subscribe",
    "sapwood.client.blocking",
    "sapwood.client.durable",
    "sapwood.matching.auto",
):
    import_module(name)
for kernels in (RECORDS, FRAMES):
    kernels.load()
gc.freeze()  # else a process that is forked copies all this when it first looks for garbage
