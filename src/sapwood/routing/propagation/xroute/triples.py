"""The elements of XRoute's messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from sapwood.model.interest import Interest


class Triple(Struct, array_like=True, frozen=True, gc=False):
    """A change of the subscriptions of the sender's side: `(S; n; r)` in the thesis.

    There are `instances` more subscriptions of exactly `filter` (fewer, if negative), and it stands
    for `hidden` more subscriptions of other filters, which it covers.
    """

    filter: Interest
    instances: int
    hidden: int


Operation: TypeAlias = Annotated[tuple[Triple, ...], Meta(min_length=1)]
"""Triples that belong together, at least one: the first is the change itself, the others, appended,
are its consequences for filters that the first one hid or would hide."""


@dataclass(frozen=True, slots=True)
class Count:
    """The counts of a filter at an interface: `(x, z)` in the thesis.

    `instances` subscriptions have exactly this filter, at least one, and it stands for `hidden`
    others.
    """

    instances: int
    hidden: int

    @property
    def total(self) -> int:
        """The number of subscriptions that are served through the filter."""
        return self.instances + self.hidden

    @property
    def is_sound(self) -> bool:
        """True if an interface may hold a filter with this count."""
        return self.instances >= 1 and self.hidden >= 0

    def plus(self, instances: int, hidden: int) -> Count:
        """The count after a change."""
        return Count(self.instances + instances, self.hidden + hidden)


NO_COUNT = Count(0, 0)
