"""The wish of a stream: its subscription, and its start in the journal.

Where the broker keeps a journal, a subscription is one that begins in it, so that each delivery has
a place there, and a stream that was cut off continues behind the last one that it has seen. That is
a *mark*: the broker's name and the place, as in `hub/4711`. Where it keeps none, subscriptions are
as any client's, and publications are not delivered while a stream is cut off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from sapwood.broker.http.gateway import Visited
from sapwood.broker.http.inside import Visit
from sapwood.broker.http.refusals import STATUS_OF
from sapwood.errors import InputError
from sapwood.language import translate_filter
from sapwood.limits.durable import DURABLE_WINDOW
from sapwood.session.client_entries import EntryConfirmed, EntryRefused
from sapwood.session.client_session import ClientEvent, NeverEvent
from sapwood.session.durable.consuming import Joined, Wanted
from sapwood.session.durable.receipts import Receipts
from sapwood.session.durable.since import last_by_of, since_of
from sapwood.wire.durable import PLACE_NOW, Policy, Since, SincePlace
from sapwood.wire.interests import InterestText, XPathText
from sapwood.wire.names import check_name

_PLACE_DIGITS_MAX: Final = 19


@dataclass(frozen=True, slots=True)
class Wish:
    """A wish: a filter or an XPath, and the place in the journal at which it begins.

    `since` is as in `sapwood subscribe --since`, `mark` that of the last delivery that was seen; it
    takes precedence. Where a durable subscription is named, it may have no text, and at most
    `window` deliveries are with the consumer. With attributes `last_by`, only the last publication
    in the journal is delivered for each of their values.
    """

    text: InterestText | None
    since: str | None = None
    mark: str | None = None
    durable: str | None = None
    window: int = DURABLE_WINDOW
    last_by: tuple[str, ...] = ()

    def lastly(self, replay: str | None, by: Sequence[str]) -> Wish:
        """The same wish with last values, if they are requested. Raises `InputError`."""
        last_by = last_by_of(replay, by, is_durable=self.durable is not None)
        return replace(self, last_by=last_by) if last_by else self

    def durably(self, name: str | None, window: int) -> Wish:
        """The same wish for a durable subscription, if a name is given."""
        return self if name is None else replace(self, durable=name, window=window)


def filter_text(filter_: str | Mapping[str, Any] | None, dialect: str | None) -> str | None:
    """The text of a filter in our language, from one in a `dialect`: a text, or a JSON object.

    Raises `InputError`.
    """
    if dialect is not None and filter_ is None:
        raise InputError("a dialect is that of a filter")
    if filter_ is None or (isinstance(filter_, str) and dialect is None):
        return filter_
    if isinstance(filter_, str):
        return translate_filter(filter_, dialect)
    if dialect is None:
        raise InputError("a filter is a text; one that is an object needs a dialect: sns, say")
    return translate_filter(msgspec.json.encode(filter_).decode(), dialect)


def wish_of(
    filter_: str | None,
    xpath: str | None,
    namespaces: Mapping[str, str],
    since: str | None,
    mark: str | None,
) -> Wish:
    """The wish of these parts. Raises `InputError` where they contradict each other."""
    if (filter_ is None) == (xpath is None):
        raise InputError("give a filter for records, or an xpath for documents")
    if filter_ is not None:
        if namespaces:
            raise InputError("a filter has no namespaces")
        return Wish(filter_, since, mark)
    assert xpath is not None, "one of the two is there"
    bindings = tuple(sorted(namespaces.items())) or None
    return Wish(XPathText(xpath, bindings), since, mark)


def mark_of(broker: Visited, place: int) -> str:
    """The mark of a place in the broker's journal."""
    return f"{broker.name}/{place}"


def ask(broker: Visited, visit: Visit, id_: str, wish: Wish) -> None:
    """Subscribe, under an id that is new to the visit; the answer is among its events.

    Raises `InputError` where the broker keeps no journal, and for a mark of another one.
    """
    name = wish.durable or ""
    since = since_of(wish.since) if name else _begin(broker, wish)
    if since is None and not name:
        assert wish.text is not None, "what has no name has a text"
        visit.session.subscribe(id_, wish.text)
    else:
        if name:
            check_name("durable subscription", name)
        told = (Policy(), wish.window, Receipts())
        wanted = Wanted(name, wish.text, since, *told, last_by=wish.last_by)
        visit.session.consume(id_, wanted)
    visit.flush()


def _begin(broker: Visited, wish: Wish) -> Since | None:
    """The place in the journal at which the subscription begins; `None` without one."""
    if broker.store is None:
        if wish.since is not None or wish.mark is not None or wish.last_by:
            what = "replay" if wish.last_by else "since"
            raise InputError(
                f"broker {broker.name} keeps no journal to begin in (it has no --data); leave "
                f"{what} out, and begin anew"
            )
        return None
    if wish.mark is not None:
        name, _, place = wish.mark.rpartition("/")
        is_place = place.isascii() and place.isdigit() and len(place) <= _PLACE_DIGITS_MAX
        if name != broker.name or not is_place:
            raise InputError(
                f"{wish.mark!r} is no place in the journal of broker {broker.name}; go on at the "
                "broker where it comes from, or begin anew"
            )
        return SincePlace(int(place) + 1)
    if wish.since is not None:
        return since_of(wish.since)
    if wish.last_by:
        return SincePlace(0)
    return SincePlace(PLACE_NOW)


class SubscriptionRefusedError(InputError):
    """The broker refuses a subscription; `status` is that of the HTTP answer."""

    def __init__(self, refused: EntryRefused) -> None:
        self.status = STATUS_OF[refused.cause]
        super().__init__(refused.reason)


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A subscription is in force; `never` is the reason why no publication can match it, if so."""

    never: str | None


async def confirmed(visit: Visit, id_: str) -> tuple[Confirmed, list[ClientEvent]]:
    """The answer to a subscription, and the events behind it.

    Raises `SubscriptionRefusedError` if it is refused, and `InputError` where the visit has ended.
    """
    never: str | None = None
    while True:
        events = await visit.events()
        for at, event in enumerate(events):
            if isinstance(event, NeverEvent):
                never = event.reason
            elif isinstance(event, EntryRefused) and event.entry.id == id_:
                raise SubscriptionRefusedError(event)
            elif isinstance(event, EntryConfirmed | Joined) and event.entry.id == id_:
                return Confirmed(never), events[at + 1 :]
        if visit.ending is not None:
            raise InputError(visit.ending.reason)
