"""The building steps of a segment in plain Python, where no kernels are to be loaded."""

from sapwood.matching.columnar.bitmaps import fill_bitmaps
from sapwood.matching.columnar.literals import find_fail_states

__all__ = ["fill_bitmaps", "find_fail_states"]
