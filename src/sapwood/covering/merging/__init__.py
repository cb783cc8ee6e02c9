"""Merging of interests: perfect for records, imperfect for XPEs (XPE dissemination, 2.19).

1. `records.py`    the protocol of mergers, and perfect merging of record filters
2. `rules.py`      the XPEs that a rule merges, and the merger
3. `universe.py`   the paths of a DTD, and the degree of imperfection against them
4. `patterns.py`   the mergers of XPEs that are made at a time, within a budget
"""

from sapwood.covering.merging.patterns import PatternMerger
from sapwood.covering.merging.universe import PathUniverse

__all__ = ["PathUniverse", "PatternMerger"]
