"""A semantic overlay from the first join to the last publication, and the verdict on it.

All peers join in the order of their subscriptions, then publications spread one after the other,
with churn between them. Peers decide with a matching index, one match for each peer that a
publication reaches; the verdict is by the reference evaluation, which shares no code with it. It
takes a thousand times as long, so of many publications some are drawn for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from sapwood.limits import ORACLE_PAIRS_MAX
from sapwood.limits.semantic import PATTERN_PAIRS
from sapwood.matching.index import Index
from sapwood.model.interest import Interest
from sapwood.model.patterns.pattern import TreePattern
from sapwood.model.publication import Publication
from sapwood.model.subscription import Subscription
from sapwood.overlay.semantic.accuracy import Accuracy, together
from sapwood.overlay.semantic.hierarchy.joining import Cost
from sapwood.overlay.semantic.spreading import Spread
from sapwood.simulation.oracle import Meaning, publications_checked
from sapwood.simulation.semantic.churn import Churn
from sapwood.simulation.semantic.protocols import SemanticOverlay, SemanticProtocol


@dataclass(slots=True)
class Costs:
    """The costs of changes of the overlay, all of one kind together."""

    count: int = 0
    messages: int = 0
    #: the sum of the shares of peers that handled a message
    involved: float = 0.0

    def add(self, cost: Cost, peers: int) -> None:
        """Add one change, of an overlay of `peers` peers."""
        self.count += 1
        self.messages += cost.messages
        self.involved += len(cost.involved) / max(1, peers)

    def members(self) -> dict[str, float]:
        """The figures as a JSON object."""
        mean = self.involved / self.count if self.count else 0.0
        return {"count": self.count, "messages": self.messages, "involved_share": round(mean, 6)}


class LastWay(NamedTuple):
    """The way of a publication, by its id, and the peers whose subscriptions accept it."""

    publication: str
    way: Spread
    wanting: frozenset[int] | set[int]


@dataclass(frozen=True, slots=True)
class PublicationFigures:
    """Figures of a publication: its accuracy, the copies sent, and the most that one peer sent."""

    id: str
    accuracy: Accuracy
    copies: int
    sent_max: int


@dataclass(slots=True)
class SemanticRun:
    """The results of a run.

    `lost` and `unexpected` hold pairs of the ids of a publication and a subscription: what a peer
    accepts and did not get, and what it got and does not accept, of the `checked` publications.
    """

    protocol: SemanticProtocol
    peers: int = 0
    interests: int = 0
    state_bytes: int = 0
    joins: Costs = field(default_factory=Costs)
    departures: Costs = field(default_factory=Costs)
    publications: list[PublicationFigures] = field(default_factory=list)
    pairs: dict[str, list[str]] = field(default_factory=dict)
    checked: int = 0
    #: as it is at the end
    overlay: SemanticOverlay | None = None
    #: of the last publication, which spread in the overlay as it is at the end
    last: LastWay | None = None
    #: copies that each peer has sent, of all publications, where they were to be counted
    sent: Counter[int] = field(default_factory=Counter)
    lost: list[tuple[str, str]] = field(default_factory=list)
    unexpected: list[tuple[str, str]] = field(default_factory=list)

    @property
    def accuracy(self) -> Accuracy:
        """Of all publications together."""
        return together(one.accuracy for one in self.publications)

    @property
    def is_right(self) -> bool:
        """True if nothing is wrong; the losses of an overlay that may lose are no fault."""
        return not self.unexpected and (self.protocol.loses or not self.lost)

    def members(self) -> dict[str, object]:
        """All figures as a JSON object."""
        whole = self.accuracy
        return {
            "protocol": self.protocol.name,
            "exact": self.protocol.exact,
            "peers": self.peers,
            "interests": self.interests,
            "state_bytes": self.state_bytes,
            "joins": self.joins.members(),
            "departures": self.departures.members(),
            "messages": {
                "join": self.joins.messages,
                "departure": self.departures.messages,
                "publication": sum(one.copies for one in self.publications),
            },
            "accuracy": _ratios(whole),
            "publications": [
                {
                    "id": one.id,
                    "interested": one.accuracy.interested,
                    "false_positives": one.accuracy.false_positives,
                    "false_negatives": one.accuracy.false_negatives,
                    "copies": one.copies,
                    "sent_max": one.sent_max,
                }
                for one in self.publications
            ],
            "verdicts": {
                "checked": self.checked,
                "lost": len(self.lost),
                "lost_is_a_fault": not self.protocol.loses,
                "unexpected": len(self.unexpected),
            },
        }


def _ratios(whole: Accuracy) -> Mapping[str, float]:
    return {
        "false_positives": whole.false_positives,
        "false_negatives": whole.false_negatives,
        "false_positive_ratio": round(whole.false_positive_ratio, 6),
        "false_negative_ratio": round(whole.false_negative_ratio, 6),
        "uninterested_ratio": round(whole.uninterested_ratio, 6),
    }


@dataclass(slots=True)
class _World:
    """An overlay, whose subscription each peer is, and one index for the decisions of all."""

    overlay: SemanticOverlay
    random: Random
    run: SemanticRun
    #: exactly the peers that are there, and the numbers of their interests
    owners: dict[int, Subscription] = field(default_factory=dict)
    interests: dict[int, int] = field(default_factory=dict)
    gone: list[Subscription] = field(default_factory=list)
    #: the filters of all numbers that were indexed; as many as `indexed`
    index: Index = field(default_factory=Index)
    indexed: int = 0
    counts_copies: bool = False

    def join(self, subscription: Subscription) -> None:
        peer, cost = self.overlay.join(subscription.filter, self.random)
        self.owners[peer] = subscription
        self.interests[peer] = self.overlay.interest(peer)
        self.run.joins.add(cost, len(self.overlay))

    def change(self, churn: Churn) -> None:
        """Let peers crash at once, others leave one by one, then some of all gone ones return."""
        crashing = self._drawn(churn.crash)
        if crashing:
            self.run.departures.add(
                self.overlay.crash(crashing, self.random), len(self.overlay) + len(crashing)
            )
            self.gone.extend(map(self._left, crashing))
        for peer in self._drawn(churn.leave):
            cost = self.overlay.leave(peer, self.random, churn.departure)
            self.run.departures.add(cost, len(self.overlay) + 1)
            self.gone.append(self._left(peer))
        back = self.random.sample(range(len(self.gone)), round(churn.back * len(self.gone)))
        for subscription in [self.gone[place] for place in back]:
            self.join(subscription)
        self.gone = [one for place, one in enumerate(self.gone) if place not in set(back)]
        self.overlay.validate()

    def _left(self, peer: int) -> Subscription:
        del self.interests[peer]
        return self.owners.pop(peer)

    def _drawn(self, share: float) -> list[int]:
        peers = list(self.owners)
        return self.random.sample(peers, round(share * len(peers)))

    def publish(self, publication: Publication) -> None:
        """Spread a publication; each peer that it reaches matches it against its own filter."""
        for number, filter_ in enumerate(self.overlay.interests):
            if number >= self.indexed:
                self.index.add(str(number), filter_)
        self.indexed = len(self.overlay.interests)
        hits = set(map(int, self.index.match(publication)))
        wanting = {peer for peer, interest in self.interests.items() if interest in hits}
        way = self.overlay.spread(wanting.__contains__, self.random)
        self.run.last = LastWay(publication.id, way, wanting)
        if self.counts_copies:
            self.run.sent.update(way.sent)
        received = way.received
        self.run.pairs[publication.id] = sorted(
            self.owners[peer].id for peer in received if peer in wanting
        )
        self.run.publications.append(
            PublicationFigures(
                publication.id,
                Accuracy.of(len(self.overlay), wanting, received),
                way.sent.total(),
                way.sent_max,
            )
        )


def run_semantic(
    protocol: SemanticProtocol,
    subscriptions: Sequence[Subscription],
    publications: Sequence[Publication],
    *,
    churn: Sequence[Churn] = (),
    seed: int = 0,
    pairs_max: int = ORACLE_PAIRS_MAX,
    counts_copies: bool = False,
    advance: Callable[[int], None] = lambda _: None,
) -> SemanticRun:
    """Run a semantic overlay; `advance` is called for each join and each publication.

    With `counts_copies` the copies that each peer sends are added up (`SemanticRun.sent`).

    Where publications times different filters exceed `pairs_max`, only publications drawn with the
    seed are judged; a tree pattern counts as `limits.semantic.PATTERN_PAIRS` filters.
    """
    random = Random(f"{seed}/semantic")  # noqa: S311 - reproducible
    world = _World(protocol.make(publications), random, SemanticRun(protocol))
    world.counts_copies = counts_copies
    for subscription in subscriptions:
        world.join(subscription)
        advance(1)
    world.run.peers = len(world.overlay)
    pairs = sum(
        PATTERN_PAIRS if isinstance(one, TreePattern) else 1 for one in world.overlay.interests
    )
    ids = [one.id for one in publications]
    checked = set(publications_checked(ids, pairs, pairs_max, seed))
    meaning = Meaning()
    waiting = iter(churn)
    due = next(waiting, None)
    for number, publication in enumerate(publications):
        while due is not None and due.after <= number:
            world.change(due)
            due = next(waiting, None)
        world.publish(publication)
        if publication.id in checked:
            _judge(world, publication, meaning)
        advance(1)
    run = world.run
    run.overlay = world.overlay
    run.interests, run.state_bytes = len(world.overlay.interests), world.overlay.bytes
    return run


def _judge(world: _World, publication: Publication, meaning: Meaning) -> None:
    """Compare the deliveries of a publication with the reference meaning of all subscriptions."""
    run, delivered = world.run, set(world.run.pairs[publication.id])
    run.checked += 1
    verdicts: dict[Interest, bool] = {}
    for subscription in world.owners.values():
        wanted = verdicts.get(subscription.filter)
        if wanted is None:
            wanted = verdicts[subscription.filter] = meaning.accepts(
                subscription.filter, publication
            )
        if wanted and subscription.id not in delivered:
            run.lost.append((publication.id, subscription.id))
        elif not wanted and subscription.id in delivered:
            run.unexpected.append((publication.id, subscription.id))
