"""The similarity graph: each peer linked to those whose interests are closest, and to some others.

Section 7.4 of the work. `proximity.py` and `boxes.py` compute how close two interests are,
`state.py` holds the links, `graph.py` lets peers join, leave and crash, `spreading.py` is algorithm
21 on it.
"""
