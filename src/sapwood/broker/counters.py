"""What has happened at a broker, counted."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Counters:
    """What has happened since the broker began; plain counts.

    `publications` were accepted from clients here, `deliveries` sent to clients here.
    """

    publications: int = 0
    deliveries: int = 0
    connections: int = 0
    slow_consumers: int = 0
    faulty_peers: int = 0
    links_lost: int = 0
    publishers_held: int = 0
