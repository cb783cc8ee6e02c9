"""The entries that a client requests, with the calls that wait for the broker's answers."""

from __future__ import annotations

from collections.abc import Callable

from sapwood.client.requests import Requesting, RequestingMany, Requests
from sapwood.client.subscription import Deliveries
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.session.client_session import ClientSession
from sapwood.wire.interests import AdvertisedText, InterestText


def subscription_requests(
    session: ClientSession, flush: Callable[[], None]
) -> Requests[InterestText, Deliveries]:
    """The subscriptions of a session; `flush` sends the session's output."""
    subscribing: Requesting[InterestText, Deliveries] = Requesting(
        session.subscribe,
        session.unsubscribe,
        flush,
        ended=Deliveries.end,
        many=RequestingMany(session.hold, session.subscribe_many, session.unsubscribe_many),
        change=session.change,
    )
    return Requests(session.subscriptions, subscribing)


def advertisement_requests(
    session: ClientSession, flush: Callable[[], None]
) -> Requests[AdvertisedText, AdvertisedContent]:
    """The advertisements of a session; `flush` sends the session's output."""
    advertising: Requesting[AdvertisedText, AdvertisedContent] = Requesting(
        session.advertise, session.unadvertise, flush, ended=lambda _one, _error: None
    )
    return Requests(session.advertisements, advertising)
