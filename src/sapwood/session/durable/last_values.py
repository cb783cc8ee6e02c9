"""The last publication for each value of a key, of what a journal holds.

Worked example, by `symbol`: the journal has SAP at the places 3 and 8, IBM at 5, and one without a
symbol at 6. While it is looked at, 3 is kept, then 5, then 8 in the place of 3; 6 never is. When
all is looked at, 5 and 8 are handed on, in this order, and from then on everything as it comes.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Final

from sapwood.limits.durable import LAST_VALUES_MAX
from sapwood.model.numbers import canonical_number
from sapwood.model.publication import Record
from sapwood.session.durable.catching_up import Arrival

_DIGEST_BYTES: Final = 16
"""Of a key, whose texts may be long. Two keys of one digest are not to be expected."""


class LastValues:
    """What was found last for each key; its memory is bounded."""

    __slots__ = ("_found", "by")

    def __init__(self, by: tuple[str, ...]) -> None:
        self.by = by
        self._found: dict[bytes, Arrival] = {}

    def __len__(self) -> int:
        """How many keys there are."""
        return len(self._found)

    @property
    def are_too_many(self) -> bool:
        """Whether there are more keys than there may be."""
        return len(self._found) > LAST_VALUES_MAX

    def take(self, arrivals: Iterable[Arrival]) -> None:
        """Publications with keys were found behind all others; one without a key has no value."""
        for arrival in arrivals:
            if arrival.key is not None:
                self._found[arrival.key] = arrival

    def take_all(self) -> list[Arrival]:
        """The last ones, by place; nothing is kept of them."""
        found, self._found = self._found, {}
        return sorted(found.values())


def key_of(record: Record, by: tuple[str, ...]) -> bytes | None:
    """What is equal where all of some attributes are; `None` where one of them is absent.

    As in filters, 1 and 1.0 are equal, and 1 and true are not.
    """
    values = [record.get(name) for name in by]
    if None in values:
        return None
    plain = [canonical_number(one) if isinstance(one, float) else one for one in values]
    return blake2b(repr(plain).encode("utf-8"), digest_size=_DIGEST_BYTES).digest()
