"""Answers of a broker from its own state, at once: its journal, comparisons of its tables."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, islice
from typing import Final, TypeAlias

from sapwood.broker.explaining import explained
from sapwood.broker.keeping import no_replay
from sapwood.broker.status import Asked, status
from sapwood.errors import FrameError
from sapwood.limits.prefix import FILTERS_BYTES_MAX, FILTERS_TOLD_MAX
from sapwood.model.filter import Filter
from sapwood.routing.inputs import Compare, Input
from sapwood.routing.router import Router
from sapwood.session.client_session_at_broker import ClientSessionAtBroker
from sapwood.wire.explaining import ExplainReply, ExplainRequest
from sapwood.wire.messages import (
    CheckReply,
    CheckRequest,
    EdgeState,
    FiltersReply,
    FiltersRequest,
    ReplayRefused,
    ReplayReply,
    ReplayRequest,
)
from sapwood.wire.status import StatusReply, StatusRequest

Answer: TypeAlias = (
    ReplayReply | ReplayRefused | CheckReply | FiltersReply | StatusReply | ExplainReply
)


_OPERATORS: Final = (ReplayRequest, CheckRequest, FiltersRequest, StatusRequest, ExplainRequest)
"""Requests about the broker, and not about the client that sends them."""


def answered(
    message: object,
    broker: Asked,
    handle: Callable[[Input], object],
    client: ClientSessionAtBroker,
) -> Answer | None:
    """The answer to a message of a client; `None` for a message that is no such request.

    Raises `FrameError` for a request about the broker that the client may not send.
    """
    gate = client.gate
    if gate is not None and not gate.grant.operates and isinstance(message, _OPERATORS):
        raise FrameError("this identity may not read the broker's state, journal or filters")
    router, store = broker.router, broker.store
    match message:
        case ReplayRequest():
            return no_replay() if store is None else store.keeper.replay(message)
        case CheckRequest(compare):
            if compare:
                handle(Compare())
            found = router.compared()
            edges = None if found is None else tuple(EdgeState(*edge) for edge in found)
            return CheckReply(router.name, router.protocol.name, edges)
        case FiltersRequest(first):
            return _filters(router, first)
        case StatusRequest():
            return status(broker)
        case ExplainRequest():
            return explained(message, broker)
        case _:
            return None


def _filters(router: Router, first: int) -> FiltersReply:
    """The filters of records from a number on, as many as one reply has.

    The filters of local clients are among those sent to neighbors. A filter that comes or goes
    between two answers may be in both, or in none; the caller repeats its requests.
    """
    packed: list[bytes] = []
    texts: list[str] = []
    size, number = 0, first
    for one in islice(chain(router.received(), router.sent()), first, None):
        if size >= FILTERS_BYTES_MAX or number == first + FILTERS_TOLD_MAX:
            return FiltersReply(tuple(packed), tuple(texts), number)
        number += 1
        if isinstance(one.filter, Filter):
            if one.filter.packed is not None:
                packed.append(one.filter.packed)
                size += len(packed[-1])
            else:
                texts.append(str(one.filter))
                size += 4 * len(texts[-1])
    return FiltersReply(tuple(packed), tuple(texts))
