"""Exact covering detection: what to propagate so that a neighbor holds a cover of everything.

Shen 2007, section 4.2 splits the work in two layers, each of which can be exchanged:

1. `protocol.py`   the two layers: a *covering index* finds which filters cover a given one, a
                   *relation graph* remembers such relations.
2. `indexes/`      counting, k-d tree, columnar (ours), and a scan as reference.
3. `graphs/`       flat graphs `G_k`, the dense graph `G*`, Siena's poset and the derived forest.
4. `manager.py`    one of each over the subscriptions of a link: what to propagate and withdraw, in
                   the order that leaves no gap.
5. `catalogue.py`  indexes, graphs and their combinations by name.
6. `documents/`    the same for tree patterns: XSearch, and the subscription tree with super
                   pointers.
"""
