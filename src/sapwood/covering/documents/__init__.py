"""Sets of tree patterns: which of them cover a pattern, and which it covers.

1. `xsearch/`               a factorization tree, searched in both directions (XNet, chapter 5)
2. `subscription_tree.py`   a tree with super pointers (XPE dissemination, 1.5)
3. `catalogue.py`           both by name, as graphs and indexes of a covering manager
"""
