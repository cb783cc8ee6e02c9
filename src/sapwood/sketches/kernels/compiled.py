"""The kernels of sketches that others call, compiled by numba."""

from __future__ import annotations

from typing import Final

from sapwood.matching.compiling.libraries import library
from sapwood.sketches.kernels.places import bits_of, count_in, count_out, find, mark

__all__ = ["bits_of", "count_in", "count_out", "find", "mark"]

LIBRARY: Final = library("sketches", bits_of, count_in, count_out, find, mark)
