"""`sapwood explain --broker`: why a publication would be delivered to a subscription, or not.

The answer describes brokers' tables as they are now: no publication is sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Final

from sapwood.asking.explaining import Explainer
from sapwood.asking.overlay import BrokersAsked, Placed
from sapwood.errors import InputError
from sapwood.language.explanation_words import explanation_members, way_lines
from sapwood.language.written import canonical
from sapwood.model.amounts import amount
from sapwood.model.explanation import shortened
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.routing.explaining.journeys import Journey
from sapwood.routing.explaining.words import hop_lines, members, told_lines
from sapwood.session.settings import ConnectionSettings
from sapwood.wire.durable import DurableState
from sapwood.wire.explaining import Search
from sapwood.wire.interests import to_text


@dataclass(frozen=True, slots=True)
class Asked:
    """A question: the subscriptions, the publication, and the broker at which it is published."""

    interest: Interest | None
    client: str
    durable: str
    publication: Publication | None
    source: str | None


@dataclass(frozen=True, slots=True)
class Answer:
    """One subscription, and the ways to it from the broker of the publisher, by number."""

    placed: Placed
    source: str
    ways: Sequence[tuple[int, Journey]]


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers of brokers about each subscription, and the reasons of missing answers."""

    asked: Asked
    brokers: tuple[str, ...]
    unreached: dict[str, str]
    is_all: bool
    each: tuple[Answer, ...]


def ask_overlay(
    brokers: Sequence[str], asked: Asked, settings: ConnectionSettings, *, follow: bool
) -> Answers:
    """Ask brokers at their addresses. Raises as `answers`."""
    connect = partial(Explainer, settings=settings)
    with BrokersAsked(brokers, connect, follow=follow) as overlay:
        return answers(overlay, asked)


def answers(overlay: BrokersAsked, asked: Asked) -> Answers:
    """The answers of brokers. Raises `InputError` where none of them has such a subscription."""
    text = None if asked.interest is None else to_text(asked.interest)
    found, is_all = overlay.search(Search(text, asked.client, asked.durable))
    if not found:
        named = ", ".join(overlay.replies)
        raise InputError(
            f"no client of {named} has such a subscription: ask the broker at which its client "
            "is, for the filter as the client gave it, its --client or its --durable name"
        )
    source = asked.source or next(iter(overlay.replies))
    each = tuple(_answer(overlay, one, source, asked.publication) for one in found)
    return Answers(asked, tuple(overlay.replies), dict(overlay.unreached), is_all, each)


def _answer(
    overlay: BrokersAsked, placed: Placed, source: str, publication: Publication | None
) -> Answer:
    ways = overlay.ways(source, placed.broker)
    followed = ((way, overlay.journey(path, placed, publication, way)) for way, path in ways)
    return Answer(placed, source, tuple(followed))


def overlay_text(found: Answers) -> str:
    """The answer for people."""
    lines: list[str] = []
    for answer in found.each:
        lines += subscription_lines(answer, found.asked)
    if not found.is_all:
        lines.append("there may be more such subscriptions: name the client with --client")
    lines += [f"not asked: {address}: {why}" for address, why in found.unreached.items()]
    return "\n".join(lines)


def overlay_members(found: Answers) -> dict[str, object]:
    """The answer for programs."""
    return {
        "brokers": found.brokers,
        "unreached": found.unreached,
        "all": found.is_all,
        "subscriptions": [_members(answer) for answer in found.each],
    }


def _members(answer: Answer) -> dict[str, object]:
    one = answer.placed.found
    match = next((way.match for _, way in answer.ways if way.match is not None), None)
    return {
        "broker": answer.placed.broker,
        "client": one.client,
        "id": one.id,
        "filter": str(one.filter),
        "in_force": one.in_force,
        "connected": one.is_connected,
        "allowed": None if one.allowed is None else str(one.allowed),
        "mailbox": None if one.durable is None else _mailbox_members(one.durable),
        "match": None if match is None else explanation_members(match),
        "source": answer.source,
        "ways": [{"way": way, **members(journey)} for way, journey in answer.ways],
    }


def _mailbox_members(state: DurableState) -> dict[str, object]:
    return {
        "name": state.name,
        "waiting": state.waiting,
        "bytes": state.bytes,
        "count_max": state.policy.count_max,
        "bytes_max": state.policy.bytes_max,
        "overflow": state.policy.overflow,
        "dropped": state.dropped,
        "full": is_full(state),
    }


def subscription_lines(answer: Answer, asked: Asked) -> list[str]:
    """The answer about one subscription, for people."""
    one, publication = answer.placed.found, asked.publication
    state = one.durable
    named = f"{one.id} of client {one.client}"
    if state is not None:
        named = f"of durable {state.name}" if state.name else "since a place in the journal"
    lines = [f"subscription {named} at {answer.placed.broker}: {shortened(str(one.filter))}"]
    if not one.in_force:
        lines.append("  it is not in force yet: not every broker has confirmed it")
    if not one.is_connected:
        lines.append("  its client is not connected" if state is None else "  nobody consumes it")
    lines += _grant_lines(answer, asked)
    if state is not None:
        lines += _mailbox_lines(state)
    if publication is not None:
        delivered = any(journey.delivered for _, journey in answer.ways)
        verb = "would come to it" if delivered else "would not come to it"
        lines.append(f"publication {publication.id} from {answer.source} {verb}")
        match = next((way.match for _, way in answer.ways if way.match is not None), None)
        lines += [] if match is None else way_lines(match)
    if not answer.ways:
        lines.append(f"no way is known from {answer.source} to {answer.placed.broker}")
    for way, journey in answer.ways:
        number = f" {way + 1}" if len(answer.ways) > 1 else ""
        lines.append(f"way{number}: {' > '.join(journey.path)}")
        lines += told_lines(journey) if publication is None else hop_lines(journey)
    return lines


def _grant_lines(answer: Answer, asked: Asked) -> list[str]:
    """Lines about the part of the filter, or the publication, that a grant excludes."""
    one, publication = answer.placed.found, asked.publication
    if one.allowed is None:
        return []
    seen = shortened(str(one.allowed))
    if publication is not None and publication.attributes is not None:
        if not one.allowed.matches(publication):
            return [f"  a grant cuts it: its client may see only {seen}"]
        return []
    is_cut = asked.interest is not None and canonical(asked.interest) != canonical(one.filter)
    return [f"  a grant has narrowed it: its client may see only {seen}"] if is_cut else []


_FULL: Final[Mapping[str | None, str]] = MappingProxyType(
    {
        "oldest": "the oldest makes room for the next",
        "newest": "the next is not taken",
        None: "the next is one too many",
    }
)


def _mailbox_lines(state: DurableState) -> list[str]:
    policy = state.policy
    waiting = f"{state.waiting:,} of {policy.count_max:,} publications"
    size = f"{state.bytes:,} of {policy.bytes_max:,} bytes"
    full = f", and it is full: {_FULL[policy.overflow]}" if is_full(state) else ""
    lines = [f"  in its mailbox are {waiting}, {size}{full}"]
    if state.dropped:
        lines.append(f"  its bounds have let go {amount(state.dropped, 'publication')} so far")
    return lines


def is_full(state: DurableState) -> bool:
    """True if the next publication exceeds the bounds of a mailbox."""
    counts = ((state.waiting, state.policy.count_max), (state.bytes, state.policy.bytes_max))
    return any(bound is not None and size >= bound for size, bound in counts)
