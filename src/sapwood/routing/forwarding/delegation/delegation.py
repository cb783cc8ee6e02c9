"""Forwarding by delegation: a match against the subscriptions of each range (IRBR, 004, L215-221).

The sides are ranges, not neighbors: those of the slots of this router, as propagation registers
them. A router that is to look after a range, given in the digest beside a publication, hands it on
to the smaller ranges in that one whose subscriptions accept it. The membership determines the
router that stands for a range when the publication goes there; that is no part of the decision
here.
"""

from __future__ import annotations

from collections.abc import Sequence

from sapwood.model.publication import Publication
from sapwood.overlay.identifiers import EVERYTHING
from sapwood.routing.forwarding.delegation.digest import decode
from sapwood.routing.forwarding.every_hop import EveryHop
from sapwood.routing.forwarding.protocol import Onward, Routed


class Delegation(EveryHop):
    """Matches each publication against the ranges within the one that its digest names."""

    __slots__ = ()

    def route(
        self,
        batch: Sequence[Publication],
        arrival: str | None,  # noqa: ARG002 - it came with a range, from any neighbor
        digests: Sequence[bytes],
        now: float,
    ) -> Routed:
        """Route each publication to the ranges that accept it, short ones first; no new digests."""
        keys: list[Sequence[str]] = []
        places: dict[str, list[int]] = {}
        for place, publication in enumerate(batch):
            own, onward = super().route((publication,), None, (b"",), now)
            keys.append(own[0])
            read = decode(digests[place])
            within = EVERYTHING if read is None else read.range
            for range_, _, _ in onward:
                if range_.startswith(within) and len(range_) > len(within):
                    places.setdefault(range_, []).append(place)
        ordered = sorted(places, key=lambda range_: (len(range_), range_))
        return Routed(keys, [Onward(one, places[one], [b""] * len(places[one])) for one in ordered])
