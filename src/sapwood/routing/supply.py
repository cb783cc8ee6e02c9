"""The subscriptions of a router's clients that have an advertisement (XSiena's `cancel`).

Where a protocol routes by advertisements every router has all of them, or those that cover all, so
the home router can decide: a subscription is *supplied* iff an advertisement at the router, of its
own clients or received over a link, intersects it. On many trees it has the advertisements of each
source on their own (`TreeSides`). XSiena cancels an unsupplied subscription, towards its
application (2.6); here the client is notified, keeps the subscription, and is notified again when a
client advertises for it.

Each change is reported once: a client takes a subscription for supplied until it is notified
otherwise; of one that comes into force unsupplied it is notified before the confirmation. If the
client repeats the request, as it does after it has connected again, it is notified again that the
subscription is unsupplied.

`intersects` is computed with advertisements, one by one, when a subscription comes into force,
until one is true; the advertisement of the last success comes first. It is computed with each
unsupplied subscription when an advertisement comes; and when one goes, as in the beginning, for
each subscription that it supplied. It errs only by being true, so a client may miss a notification,
but gets no wrong one.

An example, subscriptions (ann, s) `x > 5` and (ann, t) `y = 1`, and what is there after each step:

    step                     _reasons                        _supplied by advertisement   sent
    s in force               ann: {s: None}                                               s: no
    b.0.1 is learned, x > 7  ann: {s: b.0.1}                 b.0.1: {(ann, s)}            s: yes
    t in force               ann: {s: b.0.1, t: None}        b.0.1: {(ann, s)}            t: no
    b.0.1 is forgotten       ann: {s: None, t: None}                                      s: no
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from sapwood.errors import InvariantError
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest
from sapwood.routing.effects import Effect, Subscribed, SubscribedMany, Supply, Unsubscribed
from sapwood.routing.effects import UnsubscribedMany as Withdrawn
from sapwood.routing.tables import CLIENTS

FilterOf: TypeAlias = Callable[[str, str], Interest]
"""Returns the filter of a client's subscription, given the client and the id."""


class SupplyWatch:
    """Follows the advertisements of a router, and the answers to its clients.

    `filter_of` returns the filter of a client's subscription.

    #: _reasons[c][i] is the advertisement that supplies it, None where none does; c's in force
    #: _supplied[a] has exactly the subscriptions whose reason is a
    #: _unsupplied has exactly those without one
    """

    __slots__ = (
        "_came",
        "_filter_of",
        "_last",
        "_reasons",
        "_sides",
        "_supplied",
        "_unsupplied",
        "_went",
    )

    def __init__(self, filter_of: FilterOf) -> None:
        self._filter_of = filter_of
        #: the advertisements of each side
        self._sides: dict[str, dict[str, AdvertisedContent]] = {CLIENTS: {}}
        self._reasons: dict[str, dict[str, str | None]] = {}
        self._supplied: dict[str, dict[tuple[str, str], None]] = {}
        self._unsupplied: dict[tuple[str, str], None] = {}
        #: the advertisement that was found last
        self._last: tuple[str, str] | None = None
        #: the advertisements that came and went since `said` was called
        self._came: dict[str, AdvertisedContent] = {}
        self._went: list[str] = []

    # Advertisements ----------------------------------------------------------------------------

    def add_side(self, side: str) -> None:
        """Add a neighbor, from which nothing has come."""
        self._sides[side] = {}

    def remove_side(self, side: str) -> None:
        """Remove a neighbor, with all advertisements received from it."""
        for key in tuple(self._sides[side]):
            self.forgot(side, key)
        del self._sides[side]

    def learned(self, side: str, key: str, filter: AdvertisedContent) -> None:
        """Add an advertisement to a side."""
        self._sides[side][key] = self._came[key] = filter

    def learned_many(self, side: str, entries: Sequence[tuple[str, AdvertisedContent]]) -> None:
        """Add several advertisements to a side."""
        for key, filter_ in entries:
            self.learned(side, key, filter_)

    def forgot(self, side: str, key: str) -> None:
        """Remove an advertisement of a side."""
        del self._sides[side][key]
        if self._came.pop(key, None) is None:
            self._went.append(key)

    # Subscriptions -----------------------------------------------------------------------------

    def changing(self, client: str, wanted: Iterable[tuple[str, Interest]]) -> Iterator[Effect]:
        """Report as supplied the unsupplied subscriptions whose filter a client changes."""
        reasons, present = self._reasons.get(client, {}), self._filter_of
        some = [id_ for id_, new in wanted if id_ in reasons and present(client, id_) != new]
        unsupplied = [id_ for id_ in some if reasons[id_] is None]
        self._drop(client, some)
        yield from _of(client, unsupplied, is_there=True)

    def left(self, client: str) -> None:
        """Forget a client that has gone, with all its subscriptions."""
        self._drop(client, tuple(self._reasons.get(client, ())))
        self._reasons.pop(client, None)

    def take(self, client: str, ids: Iterable[str]) -> list[str]:
        """Enter subscriptions of a client that are in force; returns the unsupplied ones."""
        unsupplied = []
        reasons = self._reasons.setdefault(client, {})
        for id_ in ids:
            if id_ not in reasons:
                self._settle(client, id_, self._find(self._filter_of(client, id_)))
            if reasons[id_] is None:
                unsupplied.append(id_)
        return unsupplied

    def said(self, effects: Sequence[Effect]) -> list[Effect]:
        """The effects of an input, with the notifications of clients in their places among them."""
        told: list[Effect] = []
        for effect in effects:
            match effect:
                case Subscribed(client, id_):
                    told.extend(_of(client, self.take(client, (id_,)), is_there=False))
                case SubscribedMany(client, ids):
                    told.extend(_of(client, self.take(client, ids), is_there=False))
                case Unsubscribed(client, id_):
                    self._drop(client, (id_,))
                case Withdrawn(client, ids):
                    self._drop(client, ids)
                case _:
                    pass
            told.append(effect)
        return [*told, *self._changed()]

    def _changed(self) -> Iterator[Effect]:
        """Report the subscriptions whose supply has changed since advertisements came and went."""
        found: dict[tuple[str, str], bool] = {}
        went, self._went = self._went, []
        came, self._came = self._came, {}
        for key in went:
            for client, id_ in self._supplied.pop(key, ()):
                reason = self._find(self._filter_of(client, id_))
                self._settle(client, id_, reason)
                if reason is None:
                    found[client, id_] = False
        for key, filter_ in came.items():
            for client, id_ in tuple(self._unsupplied):
                if filter_.intersects(self._filter_of(client, id_)):
                    self._settle(client, id_, key)
                    found[client, id_] = True  # or else it would have been found above
        for is_there in (False, True):
            ids: dict[str, list[str]] = {}
            for (client, id_), now in found.items():
                if now is is_there:
                    ids.setdefault(client, []).append(id_)
            for client, some in ids.items():
                yield from _of(client, some, is_there=is_there)

    def _find(self, wanted: Interest) -> str | None:
        """The key of an advertisement that intersects a filter; `None` if there is none."""
        if self._last is not None:
            side, key = self._last
            known = self._sides.get(side, {}).get(key)
            if known is not None and known.intersects(wanted):
                return key
        for side, advertisements in self._sides.items():
            for key, filter_ in advertisements.items():
                if filter_.intersects(wanted):
                    self._last = side, key
                    return key
        return None

    def _settle(self, client: str, id_: str, reason: str | None) -> None:
        self._reasons[client][id_] = reason
        if reason is None:
            self._unsupplied[client, id_] = None
        else:
            self._unsupplied.pop((client, id_), None)
            self._supplied.setdefault(reason, {})[client, id_] = None

    def _drop(self, client: str, ids: Iterable[str]) -> None:
        reasons = self._reasons.get(client, {})
        for id_ in ids:
            if id_ not in reasons:
                continue
            reason = reasons.pop(id_)
            if reason is None:
                del self._unsupplied[client, id_]
            else:
                some = self._supplied.get(reason, {})
                some.pop((client, id_), None)
                if not some:
                    self._supplied.pop(reason, None)

    def validate(self, sides: Mapping[str, Mapping[str, AdvertisedContent]]) -> None:
        """Check the tables against the advertisements of each side, and by the rule."""
        if self._sides != sides or self._came or self._went:
            raise InvariantError("other advertisements were followed than are there")
        keys = {key for advertisements in sides.values() for key in advertisements}
        supplied: dict[str, dict[tuple[str, str], None]] = {}
        unsupplied: dict[tuple[str, str], None] = {}
        for client, reasons in self._reasons.items():
            for id_, reason in reasons.items():
                wanted = self._filter_of(client, id_)
                is_there = any(
                    one.intersects(wanted) for some in sides.values() for one in some.values()
                )
                if is_there is not (reason in keys):
                    raise InvariantError(f"{id_} of {client} is taken for what it is not")
                if reason is None:
                    unsupplied[client, id_] = None
                else:
                    supplied.setdefault(reason, {})[client, id_] = None
        if supplied != self._supplied or unsupplied != self._unsupplied:
            raise InvariantError("what is supplied by what is not what the reasons say")


class TreeSides:
    """The advertisements on one of many trees, for a watch that follows those on all trees.

    Their keys differ from tree to tree. The sides of the tree with the number 7 at a router are
    `7:` for its own clients, and `7:r2` for the neighbor r2.
    """

    __slots__ = ("_sides", "_tree", "_watch")

    def __init__(self, watch: SupplyWatch, tree: int) -> None:
        self._watch = watch
        self._tree = tree
        self._sides: dict[str, str] = {}
        self.add_side(CLIENTS)

    def add_side(self, side: str) -> None:
        """Add a neighbor, from which nothing has come."""
        self._sides[side] = side_of(self._tree, side)
        self._watch.add_side(self._sides[side])

    def remove_side(self, side: str) -> None:
        """Remove a neighbor, with all advertisements received from it."""
        self._watch.remove_side(self._sides.pop(side))

    def learned(self, side: str, key: str, filter: AdvertisedContent) -> None:
        """Add an advertisement to a side."""
        self._watch.learned(self._sides[side], key, filter)

    def learned_many(self, side: str, entries: Sequence[tuple[str, AdvertisedContent]]) -> None:
        """Add several advertisements to a side."""
        self._watch.learned_many(self._sides[side], entries)

    def forgot(self, side: str, key: str) -> None:
        """Remove an advertisement of a side."""
        self._watch.forgot(self._sides[side], key)

    def end(self) -> None:
        """Remove the tree with all its sides."""
        for side in tuple(self._sides):
            self.remove_side(side)


def side_of(tree: int, side: str) -> str:
    """The side of a watch for a side of one of many trees."""
    return f"{tree}:{side}"


def _of(client: str, ids: Sequence[str], *, is_there: bool) -> Iterator[Effect]:
    if ids:
        yield Supply(client, tuple(ids), is_there)
