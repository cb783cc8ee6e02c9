"""Reasons why a neighbor has a subscription, or why not, as a propagation strategy reports them.

The answer is a chain of *reasons*. Each but the last names what stands for the subscription before
it; the last names the subscription that was propagated, or the reason why none was.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, TypeAlias

from msgspec import Struct

from sapwood.model.interest import Interest


class Treatment(StrEnum):
    """The treatment of a subscription by a strategy on one link."""

    ITSELF = "itself"
    """The subscription itself was propagated."""
    EQUAL = "equal"
    """Another subscription with an equal filter stands for it."""
    COVERED = "covered"
    """Another subscription whose filter covers it stands for it."""
    MERGED = "merged"
    """A merger, whose filter was made of several, stands for it."""
    UNWANTED = "unwanted"
    """No advertisement that came over the link intersects it."""
    WAITING = "waiting"
    """The link has come up, and the subscription is still in its backlog."""
    NOWHERE = "nowhere"
    """Nothing is propagated on the link: publications are flooded, or only come from elsewhere."""
    EMPTY = "empty"
    """The filter accepts nothing, so the subscription is not propagated."""


class Reason(Struct, array_like=True, frozen=True):
    """One step: the treatment, and what stands for the subscription from here on, if anything.

    `key` is empty where subscriptions travel as counts, and only the filter is sent.
    """

    how: Treatment
    key: str = ""
    filter: Interest | None = None


Reasons: TypeAlias = tuple[Reason, ...]
"""The chain from a subscription to the propagated one; never empty."""

STANDS: frozenset[Treatment] = frozenset(
    {Treatment.ITSELF, Treatment.EQUAL, Treatment.COVERED, Treatment.MERGED}
)
"""The treatments under which the neighbor has a filter that accepts all of the subscription's."""


def stood_for(key: str, representative: str, filters: Mapping[str, Any]) -> Reasons:
    """The reason where one of several subscriptions, by key, stands for another or for itself."""
    by = filters[representative]
    if representative == key:
        return (Reason(Treatment.ITSELF, key, by),)
    how = Treatment.EQUAL if filters.get(key) == by else Treatment.COVERED
    return (Reason(how, representative, by),)
