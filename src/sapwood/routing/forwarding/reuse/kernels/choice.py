"""Which kernels lookup reuse takes: compiled ones as soon as they are at hand, else plain twins."""

from __future__ import annotations

from types import ModuleType
from typing import Final

from sapwood.matching.readiness import Awaiting, KernelSet
from sapwood.routing.forwarding.reuse.kernels import plain

KEYS: Final = KernelSet("keys", "sapwood.routing.forwarding.reuse.kernels.compiled")
"""The kernels of lookup reuse."""


def kernels(work: int, awaiting: Awaiting) -> ModuleType:
    """Those to take, after so much more work, in about microseconds of plain Python."""
    return KEYS.compiled or awaiting.compiled(work) or plain
