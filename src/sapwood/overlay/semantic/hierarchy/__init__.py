"""The containment hierarchy: each peer below the most specific container of its own interest.

Section 7.3 of the work. `state.py` holds the tree, `probing.py` finds a place (algorithm 22),
`joining.py` takes it (algorithm 23), `leaving.py` and `crashing.py` give it up.
"""
