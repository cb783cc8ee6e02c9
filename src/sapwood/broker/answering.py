"""What a broker answers at once, from what it has: its journal, how its tables compare."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sapwood.broker.keeping import no_replay
from sapwood.routing.inputs import Compare, Input
from sapwood.routing.router import Router
from sapwood.wire.messages import (
    CheckReply,
    CheckRequest,
    EdgeState,
    ReplayRefused,
    ReplayReply,
    ReplayRequest,
)

if TYPE_CHECKING:
    from sapwood.broker.storing import Storing


def answered(
    message: object, store: Storing | None, router: Router, handle: Callable[[Input], object]
) -> ReplayReply | ReplayRefused | CheckReply | None:
    """The answer to a message; `None` for one that asks for something else."""
    match message:
        case ReplayRequest():
            return no_replay() if store is None else store.keeper.replay(message)
        case CheckRequest(compare):
            if compare:
                handle(Compare())
            found = router.compared()
            edges = None if found is None else tuple(EdgeState(*edge) for edge in found)
            return CheckReply(router.name, router.protocol.name, edges)
        case _:
            return None
