"""The tables of one router of a structured overlay: leaf set and routing table, as Pastry has them.

They follow from the *peers*: the routers that this one has a link to, each at the identifier that
its name has. The leaf set is the peers nearest on either side of the circle; the routing table has
one peer for each range that a slot is (`identifiers.slot_of`), its *representative*, chosen among
all peers there. So nothing is to be repaired when a peer is gone but the choice, and knowledge of
other routers serves only to request links to them (`is_wanted`).

Pastry itself keeps addresses of routers that may be dead, and finds out when it sends (IRBR, 004,
L94-96). Here the link reports it.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Iterator, Mapping

from sapwood.errors import InvariantError
from sapwood.overlay.identifiers import Identifier, IdentifierSpace, Range, slot_of


class PastryTables:
    """The part of the circle that one router knows; `half` is the number of leaves on either side.

    With `by_proximity` the representative of a range is the nearest peer there, by the proximity
    given to `add` and `measured`; among equally near peers, and without it, the one that was there
    first, for as long as it is a peer.

    #: _at has exactly the peers, by number, ascending in _numbers
    #: every peer is in the slot that it is in, and each slot has its representative among them
    """

    __slots__ = (
        "_at",
        "_by_proximity",
        "_chosen",
        "_numbers",
        "_proximity",
        "_slots",
        "half",
        "identifier",
        "peers",
        "space",
    )

    def __init__(
        self,
        space: IdentifierSpace,
        identifier: Identifier,
        half: int,
        *,
        by_proximity: bool = False,
    ) -> None:
        self.space = space
        self.identifier = identifier
        self.half = half
        self._by_proximity = by_proximity
        #: peer -> its identifier, in the order in which they came
        self.peers: dict[str, Identifier] = {}
        self._proximity: dict[str, float] = {}
        self._numbers: list[int] = []
        self._at: dict[int, str] = {}
        self._slots: dict[Range, dict[str, None]] = {}
        self._chosen: dict[Range, str] = {}

    def add(self, peer: str, identifier: Identifier, proximity: float = 0.0) -> None:
        """A router is a peer now; `proximity` is how far it is, in whatever unit."""
        number = self.space.number(identifier)
        if identifier == self.identifier or number in self._at:
            raise InvariantError(f"two routers are at the identifier {identifier}, one is {peer!r}")
        self.peers[peer] = identifier
        self._proximity[peer] = proximity
        insort(self._numbers, number)
        self._at[number] = peer
        slot = slot_of(self.identifier, identifier)
        self._slots.setdefault(slot, {})[peer] = None
        self._prefer(slot, peer)

    def measured(self, peer: str, proximity: float) -> bool:
        """Set the proximity of a peer; true if the representative of its slot changed."""
        slot = slot_of(self.identifier, self.peers[peer])
        stood, was = self._chosen[slot], self._proximity[peer]
        self._proximity[peer] = proximity
        if stood == peer and proximity > was:
            self._choose(slot)
        else:
            self._prefer(slot, peer)
        return self._chosen[slot] != stood

    def proximity(self, peer: str) -> float:
        """The proximity of a peer, as last set."""
        return self._proximity[peer]

    def remove(self, peer: str) -> None:
        """A router is a peer no more."""
        identifier = self.peers.pop(peer)
        del self._proximity[peer]
        number = self.space.number(identifier)
        del self._numbers[bisect_left(self._numbers, number)]
        del self._at[number]
        slot = slot_of(self.identifier, identifier)
        del self._slots[slot][peer]
        if self._chosen[slot] == peer:
            self._choose(slot)

    def _prefer(self, slot: Range, peer: str) -> None:
        """Make a peer the representative of its slot if there is none, or a farther one."""
        stands = self._chosen.get(slot)
        is_nearer = stands is not None and self._proximity[peer] < self._proximity[stands]
        if stands is None or (self._by_proximity and is_nearer):
            self._chosen[slot] = peer

    def _choose(self, slot: Range) -> None:
        """Choose the representative of a slot among its members, if there are any."""
        members = self._slots[slot]
        if not members:
            del self._slots[slot], self._chosen[slot]
        elif self._by_proximity:
            self._chosen[slot] = min(members, key=self._proximity.__getitem__)
        else:
            self._chosen[slot] = next(iter(members))

    # The routing table -------------------------------------------------------------------------

    @property
    def representatives(self) -> Mapping[Range, str]:
        """The peer that stands for each slot in which there is any, in no certain order."""
        return self._chosen

    def representative(self, slot: Range) -> str | None:
        """The peer that stands for a slot."""
        return self._chosen.get(slot)

    def rows(self, within: Range = "") -> list[tuple[Range, str]]:
        """Slots in a range around this router, with their representatives: short ones first."""
        found = [(s, p) for s, p in self._chosen.items() if len(s) > len(within)]
        found = [(s, p) for s, p in found if s.startswith(within)]
        return sorted(found, key=lambda entry: (len(entry[0]), entry[0]))

    # The leaf set ------------------------------------------------------------------------------

    def leaves(self) -> tuple[list[str], list[str]]:
        """The nearest peers below and above on the circle, the nearest first.

        Where there are few, one may be on both sides.
        """
        at = bisect_left(self._numbers, self.space.number(self.identifier))
        return self._side(at, -1), self._side(at, 1)

    def _side(self, at: int, step: int) -> list[str]:
        count = min(self.half, len(self._numbers))
        first = at - 1 if step < 0 else at
        places = ((first + step * number) % len(self._numbers) for number in range(count))
        return [self._at[self._numbers[place]] for place in places]

    def around(self, peer: str) -> tuple[str, ...]:
        """The peers nearest to one of them, `half` on either side of it, by name."""
        at = bisect_left(self._numbers, self.space.number(self.peers[peer]))
        count = len(self._numbers)
        steps = range(-min(self.half, count - 1), min(self.half, count - 1) + 1)
        found = {self._at[self._numbers[(at + step) % count]] for step in steps}
        return tuple(sorted(found - {peer}))

    def is_wanted(self, identifier: Identifier) -> bool:
        """True if a router there would be a leaf, or the first in its slot."""
        if identifier == self.identifier:
            return False
        return slot_of(self.identifier, identifier) not in self._slots or self._is_leaf(identifier)

    def _is_leaf(self, identifier: Identifier) -> bool:
        if len(self._numbers) < self.half:
            return True
        size, own = self.space.size, self.space.number(self.identifier)
        at = self.space.number(identifier)
        below, above = self.leaves()
        farthest_below = (own - self.space.number(self.peers[below[-1]])) % size
        farthest_above = (self.space.number(self.peers[above[-1]]) - own) % size
        return (own - at) % size < farthest_below or (at - own) % size < farthest_above

    def spans(self, slot: Range) -> bool:
        """True if all routers of a range would be leaves of this one, by what it knows."""
        if len(self._numbers) < 2 * self.half:
            return True
        size, own = self.space.size, self.space.number(self.identifier)
        first, last = self.space.bounds(slot)
        below, above = self.leaves()
        reach_above = (self.space.number(self.peers[above[-1]]) - own) % size
        reach_below = (own - self.space.number(self.peers[below[-1]])) % size
        is_above = (first - own) % size <= (last - own) % size <= reach_above
        is_below = (own - last) % size <= (own - first) % size <= reach_below
        return is_above or is_below

    # Routing -----------------------------------------------------------------------------------

    def next_hop(self, middle: int, without: Collection[str] = ()) -> str | None:
        """The peer nearest to a doubled place, if it is nearer than this router.

        From one to the next it ends at the router nearest of all, as neighbors on the circle are
        peers of each other.
        """
        best, found = self.space.doubled_distance(self.identifier, middle), None
        for peer in self._around(middle):
            distance = self.space.doubled_distance(self.peers[peer], middle)
            if distance < best and peer not in without:
                best, found = distance, peer
        return found

    def _around(self, middle: int) -> Iterator[str]:
        """The peers on either side of a doubled place, some more than any set to be left out."""
        count = len(self._numbers)
        at = bisect_left(self._numbers, (middle + 1) // 2)
        for step in range(min(count, 2 * self.half + 2)):
            yield self._at[self._numbers[(at - self.half - 1 + step) % count]]

    def route(self, key: Identifier, without: Collection[str] = ()) -> str | None:
        """The next hop to a key: by prefix where that is nearer, else the nearest peer.

        Every hop is nearer than the one before, so that none comes twice. `None` where this router
        is the nearest of all that it knows.
        """
        if key == self.identifier:
            return None
        chosen = self._chosen.get(slot_of(self.identifier, key))
        if chosen is not None and chosen not in without:
            own, there = self.identifier, self.peers[chosen]
            if self.space.distance(there, key) < self.space.distance(own, key):
                return chosen
        return self.next_hop(2 * self.space.number(key), without)

    # Checks ------------------------------------------------------------------------------------

    def validate(self) -> None:
        """Check the relations above; raises `InvariantError`."""
        numbers = {self.space.number(at): peer for peer, at in self.peers.items()}
        if numbers != self._at or self._numbers != sorted(numbers):
            raise InvariantError("the circle has other routers than the peers")
        slots: dict[Range, set[str]] = {}
        for peer, at in self.peers.items():
            slots.setdefault(slot_of(self.identifier, at), set()).add(peer)
        if slots != {slot: set(members) for slot, members in self._slots.items()}:
            raise InvariantError("the slots have other routers than the peers")
        if self._chosen.keys() != slots.keys():
            raise InvariantError("a slot with peers has no representative, or one without has")
        for slot, peer in self._chosen.items():
            if peer not in slots[slot]:
                raise InvariantError(f"{peer} stands for the range {slot} and is not there")
            if self._by_proximity and any(
                self._proximity[other] < self._proximity[peer] for other in slots[slot]
            ):
                raise InvariantError(f"{peer} stands for the range {slot}, and another is nearer")
