"""XSearch: containment search over a set of tree patterns (XNet, chapter 5).

1. `tree.py`     the factorization tree: common parts of patterns once
2. `search.py`   all members that cover a pattern, and all that it covers
3. `index.py`    patterns by key, disjunctions included: a covering index
"""

from __future__ import annotations

from sapwood.covering.xsearch.index import XSearchIndex

__all__ = ["XSearchIndex"]
