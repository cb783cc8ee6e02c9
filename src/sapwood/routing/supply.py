"""Which subscriptions of a router's clients somebody advertises for (XSiena's `cancel`).

Where a protocol routes by advertisements every router knows all of them, or those that cover all,
so the home router can tell: a subscription is *supplied* iff some advertisement that the router
knows, of its own clients or over a link, intersects it. On many trees it knows of each source what
that one advertises on its own (`TreeSides`). XSiena cancels one that is not, towards its
application (2.6); here the client hears so, keeps the subscription, and hears as well when somebody
advertises again.

What is said is said once: a client takes a subscription for supplied until it hears otherwise, of
one that comes into force before that is confirmed to it. One that it states again, as it has
connected again, is said to be unsupplied again.

`intersects` is asked of advertisements, one by one, when a subscription comes into force, until one
says yes, the one that did so last being the first; of each unsupplied subscription when an
advertisement comes; and when one goes, as in the beginning, for each subscription that it supplied.
It errs only by saying yes, so a client may hear nothing where it could, and nothing that is wrong.

An example, subscriptions (ann, s) `x > 5` and (ann, t) `y = 1`, and what is there after each step:

    step                     _reasons                        _supplied by advertisement   said
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
"""What a client has subscribed to under an id."""


class SupplyWatch:
    """Follows the advertisements of a router, and the answers to its clients.

    `filter_of` says what a client has subscribed to.

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
        #: what advertisements have done since `said` was called
        self._came: dict[str, AdvertisedContent] = {}
        self._went: list[str] = []

    # Advertisements ----------------------------------------------------------------------------

    def add_side(self, side: str) -> None:
        """A neighbor is there, from which nothing has come."""
        self._sides[side] = {}

    def remove_side(self, side: str) -> None:
        """A neighbor is gone, with all that came from there."""
        for key in tuple(self._sides[side]):
            self.forgot(side, key)
        del self._sides[side]

    def learned(self, side: str, key: str, filter: AdvertisedContent) -> None:
        """An advertisement came from a side."""
        self._sides[side][key] = self._came[key] = filter

    def learned_many(self, side: str, entries: Sequence[tuple[str, AdvertisedContent]]) -> None:
        """Several came."""
        for key, filter_ in entries:
            self.learned(side, key, filter_)

    def forgot(self, side: str, key: str) -> None:
        """An advertisement of a side is there no longer."""
        del self._sides[side][key]
        if self._came.pop(key, None) is None:
            self._went.append(key)

    # Subscriptions -----------------------------------------------------------------------------

    def changing(self, client: str, wanted: Iterable[tuple[str, Interest]]) -> Iterator[Effect]:
        """A client subscribes: of those that it has with another filter all counts as supplied."""
        reasons, present = self._reasons.get(client, {}), self._filter_of
        some = [id_ for id_, new in wanted if id_ in reasons and present(client, id_) != new]
        unsupplied = [id_ for id_ in some if reasons[id_] is None]
        self._drop(client, some)
        yield from _of(client, unsupplied, is_there=True)

    def left(self, client: str) -> None:
        """A client has gone, with all that it had."""
        self._drop(client, tuple(self._reasons.get(client, ())))
        self._reasons.pop(client, None)

    def take(self, client: str, ids: Iterable[str]) -> list[str]:
        """Subscriptions of a client are in force; those that nobody advertises for."""
        unsupplied = []
        reasons = self._reasons.setdefault(client, {})
        for id_ in ids:
            if id_ not in reasons:
                self._settle(client, id_, self._find(self._filter_of(client, id_)))
            if reasons[id_] is None:
                unsupplied.append(id_)
        return unsupplied

    def said(self, effects: Sequence[Effect]) -> list[Effect]:
        """What clients are told, with what comes of an input beside it, in its place."""
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
        """What has another answer since advertisements have come and gone."""
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
        """The key of an advertisement that intersects a filter."""
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
        """Check what is kept against the advertisements of each side, and by the rule."""
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
    """The advertisements on one of many trees, for a watch that follows those on all of them.

    Their keys differ from tree to tree. The sides of the tree that a router calls 7 are
    `7:` of its own clients, and `7:r2` of the neighbor r2.
    """

    __slots__ = ("_sides", "_tree", "_watch")

    def __init__(self, watch: SupplyWatch, tree: int) -> None:
        self._watch = watch
        self._tree = tree
        self._sides: dict[str, str] = {}
        self.add_side(CLIENTS)

    def add_side(self, side: str) -> None:
        """A neighbor is there, from which nothing has come."""
        self._sides[side] = side_of(self._tree, side)
        self._watch.add_side(self._sides[side])

    def remove_side(self, side: str) -> None:
        """A neighbor is gone, with all that came from there."""
        self._watch.remove_side(self._sides.pop(side))

    def learned(self, side: str, key: str, filter: AdvertisedContent) -> None:
        """An advertisement came from a side."""
        self._watch.learned(self._sides[side], key, filter)

    def learned_many(self, side: str, entries: Sequence[tuple[str, AdvertisedContent]]) -> None:
        """Several came."""
        self._watch.learned_many(self._sides[side], entries)

    def forgot(self, side: str, key: str) -> None:
        """An advertisement of a side is there no longer."""
        self._watch.forgot(self._sides[side], key)

    def end(self) -> None:
        """The tree is no more."""
        for side in tuple(self._sides):
            self.remove_side(side)


def side_of(tree: int, side: str) -> str:
    """The side of a watch that a side of one of many trees is."""
    return f"{tree}:{side}"


def _of(client: str, ids: Sequence[str], *, is_there: bool) -> Iterator[Effect]:
    if ids:
        yield Supply(client, tuple(ids), is_there)
