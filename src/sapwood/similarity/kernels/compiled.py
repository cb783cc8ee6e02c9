"""The kernels of similarities that others call, compiled by numba."""

from __future__ import annotations

from typing import Final

from sapwood.matching.compiling.libraries import library
from sapwood.similarity.kernels.chances import fill_chances
from sapwood.similarity.kernels.comparing import compare

__all__ = ["compare", "fill_chances"]

LIBRARY: Final = library("similarity", compare, fill_chances)
