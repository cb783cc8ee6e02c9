"""Numeric filters as points of a k-d tree (Shen 2007, sections 3.4 and 4.5).

1. `boxes.py`   a conjunction of intervals as a point, a record as a point, and the reason why
                "accepts" and "covers" are both "at least as large in every coordinate".
2. `tree.py`    a bucketed k-d tree that searches for such points; it is independent of filters.
3. `engine.py`  the matching engine. The covering index on the same tree is in
                `sapwood.covering.published.kdtree`.
"""

from sapwood.matching.published.kdtree.engine import KdTreeEngine

__all__ = ["KdTreeEngine"]
