"""A router's place on the circle: how it finds and keeps it, by links and introductions.

Links come from two sides: those that a person sets up, over which routers are introduced to each
other, and those that routers request (`Connect`), as they need each other for leaves or for an
empty slot. Whatever link is up, its end is a peer (`overlay.pastry`). Beyond that, three rules:

* *Introduction.* Over a link that comes up each end names those of its peers that are nearest to
  the other one, and those that stand for its slots. So a router that joins by any other comes
  nearer to its place from one to the next, and the last of them, with which it has most digits in
  common, has the same slots as it has, down to the one in which these two differ.
* *Neighbors.* When its peers change, a router names to its leaves the routers nearest to each. So
  the neighbor of a crashed router receives the one that comes after that.
* *Slots.* When a slot that was empty is filled, all in the range around both are notified: there,
  and only there, the newcomer is the first in its slot. A slot that may be empty by mistake, as no
  router near would know, is sought for (`Seek`): nearer and nearer to the middle of the range,
  where the nearest router is in it, if any router is (IRBR, 004, L235-242).

With `delays` (`irbr:near` and so on), a fourth:

* *Nearness.* The representative of a range is the nearest peer in it. A router has the delay to
  each contact measured that is no peer, and requests a link if the contact is nearer than the
  representative of its slot. Contacts are exchanged as above; besides, from time to time each
  representative gets the representatives of the slots that it has in common with this router
  (Pastry 2.5: the rows of a table are passed on to the routers in them).

Contacts are sent again only if they have changed, and to leaves from time to time all the same: a
link may be lost while both its ends run.
"""

from __future__ import annotations

from collections.abc import Sequence

from sapwood.limits.structured import CONTACTS_MAX, SEEK_HOPS_MAX
from sapwood.overlay.identifiers import Range, common_digits, slot_of
from sapwood.overlay.pastry import PastryTables
from sapwood.routing.effects import Connect, Effect, Measure, Send
from sapwood.routing.inputs import Measured
from sapwood.routing.membership.pastry.delays import UNKNOWN, Delays
from sapwood.routing.messages import Contacts, Found, Message, Seek


class Circle:
    """The links of one router; the effects it needs are appended to `out`.

    Without `delays` the delay to other routers does not matter.

    #: _asked are the routers to which it has requested a link and that are no peers
    #: _told[p] are the contacts last sent to peer p; only of peers
    #: _addresses has where peers listen, as far as the shell knows
    """

    __slots__ = ("_addresses", "_asked", "_delays", "_told", "name", "out", "tables")

    def __init__(
        self, name: str, tables: PastryTables, out: list[Effect], delays: Delays | None = None
    ) -> None:
        self.name = name
        self.tables = tables
        self.out = out
        self._asked: dict[str, None] = {}
        self._told: dict[str, tuple[str, ...]] = {}
        self._addresses: dict[str, str] = {}
        self._delays = delays

    def send(self, peer: str, message: Message) -> None:
        """Put a message on the link to a peer."""
        self.out.append(Send(peer, message))

    def link_up(self, peer: str, address: str = "") -> Range | None:
        """Add a link; returns the slot that was empty without it, if it was."""
        tables = self.tables
        if address:
            self._addresses[peer] = address
        identifier = tables.space.identifier_of(peer)
        slot = slot_of(tables.identifier, identifier)
        is_first = tables.representative(slot) is None
        tables.add(peer, identifier, UNKNOWN if self._delays is None else self._delays.of(peer))
        self._asked.pop(peer, None)
        if self._delays is not None and self._delays.begin(peer, again=True):
            self.out.append(Measure(peer, self._addresses.get(peer, "")))
        near = tables.around(peer)
        standing = [stands for _, stands in tables.rows() if stands not in near and stands != peer]
        self._tell(peer, (*near, *standing))
        self._tell_leaves()
        if is_first:
            around = tables.identifier[: len(slot) - 1]
            for other, at in tables.peers.items():
                if other != peer and at.startswith(around):
                    self.send(other, self._contacts((peer,)))
        return slot if is_first else None

    def link_down(self, peer: str) -> Range | None:
        """Remove a link; returns the slot that is empty without it, if it is."""
        slot = slot_of(self.tables.identifier, self.tables.peers[peer])
        self.tables.remove(peer)
        self._told.pop(peer, None)
        self._addresses.pop(peer, None)
        self._tell_leaves()
        if self.tables.representative(slot) is not None:
            return None
        self.seek(slot)
        return slot

    def heard(self, routers: Sequence[str], addresses: Sequence[str] = ()) -> None:
        """Handle contacts of a peer: request links to those that are needed."""
        tables, where = self.tables, dict(zip(routers, addresses, strict=False))
        for router in routers:
            if router == self.name or router in tables.peers:
                continue
            address = where.get(router, "")
            if tables.is_wanted(tables.space.identifier_of(router)) or self._is_nearer(router):
                self._ask(router, address)
            elif self._delays is not None and self._delays.begin(router):
                self.out.append(Measure(router, address))

    def _ask(self, router: str, address: str) -> None:
        self._asked[router] = None
        self.out.append(Connect(router, address))

    def measured(self, answer: Measured) -> bool:
        """Record a measured delay; true if the representative of a slot changed by it."""
        if self._delays is None or not self._delays.is_measuring(answer.router):
            return False
        delay = self._delays.take(answer.router, answer.delay_s)
        if answer.router in self.tables.peers:
            return self.tables.measured(answer.router, delay)
        if self._is_nearer(answer.router):
            self._ask(answer.router, answer.address)
        return False

    def _is_nearer(self, router: str) -> bool:
        """True if a router without a link is nearer than the representative of its slot."""
        tables, delays = self.tables, self._delays
        if delays is None or delays.of(router) == UNKNOWN:
            return False
        stands = tables.representative(
            slot_of(tables.identifier, tables.space.identifier_of(router))
        )
        if stands is None or delays.is_measuring(stands):
            return False
        return delays.of(router) < tables.proximity(stands)

    def expected_slots(self) -> list[Range]:
        """The slots of the routers to which a link was requested that has not come up."""
        tables = self.tables
        identifiers = map(tables.space.identifier_of, self._asked)
        return sorted({slot_of(tables.identifier, one) for one in identifiers})

    # Seeking -----------------------------------------------------------------------------------

    def seek(self, range_: Range) -> bool:
        """Seek a router in a range without peers; false if no peer is nearer to it."""
        hop = self.tables.next_hop(self.tables.space.doubled_middle(range_))
        if hop is not None:
            self.send(hop, Seek(range_, (self.name,)))
        return hop is not None

    def pass_on(self, seek: Seek) -> None:
        """Handle another router's `Seek` of a range."""
        range_, path = seek.range, seek.path
        if self.tables.identifier.startswith(range_):
            self.send(path[-1], Found(range_, path, (self.name,)))
            return
        hop = self.tables.next_hop(self.tables.space.doubled_middle(range_), path)
        if hop is None or len(path) == SEEK_HOPS_MAX:
            self.send(path[-1], Found(range_, path, ()))
        else:
            self.send(hop, Seek(range_, (*path, self.name)))

    def pass_back(self, found: Found) -> bool:
        """Handle a `Found` on its way back; true if it was for this router."""
        if len(found.path) == 1:
            self.heard(found.routers, found.addresses)
            if not found.routers:
                self._give_up(found.range)
            return True
        back = found.path[-2]
        if back in self.tables.peers:
            # A router that is found sends its name only: one with a link to it has its address.
            addresses = found.addresses or self._where(found.routers)
            self.send(back, Found(found.range, found.path[:-1], found.routers, addresses))
        return False

    def _give_up(self, range_: Range) -> None:
        """Expect no link in a range without routers."""
        identifier_of = self.tables.space.identifier_of
        for router in [one for one in self._asked if identifier_of(one).startswith(range_)]:
            del self._asked[router]

    def seek_all(self) -> None:
        """Seek a router in each slot that may be empty only by mistake."""
        tables = self.tables
        below, above = tables.leaves()
        shared = [common_digits(tables.identifier, tables.peers[leaf]) for leaf in (*below, *above)]
        for slot in tables.space.slots(tables.identifier):
            if len(slot) > max(shared, default=0) + 1:
                break
            if tables.representative(slot) is None and not tables.spans(slot):
                self.seek(slot)

    # Contacts ----------------------------------------------------------------------------------

    def tell_again(self) -> None:
        """Send each leaf the contacts near it again, as it may have lost them since."""
        below, above = self.tables.leaves()
        for leaf in dict.fromkeys((*below, *above)):
            self.send(leaf, self._contacts(self.tables.around(leaf), periodic=True))
        if self._delays is not None:
            self._pass_rows_on()

    def _pass_rows_on(self) -> None:
        """Send each representative those of the slots that it has in common with this router.

        These are the rows of the table down to its own: their ranges are ranges of its table.
        """
        rows = self.tables.rows()
        for slot, stands in rows:
            shared = tuple(
                other for one, other in rows if len(one) <= len(slot) and other != stands
            )
            if shared:
                self.send(stands, self._contacts(shared[-CONTACTS_MAX:], periodic=True))

    def _contacts(self, routers: tuple[str, ...], *, periodic: bool = False) -> Contacts:
        return Contacts(routers, periodic, self._where(routers))

    def _where(self, routers: tuple[str, ...]) -> tuple[str, ...]:
        """The addresses of routers; empty where none is known."""
        found = tuple(self._addresses.get(router, "") for router in routers)
        return found if any(found) else ()

    def _tell_leaves(self) -> None:
        below, above = self.tables.leaves()
        for leaf in dict.fromkeys((*below, *above)):
            self._tell(leaf, self.tables.around(leaf))

    def _tell(self, peer: str, routers: tuple[str, ...]) -> None:
        routers = routers[:CONTACTS_MAX]
        if routers and self._told.get(peer) != routers:
            self._told[peer] = routers
            self.send(peer, self._contacts(routers))
