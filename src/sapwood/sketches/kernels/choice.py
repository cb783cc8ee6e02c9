"""The choice of kernels for sketches: compiled ones once they are at hand, else the plain twins."""

from __future__ import annotations

from types import ModuleType
from typing import Final

from sapwood.matching.readiness import Awaiting, KernelSet
from sapwood.sketches.kernels import plain, plain_sliced

SKETCHES: Final = KernelSet("sketches", "sapwood.sketches.kernels.compiled")
"""The kernels of sketches."""


def kernels() -> ModuleType:
    """The kernels at hand. Sketches do not wait for compiled ones: numpy is a tenth as fast."""
    return SKETCHES.compiled or plain


def sliced_kernels(work: int, awaiting: Awaiting) -> ModuleType:
    """The kernels of sliced filters, after `work` more, in about microseconds of plain Python."""
    return SKETCHES.compiled or awaiting.compiled(work) or plain_sliced
