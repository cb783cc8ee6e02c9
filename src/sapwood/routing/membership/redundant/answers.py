"""The answers of several paths to clients: in force once on each path, others by the first path."""

from __future__ import annotations

from sapwood.routing.effects import (
    Advertised,
    Effect,
    Subscribed,
    SubscribedMany,
)
from sapwood.routing.inputs import (
    ClientInput,
    ClientSubscribe,
    ClientSubscribeMany,
    ClientUnadvertise,
    ClientUnsubscribe,
    ClientUnsubscribeMany,
    DetachClient,
)
from sapwood.routing.membership.mesh.clients import Named


class Answers:
    """The paths on which a client's subscription, or advertisement, is in force.

    #: _subscribed and _advertised have those that are in force on some paths and not on others
    """

    def __init__(self, paths: int) -> None:
        self._paths = paths
        self._subscribed: dict[Named, set[int]] = {}
        self._advertised: dict[Named, set[int]] = {}

    def asked(self, request: ClientInput) -> None:
        """Take in a client's request: a withdrawn entry is not waited for any more.

        A subscription that is repeated is answered again by each path: it may have another filter.
        """
        match request:
            case ClientSubscribe(client, id_):
                self._subscribed.pop((client, id_), None)
            case ClientSubscribeMany(client, subscriptions):
                for id_, _ in subscriptions:
                    self._subscribed.pop((client, id_), None)
            case ClientUnsubscribe(client, id_):
                self._subscribed.pop((client, id_), None)
            case ClientUnsubscribeMany(client, ids):
                for id_ in ids:
                    self._subscribed.pop((client, id_), None)
            case ClientUnadvertise(client, id_):
                self._advertised.pop((client, id_), None)
            case DetachClient(client):
                for said in (self._subscribed, self._advertised):
                    for named in [named for named in said if named[0] == client]:
                        del said[named]

    def said(self, path: int, effect: Effect) -> list[Effect]:
        """The effects for clients of one effect on a path."""
        match effect:
            case Subscribed(client, id_):
                ids: tuple[str, ...] = (id_,)
            case SubscribedMany(client, ids):
                pass
            case Advertised(client, id_):
                is_all = self._is_said(self._advertised, path, (client, id_))
                return [effect] if is_all else []
            case _:
                return [effect] if path == 0 else []
        known = [id_ for id_ in ids if self._is_said(self._subscribed, path, (client, id_))]
        if len(known) > 1:
            return [SubscribedMany(client, tuple(known))]
        return [Subscribed(client, id_) for id_ in known]

    def _is_said(self, said: dict[Named, set[int]], path: int, named: Named) -> bool:
        by = said.setdefault(named, set())
        by.add(path)
        if len(by) < self._paths:
            return False
        del said[named]
        return True
