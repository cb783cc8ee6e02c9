"""Filters ordered by covering: structures that serve matching and covering detection alike.

1. `order.py`    the questions of covering that both structures need.
2. `hasse.py`    the Siena poset: every node with its immediate predecessors and successors.
3. `forest.py`   the poset-derived forest: every node with at most one covering parent.
4. `engine.py`   matching with either. As relation graphs: `sapwood.covering.published.poset`.
"""
