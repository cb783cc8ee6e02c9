"""From values to ranks: the domains of a segment's attributes.

Ranking replaces every constant by its rank among the constants of its attribute. It makes
evaluation exact and small: a 64-bit integer, a float and a text all become a number of ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sapwood.matching.columnar.domains import (
    ABSENT_RANK,
    FALSE_RANK,
    FIRST_NUMBER_RANK,
    FIRST_TEXT_RANK,
    TRUE_RANK,
    High,
    Low,
)
from sapwood.matching.columnar.rows import Bytes, Ints, Outline, Rows

Ranks: TypeAlias = npt.NDArray[np.uint32]

_RADIX_MAX: Final = (1 << 16) - 1
"""Numbers up to here numpy sorts by radix."""


class Domains(NamedTuple):
    """The constants of `a` attributes, sorted within each attribute.

    Attribute `i` has the numbers `number_start[i]` up to `number_start[i + 1]` and the texts
    `text_start[i]` up to `text_start[i + 1]`; a text is a place in `texts`, which is sorted and
    without repetitions.
    """

    number_start: Ints  # [a + 1]
    numbers: npt.NDArray[np.float64]
    remainders: npt.NDArray[np.int16]
    text_start: Ints  # [a + 1]
    text_refs: npt.NDArray[np.uint32]
    texts: Sequence[bytes]

    def number_counts(self) -> Ints:
        """The count of numbers on each domain."""
        return np.diff(self.number_start)

    def text_counts(self) -> Ints:
        """The count of texts on each domain."""
        return np.diff(self.text_start)

    def text_ranks(self) -> Ints:
        """The first rank of a text on each domain."""
        return FIRST_TEXT_RANK + 2 * self.number_counts()

    def last_ranks(self) -> Ints:
        """The last rank of each domain."""
        return self.text_ranks() + 2 * self.text_counts()


class Ranked(NamedTuple):
    """Ranges as ranks, both ends included, and the domains that they are on."""

    domains: Domains
    low: Ranks
    high: Ranks


class RankedRows(NamedTuple):
    """Conjunctions with the ends of their ranges as ranks."""

    outline: Outline
    ranked: Ranked


class _Ends(NamedTuple):
    """The formula from codes of `domains.Low` or `domains.High` to the rank of an end.

    The rank is `base`, and two more for each number on the domain where `after_numbers` is set, for
    each text where `after_texts` is set, and for each rank where the end is at a constant.
    """

    base: Ints
    after_numbers: Ints
    after_texts: Ints
    at_number: npt.NDArray[np.bool_]
    at_text: npt.NDArray[np.bool_]


def rank(rows: Rows, attributes: int) -> Ranked:
    """The domains of the attributes `0 .. attributes - 1`, and the ranges of `rows` on them."""
    on = np.repeat(rows.attribute, np.diff(rows.range_start))
    low_ends, high_ends = _low_ends(), _high_ends()
    low_number, high_number = low_ends.at_number[rows.low], high_ends.at_number[rows.high]
    low_text, high_text = low_ends.at_text[rows.low], high_ends.at_text[rows.high]

    used = np.concatenate([rows.low_at[low_number], rows.high_at[high_number]])
    numbers = distinct(
        np.concatenate([on[low_number], on[high_number]]),
        (rows.remainders[used], rows.numbers[used]),
        attributes,
    )
    refs, texts = sorted_texts(
        rows.texts, np.concatenate([rows.low_at[low_text], rows.high_at[high_text]])
    )
    text_refs = distinct(np.concatenate([on[low_text], on[high_text]]), (refs,), attributes)
    domains = Domains(
        numbers.start,
        rows.numbers[used[numbers.example]],
        rows.remainders[used[numbers.example]],
        text_refs.start,
        refs[text_refs.example].astype(np.uint32),
        texts,
    )
    low_place, high_place = np.zeros(len(on), np.int64), np.zeros(len(on), np.int64)
    low_place[low_number], high_place[high_number] = _split(numbers.rank, low_number)
    low_place[low_text], high_place[high_text] = _split(text_refs.rank, low_text)
    return Ranked(
        domains,
        _ranks(low_ends, rows.low, low_place, domains, on),
        _ranks(high_ends, rows.high, high_place, domains, on),
    )


def _low_ends() -> _Ends:
    at_number = {Low.AT_NUMBER: 1, Low.AFTER_NUMBER: 2}
    bases = {
        Low.ABSENT: ABSENT_RANK,
        Low.FALSE: FALSE_RANK,
        Low.TRUE: TRUE_RANK,
        Low.FIRST_NUMBER: FIRST_NUMBER_RANK,
        **{code: FIRST_NUMBER_RANK + step for code, step in at_number.items()},
        Low.FIRST_TEXT: FIRST_TEXT_RANK,
        Low.AT_TEXT: FIRST_TEXT_RANK + 1,
    }
    return _Ends(
        np.array([bases[code] for code in Low], np.int64),
        np.array([code >= Low.FIRST_TEXT for code in Low], np.int64),
        np.zeros(len(Low), np.int64),
        np.array([code in at_number for code in Low]),
        np.array([code is Low.AT_TEXT for code in Low]),
    )


def _high_ends() -> _Ends:
    at_number = {High.AT_NUMBER: 1, High.BEFORE_NUMBER: 0}
    at_text = {High.AT_TEXT: 1, High.BEFORE_TEXT: 0}
    bases = {
        High.ABSENT: ABSENT_RANK,
        High.FALSE: FALSE_RANK,
        High.TRUE: TRUE_RANK,
        High.LAST_NUMBER: FIRST_NUMBER_RANK,
        **{code: FIRST_NUMBER_RANK + step for code, step in at_number.items()},
        High.LAST_TEXT: FIRST_TEXT_RANK,
        **{code: FIRST_TEXT_RANK + step for code, step in at_text.items()},
    }
    return _Ends(
        np.array([bases[code] for code in High], np.int64),
        np.array([code is High.LAST_NUMBER or code >= High.LAST_TEXT for code in High], np.int64),
        np.array([code is High.LAST_TEXT for code in High], np.int64),
        np.array([code in at_number for code in High]),
        np.array([code in at_text for code in High]),
    )


def _ranks(ends: _Ends, codes: Bytes, places: Ints, domains: Domains, on: Ints) -> Ranks:
    ranks = (
        ends.base[codes]
        + 2 * places
        + 2 * ends.after_numbers[codes] * domains.number_counts()[on]
        + 2 * ends.after_texts[codes] * domains.text_counts()[on]
    )
    assert len(ranks) == 0 or ranks.max() < np.iinfo(np.uint32).max, "a domain has too many ranks"
    result: Ranks = ranks.astype(np.uint32)
    return result


class Distinct(NamedTuple):
    """The distinct keys of each attribute, in order."""

    start: Ints  # attribute i has the distinct keys start[i] up to start[i + 1]
    example: Ints  # for each distinct key one element that has it
    rank: Ints  # for each element the rank of its key within its attribute


def distinct(on: Ints, keys: tuple[npt.NDArray[np.generic], ...], attributes: int) -> Distinct:
    """Group elements by attribute and key; `keys` has the most significant part last."""
    order = _arranged(on, keys)
    is_new = np.zeros(len(order), np.bool_)
    is_new[:1] = True
    for column in (*keys, on):
        arranged = column[order]
        is_new[1:] |= arranged[1:] != arranged[:-1]
    example = order[is_new]
    start = np.searchsorted(on[example], np.arange(attributes + 1))
    group = np.empty(len(order), np.int64)
    group[order] = np.cumsum(is_new) - 1
    return Distinct(start, example, group - start[on])


def _arranged(on: Ints, keys: tuple[npt.NDArray[np.generic], ...]) -> Ints:
    """The order by attribute, then by keys, the last key first: `lexsort`, but faster.

    The most significant key is a number or a place; sorting it at once and then only grouping by
    attribute, which a radix sort does, takes a fraction of a general sort by all.
    """
    *lesser, main = keys
    if any(np.any(key) for key in lesser):
        return np.lexsort((*keys, on))
    by_key = np.argsort(main)
    small = on.astype(np.uint16) if on.max(initial=0) <= _RADIX_MAX else on
    order: Ints = by_key[np.argsort(small[by_key], kind="stable")]
    return order


def sorted_texts(texts: Sequence[bytes], used: Ints) -> tuple[Ints, list[bytes]]:
    """The sorted table of the texts at the `used` places, and the place in it of each of `used`."""
    distinct, which = np.unique(used, return_inverse=True)
    wanted = [texts[place] for place in distinct.tolist()]
    table = sorted(set(wanted))
    place = {text: at for at, text in enumerate(table)}
    return np.array([place[text] for text in wanted], np.int64)[which], table


def _split(values: Ints, first: npt.NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """The values of the first elements, those where `first` is true, and of the rest."""
    count = int(np.count_nonzero(first))
    return values[:count], values[count:]
