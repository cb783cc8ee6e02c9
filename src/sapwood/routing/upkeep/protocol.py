"""The protocol of upkeep: a pair of interceptors and a timer, between links and routing.

Every input of a router passes its upkeep before it is routed, and every message of routing passes
it before it is sent. A strategy returns the actions to take, in order: inputs for the membership
below it, and effects. They may be the input itself, nothing, several messages in the place of one,
or something else: the router carries them out, and asserts nothing about them.

* `LinkUp(n)` as an action lets routing begin with a neighbor afresh and send it everything
  (*replay*), `LinkDown(n)` drops what came from there and withdraws it elsewhere (*forget*). A
  strategy may return nothing for a link's end, so that routing does not notice it, and send again
  what was lost when the link is back.
* `Persist(record)` before an input lets the input survive a crash: routing is deterministic, so its
  state is the result of its changes, one after the other. `restored` gets the records back and
  returns the changes to carry out again, all or some. A strategy that restores the earlier router
  to the letter, with the keys and numbers that neighbors have, returns `Resume` first.
* Publications come in batches (`ReceiveMany`, `ClientPublishMany`, and `SendMany` the other way) to
  a strategy that `takes_batches`, one by one to any other.
* A message for the strategy of a neighbor is an `UpkeepNote`; what goes with every message, a
  number or a time, is a `Stamped` one. What the neighbor's strategy does not take off reaches
  routing, which closes the link.

A strategy keeps its state of links itself: one instance for a router, whatever its membership. It
may stand in front of another one, its `inner`, whose abilities (the protocols below `Upkeep`) the
router uses as if they were its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias, cast, runtime_checkable

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
    """Become the router of an earlier incarnation again: its names and numbers go on.

    Only as an action of `restored`, before any change, from a strategy that restores everything:
    two different lives must never send different entries under one incarnation.
    """

    incarnation: int


@dataclass(frozen=True, slots=True)
class Refill:
    """Take over the state of a checkpoint made by `recover.checkpoint`; after `Resume` only."""

    checkpoint: Checkpoint


Action: TypeAlias = Change | BatchInput | Effect | Resume | Refill | Renewal
"""An action of upkeep: an input for the membership, an effect, the return to an earlier life, or
the renewal, which forgets everything."""


class Kept(Protocol):
    """The router, as its upkeep uses it."""

    @property
    def name(self) -> str:
        """The router's name, unique in the overlay."""
        ...

    @property
    def incarnation(self) -> int:
        """The number of the router's life."""
        ...

    @property
    def membership(self) -> Membership:
        """The membership that it routes by."""
        ...

    @property
    def is_holding(self) -> bool:
        """True if routing keeps publications back, which it has yet to deliver."""
        ...

    def refused(self, client: str, publications: Sequence[Publication]) -> Sequence[int]:
        """The places of the publications of a client that routing would refuse now."""
        ...

    def received(self) -> Iterator[LinkSubscription]:
        """The subscriptions received over links."""
        ...

    def sent(self) -> Iterator[LinkSubscription]:
        """The subscriptions sent to neighbors."""
        ...

    @property
    def tables(self) -> Mapping[str, Table]:
        """The tables of subscriptions and of advertisements, by these nouns.

        Empty where routers route on many trees, or send subscriptions as counts.
        """
        ...


class Upkeep(Protocol):
    """Keeps the state of one router right when things fail, and in time."""

    @property
    def is_passive(self) -> bool:
        """True if it only handles links that come and go, and keeps no state of them.

        Then messages, requests and closed links bypass it.
        """
        ...

    @property
    def takes_batches(self) -> bool:
        """True if publications come to it in batches; else they come one by one."""
        ...

    def link_up(self, link: LinkUp, now: float) -> Iterable[Action]:
        """Handle a link that carries messages from now on, for the first time or again.

        Each action is done before the next one is requested, here and below.
        """
        ...

    def link_down(self, link: LinkDown, now: float) -> Iterable[Action]:
        """Handle a link that is gone."""
        ...

    def closed(self, link: LinkDown, now: float) -> Iterable[Action]:
        """Handle a link that routing has closed and forgotten."""
        ...

    def asked(self, request: Change | ClientPublishMany, now: float) -> Iterable[Action]:
        """Handle a client's coming, leaving, publication or other request."""
        ...

    def arrived(self, received: Receive | ReceiveMany, now: float) -> Iterable[Action]:
        """Handle a message that came over a link."""
        ...

    def sent(self, send: Send | SendMany, now: float) -> Sequence[Effect]:
        """Handle a message of routing; also while changes are restored, and then nothing leaves."""
        ...

    def restored(self, restored: Restored, now: float) -> Iterable[Action]:
        """Handle the records of an earlier life; the effects of changes are dropped."""
        ...

    def recalled(self, recalled: Recalled, now: float) -> Sequence[Action]:
        """Handle publications that it requested with `Recall`."""
        ...

    def tick(self, now: float) -> Iterable[Action]:
        """Handle the time that `next_deadline` returned, or another call of the clock."""
        ...

    def next_deadline(self) -> float | None:
        """The time of the next `tick` that it needs; `None` for never."""
        ...

    def table_sizes(self) -> dict[str, int]:
        """The sizes of its tables, by names that no table of routing has: for metrics."""
        ...

    def validate(self) -> None:
        """Check its own relations; raises `InvariantError`."""
        ...


def layers(upkeep: Upkeep) -> Iterator[Upkeep]:
    """An upkeep, and those that it stands in front of, outermost first."""
    layer: Upkeep | None = upkeep
    while layer is not None:
        yield layer
        layer = cast("Upkeep | None", getattr(layer, "inner", None))


def layer_with(upkeep: Upkeep, method: str) -> object | None:
    """The outermost layer of an upkeep that has a method; `None` for none.

    By name: an `isinstance` with a `Protocol` takes tens of microseconds.
    """
    return next((layer for layer in layers(upkeep) if hasattr(layer, method)), None)


@runtime_checkable
class Watching(Protocol):
    """An upkeep that inspects all effects of an input before any of them is sent."""

    def comes(self, effects: Sequence[Effect]) -> None:
        """Inspect routing's effects of an input; `sent` follows for each message."""
        ...


@runtime_checkable
class Suspecting(Protocol):
    """An upkeep with a failure detector, which accepts suspicions from outside."""

    def suspect(self, suspicion: Suspicion, now: float) -> Sequence[Action]:
        """Handle the suspicion that a neighbor has failed."""
        ...


@runtime_checkable
class Keeping(Protocol):
    """An upkeep that keeps a neighbor's entries while its link is down, until that is for good."""

    def neighbors(self) -> Collection[str]:
        """The neighbors whose entries are kept, and that are owed messages."""
        ...


@runtime_checkable
class HoldingBack(Protocol):
    """An upkeep that holds messages of routing for a neighbor until they may go."""

    def holds_back(self, neighbor: str) -> bool:
        """True if a neighbor has yet to be sent a message of routing."""
        ...


class Compared(NamedTuple):
    """The result of comparing the tables of the two ends of an edge.

    `rounds` is the number of comparisons since the link is up. In the last one, the sender had
    `entries` that it had sent, of which (or beside which) `wrong` were wrong at the holder.
    """

    sender: str
    holder: str
    rounds: int
    wrong: int
    entries: int


@runtime_checkable
class Comparing(Protocol):
    """An upkeep that compares tables with those of neighbors, also on request."""

    def compare(self, now: float) -> Sequence[Action]:
        """Compare both edges to each neighbor now."""
        ...

    def compared(self) -> Sequence[Compared]:
        """The results of the last comparisons with all neighbors, both ways."""
        ...
