"""Forwarding strategies by themselves: subscriptions by side, and where publications go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.routing.forwarding.protocol import Forwarding, Routed
from sapwood.routing.tables import CLIENTS

SIDES: Final = (CLIENTS, "r2", "r3")
"""Of the router that is tried: its clients and two neighbors."""

Known = dict[str, dict[str, Interest]]
"""Subscriptions by side and key."""


def tell(forwarding: Forwarding, known: Sequence[tuple[str, Interest]]) -> Known:
    """Tell of subscriptions, under the keys k0, k1, ...; returns them as tables."""
    table = {side: dict[str, Interest]() for side in SIDES}
    for side in SIDES[1:]:
        forwarding.add_side(side)
    for number, (side, wanted) in enumerate(known):
        forwarding.learned(side, f"k{number}", wanted)
        table[side][f"k{number}"] = wanted
    return table


def accepted(known: Known, side: str, publication: Publication) -> set[str]:
    """The keys of a side that accept a publication, by brute force."""
    return {key for key, wanted in known[side].items() if wanted.matches(publication)}


def sent(routed: Routed, neighbor: str) -> dict[int, bytes]:
    """The places that go to a neighbor, with their digests."""
    found: dict[int, bytes] = {}
    for to, places, digests in routed.onward:
        if to == neighbor:
            found.update(zip(places, digests, strict=True))
    return found
