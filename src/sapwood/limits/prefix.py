"""Bounds of the forwarding strategy `prefix` and of its tree optimizer."""

from __future__ import annotations

from typing import Final

TREE_NODES_MAX: Final = 1 << 15
"""Nodes of a routing tree that travels: a router reads it in one go, in 1.4 s of processor time at
most (42 us a node), and keeps 20 MB of it. The optimizer adds no more filters before that; those
are placed less exactly."""

TREE_BYTES_MAX: Final = 1 << 21
"""Bytes of a routing tree as it is written, before compression: 64 a node, 2 MiB. Checked before
they are made of what came."""

TREE_PART_CHARS: Final = 60_000
"""Characters of a routing tree in one subscription, which may have FILTER_TEXT_CHARS_MAX."""

TREE_PARTS_MAX: Final = 512
"""Parts of one routing tree: more than TREE_BYTES_MAX fills, were it not compressed at all."""

TREE_PIECES_MAX: Final = 64
"""Pieces of one conjunction in a routing tree. Each of n splits may double them; what is not split
any more is placed less exactly, which costs messages and loses nothing."""

FILTERS_TOLD_MAX: Final = 8192
"""Subscriptions that a broker looks at for one answer to an optimizer: some ten milliseconds."""

FILTERS_BYTES_MAX: Final = 131_072
"""Bytes of filters in one answer to an optimizer, beyond the last one, which may be as long again:
both are within FRAME_BYTES_FLOOR."""

TREES_KEPT: Final = 4
"""Versions of the routing tree that a router and the optimizer keep. A publication is read with the
one it was written with, so it may be under way while so many newer ones come."""

PLACED_AT_ONCE: Final = 128
"""Filters that a router places in a new tree for each batch that it routes, some milliseconds;
until all are placed, content decides."""

PLACED_IN_PLACE_MAX: Final = 1024
"""Filters that may come at once while a tree is in use; of more, PLACED_AT_ONCE go with each batch
again, and content decides meanwhile."""
