"""How a neighbor knows of a subscription, or why it does not: what a strategy answers if asked.

The answer is a chain of *reasons*. Each but the last says what stands for the one before it; the
last says what the neighbor was told, or why it was told nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, TypeAlias

from msgspec import Struct

from sapwood.model.interest import Interest


class How(StrEnum):
    """What a strategy did with a subscription on one link."""

    ITSELF = "itself"
    """The neighbor was told of it."""
    EQUAL = "equal"
    """Another with an equal filter stands for it."""
    COVERED = "covered"
    """Another whose filter covers it stands for it."""
    MERGED = "merged"
    """A merger, whose filter was made of several, stands for it."""
    UNWANTED = "unwanted"
    """No advertisement that came over the link intersects it."""
    WAITING = "waiting"
    """The link has come up, and the neighbor is still to be told."""
    NOWHERE = "nowhere"
    """Nothing is told over the link: publications are flooded, or come from elsewhere only."""
    EMPTY = "empty"
    """It accepts nothing, so nobody is told."""


class Reason(Struct, array_like=True, frozen=True):
    """One step: what was done, and what stands for the subscription from here on, if anything.

    `key` is empty where subscriptions travel as counts, and only the filter is told.
    """

    how: How
    key: str = ""
    filter: Interest | None = None


Reasons: TypeAlias = tuple[Reason, ...]
"""The chain from a subscription to what the neighbor was told; never empty."""

STANDS: frozenset[How] = frozenset({How.ITSELF, How.EQUAL, How.COVERED, How.MERGED})
"""Where the neighbor was told of something that accepts all that the subscription accepts."""


def stood_for(key: str, representative: str, filters: Mapping[str, Any]) -> Reasons:
    """The reason where one of several subscriptions, by key, stands for another or for itself."""
    by = filters[representative]
    if representative == key:
        return (Reason(How.ITSELF, key, by),)
    how = How.EQUAL if filters.get(key) == by else How.COVERED
    return (Reason(how, representative, by),)
