"""Samples of matched records: the share of records that satisfies each constraint."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
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
    """A sample of matched records, and the numbers of attributes."""

    records: Sequence[Record]
    attributes: Mapping[Attribute, int]


class Sampled(NamedTuple):
    """The ranks of the sampled records' values, sorted, one column for all attributes.

    An element is `attribute << 32 | rank`. Absent attributes have no element: `present` is the
    number of present values of each attribute.
    """

    records: int
    keys: Ints
    present: Ints  # [a]

    def accepted(self, rows: Outline, ranked: Ranked) -> Ints:
        """The number of records that satisfy each constraint of `rows`."""
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
    keys: list[int] = []
    #: attribute -> the values of all records, as keys and as bytes
    numbers = defaultdict[int, list[tuple[float, int]]](list)
    texts = defaultdict[int, list[bytes]](list)
    for attribute, value in _values(sample, count):
        if isinstance(value, bool):
            keys.append(attribute << 32 | (TRUE_RANK if value else FALSE_RANK))
        elif isinstance(value, str):
            texts[attribute].append(text_bytes(value))
        else:
            numbers[attribute].append(number_key(value))
    columns = [np.array(keys, np.int64)]
    for attribute, found in numbers.items():
        columns.append(attribute << 32 | _number_ranks(found, attribute, domains))
    for attribute, spelled in texts.items():
        columns.append(attribute << 32 | _text_ranks(spelled, attribute, domains))
    column = np.sort(np.concatenate(columns))
    return Sampled(len(sample.records), column, np.bincount(column >> 32, minlength=count))


def _values(sample: Sample, count: int) -> Iterator[tuple[int, Value]]:
    """All values, derived ones too, with the number of their attribute, below `count`."""
    for record in sample.records:
        for name, value in record.items():
            attribute = sample.attributes.get(name, count)
            if attribute < count:
                yield attribute, value
    for derived, attribute in sample.attributes.items():
        if isinstance(derived, Derived) and attribute < count:
            for record in sample.records:
                if isinstance(text := record.get(derived.attribute), str):
                    yield attribute, derived.value(text)


def _number_ranks(found: Sequence[tuple[float, int]], attribute: int, domains: Domains) -> Ints:
    """The ranks of numbers on the domain of an attribute."""
    first, last = domains.number_start[attribute : attribute + 2].tolist()
    constants, remainders = domains.numbers[first:last], domains.remainders[first:last]
    wanted = np.array([number for number, _ in found])
    if remainders.any() or any(remainder for _, remainder in found):
        pairs = list(zip(constants.tolist(), remainders.tolist(), strict=True))
        places = np.array([bisect_left(pairs, one) for one in found], np.int64)
        is_there = np.array(
            [pairs[at : at + 1] == [one] for at, one in zip(places.tolist(), found, strict=True)]
        )
    else:
        places = np.searchsorted(constants, wanted)
        is_there = places < np.searchsorted(constants, wanted, side="right")
    ranks: Ints = FIRST_NUMBER_RANK + 2 * places + is_there
    return ranks


def _text_ranks(found: Sequence[bytes], attribute: int, domains: Domains) -> Ints:
    """The ranks of texts on the domain of an attribute."""
    first, last = domains.number_start[attribute : attribute + 2].tolist()
    refs = domains.text_refs[domains.text_start[attribute] : domains.text_start[attribute + 1]]
    table = domains.texts
    spots = np.array([bisect_left(table, one) for one in found], np.int64)
    is_known = np.array(
        [
            spot < len(table) and table[spot] == one
            for spot, one in zip(spots.tolist(), found, strict=True)
        ]
    )
    places = np.searchsorted(refs, spots)
    is_there = is_known & (places < np.searchsorted(refs, spots, side="right"))
    ranks: Ints = FIRST_TEXT_RANK + 2 * (last - first) + 2 * places + is_there
    return ranks
