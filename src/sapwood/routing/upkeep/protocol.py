"""What an upkeep strategy is: a pair of interceptors and a timer, between links and routing.

All that reaches a router passes its upkeep before it is routed, and all that routing sends passes
it before it is sent. A strategy answers with what is to be done, in order: inputs for the
membership below it, and effects. The answer may be the input itself, nothing, several messages in
the place of one, or something else: the router asks, and never asserts what the answer is.

* `LinkUp(n)` as part of an answer lets routing begin with a neighbor afresh and tell it everything
  (*replay*), `LinkDown(n)` drops what came from there and withdraws it elsewhere (*forget*). A
  strategy may answer a link's end with nothing, so that routing does not hear of it, and send again
  what was lost when the link is back.
* `Persist(record)` before an input lets the input survive a crash: routing is deterministic, so its
  state is what comes of its changes, one after the other. `restored` gets the records back and
  answers with the changes to carry out again, all or some. What has to be the router's earlier self
  to the letter, with the keys and numbers that neighbors know, answers `Resume` first.
* Publications come in batches (`ReceiveMany`, `ClientPublishMany`, and `SendMany` the other way) to
  a strategy that `takes_batches`, one by one to any other.
* A message for the strategy of a neighbor is an `UpkeepNote`; what goes with every message, a
  number or a time, is a `Stamped` one. What the neighbor's strategy does not take off reaches
  routing, which closes the link.

A strategy keeps what it knows of links itself: one instance for a router, whatever its membership.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

from sapwood.model.publication import Publication
from sapwood.routing.effects import Effect, Send, SendMany
from sapwood.routing.inputs import (
    BatchInput,
    Change,
    Checkpoint,
    ClientPublishMany,
    LinkDown,
    LinkUp,
    Recalled,
    Receive,
    ReceiveMany,
    Renewal,
    Restored,
    Suspicion,
)
from sapwood.routing.membership.protocol import Membership
from sapwood.routing.tables import LinkSubscription, Table


@dataclass(frozen=True, slots=True)
class Resume:
    """Be the router of an earlier incarnation again: its names and numbers go on.

    For the answer to `restored` only, before any change, from a strategy that restores everything:
    two different lives must never say different things under one incarnation.
    """

    incarnation: int


@dataclass(frozen=True, slots=True)
class Refill:
    """Have what a checkpoint says, which `recover.checkpoint` has made; after `Resume` only."""

    checkpoint: Checkpoint


Action: TypeAlias = Change | BatchInput | Effect | Resume | Refill | Renewal
"""What is to be done: an input for the membership, an effect, to be what an earlier life was, or to
forget all that is known."""


class Kept(Protocol):
    """The router, as its upkeep sees it."""

    @property
    def name(self) -> str:
        """Unique in the overlay."""
        ...

    @property
    def incarnation(self) -> int:
        """Which life of the router this is."""
        ...

    @property
    def membership(self) -> Membership:
        """What it routes by."""
        ...

    @property
    def is_holding(self) -> bool:
        """Whether routing keeps publications back, which it has yet to deliver."""
        ...

    def refused(self, client: str, publications: Sequence[Publication]) -> Sequence[int]:
        """The places of those publications of a client that routing would refuse now."""
        ...

    def received(self) -> Iterator[LinkSubscription]:
        """The subscriptions that came over links."""
        ...

    def told(self) -> Iterator[LinkSubscription]:
        """The subscriptions that neighbors have been told of."""
        ...

    @property
    def tables(self) -> Mapping[str, Table]:
        """Its subscriptions and its advertisements, by these nouns.

        Empty where routers route on many trees, or tell of subscriptions as counts.
        """
        ...


class Upkeep(Protocol):
    """Keeps the state of one router right when things fail, and in time."""

    @property
    def is_passive(self) -> bool:
        """Whether links that come and go are all it looks at, and it remembers none of them.

        Then messages, requests and closed links pass without its being asked.
        """
        ...

    @property
    def takes_batches(self) -> bool:
        """Whether publications come to it in batches; else they come one by one."""
        ...

    def link_up(self, link: LinkUp, now: float) -> Iterable[Action]:
        """A link carries messages from now on, for the first time or again.

        Each action is done before the next one is asked for, here and below.
        """
        ...

    def link_down(self, link: LinkDown, now: float) -> Iterable[Action]:
        """A link is gone."""
        ...

    def closed(self, link: LinkDown, now: float) -> Iterable[Action]:
        """Routing has closed a link, and has forgotten it."""
        ...

    def asked(self, request: Change | ClientPublishMany, now: float) -> Iterable[Action]:
        """A client comes, leaves, publishes, or asks for something."""
        ...

    def arrived(self, received: Receive | ReceiveMany, now: float) -> Iterable[Action]:
        """A message came over a link."""
        ...

    def sent(self, send: Send | SendMany, now: float) -> Sequence[Effect]:
        """Routing sends a message; also while changes are restored, and then nothing leaves."""
        ...

    def restored(self, restored: Restored, now: float) -> Iterable[Action]:
        """What an earlier life has persisted. Effects of changes are dropped."""
        ...

    def recalled(self, recalled: Recalled, now: float) -> Sequence[Action]:
        """Publications that it asked for (`Recall`) have been read."""
        ...

    def tick(self, now: float) -> Iterable[Action]:
        """The time has come that `next_deadline` asked for, or another reason to look."""
        ...

    def next_deadline(self) -> float | None:
        """When `tick` wants to be called; `None` for never."""
        ...

    def table_sizes(self) -> dict[str, int]:
        """What it keeps, by names that no table of routing has: for metrics."""
        ...

    def validate(self) -> None:
        """Check its own relations; raises `InvariantError`."""
        ...


@runtime_checkable
class Watching(Protocol):
    """An upkeep that looks at all that comes of an input before any of it is sent."""

    def comes(self, effects: Sequence[Effect]) -> None:
        """What routing wants done of an input that was handed on; `sent` follows for each part."""
        ...


@runtime_checkable
class Suspecting(Protocol):
    """An upkeep with a failure detector, which can be told whom to suspect."""

    def suspect(self, suspicion: Suspicion, now: float) -> Sequence[Action]:
        """A neighbor is said to have failed."""
        ...


@runtime_checkable
class HoldingBack(Protocol):
    """An upkeep that keeps what routing tells a neighbor until it may go."""

    def holds_back(self, neighbor: str) -> bool:
        """Whether a neighbor has yet to be sent something that routing has told it."""
        ...


class Compared(NamedTuple):
    """What came of comparing the tables of the two ends of an edge.

    `rounds` were compared since the link is up, the last one with so many `entries` told, of which
    (or beside which) `wrong` were so at the holder.
    """

    sender: str
    holder: str
    rounds: int
    wrong: int
    entries: int


@runtime_checkable
class Comparing(Protocol):
    """An upkeep that compares tables with those of neighbors, and can be asked to do it now."""

    def compare(self, now: float) -> Sequence[Action]:
        """Compare both edges to each neighbor now."""
        ...

    def compared(self) -> Sequence[Compared]:
        """The edges to all neighbors, both ways, as they were last."""
        ...
