"""Bounds of the forwarding strategy `prefix` and of its tree optimizer."""

from __future__ import annotations

from typing import Final

TREE_NODES_MAX: Final = 1 << 15
"""Nodes of a routing tree that travels: a router reads it in 1.5 s of processor time at most (45 us
a node), DONE_AT_ONCE at a time, and keeps 20 MB of it. The optimizer adds no more filters before
that; those are placed less exactly."""

TREE_BYTES_MAX: Final = 1 << 21
"""Bytes of a routing tree in its uncompressed form: 64 a node, 2 MiB. Checked before a received one
is decompressed."""

TREE_PART_CHARS: Final = 60_000
"""Characters of a routing tree in one subscription, which may have FILTER_TEXT_CHARS_MAX."""

TREE_PARTS_MAX: Final = 512
"""Parts of one routing tree: more than TREE_BYTES_MAX fills, were it not compressed at all."""

TREE_PIECES_MAX: Final = 64
"""Pieces of one conjunction in a routing tree. Each of n splits may double them; conjunctions that
are not split any more are placed less exactly, which costs messages and loses none."""

TREE_STEPS_MAX: Final = 1024
"""Nodes of a routing tree that a router compares with one conjunction to place it, 5 ms: a tree may
be as deep and as wide as it has nodes. Beyond, the conjunction is placed less exactly as well."""

STEPS_OF_ONE: Final = 8
"""Nodes that are compared in the time in which one is read."""

WALK_STEPS_MAX: Final = 2048
"""Nodes that a router visits for one publication that enters, 2 ms; beyond, content decides, which
has compiled code. XSiena's forwarding trees have some 150 (9.1)."""

OWN_ASKED_MAX: Final = 64
"""Clients' subscriptions without an exact place that are compared one by one with a publication, in
0.2 ms; of more, the index returns those that accept it."""

FILTERS_TOLD_MAX: Final = 8192
"""Subscriptions that a broker reads for one answer to an optimizer: some ten milliseconds."""

FILTERS_BYTES_MAX: Final = 131_072
"""Bytes of filters in one answer to an optimizer, beyond the last one, which may be as long again:
both are within FRAME_BYTES_FLOOR."""

TREES_KEPT: Final = 4
"""Versions of the routing tree that a router and the optimizer keep. A publication is routed with
its version of the tree, so it may be under way while as many newer ones come."""

DONE_AT_ONCE: Final = 128
"""Nodes of a new tree that a router reads, or filters that it places in it, for each batch that it
routes, and whenever others have had their turn: some milliseconds. Until all are read and placed,
older trees or content decide."""

DONE_IN_PLACE_MAX: Final = 1024
"""Nodes and filters of a tree that is read, and filled, as soon as it has arrived; and filters that
may come at once while it is in use. Of more, DONE_AT_ONCE go at a time."""
