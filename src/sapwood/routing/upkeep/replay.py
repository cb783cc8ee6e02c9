"""Hard state: a link that goes takes its subscriptions with it, one that comes is sent everything.

XSiena 2.3 (interface removed, interface added). Right as long as routers do not lie and links are
FIFO; messages on a link when it fails are lost, and so are publications accepted before the state
has travelled again. No memory, no timer, and nothing survives a crash.
"""

from __future__ import annotations

from collections.abc import Sequence

from sapwood.routing.effects import Effect, Send, SendMany
from sapwood.routing.inputs import (
    Change,
    ClientPublishMany,
    LinkDown,
    LinkUp,
    Recalled,
    Receive,
    ReceiveMany,
    Restored,
)
from sapwood.routing.upkeep.protocol import Action, Kept


class Replay:
    """Hands everything on to routing as it comes."""

    __slots__ = ()

    def __init__(self, router: Kept) -> None:
        """Ignore the router: there is no state to keep."""

    @property
    def is_passive(self) -> bool:
        """True: it handles nothing but links."""
        return True

    @property
    def takes_batches(self) -> bool:
        """True: batches pass."""
        return True

    def link_up(self, link: LinkUp, now: float) -> Sequence[Action]:  # noqa: ARG002
        """Hand on the link; routing sends the neighbor all entries that it needs."""
        return (link,)

    def link_down(self, link: LinkDown, now: float) -> Sequence[Action]:  # noqa: ARG002
        """Hand on the end of a link; routing drops its entries and withdraws them elsewhere."""
        return (link,)

    def closed(self, link: LinkDown, now: float) -> Sequence[Action]:  # noqa: ARG002
        """Return nothing: routing has closed the link itself."""
        return ()

    def asked(self, request: Change | ClientPublishMany, now: float) -> Sequence[Action]:  # noqa: ARG002
        """Hand on a request as it is."""
        return (request,)

    def arrived(self, received: Receive | ReceiveMany, now: float) -> Sequence[Action]:  # noqa: ARG002
        """Hand on a message as it is."""
        return (received,)

    def sent(self, send: Send | SendMany, now: float) -> Sequence[Effect]:  # noqa: ARG002
        """Send a message as it is."""
        return (send,)

    def restored(self, restored: Restored, now: float) -> Sequence[Action]:  # noqa: ARG002
        """Return nothing: nothing was persisted that could be used."""
        return ()

    def recalled(self, recalled: Recalled, now: float) -> Sequence[Action]:  # noqa: ARG002
        """Return nothing: no publication was recalled."""
        return ()

    def tick(self, now: float) -> Sequence[Action]:  # noqa: ARG002
        """Return nothing: there is no timer."""
        return ()

    def next_deadline(self) -> float | None:
        """`None`: never."""
        return None

    def table_sizes(self) -> dict[str, int]:
        """Empty: nothing is kept."""
        return {}

    def validate(self) -> None:
        """Do nothing: there is no state to be wrong."""
