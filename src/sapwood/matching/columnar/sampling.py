"""What records that were matched say about constraints: which share of them satisfies each."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from sapwood.matching.columnar.derived import Attribute, Derived
from sapwood.matching.columnar.domains import (
    ABSENT_RANK,
    FALSE_RANK,
    FIRST_NUMBER_RANK,
    FIRST_TEXT_RANK,
    TRUE_RANK,
)
from sapwood.matching.columnar.ranking import Domains, Ranked
from sapwood.matching.columnar.rows import Ints, Outline
from sapwood.matching.keys import number_key, text_bytes
from sapwood.model.publication import Record, Value


class Sample(NamedTuple):
    """Some records that were matched, and the numbers of attributes."""

    records: Sequence[Record]
    attributes: Mapping[Attribute, int]


class Sampled(NamedTuple):
    """The ranks of some records' values, sorted, one column for all attributes.

    An element is `attribute << 32 | rank`. Absent attributes have none: `present` tells how many
    there are of each.
    """

    records: int
    keys: Ints
    present: Ints  # [a]

    def accepted(self, rows: Outline, ranked: Ranked) -> Ints:
        """How many of the records satisfy each constraint of `rows`."""
        if not len(rows.attribute):
            return np.zeros(0, np.int64)
        on = np.repeat(rows.attribute, np.diff(rows.range_start))
        first = np.searchsorted(self.keys, on << 32 | ranked.low)
        last = np.searchsorted(self.keys, on << 32 | ranked.high, side="right")
        absent = np.where(ranked.low == ABSENT_RANK, self.records - self.present[on], 0)
        return np.add.reduceat(last - first + absent, rows.range_start[:-1])


def sampled(sample: Sample, domains: Domains) -> Sampled:
    """The ranks of the values of records; attributes without a domain are left out."""
    count = len(domains.number_start) - 1
    keys = [
        attribute << 32 | _rank_of(value, attribute, domains)
        for record in sample.records
        for name, value in record.items()
        if (attribute := sample.attributes.get(name, count)) < count
    ]
    keys += [
        attribute << 32 | _rank_of(derived.value(text), attribute, domains)
        for derived, attribute in sample.attributes.items()
        if isinstance(derived, Derived) and attribute < count
        for record in sample.records
        if isinstance(text := record.get(derived.attribute), str)
    ]
    column = np.sort(np.array(keys, np.int64))
    return Sampled(len(sample.records), column, np.bincount(column >> 32, minlength=count))


def _rank_of(value: Value, attribute: int, domains: Domains) -> int:
    if isinstance(value, bool):
        return TRUE_RANK if value else FALSE_RANK
    first, last = int(domains.number_start[attribute]), int(domains.number_start[attribute + 1])
    if not isinstance(value, str):
        wanted = number_key(value)

        def number(at: int) -> tuple[float, int]:
            return float(domains.numbers[at]), int(domains.remainders[at])

        place = bisect_left(range(first, last), wanted, key=number)
        is_there = first + place < last and number(first + place) == wanted
        return FIRST_NUMBER_RANK + 2 * place + is_there
    text = text_bytes(value)
    start, stop = int(domains.text_start[attribute]), int(domains.text_start[attribute + 1])

    def constant(at: int) -> bytes:
        return domains.texts[int(domains.text_refs[at])]

    place = bisect_left(range(start, stop), text, key=constant)
    is_there = start + place < stop and constant(start + place) == text
    return FIRST_TEXT_RANK + 2 * (last - first) + 2 * place + is_there
