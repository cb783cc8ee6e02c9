"""Filters ordered by covering: structures that serve matching and covering detection alike.

1. `hasse.py`    the Siena poset: every node with its immediate predecessors and successors.
2. `forest.py`   the poset-derived forest: every node with at most one covering parent.
3. `engine.py`   matching with either. As relation graphs: `sapwood.covering.published.poset`.

`hasse.py` uses `sapwood.model.order` for questions of covering.
"""
