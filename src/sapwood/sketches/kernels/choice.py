"""Which kernels sketches take: compiled ones as soon as they are at hand, else the plain twins."""

from __future__ import annotations

from types import ModuleType
from typing import Final

from sapwood.matching.readiness import KernelSet
from sapwood.sketches.kernels import plain

SKETCHES: Final = KernelSet("sketches", "sapwood.sketches.kernels.compiled")
"""The kernels of sketches."""


def kernels() -> ModuleType:
    """The kernels at hand. Nobody waits for compiled ones: numpy is a tenth as fast."""
    return SKETCHES.compiled or plain
