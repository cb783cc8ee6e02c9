"""The last publication for each value of a key, of what a journal holds.

Worked example, by `symbol`: the journal has SAP at the places 3 and 8, IBM at 5, and one without a
symbol at 6. While it is looked at, 3 is kept, then 5, then 8 in the place of 3; 6 never is. When
all is looked at, 5 and 8 are handed on, in this order, and from then on everything as it comes.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from itertools import product
from math import prod
from typing import Final

from sapwood.limits.arrays import RECORD_ROWS_MAX
from sapwood.limits.durable import LAST_VALUES_MAX
from sapwood.model.numbers import canonical_number
from sapwood.model.publication import Record, Value, Values
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
        """Publications with keys were found behind all others; one without keys has no value."""
        for arrival in arrivals:
            for key in arrival.keys:
                self._found[key] = arrival

    def take_all(self) -> list[Arrival]:
        """The last ones, by place; nothing is kept of them."""
        found, self._found = self._found, {}
        return sorted({*found.values()})


def keys_of(record: Record, by: tuple[str, ...]) -> tuple[bytes, ...]:
    """What is equal where all of some attributes are; nothing where one of them is absent.

    As in filters, 1 and 1.0 are equal, and 1 and true are not. Where attributes have several values
    a publication has a key for each choice of these, and is the last one of each. One with more
    than `RECORD_ROWS_MAX` has a single key, of all its values: those before it are then kept
    for theirs, so that more comes than needs to, and nothing is lost.
    """
    values: list[Value | Values | None] = [record.get(name) for name in by]
    if None in values:
        return ()
    choices = [one if isinstance(one, tuple) else (one,) for one in values]
    if prod(map(len, choices)) > RECORD_ROWS_MAX:
        return (_key([value for some in choices for value in some]),)
    return tuple(_key(chosen) for chosen in product(*choices))


def _key(values: Iterable[Value | None]) -> bytes:
    plain = [canonical_number(one) if isinstance(one, float) else one for one in values]
    return blake2b(repr(plain).encode("utf-8"), digest_size=_DIGEST_BYTES).digest()
