"""Bounds of semantic overlays, and the constants that the work leaves open."""

from __future__ import annotations

from typing import Final

RELATIONS_BYTES_MAX: Final = 1 << 26
"""Bytes of remembered relations between interests, one a pair: 64 MiB, all pairs of 8,000 different
interests. Beyond it all are forgotten and computed again when they are needed."""

PATTERN_PAIRS: Final = 25
"""Pairs of a record and a filter that the reference evaluation decides while it decides one of a
document of 20 elements and a tree pattern: 4 us and 100 us."""

PEERS_MAX: Final = 1 << 20
"""Peers of one semantic overlay in one process: 41 bytes each in the tree, 41 MiB in all. The work
goes to 50,000."""

EQUIVALENT_CHILDREN: Final = 100
"""Equivalent children that a peer takes whose own parent is equivalent (L; L3230)."""

EQUIVALENT_ROOT_SHARE: Final = 2
"""The root of an equivalence tree takes L / this many, for it has other children as well. The work
says "a constant above 1" and gives no value (r; L2782)."""

ADAPTIVE_LOAD: Final = 100
"""Children from which on an adaptive periodic join is a full one there (L_APJ; L3230)."""

ADAPTIVE_RATE: Final = 0.1
"""Chance of a full join at a peer with fewer (gamma_APJ, the reorganization rate; L3230)."""

CLUSTER_MEMBERS: Final = 8
"""Children of a hot peer that share one copy of a publication: ours, the work names no value
(L2826). The hot peer sends an eighth of its copies, and one of eight children sends seven."""

HOT_CHILDREN: Final = 32
"""Children beyond which a peer is hot, and clusters them: ours, the work names no value."""

CLOSEST_NEIGHBORS: Final = 10
"""Neighbors that a peer of the similarity graph chooses by similarity (n; table 9.3)."""

RANDOM_NEIGHBORS: Final = 1
"""Neighbors that it chooses by chance (r; table 9.3): without any, communities close (L3341)."""

PROXIMITY_BYTES_MAX: Final = 1 << 27
"""Bytes of remembered proximities, four a pair: 128 MiB, all pairs of 5,700 different interests.
Beyond it all are forgotten and computed again when they are needed."""

PICTURE_PEERS_MAX: Final = 5_000
"""Peers of one picture: 5,000 dots and 50,000 lines, some 2 MB, are all that one can see, and more
than many viewers handle well. A part of the subscriptions makes a smaller one."""
