"""The hulls of a set of filters as boxes of ranks: arrays in which covering is comparing integers.

The values of an attribute stand in one line: absent, false, true, the numbers, the texts. A side of
a hull (`sapwood.covering.hull`) is a *span* of that line, from the first place it accepts to the
last one. If a filter covers another, its spans hold the other's spans. For a filter that is its own
box (it is *convex*: an exact hull whose spans are one piece each) the converse is true as well,
whatever the other filter is. So between boxes nothing has to be verified.

Ends are compared exactly: they become integers by their rank among the ends of the same set, and
nothing is rounded. Lows are ranked among lows and single values, highs among highs; ranks of
numbers lie three apart, so that there is room just before and just after each. For example::

    filter               span                       low  high  convex  values
    0: x > 2             just after 2 to infinity     5     7  yes
    1: x >= 2 and x < 5  2 to just before 5           4     3  yes
    2: x in (3, 'a')     3 to the end of 'a'          7    10  no      7, 10

A box holds another if its low is no larger and its high no smaller: here none does, for 0 begins
after 1, and 2 ends after 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sapwood.covering.hull import NUMBER, TEXT, Side, written_hull
from sapwood.language.forms import read_form
from sapwood.limits import INTEGER_MIN
from sapwood.model.packing import ABSENT, FALSE, HIGH_OPEN, LOW_OPEN, TRUE

End: TypeAlias = tuple[int, Any, int]
"""A place in the line: the kind of value, the value, and -1 just before it, 1 just after it."""

_ABSENT_END: Final[End] = (0, 0, 0)
_FALSE_END: Final[End] = (1, 0, 0)
_TRUE_END: Final[End] = (2, 0, 0)
NUMBERS: Final = 3
TEXTS: Final = 4
"""The places of numbers and texts in the line, as the first element of an `End`."""

_LAST_END: Final[End] = (5, 0, 0)
_FLAGS: Final = ((ABSENT, _ABSENT_END), (FALSE, _FALSE_END), (TRUE, _TRUE_END))

FLOAT_WHOLE_MAX: Final = 2.0**53
"""Up to here floats hold every whole number."""

VALUES_MAX: Final = 16
"""Single values of a span by each of which a filter is found; beyond, it is found by attribute."""

Places: TypeAlias = npt.NDArray[np.int64]


class Span(NamedTuple):
    """A side of a hull on the line of its attribute; `whole` if all between the ends is accepted.

    `values` are the accepted values in order where these are single and few; else there are none.
    """

    low: End
    high: End
    whole: bool
    values: tuple[End, ...]


class Box(NamedTuple):
    """The spans of a filter's hull by attribute, sorted, and true if it is its own box."""

    spans: Sequence[tuple[str, Span]]
    convex: bool


class Boxes(NamedTuple):
    """The hulls of filters 0, 1, 2, ...

    The spans of filter `f` are those from `starts[f]` up to `starts[f + 1]`, ordered by
    `attributes`; `lows` and `highs` are ranks of their ends. A span of few single values has those
    from `value_starts[s]` up to `value_starts[s + 1]` among `values`, which are ranks as the lows
    are; other spans have none there. `convex` marks the filters that are their own hulls.
    """

    starts: Places
    attributes: Places
    lows: Places
    highs: Places
    value_starts: Places
    values: Places
    convex: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.convex)

    @property
    def sides(self) -> tuple[Places, Places, Places, Places]:
        """The arrays by which kernels compare boxes."""
        return self.starts, self.attributes, self.lows, self.highs

    @property
    def order(self) -> Places:
        """The filters, every box behind all that hold it; of equal boxes convex ones first."""
        width_max = int(self.highs.max(initial=0)) + 1
        # Each additional span, and each narrower one, moves a filter further back.
        narrow = width_max + self.lows - self.highs
        sums = np.concatenate((np.zeros(1, np.int64), np.cumsum(narrow)))
        return np.lexsort((~self.convex, sums[self.starts[1:]] - sums[self.starts[:-1]]))


def boxes_of(forms: Sequence[bytes]) -> Boxes:
    """The hulls of filters given by their normal forms, each of which accepts something."""
    starts, value_starts = [0], [0]
    names: list[str] = []
    lows: list[End] = []
    highs: list[End] = []
    values: list[End] = []
    convex: list[bool] = []
    for form in forms:
        box = box_of(form)
        for name, span in box.spans:
            names.append(name)
            lows.append(span.low)
            highs.append(span.high)
            values += span.values
            value_starts.append(len(values))
        convex.append(box.convex)
        starts.append(len(names))
    ranks = _end_ranks([*lows, *values])
    return Boxes(
        np.array(starts, np.int64),
        _ranks(names),
        ranks[: len(lows)],
        _end_ranks(highs),
        np.array(value_starts, np.int64),
        ranks[len(lows) :],
        np.array(convex, np.bool_),
    )


def box_of(form: bytes) -> Box:
    """The box of the filter with this normal form, which accepts something."""
    parts, is_complete = read_form(form)
    sides, _, is_convex = written_hull(parts, is_complete)
    spans = []
    for side in sides:
        span = _span(side, parts)
        is_convex = is_convex and span[2]
        spans.append((side[0], span))
    return Box(spans, is_convex)


def _span(side: Side, parts: Sequence[Any]) -> Span:
    """The span of a side; `parts` are the conjunctions of its filter."""
    name, kinds, low_number, high_number, open_ends, text, text_end, is_whole = side
    low: End
    high: End
    if kinds == NUMBER:  # the most frequent kind
        low, high = _number_ends(low_number, high_number, open_ends)
        is_value = low_number == high_number
    elif kinds == TEXT:
        low, high, is_value = (TEXTS, text, 0), _text_end(text_end), text_end == f"{text}\0"
    else:
        places = [end for flag, end in _FLAGS if kinds & flag]
        if kinds & NUMBER:
            places += _number_ends(low_number, high_number, open_ends)
        if kinds & TEXT:
            places += [(TEXTS, text, 0), _text_end(text_end)]
        low, high = places[0], places[-1]
        is_value = is_whole = is_whole and len(places) == 1
    if is_whole:
        return Span(low, high, True, (low,) if is_value else ())  # noqa: FBT003
    return Span(low, high, False, _values(name, parts))  # noqa: FBT003


def _number_ends(low: Any, high: Any, open_ends: int) -> tuple[End, End]:
    if not open_ends:
        return (NUMBERS, low, 0), (NUMBERS, high, 0)
    after = 1 if open_ends & LOW_OPEN else 0
    before = -1 if open_ends & HIGH_OPEN else 0
    return (NUMBERS, low, after), (NUMBERS, high, before)


def _values(name: str, parts: Sequence[Any]) -> tuple[End, ...]:
    """All values that any conjunction accepts for an attribute, if these are single and few."""
    found: set[End] = set()
    for part in parts:
        for attribute, flags, intervals, ranges in part:
            if attribute != name:
                continue
            if len(intervals) + len(ranges) > VALUES_MAX or not (
                all(low == high for low, high, _ in intervals)
                and all(high == f"{low}\0" for low, high in ranges)
            ):
                return ()
            found.update(end for flag, end in _FLAGS if flags & flag)
            found.update((NUMBERS, low, 0) for low, _, _ in intervals)
            found.update((TEXTS, low, 0) for low, _ in ranges)
    return tuple(sorted(found)) if len(found) <= VALUES_MAX else ()


def _text_end(end: str | None) -> End:
    return _LAST_END if end is None else (TEXTS, end, 0)


def _end_ranks(ends: Sequence[End]) -> Places:
    """Integers in the order of the ends."""
    if not ends:
        return np.zeros(0, np.int64)
    kinds, values, beyond = zip(*ends, strict=True)
    kind = np.array(kinds, np.int64)
    is_number = kind == NUMBERS
    numbers = np.array([value for value, is_one in zip(values, is_number, strict=True) if is_one])
    if numbers.dtype != np.int64 and (numbers.dtype != np.float64 or _are_inexact(numbers)):
        return _ranks(ends)
    # Numbers are sorted alone, far quicker than within ends; the kinds before them are few.
    distinct, rank = np.unique(numbers, return_inverse=True)
    ranks = np.zeros(len(ends), np.int64)
    ranks[is_number] = NUMBERS + 1 + 3 * rank + np.array(beyond, np.int64)[is_number]
    ranks[kind < NUMBERS] = kind[kind < NUMBERS]
    others = (kind > NUMBERS).nonzero()[0]
    texts = _ranks([ends[place] for place in others.tolist()])
    ranks[others] = NUMBERS + 1 + 3 * len(distinct) + texts
    return ranks


def _are_inexact(numbers: npt.NDArray[np.float64]) -> bool:
    """True if one of the numbers may have been an integer that no float equals."""
    sizes = np.abs(numbers)
    return bool(np.any((sizes > FLOAT_WHOLE_MAX) & (sizes <= -INTEGER_MIN)))


def _ranks(values: Sequence[Any]) -> Places:
    """The rank of each value among all of them; equal values have one rank."""
    ranks = {value: rank for rank, value in enumerate(sorted(set(values)))}
    return np.fromiter(map(ranks.__getitem__, values), np.int64, len(values))
