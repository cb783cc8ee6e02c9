"""A stand-in for the overlay of XNet's experiments on PlanetLab: 22 routers, links with delays.

The figure with the tree is lost. The statements of the text and of table 6.9 hold here: a producer,
nine routing nodes and twelve consumer nodes; the links from 6 to 2 and from 2 to 5 with the longest
and the shortest delay; 8 below 3, near it; 18 and 19 below 8, consumers below 19; 2 near the
producer. All other delays are made so that the published mean and deviation come out, and the
published average delay from the producer to a consumer.
"""

from __future__ import annotations

from typing import Final

from sapwood.overlay.topology import Link, Topology

PRODUCER: Final = "r6"
CONSUMERS: Final = tuple(f"r{n}" for n in (1, 10, 11, 12, 13, 14, 15, 16, 17, 20, 21, 22))

_LINKS: Final = (
    (6, 2, 123.67),
    (6, 3, 23.85),
    (6, 7, 36.70),
    (2, 5, 8.47),
    (3, 8, 9.05),
    (8, 18, 26.07),
    (8, 19, 64.59),
    (5, 4, 74.33),
    (7, 9, 33.35),
    (4, 10, 28.31),
    (4, 11, 44.97),
    (5, 12, 73.96),
    (5, 1, 66.75),
    (9, 13, 35.51),
    (9, 14, 56.92),
    (7, 15, 74.86),
    (3, 16, 56.18),
    (18, 17, 72.12),
    (18, 22, 97.46),
    (19, 20, 75.90),
    (19, 21, 53.81),
)
"""From router, to router, delay in milliseconds."""


def planetlab() -> Topology:
    """Routers `r1` to `r22`, with the delays of links."""
    routers = tuple(f"r{number}" for number in range(1, 23))
    links = tuple(Link(f"r{a}", f"r{b}", round(delay / 1000, 5)) for a, b, delay in _LINKS)
    return Topology(routers, links)
