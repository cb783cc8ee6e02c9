"""Explanations why a publication matches a subscription or does not, in words and as JSON."""

from __future__ import annotations

from typing import Final

from sapwood.model.amounts import amount
from sapwood.model.explanation import Explanation, Way

WAYS_SHOWN_MAX: Final = 8
"""Conjunctions that are shown, the closest first; --json has all."""


def explanation_lines(found: Explanation) -> list[str]:
    """The outcome, and the conjunctions that hold or the reasons why none does, for people."""
    verb = "matches" if found.matches else "does not match"
    lines = [f"the publication {verb} the subscription"]
    return lines + way_lines(found)


def way_lines(found: Explanation) -> list[str]:
    """The conjunctions that hold, or the reasons why none does, for people."""
    lines = [] if found.note is None else [found.note]
    shown = found.ways[:WAYS_SHOWN_MAX]
    for way in shown:
        lines += _way(way)
    if len(found.ways) > len(shown):
        more = amount(len(found.ways) - len(shown), "conjunction")
        lines.append(f"{more} more, none of which holds; --json lists them")
    return lines


def explanation_members(found: Explanation) -> dict[str, object]:
    """The explanation as members of a JSON object, for programs."""
    return {"matches": found.matches, "note": found.note, "ways": found.ways}


def _way(way: Way) -> list[str]:
    if not way.failures:
        return [f"  holds: {way.text}"]
    lines = [f"  fails: {way.text}"]
    for failure in way.failures:
        place = "" if failure.place is None else f" at {failure.place}"
        lines.append(f"    {failure.predicate}{place}: {failure.found}")
    return lines
