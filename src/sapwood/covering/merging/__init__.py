"""Merging of XPEs: the rules, and how imperfect their results are (XPE dissemination, 2.19).

1. `xpe.py`        tree patterns without branches as sequences of steps
2. `rules.py`      which XPEs become which merger
3. `universe.py`   the paths of a DTD, and the degree of imperfection against them
4. `merger.py`     what is merged at a time, within a budget
"""

from sapwood.covering.merging.patterns import PatternMerger
from sapwood.covering.merging.universe import PathUniverse

__all__ = ["PathUniverse", "PatternMerger"]
