"""Messages that state entries: their keys, their parts, and the same entries sent again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Final, cast

from sapwood.language.interests import Interests
from sapwood.limits import SUBSCRIPTIONS_AT_ONCE_MAX
from sapwood.model.interest import Interest
from sapwood.model.kept import content_of
from sapwood.routing.effects import Send
from sapwood.routing.inputs import Receive
from sapwood.routing.messages import (
    Advertise,
    Confirm,
    ConfirmAdvertisement,
    Message,
    Replace,
    Subscribe,
    SubscribeMany,
    Unadvertise,
    Unsubscribe,
    UnsubscribeMany,
)
from sapwood.routing.tables import CLIENTS, SentEntry, Table
from sapwood.routing.upkeep.stabilize.sketched import PREFIXES

_NOUNS: Final = tuple(PREFIXES)
SUBSCRIPTION, ADVERTISEMENT = _NOUNS


def _noun(name: str) -> str | None:
    """The table of an entry's name; `None` for a name of no table."""
    return next((noun for noun, prefix in PREFIXES.items() if name.startswith(prefix)), None)


def withdrawn(neighbor: str, names: Iterable[str]) -> Iterator[Receive]:
    """The inputs that withdraw entries of a neighbor."""
    for name in names:
        message = _withdrawal(name)
        if message is not None:
            yield Receive(neighbor, message)


def _withdrawal(name: str) -> Message | None:
    match _noun(name):
        case "subscription":
            return Unsubscribe(name[1:])
        case "advertisement":
            return Unadvertise(name[1:])
        case _:
            return None


def again(
    tables: Mapping[str, Table], neighbor: str, names: Iterable[str]
) -> Iterator[Subscribe | SubscribeMany | Advertise]:
    """The messages that send entries again under their names, with the numbers that they had.

    Subscriptions whose numbers follow each other go together.
    """
    wanted = frozenset(names)
    for noun, table in tables.items():
        run: list[SentEntry] = []
        for statement in table.sent_to(neighbor):
            if PREFIXES[noun] + statement.key not in wanted:
                continue
            follows = run and noun == SUBSCRIPTION and statement.sending == run[-1].sending + 1
            if run and (not follows or len(run) == SUBSCRIPTIONS_AT_ONCE_MAX):
                yield _statement(noun, run)
                run = []
            run.append(statement)
        if run:
            yield _statement(noun, run)


def _statement(noun: str, run: Sequence[SentEntry]) -> Subscribe | SubscribeMany | Advertise:
    first = run[0]
    if len(run) > 1:
        filters = tuple(cast("Interest", content_of(one.content)) for one in run)
        return SubscribeMany(tuple(one.key for one in run), Interests(filters), first.sending)
    content = content_of(first.content)
    if noun == ADVERTISEMENT:
        return Advertise(first.key, content, first.sending)
    return Subscribe(first.key, cast("Interest", content), first.sending)


def unanswered(tables: Mapping[str, Table], neighbor: str) -> Iterator[str]:
    """The names of the entries that a neighbor has yet to confirm."""
    for noun, table in tables.items():
        for key in table.unanswered(neighbor):
            yield PREFIXES[noun] + key


def as_answers(tables: Mapping[str, Table], neighbor: str) -> Iterator[Receive]:
    """The confirmations that a neighbor owes, as if they came from there."""
    for noun, table in tables.items():
        confirm = Confirm if noun == SUBSCRIPTION else ConfirmAdvertisement
        for key in tuple(table.unanswered(neighbor)):
            stated = table.stated(neighbor, key)
            if stated is not None:
                yield Receive(neighbor, confirm(key, stated.sending))


def confirmations(
    tables: Mapping[str, Table], neighbor: str, names: Iterable[str]
) -> Iterator[Send]:
    """Confirmations of the named entries that are in force; those of the others are yet to come."""
    wanted = frozenset(names)
    for noun, table in tables.items():
        for key, _, sending in table.held_from(neighbor):
            if PREFIXES[noun] + key in wanted and table.in_force(key):
                confirm = Confirm if noun == SUBSCRIPTION else ConfirmAdvertisement
                yield Send(neighbor, confirm(key, sending))


def sides_of(tables: Mapping[str, Table], message: Message, identity: str) -> dict[str, str | None]:
    """The side that each key of a message is known from already; `None` for a new key.

    The keys that a router of this `identity` gives are those of its clients, also before it has
    given them.
    """
    table, keys = tables[SUBSCRIPTION], tuple[str, ...]()
    match message:
        case Subscribe(key) | Replace(key):
            keys = (key,)
        case SubscribeMany(many):
            keys = many
        case Advertise(key):
            table, keys = tables[ADVERTISEMENT], (key,)
        case _:
            pass
    return {key: CLIENTS if _is_own(key, identity) else table.side_of(key) for key in keys}


def _is_own(key: str, identity: str) -> bool:
    """True if a key is one that a router of an identity gives to an entry, or to a merger.

    Keys of a router whose name is this identity have its number next, and another one after it.
    """
    begin = f"{identity}."
    rest = key.removeprefix(begin) if key.startswith(begin) else ""
    return rest.isdigit() or rest[:1].isalpha()


def allowed(
    sides: Mapping[str, str | None], neighbor: str, *, is_correction: bool
) -> Collection[str]:
    """The keys that a neighbor may send although they are known from a side.

    Its own ones, and in a correction those of another neighbor.
    """
    return [
        key
        for key, side in sides.items()
        if side in (None, neighbor) or (is_correction and side != CLIENTS)
    ]


def renumbered(tables: Mapping[str, Table], received: Receive) -> dict[str, Send | None]:
    """Give entries that a neighbor sends again unchanged the sequence numbers of the message.

    Returns the keys, and the confirmation of each that is in force.
    """
    message = received.message
    match message:
        case SubscribeMany(keys, filters, first):
            stated = list(zip(keys, filters.values, count(first), strict=False))
        case Subscribe(key, wanted, sending) | Advertise(key, wanted, sending):
            stated = [(key, cast("Interest", wanted), sending)]
        case _:
            return {}
    is_advertised = isinstance(message, Advertise)
    table = tables[ADVERTISEMENT if is_advertised else SUBSCRIPTION]
    confirm = ConfirmAdvertisement if is_advertised else Confirm
    found: dict[str, Send | None] = {}
    for key, wanted, sending in stated:
        known = table.held(received.neighbor, key)
        if known is None or content_of(known.content) != wanted:
            continue
        table.renumber(received.neighbor, key, sending)
        answer = Send(received.neighbor, confirm(key, sending)) if table.in_force(key) else None
        found[key] = answer
    return found


def parts(
    received: Receive, sides: Mapping[str, str | None], keys: Collection[str]
) -> Iterator[Receive]:
    """A message without the keys that are not allowed, after withdrawals of the entries replaced.

    The allowed ones of several entries are handed on one by one, with the numbers they have there.
    """
    neighbor, message = received.neighbor, received.message
    prefix = PREFIXES[ADVERTISEMENT if isinstance(message, Advertise) else SUBSCRIPTION]
    for key in keys:
        side = sides[key]
        if side is not None:
            yield from withdrawn(side, (prefix + key,))
    match message:
        case SubscribeMany(all_keys, filters, sending):
            for number, key, wanted in zip(count(sending), all_keys, filters.values, strict=False):
                if key in keys:
                    yield Receive(neighbor, Subscribe(key, wanted, number))
        case Replace(key, _, _, replaced) if key not in keys:
            yield Receive(neighbor, UnsubscribeMany(replaced))
        case Subscribe(key) | Replace(key) | Advertise(key) if key in keys:
            yield received
        case _:
            return
