"""The kernels of lookup reuse: compiled ones as soon as they are ready, else plain twins."""

from __future__ import annotations

from types import ModuleType
from typing import Final

from sapwood.matching.readiness import Awaiting, KernelSet
from sapwood.routing.forwarding.reuse.kernels import plain

KEYS: Final = KernelSet("keys", "sapwood.routing.forwarding.reuse.kernels.compiled")
"""The kernels of lookup reuse."""


def kernels(work: int, awaiting: Awaiting) -> ModuleType:
    """The kernels to use, after `work` more microseconds, about, of plain Python."""
    return KEYS.compiled or awaiting.compiled(work) or plain
