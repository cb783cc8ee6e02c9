"""Redundant paths: every publication takes several trees of its source at once.

XNet 6.1.4 with trees in the place of single routes: its condition, that upstream links form no
circle, holds by itself for each of the trees, for one producer as for many (Figure 6.7). A router
is part of several meshes (`sapwood.routing.membership.mesh`), one for each *path*, numbered from 0.
All have the same links and clients; each has its own trees (`sapwood.overlay.disjoint`), with
versions and changes of its own. On each, a subscription is sent as if it were the only one: the
same advertisement to all redundant neighbors, and others to those on the way to other sources. A
publication is numbered by its source and goes out on all paths, and clients get what comes first
(`confluence.py`). So

* a publication that arrives on any path arrives, as soon as on that path alone: of K ways to a
  router, any K - 1 may break, and nothing is lost, and nothing waits. Those ways share routers and
  links only where the overlay leaves no choice (of more than two: where no tree was found that
  avoids it);
* a broken way is replaced as under `mesh`, and other paths go on meanwhile;
* the publications of one client arrive in order and once. A way that is new takes part in that when
  it is known that nothing of before is missing: the source sends on all paths the number of
  publications that came before a tree that it changes over to.

A subscription is in force when it is so on all paths. A publication that one path would refuse, as
its client's advertisement is not in force there yet, is refused.

The price: tables, messages and bandwidth of as many meshes, and publications one by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

from sapwood.errors import InvariantError
from sapwood.limits import MESH_HOLD_S
from sapwood.matching.engine_names import Engines
from sapwood.model.publication import Publication
from sapwood.overlay.disjoint import FindTree, tree_finders
from sapwood.routing.client_entries import unexpected_message
from sapwood.routing.effects import CloseLink, Effect, Refused, Send
from sapwood.routing.inputs import (
    ClientInput,
    ClientPublish,
    ClientPublishMany,
    Compare,
    Drained,
    Input,
    LinkDown,
    LinkUp,
    Measured,
    Recalled,
    Receive,
    ReceiveMany,
    Restored,
    Suspicion,
    Tick,
)
from sapwood.routing.membership.mesh.mesh import Mesh
from sapwood.routing.membership.protocol import OnOneTree
from sapwood.routing.membership.redundant.answers import Answers
from sapwood.routing.membership.redundant.confluence import Confluence
from sapwood.routing.membership.redundant.path import Arrival, Path, Step
from sapwood.routing.messages import OnPlane
from sapwood.routing.strategies import Protocol
from sapwood.routing.tables import ClientIds, LinkSubscription


class Redundant:
    """The neighbors of a router, on several paths from each source.

    `incarnation` is greater than that of any earlier router of the same name; there are `count`
    paths. `hold_s`: see `Mesh`.

    #: _published is the number of the last publication accepted from a client here
    #: _confluences has one for each source that ever had a branch here
    """

    def __init__(
        self,
        name: str,
        protocol: Protocol,
        engines: Engines,
        incarnation: int,
        count: int,
        *,
        hold_s: float = MESH_HOLD_S,
    ) -> None:
        self.name = name
        self.protocol = protocol
        self.paths = tuple(
            # the first path notifies clients of supply: it has the advertisements of all
            Path(
                number,
                Mesh(
                    name,
                    protocol,
                    engines,
                    incarnation,
                    find,
                    is_watched=not number,
                    hold_s=hold_s,
                ),
            )
            for number, find in enumerate(tree_finders(count))
        )
        self._answers = Answers(count)
        self._published = 0
        self._confluences: dict[str, Confluence] = {}

    def handle(self, input: Input, now: float) -> list[Effect]:
        """Take one input at time `now`; see `Router.handle`."""
        match input:
            case Receive():
                effects = self._receive(input, now)
            case ReceiveMany():  # a batch, which comes on no path, closes the link
                effects = self._receive(next(input.messages()), now)
            case ClientPublish():
                return self._publish(input, now)
            case ClientPublishMany():
                return [one for request in input.requests() for one in self._publish(request, now)]
            case Suspicion() | Measured() | Compare():
                return []
            case Restored() | Recalled():
                raise InvariantError("what is restored comes change by change")
            case Drained(neighbor):
                behind = [path for path in self.paths if neighbor in path.mesh.behind()]
                effects = self._take(behind, input, now)
            case LinkDown(neighbor):
                effects = self._link_down(neighbor, now)
            case LinkUp() | Tick():
                effects = self._take(self.paths, input, now)
            case _:
                self._answers.asked(input)
                effects = self._take(self.paths, input, now)
        return self._close_all(effects, now)

    def refused(self, client: str, publications: Sequence[Publication]) -> Sequence[int]:
        """The places of the publications that any path would refuse: see `Router.refused`."""
        refused: set[int] = set()
        for path in self.paths:
            refused.update(path.mesh.refused(client, publications))
        return sorted(refused)

    def ids_of(self, client: str) -> ClientIds:
        """The ids of an attached client's subscriptions and advertisements."""
        return self.paths[0].mesh.ids_of(client)

    def statements(self) -> Iterator[ClientInput]:
        """The inputs that restore its clients and their entries: see `Membership.statements`."""
        return self.paths[0].mesh.statements()

    def next_deadline(self) -> float | None:
        """The earliest deadline of the paths."""
        deadlines = (path.mesh.next_deadline() for path in self.paths)
        return min((at for at in deadlines if at is not None), default=None)

    @property
    def is_tree(self) -> bool:
        """False: links may form circles, or else there is one path."""
        return False

    @property
    def finds(self) -> tuple[FindTree, ...]:
        """The function that finds a source's tree on each path."""
        return tuple(path.mesh.map.find for path in self.paths)

    def behind(self) -> Collection[str]:
        """The neighbors whose backlog is not sent yet, on whatever path."""
        return {neighbor for path in self.paths for neighbor in path.mesh.behind()}

    def neighbors(self, source: str | None = None) -> tuple[str, ...]:
        """The neighbors on the trees of a source, on any path."""
        found = (one for path in self.paths for one in path.mesh.neighbors(source))
        return tuple(dict.fromkeys(found))

    def cores(self, source: str) -> tuple[OnOneTree | None, ...]:
        """The cores of all paths."""
        return tuple(core for path in self.paths for core in path.mesh.cores(source))

    def tells_over(self) -> frozenset[str] | None:
        """The neighbors on a tree that all routers in reach agree on."""
        return self.paths[0].mesh.tells_over()

    def table_sizes(self) -> dict[str, int]:
        """The number of entries in each table, over all paths: see `Router.table_sizes`."""
        sizes = Counter[str]()
        for path in self.paths:
            sizes.update(path.mesh.table_sizes())
        sizes["held"] += sum(len(one.held) for one in self._confluences.values())
        return dict(sizes)

    def counters(self) -> dict[str, int]:
        """The counts of all paths: see `Router.counters`."""
        counted = Counter[str]()
        for path in self.paths:
            counted.update(path.mesh.counters())
        return dict(counted)

    def received(self) -> Iterator[LinkSubscription]:
        """The subscriptions received over links, on all paths."""
        for path in self.paths:
            yield from path.mesh.received()

    def sent(self) -> Iterator[LinkSubscription]:
        """The subscriptions sent to neighbors, on all paths."""
        for path in self.paths:
            yield from path.mesh.sent()

    def validate(self) -> None:
        """Check every relation between the tables, on all paths; raises `InvariantError`."""
        used = {neighbor for path in self.paths for neighbor in path.mesh.forest.links}
        for path in self.paths:
            path.mesh.validate()
            if not all(map(path.mesh.has_link, used)):
                raise InvariantError("a link is up on one path, and not on another")
        for confluence in self._confluences.values():
            confluence.validate()

    # Inputs ------------------------------------------------------------------------------------

    def _receive(self, arrived: Receive, now: float) -> list[Effect]:
        neighbor, message = arrived.neighbor, arrived.message
        if not self.paths[0].mesh.has_link(neighbor):
            return []  # it is closed; one that is only held here is used at the other end
        if not isinstance(message, OnPlane):
            return [CloseLink(neighbor, unexpected_message(message))]
        if message.plane >= len(self.paths):
            reason = f"{neighbor} has more paths: give all routers of an overlay one protocol"
            return [CloseLink(neighbor, reason)]
        path = self.paths[message.plane]
        inner = Receive(neighbor, message.message)
        step = path.take(inner, now, message.number, self._published, message.message)
        return self._follow(path, step)

    def _take(self, paths: Iterable[Path], input: Input, now: float) -> list[Effect]:
        """Let all given paths take an input."""
        effects: list[Effect] = []
        for path in paths:
            effects.extend(self._follow(path, path.take(input, now, 0, self._published)))
        return effects

    def _link_down(self, neighbor: str, now: float) -> list[Effect]:
        """Remove a link from all paths; what a path sends on it meanwhile is dropped."""
        effects = self._take(self.paths, LinkDown(neighbor), now)
        return [e for e in effects if not (isinstance(e, Send) and e.neighbor == neighbor)]

    def _publish(self, request: ClientPublish, now: float) -> list[Effect]:
        """Send a client's publication on all paths, or refuse it."""
        number = self._published + 1
        effects: list[Effect] = []
        for path in self.paths:
            done = path.take(request, now, number, self._published)
            for effect in done.effects:
                if isinstance(effect, Refused):
                    return [effect]  # publications change nothing, so nothing was done yet
                if path.number == 0 or isinstance(effect, Send):
                    effects.append(effect)
            if path.number == 0:
                effects.extend(done.own)
        self._published = number
        return effects

    # Results -----------------------------------------------------------------------------------

    def _follow(self, path: Path, step: Step) -> list[Effect]:
        """The effects of a step on one path."""
        effects: list[Effect] = []
        if step.old is not None:  # before `Leave` on the old branch, and on all other paths
            effects.extend(path.marks(step.old, self._published))
        for effect in step.effects:
            if isinstance(effect, Send | CloseLink):
                effects.append(effect)
            else:
                effects.extend(self._answers.said(path.number, effect))
        if step.old is not None:
            for other in self.paths:
                if other is not path:
                    effects.extend(other.marks(other.mesh.forest.own, self._published))
        released: list[Publication] = []
        for source in step.ended:
            released.extend(self._confluence(source).end(path.number))
        for source, first in step.begun.items():
            released.extend(self._confluence(source).begin(path.number, first))
        effects.extend(self._deliveries(released))
        for arrival in step.arrivals:
            effects.extend(self._arrive(path, arrival))
        for source, number in step.marked.items():
            effects.extend(self._deliveries(self._confluence(source).mark(path.number, number)))
        return effects

    def _confluence(self, source: str) -> Confluence:
        return self._confluences.setdefault(source, Confluence())

    def _arrive(self, path: Path, arrival: Arrival) -> list[Effect]:
        source, number, publication, deliveries = arrival
        effects: list[Effect] = []
        for one in self._confluence(source).arrive(path.number, number, publication):
            effects.extend(deliveries if one is publication else self._deliveries((one,)))
        return effects

    def _deliveries(self, publications: Iterable[Publication]) -> list[Effect]:
        """The deliveries of publications that had to wait, as clients are subscribed now."""
        core = self.paths[0].mesh.forest.own.core
        return [one for publication in publications for one in core.deliveries(publication)]

    def _close_all(self, effects: list[Effect], now: float) -> list[Effect]:
        """Take a link down on all paths if one closes it, after what is still sent there."""
        closing = {one.neighbor: one for one in effects if isinstance(one, CloseLink)}
        kept: list[Effect] = [one for one in effects if not isinstance(one, CloseLink)]
        for neighbor, close in closing.items():
            kept.extend(self._link_down(neighbor, now))
            kept.append(close)
        return kept
