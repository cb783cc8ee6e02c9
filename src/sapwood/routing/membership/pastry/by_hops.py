"""Routers on a circle that keep neighbors' subscriptions: IRBR's baselines (004, L254-256, 2.10).

* `Rendezvous` is Scribe with one rendezvous for all content: the router nearest to the middle of
  the circle. A subscription goes to the *parent*, the next router towards it; a publication goes
  up to the rendezvous and from there to all its subscribers, also back where it came from.
* `ReversePaths` is reverse path forwarding. A subscription goes to all routers, by delegation: each
  passes those that came from outside the range of a slot and itself on to the router that stands
  for the slot. A publication takes the way back. In the *strong* form an entry is for certain
  publications (dossier 004, 2.10): a neighbor passed on a subscription with a range, the slot in
  which it sees this router, so that of all publications those from homes in that range go back to
  it, and they form a tree for each home. In the *plain* form they go back to all neighbors that
  subscribe to them, and each router takes them from the next one on its own way to their home, and
  from no other (Dalal and Metcalfe), which keeps them in order.

The guarantee: as long as no router or link comes or goes, everything, as of trees. While they do,
publications are lost: those on a link that goes, those behind a router that is gone, and those of a
publisher that its later ones have overtaken on a new way. Each router takes the publications of an
origin in ascending order only, so that none comes twice and none too late.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Final

from sapwood.limits.structured import ERRANDS_REMEMBERED_MAX
from sapwood.matching.engine_names import Engines
from sapwood.model.publication import Publication
from sapwood.overlay.identifiers import IdentifierSpace, Range, common_digits, slot_of
from sapwood.routing.admitting import objection_to
from sapwood.routing.client_entries import unexpected_message
from sapwood.routing.effects import Accepted, Effect, Refused, Send
from sapwood.routing.forwarding.numbered.digest import Numbered, decode, encode
from sapwood.routing.inputs import Receive
from sapwood.routing.membership.pastry.on_circle import OnCircle
from sapwood.routing.messages import Publish, SubscriptionMessage
from sapwood.routing.propagation.hops.hops import HopPropagation
from sapwood.routing.strategies import Protocol

_NOTHING: Final = (b"",)


class ByHops(OnCircle):
    """A router on a circle that keeps neighbors' subscriptions.

    #: _seen[h] is the life and number of the last publication of home h that was spread here
    """

    def __init__(
        self,
        name: str,
        protocol: Protocol,
        engines: Engines,
        incarnation: int,
        space: IdentifierSpace,
    ) -> None:
        super().__init__(name, protocol, engines, incarnation, space)
        assert isinstance(self.subscriptions, HopPropagation), "the catalogue sees to that"
        self._spread: HopPropagation = self.subscriptions
        self._spread.follow_circle(self._leads)
        self._number = 0
        self._seen: dict[str, tuple[int, int]] = {}

    # The differences of the two ----------------------------------------------------------------

    @abstractmethod
    def _targets(self) -> list[str]:
        """The peers that receive the subscriptions of this router."""

    @abstractmethod
    def _leads(self, source: str, target: str) -> bool:
        """True if the subscriptions of one neighbor go to another one."""

    @abstractmethod
    def _goes_back(self, neighbor: str, origin: str) -> bool:
        """True if publications of an origin go to a neighbor that subscribes to them."""

    # Links -------------------------------------------------------------------------------------

    def _filled(self, slot: Range | None) -> None:  # noqa: ARG002 - a parent may change without
        self._turn()

    def _left(self, neighbor: str) -> None:
        self.circle.link_down(neighbor)
        self._out += self._spread.gone(neighbor)
        self._turn()

    def _turn(self) -> None:
        self._out += self._spread.turn(self._targets(), self.tables.peers)

    # Messages ----------------------------------------------------------------------------------

    def _receive(self, arrived: Receive) -> list[Effect]:
        neighbor, message = arrived.neighbor, arrived.message
        if neighbor not in self.tables.peers:
            return []
        if not isinstance(message, SubscriptionMessage):
            return self._close(neighbor, unexpected_message(message), for_good=False)
        return self._hear(neighbor, message)

    # Publications ------------------------------------------------------------------------------

    def _client_publish(self, client: str, publication: Publication, now: float) -> list[Effect]:
        own = self.advertisements.own(client).values()
        in_force = self.advertisements.confirmations.in_force
        objection = objection_to(publication, own, in_force, self.protocol)
        if objection is not None:
            return [Refused(client, publication.id, objection)]
        self._number += 1
        said = Numbered(self._life, self._number, is_spread=False)
        own_clients = self._deliveries(publication, self.forwarding.matched(publication))
        onward = self._begin(Publish(self.name, 0, publication), said, now)
        return [*own_clients, *onward, Accepted(client, publication.id)]

    def _receive_publication(self, neighbor: str, message: Publish, now: float) -> list[Effect]:
        if neighbor not in self.tables.peers:
            return []
        said = decode(message.digest)
        if said is None:
            return self._close(neighbor, unexpected_message(message), for_good=False)
        if not said.is_spread:
            return self._begin(message, said, now)
        if not self._takes(neighbor, message.origin):
            return []
        return self._spread_on(message, said, neighbor, now)

    def _begin(self, message: Publish, said: Numbered, now: float) -> list[Effect]:
        """Spread a publication that is not spread yet, if this is the place."""
        return self._spread_on(message, said._replace(is_spread=True), None, now)

    def _takes(self, neighbor: str, origin: str) -> bool:  # noqa: ARG002
        """True if publications of an origin are taken from a neighbor."""
        return True

    def _spread_on(
        self, message: Publish, said: Numbered, arrival: str | None, now: float
    ) -> list[Effect]:
        """Deliver a publication that is new here, and send it to subscribing neighbors.

        The clients at its home have had it at once.
        """
        origin, publication = message.origin, message.publication
        number, last = (said.life, said.number), self._seen.pop(origin, (-1, 0))
        self._seen[origin] = max(number, last)
        if len(self._seen) > ERRANDS_REMEMBERED_MAX:
            del self._seen[next(iter(self._seen))]
        if number <= last:
            return []
        routed = self.forwarding.route((publication,), None, _NOTHING, now)
        onward = Publish(origin, message.hops + 1, publication, encode(said))
        is_here = origin == self.name
        return [
            *([] if is_here else self._deliveries(publication, routed.keys[0])),
            *(
                Send(one.neighbor, onward)
                for one in routed.onward
                if one.neighbor != arrival and self._goes_back(one.neighbor, origin)
            ),
        ]


class Rendezvous(ByHops):
    """Scribe: one router has all subscriptions, and all publications go over it."""

    @property
    def parent(self) -> str | None:
        """The next router towards the rendezvous; `None` where this is it."""
        space = self.tables.space
        return self.tables.route(space.written(space.size // 2))

    def _targets(self) -> list[str]:
        parent = self.parent
        return [] if parent is None else [parent]

    def _leads(self, source: str, target: str) -> bool:
        return source != target

    def _goes_back(self, neighbor: str, origin: str) -> bool:  # noqa: ARG002
        return True

    def _begin(self, message: Publish, said: Numbered, now: float) -> list[Effect]:
        parent = self.parent
        if parent is None:
            return super()._begin(message, said, now)
        onward = Publish(message.origin, message.hops + 1, message.publication, encode(said))
        return [Send(parent, onward)]


class ReversePaths(ByHops):
    """Reverse path forwarding, in its strong form."""

    def _targets(self) -> list[str]:
        return [stands for _, stands in self.tables.rows()]

    def _leads(self, source: str, target: str) -> bool:
        return self._shared(source) < self._shared(target)

    def _goes_back(self, neighbor: str, origin: str) -> bool:
        return origin == self.name or self._shared(neighbor) < self._shared(origin)

    def _shared(self, router: str) -> int:
        """The number of digits that this router has in common with another one."""
        tables = self.tables
        return common_digits(tables.identifier, tables.space.identifier_of(router))


class PlainReversePaths(ReversePaths):
    """Reverse path forwarding, in its plain form."""

    def _goes_back(self, neighbor: str, origin: str) -> bool:  # noqa: ARG002
        return True

    def _takes(self, neighbor: str, origin: str) -> bool:
        if origin == self.name:
            return False
        tables = self.tables
        slot = slot_of(tables.identifier, tables.space.identifier_of(origin))
        return tables.representative(slot) == neighbor
