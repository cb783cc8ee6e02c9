"""The records and filters of a campaign, and an oracle that shares no code with the product.

Publisher `p1` publishes the records 0, 1, 2, ... in this order, under the ids `p1-0`, `p1-1`, ...;
what is in a record follows from its number. A subscriber accepts one key and prices below a bound,
and the oracle compares these two numbers itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sapwood.model.publication import Publication

KEYS: Final = 8
PRICES: Final = 1000


@dataclass(frozen=True, slots=True)
class Wish:
    """The filter of a subscriber, as two numbers."""

    key: int
    below: int

    @property
    def filter(self) -> str:
        """The text of the filter."""
        return f"key = {self.key} and price < {self.below}"

    def accepts(self, number: int) -> bool:
        """True if the record of that number is accepted."""
        return key_of(number) == self.key and price_of(number) < self.below


def key_of(number: int) -> int:
    """The key in a record."""
    return number % KEYS


def price_of(number: int) -> int:
    """The price in a record."""
    return number * 7919 % PRICES


def wish(place: int) -> Wish:
    """The wish of the subscriber of that place: between three and all tenths of one key."""
    return Wish(place % KEYS, 300 + 100 * (place % 8))


def publication(publisher: str, number: int) -> Publication:
    """A publication."""
    record = {"key": key_of(number), "price": price_of(number), "fill": "x" * 64}
    return Publication(f"{publisher}-{number}", record)


def number_of(publication_id: str) -> tuple[str, int]:
    """The publisher and the number of a publication."""
    publisher, _, number = publication_id.rpartition("-")
    return publisher, int(number)
