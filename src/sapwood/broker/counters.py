"""Counts of events at a broker."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Counters:
    """The numbers of events since the broker began.

    `publications` were accepted from clients here, `deliveries` sent to clients here;
    `durable_dropped` publications were dropped by the bounds of mailboxes. `expired` deliveries
    were not made, and publications not passed on, as a time to live was over.
    """

    publications: int = 0
    deliveries: int = 0
    connections: int = 0
    slow_consumers: int = 0
    faulty_peers: int = 0
    links_lost: int = 0
    publishers_held: int = 0
    durable_dropped: int = 0
    expired: int = 0
