"""A publication's way to a subscription in words, and as JSON: for `explain` and `simulate`."""

from __future__ import annotations

from collections.abc import Callable

from sapwood.model.amounts import amount
from sapwood.model.explanation import shortened
from sapwood.model.interest import Interest
from sapwood.routing.explaining.journeys import Because, Hop, Journey, Link, Telling
from sapwood.routing.propagation.reasons import STANDS, Treatment

Name = Callable[[str], str | None]
"""Returns the name that people use for a key; `None` where there is none."""


def nameless(key: str) -> str | None:  # noqa: ARG001
    """Return no name: only keys are known."""
    return None


def hop_lines(journey: Journey, name: Name = nameless) -> list[str]:
    """The hops up to the one where the publication ends, and the reason of its end."""
    lines: list[str] = []
    for hop in journey.hops:
        lines.append(f"  {hop.source} to {hop.target}: {_went(hop, journey, name)}")
        if not hop.goes:
            break
    if journey.standing is not None and not journey.standing.in_force:
        lines.append("  the subscription is not in force yet: not every router has confirmed it")
    is_told_why = journey.ended != journey.path[-1] and (
        journey.hops[len(journey.reached) - 1].link is not Link.UP
    )
    if journey.match is not None and journey.match.matches and not is_told_why:
        lines += untold_lines(journey, name)
    return lines


def untold_lines(journey: Journey, name: Name = nameless) -> list[str]:
    """The first place, from the subscriber on, where the subscription was not sent on, and why."""
    for telling in reversed(journey.tellings):
        if not telling.stands:
            reason = _untold(telling, journey, name)
            return [f"  {reason}"] if reason else []
    return []


def told_lines(journey: Journey, name: Name = nameless) -> list[str]:
    """The subscription that each router sent to the next one, from the subscriber on."""
    lines: list[str] = []
    for telling in reversed(journey.tellings):
        if not telling.stands:
            break
        said = _standing(telling, name)
        lines.append(f"  {telling.sender} has told {telling.receiver} of {said}")
    return lines + untold_lines(journey, name)


def members(journey: Journey) -> dict[str, object]:
    """A way as a JSON object."""
    return {
        "path": journey.path,
        "reached": journey.reached,
        "delivered": journey.delivered,
        "silent": journey.silent,
        "subscribed": journey.standing is not None,
        "in_force": journey.standing is not None and journey.standing.in_force,
        "hops": [_hop_members(hop) for hop in journey.hops],
    }


def _hop_members(hop: Hop) -> dict[str, object]:
    return {
        "from": hop.source,
        "to": hop.target,
        "link": str(hop.link),
        "goes": hop.goes,
        "because": [
            {
                "key": one.key,
                "filter": str(one.filter),
                "stands": one.stands,
                "merger": one.is_merger,
            }
            for one in hop.because
        ],
        "all": hop.is_all,
        "wanted": hop.wanted,
        "told": [
            {
                "how": str(one.how),
                "key": one.key,
                "filter": None if one.filter is None else str(one.filter),
            }
            for one in hop.telling.reasons
        ],
        "holds": hop.telling.holds,
    }


def _went(hop: Hop, journey: Journey, name: Name) -> str:
    if hop.link is Link.SILENT:
        return f"not sent, as far as can be seen: {_silence(journey, hop.source, hop.target)}"
    if hop.link is Link.DOWN:
        return "not sent: there is no link between the two"
    if not hop.goes:
        return f"not sent: nothing that {hop.target} has told {hop.source} of accepts it"
    if not hop.because:
        return "sent: publications go everywhere, whatever is wanted"
    first = next((one for one in hop.because if one.stands), hop.because[0])
    said = f"sent because of {_because(first, hop.telling, name)}"
    others = len(hop.because) - 1
    if others or not hop.is_all:
        said += f", and {amount(others, 'other') if hop.is_all else f'{others} or more others'}"
    if not hop.wanted:
        said += f"; nobody at {hop.target} or beyond wants it"
    return said


def _because(one: Because, telling: Telling, name: Name) -> str:
    if one.stands:
        return _standing(telling, name)
    if one.is_merger:
        return f"a merger of other subscriptions ({_text(one.filter)})"
    return f"{_named(one.key, one.filter, name)}, another subscription"


def _standing(telling: Telling, name: Name) -> str:
    """The subscription that a neighbor was sent, and its relation to the one in question."""
    if telling.is_own and telling.reasons[0].how is Treatment.ITSELF:
        return f"the subscription itself ({_text(telling.reasons[0].filter)})"
    subject = "it" if telling.is_own else "what stands for it"
    steps = [one for one in telling.reasons if one.how is not Treatment.ITSELF]
    if not steps:
        last = telling.reasons[-1]
        return f"{_named(last.key, last.filter, name)}, which stands for it"
    said = subject
    for one in steps:
        if one.how is Treatment.MERGED:
            said = f"a merger ({_text(one.filter)}) of {said} and others"
        else:
            relation = "is equal to" if one.how is Treatment.EQUAL else "covers"
            said = f"{_named(one.key, one.filter, name)}, which {relation} {said}"
    return said


def _silence(journey: Journey, *routers: str) -> str:
    named = " and ".join(router for router in routers if router in journey.silent)
    return f"{named} did not answer"


def _untold(telling: Telling, journey: Journey, name: Name) -> str | None:
    """The reason why a router's neighbor has no entry that stands for the subscription."""
    sender, receiver = telling.sender, telling.receiver
    if telling.link is Link.SILENT:
        return _silence(journey, sender, receiver)
    if telling.link is Link.DOWN:
        return f"there is no link between {sender} and {receiver}"
    if not telling.reasons:
        return f"there is no such subscription at {sender}" if sender == journey.path[-1] else None
    last = telling.reasons[-1]
    if last.how in STANDS:
        said = _standing(telling, name)
        return f"{sender} has told {receiver} of {said}; {receiver} does not have that (yet)"
    match last.how:
        case Treatment.UNWANTED:
            why = f"no advertisement that came from {receiver} intersects it"
        case Treatment.WAITING:
            why = "the link has come up, and others are told first"
        case Treatment.EMPTY:
            why = "it accepts nothing"
        case _:
            return None  # the protocol propagates nothing on this link
    return f"{sender} has not told {receiver} of the subscription: {why}"


def _named(key: str, filter: Interest | None, name: Name) -> str:
    known = name(key) or key
    return f"{known} ({_text(filter)})" if known else _text(filter)


def _text(filter: Interest | None) -> str:
    return "" if filter is None else shortened(str(filter))
