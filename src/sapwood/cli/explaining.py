"""`sapwood simulate --explain`: the course of one publication towards one subscription."""

from __future__ import annotations

from sapwood.language.explanation_words import explanation_lines, explanation_members
from sapwood.model.amounts import amount
from sapwood.routing.explaining.words import hop_lines, members
from sapwood.simulation.explaining import Explained, Passage


def explained_text(found: Explained) -> str:
    """The explanation for people."""
    name = found.subscription
    who = f"subscription {name.id} of {name.client} at {name.home}"
    what = f"publication {found.publication} from {found.source}"
    if found.delivered > 1:
        lines = [f"{what} came to {who}, {amount(found.delivered, 'time')}"]
    else:
        lines = [f"{what} {'came' if found.delivered else 'did not come'} to {who}"]
    lines += explanation_lines(found.match)
    if not found.sent:
        return "\n".join((*lines, f"it was not sent: {found.source} was down, or gone"))
    if found.refused is not None:
        return "\n".join((*lines, f"it was refused: {found.refused}"))
    if not found.passages:
        lines.append(f"no way led from {found.source} to {name.home} when it was published")
    for number, passage in enumerate(found.passages, 1):
        journey = passage.journey
        path = " > ".join(journey.path)
        lines.append(f"way {number}: {path}" if len(found.passages) > 1 else f"way: {path}")
        lines += hop_lines(journey, found.names.get)
        lines += _observed(passage, found)
    return "\n".join(lines)


def explained_members(found: Explained) -> dict[str, object]:
    """The explanation for programs."""
    return {
        "publication": found.publication,
        "subscription": found.subscription._asdict(),
        "source": found.source,
        "sent": found.sent,
        "refused": found.refused,
        "delivered": found.delivered,
        "match": explanation_members(found.match),
        "ways": [
            {**members(one.journey), "arrived": one.arrived, "ended": one.ended}
            for one in found.passages
        ],
    }


def _observed(passage: Passage, found: Explained) -> list[str]:
    """The differences between what happened and what the tables predict, in words."""
    journey, ended = passage.journey, passage.ended
    if ended == journey.ended:
        if journey.delivered and not found.delivered:
            return [f"  it came to {ended}, and the subscriber did not get it"]
        return []
    place = journey.path.index(ended)
    if place < journey.path.index(journey.ended):
        return [f"  it was lost between {ended} and {journey.path[place + 1]}"]
    return [f"  it came as far as {ended} all the same, by what earlier routers had found"]
