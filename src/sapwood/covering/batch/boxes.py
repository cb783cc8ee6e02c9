"""Normal forms of filters as boxes of ranks: arrays in which covering is comparing integers.

The values of an attribute stand in one line: absent, false, true, the numbers, the texts. The
*hull* of a filter has, for each attribute that all its conjunctions constrain, the first and the
last place it accepts (a *side*). If a filter covers another its hull holds the other's hull. For a
filter that is its own hull (it is *convex*: one conjunction, each side one piece) the converse
holds too, whatever the other one is. So between boxes nothing has to be verified.

Ends are compared exactly: they become integers by their rank among the ends of the same set, and
nothing is rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sapwood.language.forms import ABSENT, FALSE, HIGH_OPEN, LOW_OPEN, TRUE, read_form
from sapwood.limits import INTEGER_MIN

End: TypeAlias = tuple[int, Any, int]
"""A place in the line: the kind of value, the value, and -1 just before it, 1 just after it."""

_ABSENT_END: Final[End] = (0, 0, 0)
_FALSE_END: Final[End] = (1, 0, 0)
_TRUE_END: Final[End] = (2, 0, 0)
NUMBER: Final = 3
TEXT: Final = 4
_LAST_END: Final[End] = (5, 0, 0)
_FLAGS: Final = ((ABSENT, _ABSENT_END), (FALSE, _FALSE_END), (TRUE, _TRUE_END))

FLOAT_WHOLE_MAX: Final = 2.0**53
"""Up to here floats hold every whole number."""

VALUES_MAX: Final = 16
"""Single values of a side by each of which a filter is found; beyond, it is found by attribute."""

Places: TypeAlias = npt.NDArray[np.int64]


class Side(NamedTuple):
    """One side of a hull; `whole` if all between the ends is accepted.

    `values` are the accepted ones where they are single and few, in order; else there are none.
    """

    low: End
    high: End
    whole: bool
    values: tuple[End, ...]


class Hull(NamedTuple):
    """The sides of a filter's hull by attribute, sorted, and whether the filter is its own hull."""

    sides: Sequence[tuple[str, Side]]
    convex: bool


class Boxes(NamedTuple):
    """The hulls of filters 0, 1, 2, ...

    The sides of filter `f` are those from `starts[f]` up to `starts[f + 1]`, ordered by
    `attributes`; `lows` and `highs` are ranks of their ends. A side of few single values has those
    from `value_starts[s]` up to `value_starts[s + 1]` among `values`, which are ranks as the lows
    are; other sides have none there. `convex` says which filters are their own hulls.
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
        """What tells whether one box holds another."""
        return self.starts, self.attributes, self.lows, self.highs

    @property
    def order(self) -> Places:
        """The filters, such that whatever holds a box comes before it; of equal ones the convex."""
        width_max = int(self.highs.max(initial=0)) + 1
        # Each side more, and each narrower one, brings a filter further back.
        narrow = width_max + self.lows - self.highs
        sums = np.concatenate((np.zeros(1, np.int64), np.cumsum(narrow)))
        return np.lexsort((~self.convex, sums[self.starts[1:]] - sums[self.starts[:-1]]))


def boxes_of(forms: Sequence[bytes]) -> Boxes:
    """The hulls of filters given by their normal forms, none of which accepts nothing."""
    starts, value_starts = [0], [0]
    names: list[str] = []
    lows: list[End] = []
    highs: list[End] = []
    values: list[End] = []
    convex: list[bool] = []
    for form in forms:
        hull = hull_of(form)
        for name, side in hull.sides:
            names.append(name)
            lows.append(side.low)
            highs.append(side.high)
            values += side.values
            value_starts.append(len(values))
        convex.append(hull.convex)
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


def hull_of(form: bytes) -> Hull:
    """The hull of the filter with this normal form, which accepts something."""
    parts, is_exact = read_form(form)
    if len(parts) > 1:
        return Hull(_joined(parts), convex=False)
    sides = [(written[0], _side(written)) for written in parts[0]]
    return Hull(sides, is_exact and all(side.whole for _, side in sides))


def _joined(parts: Sequence[Any]) -> list[tuple[str, Side]]:
    """The hull of several conjunctions: what all of them constrain, from first to last place."""
    shared: dict[str, list[Side]] = {}
    for part in parts:
        for written in part:
            shared.setdefault(written[0], []).append(_side(written))
    return [(name, _spanned(own)) for name, own in sorted(shared.items()) if len(own) == len(parts)]


def _spanned(sides: Sequence[Side]) -> Side:
    values = {value for side in sides for value in side.values}
    is_list = all(side.values for side in sides) and len(values) <= VALUES_MAX
    return Side(
        min(side.low for side in sides),
        max(side.high for side in sides),
        whole=False,
        values=tuple(sorted(values)) if is_list else (),
    )


def _side(written: Any) -> Side:
    """One constraint (`normalforms`) from its first to its last place."""
    _, flags, intervals, ranges = written
    if not flags and len(intervals) == 1 and not ranges:  # as most are
        low, high, open_ends = intervals[0]
        first, last = _number_ends(low, high, open_ends)
        return Side(first, last, whole=True, values=(first,) if low == high else ())
    if not flags and len(ranges) == 1 and not intervals:
        low, high = ranges[0]
        first = (TEXT, low, 0)
        values = (first,) if high == f"{low}\0" else ()
        return Side(first, _text_end(high), whole=True, values=values)
    ends = [end for flag, end in _FLAGS if flags & flag]
    pieces = [(end, end, True) for end in ends]
    pieces += [(*_number_ends(*interval), interval[0] == interval[1]) for interval in intervals]
    pieces += [((TEXT, low, 0), _text_end(high), high == f"{low}\0") for low, high in ranges]
    is_list = len(pieces) <= VALUES_MAX and all(single for _, _, single in pieces)
    return Side(
        min(first for first, _, _ in pieces),
        max(last for _, last, _ in pieces),
        whole=len(pieces) == 1,
        values=tuple(first for first, _, _ in pieces) if is_list else (),
    )


def _number_ends(low: Any, high: Any, open_ends: int) -> tuple[End, End]:
    after = 1 if open_ends & LOW_OPEN else 0
    before = -1 if open_ends & HIGH_OPEN else 0
    return (NUMBER, low, after), (NUMBER, high, before)


def _text_end(high: str | None) -> End:
    return _LAST_END if high is None else (TEXT, high, 0)


def _end_ranks(ends: Sequence[End]) -> Places:
    """Numbers that compare as the ends do."""
    if not ends:
        return np.zeros(0, np.int64)
    kinds, values, beyond = zip(*ends, strict=True)
    kind = np.array(kinds, np.int64)
    is_number = kind == NUMBER
    numbers = np.array([value for value, is_one in zip(values, is_number, strict=True) if is_one])
    if numbers.dtype != np.int64 and (numbers.dtype != np.float64 or _are_inexact(numbers)):
        return _ranks(ends)
    # Numbers sort by themselves, far quicker than as parts of ends; the kinds before them are few.
    distinct, rank = np.unique(numbers, return_inverse=True)
    ranks = np.zeros(len(ends), np.int64)
    ranks[is_number] = NUMBER + 1 + 3 * rank + np.array(beyond, np.int64)[is_number]
    ranks[kind < NUMBER] = kind[kind < NUMBER]
    others = (kind > NUMBER).nonzero()[0]
    texts = _ranks([ends[place] for place in others.tolist()])
    ranks[others] = NUMBER + 1 + 3 * len(distinct) + texts
    return ranks


def _are_inexact(numbers: npt.NDArray[np.float64]) -> bool:
    """Whether one of the numbers may have been a whole one that a float does not hold."""
    sizes = np.abs(numbers)
    return bool(np.any((sizes > FLOAT_WHOLE_MAX) & (sizes <= -INTEGER_MIN)))


def _ranks(values: Sequence[Any]) -> Places:
    """The rank of each value among all of them; equal values have one rank."""
    ranks = {value: rank for rank, value in enumerate(sorted(set(values)))}
    return np.fromiter(map(ranks.__getitem__, values), np.int64, len(values))
