"""What routers say to each other, as messages of a link and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Raw

from sapwood.errors import FrameError, InputError
from sapwood.model.publication import Publication
from sapwood.overlay.spanning import SpanningTree
from sapwood.routing import messages as routing
from sapwood.wire.interests import from_text, promise_from_text, promise_to_text, to_text
from sapwood.wire.messages import (
    LinkAdvertise,
    LinkAnnounce,
    LinkCarry,
    LinkConfirm,
    LinkConfirmAdvertisement,
    LinkConfirmUpdate,
    LinkJoin,
    LinkLeave,
    LinkNeighbors,
    LinkOnTree,
    LinkPublish,
    LinkReady,
    LinkReplace,
    LinkSubscribe,
    LinkTreeNews,
    LinkUnadvertise,
    LinkUnsubscribe,
    LinkUpdate,
    MeshLinkMessage,
    TreeLinkMessage,
)
from sapwood.wire.publications import EncodedPublications, decode_publication
from sapwood.wire.updates import Parts, to_parts

RoutingMessage: TypeAlias = TreeLinkMessage | MeshLinkMessage
"""The messages of a link that concern the router."""


def to_link(message: routing.Message, encoded: EncodedPublications) -> Sequence[RoutingMessage]:
    """The messages of a link that carry a router's message: one, or the parts of an update."""
    match message:
        case routing.Publish():  # the most by far
            return _to_tree(message, encoded)
        case routing.OnTree(source, life, inner):
            return [LinkOnTree(source, life, part) for part in _to_tree(inner, encoded)]
        case _:
            if isinstance(message, routing.TreeNews):
                return (_to_news(message),)
            return _to_tree(message, encoded)


def _to_news(message: routing.TreeNews) -> LinkTreeNews:
    match message:
        case routing.Neighbors(router, version, neighbors):
            return LinkNeighbors(router, *version, neighbors)
        case routing.Announce(tree, version, carrying):
            return LinkAnnounce(*version, carrying, tree.routers, tree.parents)
        case routing.Join(source, version, life):
            return LinkJoin(source, *version, life)
        case routing.Leave(source, life):
            return LinkLeave(source, life)
        case routing.Ready(source, life):
            return LinkReady(source, life)
        case routing.Carry(source, life):
            return LinkCarry(source, life)


def _to_tree(
    message: routing.TreeMessage, encoded: EncodedPublications
) -> Sequence[TreeLinkMessage]:
    match message:
        case routing.Publish(origin, hops, publication):
            return (LinkPublish(origin, hops, encoded.encoded(publication)),)
        case routing.Subscribe(key, wanted, sending):
            return (LinkSubscribe(key, to_text(wanted), sending),)
        case routing.Replace(key, wanted, sending, replaced):
            return (LinkReplace(key, to_text(wanted), sending, replaced),)
        case routing.Unsubscribe(key):
            return (LinkUnsubscribe(key),)
        case routing.Confirm(key, sending):
            return (LinkConfirm(key, sending),)
        case routing.Advertise(key, wanted, sending):
            return (LinkAdvertise(key, promise_to_text(wanted), sending),)
        case routing.Unadvertise(key):
            return (LinkUnadvertise(key),)
        case routing.ConfirmAdvertisement(key, sending):
            return (LinkConfirmAdvertisement(key, sending),)
        case routing.Update():
            return tuple(to_parts(message))
        case routing.ConfirmUpdate(sending):
            return (LinkConfirmUpdate(sending),)


class Arriving:
    """What arrives on one link, message by message, for the router.

    The bytes of publications are remembered in `encoded`.
    """

    __slots__ = ("_encoded", "_parts")

    def __init__(self, encoded: EncodedPublications) -> None:
        self._encoded = encoded
        self._parts = Parts()

    def take(self, message: RoutingMessage) -> routing.Message | None:
        """The router's message that a message of the link carries.

        `None` for a part of an update that is not its last. Raises `FrameError` for a filter, a
        publication or a tree that the neighbor should not have let pass.
        """
        try:
            match message:
                case LinkPublish():  # the most by far
                    return self._from_tree(message)
                case LinkOnTree(source, life, part):
                    inner = self._from_tree(part)
                    return None if inner is None else routing.OnTree(source, life, inner)
                case _:
                    if isinstance(message, LinkTreeNews):
                        return _from_news(message)
                    return self._from_tree(message)
        except InputError as error:
            raise FrameError(
                f"the neighbor passed on what it should have refused: {error}"
            ) from error

    def _from_tree(self, message: TreeLinkMessage) -> routing.TreeMessage | None:
        match message:
            case LinkPublish(origin, hops, body):
                return routing.Publish(origin, hops, remembered(body, self._encoded))
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
            case LinkUpdate():
                return self._parts.take(message)
            case LinkConfirmUpdate(sending):
                return routing.ConfirmUpdate(sending)


def _from_news(message: LinkTreeNews) -> routing.TreeNews:
    match message:
        case LinkNeighbors(router, incarnation, number, neighbors):
            return routing.Neighbors(router, routing.Version(incarnation, number), neighbors)
        case LinkAnnounce(incarnation, number, carrying, routers, parents):
            tree = SpanningTree(routers, parents)
            return routing.Announce(tree, routing.Version(incarnation, number), carrying)
        case LinkJoin(source, incarnation, number, life):
            return routing.Join(source, routing.Version(incarnation, number), life)
        case LinkLeave(source, life):
            return routing.Leave(source, life)
        case LinkReady(source, life):
            return routing.Ready(source, life)
        case LinkCarry(source, life):
            return routing.Carry(source, life)


def remembered(body: Raw, encoded: EncodedPublications) -> Publication:
    """The publication in these bytes, which are remembered for sending it on.

    Raises `InputError` as `decode_publication`.
    """
    publication = decode_publication(body)
    encoded.remember(publication, body)
    return publication
