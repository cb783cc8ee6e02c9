"""The compiled kernels of boxes, as soon as they are at hand."""

from __future__ import annotations

from typing import Final

from sapwood.matching.readiness import KernelSet

BOXES: Final = KernelSet("boxes", "sapwood.matching.published.boxes.kernels.compiled")
"""The kernels of `counting-compiled` and `kdtree-compiled`."""
