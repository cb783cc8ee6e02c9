"""The searches for boxes that other modules call, compiled by numba."""

from __future__ import annotations

from typing import Final

from sapwood.matching.compiling.libraries import library
from sapwood.matching.published.boxes.kernels.search import count, dominate, grow, scan

__all__ = ["count", "dominate", "grow", "scan"]

LIBRARY: Final = library("boxes", count, dominate, grow, scan)
