"""The compiled kernels of similarities; the plain twin is `estimates.Similarity` itself."""

from __future__ import annotations

from typing import Final

from sapwood.matching.readiness import KernelSet

SIMILARITY: Final = KernelSet("similarity", "sapwood.similarity.kernels.compiled")
"""The kernels of similarities."""
