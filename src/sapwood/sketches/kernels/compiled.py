"""The entries of the kernels of sketches, compiled by numba."""

from __future__ import annotations

from typing import Final

from sapwood.matching.compiling.libraries import library
from sapwood.sketches.kernels.places import bits_of, count_in, count_out, find, mark
from sapwood.sketches.kernels.sliced import link_in, link_out, search_rows, write_filters

__all__ = [
    "bits_of",
    "count_in",
    "count_out",
    "find",
    "link_in",
    "link_out",
    "mark",
    "search_rows",
    "write_filters",
]

LIBRARY: Final = library(
    "sketches",
    *(bits_of, count_in, count_out, find, mark),
    *(link_in, link_out, search_rows, write_filters),
)
