"""The last publication for each value of a key, among those in a journal.

Worked example, by `symbol`: the journal has SAP at the places 3 and 8, IBM at 5, and one without a
symbol at 6. While it is scanned, 3 is kept, then 5, then 8 replaces 3; 6 is never kept. At the end
of the journal, 5 and 8 are passed on, in this order, and from then on every publication as it
comes.
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
"""The length of a key's digest; keys may have long texts. Collisions are not to be expected."""


class LastValues:
    """The last publication found for each key; its memory is bounded."""

    __slots__ = ("_found", "by")

    def __init__(self, by: tuple[str, ...]) -> None:
        self.by = by
        self._found: dict[bytes, Arrival] = {}

    def __len__(self) -> int:
        """The number of keys."""
        return len(self._found)

    @property
    def are_too_many(self) -> bool:
        """True if there are more keys than the limit."""
        return len(self._found) > LAST_VALUES_MAX

    def take(self, arrivals: Iterable[Arrival]) -> None:
        """Take in publications that follow all earlier ones; one without keys is ignored."""
        for arrival in arrivals:
            for key in arrival.keys:
                self._found[key] = arrival

    def take_all(self) -> list[Arrival]:
        """Remove and return the last publications, by place."""
        found, self._found = self._found, {}
        return sorted({*found.values()})


def keys_of(record: Record, by: tuple[str, ...]) -> tuple[bytes, ...]:
    """The keys of a record: equal where all the attributes are; none where one of them is absent.

    As in filters, 1 and 1.0 are equal, and 1 and true are not. Where attributes have several values
    the record has a key for each choice of values, and its publication is the last one of each. A
    record with more than `RECORD_ROWS_MAX` choices has a single key, of all its values: earlier
    publications then stay under their own keys, so that more are delivered than necessary, and none
    is lost.
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
