"""What routers say to each other, as messages of a link and back."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Raw

from sapwood.errors import FrameError, InputError, InvariantError
from sapwood.model.publication import Publication
from sapwood.routing import messages as routing
from sapwood.wire.interests import from_text, promise_from_text, promise_to_text, to_text
from sapwood.wire.messages import (
    LinkAdvertise,
    LinkConfirm,
    LinkConfirmAdvertisement,
    LinkConfirmUpdate,
    LinkPublish,
    LinkReplace,
    LinkSubscribe,
    LinkUnadvertise,
    LinkUnsubscribe,
)
from sapwood.wire.publications import EncodedPublications, decode_publication

RoutingMessage: TypeAlias = (
    LinkPublish
    | LinkSubscribe
    | LinkReplace
    | LinkUnsubscribe
    | LinkConfirm
    | LinkAdvertise
    | LinkUnadvertise
    | LinkConfirmAdvertisement
    | LinkConfirmUpdate
)
"""The messages of a link that concern the router, but for parts of updates."""


def to_link(message: routing.Message, encoded: EncodedPublications) -> RoutingMessage:
    """The message of a link that carries a router's message."""
    match message:
        case routing.Publish(origin, hops, publication):
            return LinkPublish(origin, hops, encoded.encoded(publication))
        case routing.Subscribe(key, wanted, sending):
            return LinkSubscribe(key, to_text(wanted), sending)
        case routing.Replace(key, wanted, sending, replaced):
            return LinkReplace(key, to_text(wanted), sending, replaced)
        case routing.Unsubscribe(key):
            return LinkUnsubscribe(key)
        case routing.Confirm(key, sending):
            return LinkConfirm(key, sending)
        case routing.Advertise(key, wanted, sending):
            return LinkAdvertise(key, promise_to_text(wanted), sending)
        case routing.Unadvertise(key):
            return LinkUnadvertise(key)
        case routing.ConfirmAdvertisement(key, sending):
            return LinkConfirmAdvertisement(key, sending)
        case routing.Update():
            raise InvariantError("an update is sent in parts: see `updates`")
        case routing.ConfirmUpdate(sending):
            return LinkConfirmUpdate(sending)


def from_link(message: RoutingMessage, encoded: EncodedPublications) -> routing.Message:
    """The router's message that a message of a link carries.

    The bytes of a publication are remembered in `encoded`. Raises `FrameError` for a filter or a
    publication that the neighbor should not have let pass.
    """
    try:
        match message:
            case LinkPublish(origin, hops, body):
                publication = remembered(body, encoded)
                return routing.Publish(origin, hops, publication)
            case LinkSubscribe(key, text, sending):
                return routing.Subscribe(key, from_text(text), sending)
            case LinkReplace(key, text, sending, replaced):
                return routing.Replace(key, from_text(text), sending, replaced)
            case LinkUnsubscribe(key):
                return routing.Unsubscribe(key)
            case LinkConfirm(key, sending):
                return routing.Confirm(key, sending)
            case LinkAdvertise(key, text, sending):
                return routing.Advertise(key, promise_from_text(text), sending)
            case LinkUnadvertise(key):
                return routing.Unadvertise(key)
            case LinkConfirmAdvertisement(key, sending):
                return routing.ConfirmAdvertisement(key, sending)
            case LinkConfirmUpdate(sending):
                return routing.ConfirmUpdate(sending)
    except InputError as error:
        raise FrameError(f"the neighbor passed on what it should have refused: {error}") from error
    raise InvariantError(f"no message of a router: {message!r}")


def remembered(body: Raw, encoded: EncodedPublications) -> Publication:
    """The publication in these bytes, which are remembered for sending it on.

    Raises `InputError` as `decode_publication`.
    """
    publication = decode_publication(body)
    encoded.remember(publication, body)
    return publication
