"""Hard state: a link that goes takes its subscriptions with it, one that comes is told everything.

XSiena 2.3 (interface removed, interface added). Right as long as routers do not lie and links are
FIFO; what is on a link when it fails is lost, and so are publications accepted before the state
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
    """Lets routing know of everything, as it comes."""

    __slots__ = ()

    def __init__(self, router: Kept) -> None:
        """There is nothing to know of a router."""

    @property
    def is_passive(self) -> bool:
        """Nothing is looked at but links."""
        return True

    @property
    def takes_batches(self) -> bool:
        """They pass."""
        return True

    def link_up(self, link: LinkUp, now: float) -> Sequence[Action]:  # noqa: ARG002
        """Tell the neighbor all that it should know."""
        return (link,)

    def link_down(self, link: LinkDown, now: float) -> Sequence[Action]:  # noqa: ARG002
        """Drop what came over the link and withdraw it elsewhere."""
        return (link,)

    def closed(self, link: LinkDown, now: float) -> Sequence[Action]:  # noqa: ARG002
        """Routing knows."""
        return ()

    def asked(self, request: Change | ClientPublishMany, now: float) -> Sequence[Action]:  # noqa: ARG002
        """As it is."""
        return (request,)

    def arrived(self, received: Receive | ReceiveMany, now: float) -> Sequence[Action]:  # noqa: ARG002
        """As it is."""
        return (received,)

    def sent(self, send: Send | SendMany, now: float) -> Sequence[Effect]:  # noqa: ARG002
        """As it is."""
        return (send,)

    def restored(self, restored: Restored, now: float) -> Sequence[Action]:  # noqa: ARG002
        """Nothing was persisted that could be used."""
        return ()

    def recalled(self, recalled: Recalled, now: float) -> Sequence[Action]:  # noqa: ARG002
        """Nothing was asked for."""
        return ()

    def tick(self, now: float) -> Sequence[Action]:  # noqa: ARG002
        """There is no timer."""
        return ()

    def next_deadline(self) -> float | None:
        """Never."""
        return None

    def table_sizes(self) -> dict[str, int]:
        """Nothing is kept."""
        return {}

    def validate(self) -> None:
        """There is no state to be wrong."""
