"""The subscription tree with super pointers: matching and covering detection in one structure.

1. `node.py`       patterns that cover each other at one place, and the pointers between places.
2. `shortcuts.py`  the patterns that need not be compared: the printed rules, and others.
3. `tree.py`       insertion, deletion, covers, and the patterns that a new one supplants.
4. `engine.py`     matching with it. As a relation graph: `sapwood.covering.catalogue`.

Source: Li, Hou and Jacobsen (Content-based XML data dissemination), 1.5.1, corrected and completed.
"""

from sapwood.matching.published.subscription_tree.engine import SubscriptionTreeEngine
from sapwood.matching.published.subscription_tree.node import EXACT, Relation
from sapwood.matching.published.subscription_tree.shortcuts import NONE, OWN, PRINTED, Shortcuts
from sapwood.matching.published.subscription_tree.tree import SubscriptionTree

__all__ = [
    "EXACT",
    "NONE",
    "OWN",
    "PRINTED",
    "Relation",
    "Shortcuts",
    "SubscriptionTree",
    "SubscriptionTreeEngine",
]
