"""The points of many filters, in columns, read by one call of a kernel.

The kernel is that of the matching engine (`sapwood.matching.columnar.packed_forms`), if its kernels
are at hand: the data that it reads of a conjunction, one range for each attribute, is the whole
content of a point. For filters that it finds odd, and for disjunctions, points are made one by one.
Two filters, `price between 10 and 20` and `halted = 'x' and price >= 5`:

    shapes       ("price", NUMBER), ("halted", TEXT, "price", NUMBER)
    first_end    0, 2, 6
    ends         -10, 20 | -text_order("x"), text_order("x"), -5, inf
    is_filter    true, false, as the first eight bytes of a text do not identify it
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import inf
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sapwood.covering.columnar.columns import Floats, Places
from sapwood.covering.columnar.points import Point, Shape, point_of
from sapwood.covering.hull import NUMBER, TEXT
from sapwood.matching.columnar.domains import High, Low
from sapwood.matching.columnar.packed_forms import Forms, read_forms
from sapwood.matching.readiness import RECORDS
from sapwood.model.filter import Filter

Flags: TypeAlias = npt.NDArray[np.bool_]

_FEW: Final = 16
"""Filters of which points are made one by one as fast."""

_REMEMBERED_MAX: Final = 1 << 16
"""Attributes, and shapes, that are cached; sets of subscriptions have some thousands."""

_ORDER_BYTES: Final = 8
"""First bytes of a text that its end as a float contains, as `matching.keys.text_order`."""

_IN_ORDER: Final = np.arange(_ORDER_BYTES)
_CODE_BYTES: Final = 4


def _among(*codes: int) -> Flags:
    """True for each code that is one of `codes`."""
    return np.isin(np.arange(len(High)), codes)


_LOW_NUMBER: Final = _among(Low.AT_NUMBER, Low.AFTER_NUMBER)
_LOW_TEXT: Final = _among(Low.AT_TEXT)
_HIGH_NUMBER: Final = _among(High.AT_NUMBER, High.BEFORE_NUMBER)
_HIGH_TEXT: Final = _among(High.AT_TEXT, High.BEFORE_TEXT)
"""Codes of ends at a constant."""

_OPEN_LOW: Final = ~_among(Low.FIRST_NUMBER, Low.AT_NUMBER)
_OPEN_HIGH: Final = ~_among(High.LAST_NUMBER, High.AT_NUMBER)
"""Codes of ends that floats do not represent for certain, and all codes of ends of texts."""


class Points(NamedTuple):
    """Points one behind the other: the fields of `Point`, as columns.

    Points of one shape have the same object as their shape, or an equal one.
    """

    shapes: Sequence[Shape]
    first_end: Places  # [n + 1]
    ends: Floats
    is_filter: Flags
    is_precise: Flags
    is_empty: Flags

    @classmethod
    def of(cls, points: Sequence[Point]) -> Points:
        """The columns of points that have been made one by one."""
        first_end = np.zeros(len(points) + 1, np.int64)
        np.cumsum([len(point.ends) for point in points], out=first_end[1:])
        return cls(
            [point.shape for point in points],
            first_end,
            np.array([end for point in points for end in point.ends], np.float64),
            np.array([point.is_filter for point in points], np.bool_),
            np.array([point.is_precise for point in points], np.bool_),
            np.array([point.is_empty for point in points], np.bool_),
        )

    def point(self, at: int) -> Point:
        """The point at a place."""
        ends: list[float] = self.ends[self.first_end[at] : self.first_end[at + 1]].tolist()
        is_filter, is_precise = bool(self.is_filter[at]), bool(self.is_precise[at])
        return Point(self.shapes[at], ends, is_filter, is_precise, bool(self.is_empty[at]))


class PointReader:
    """Makes points of many filters at once, and caches the shapes that it has met.

    #: _shapes are by the numbers of attributes (in `_attributes`) and kinds, as bytes
    """

    __slots__ = ("_attributes", "_shapes")

    def __init__(self) -> None:
        self._attributes: dict[str, int] = {}
        self._shapes: dict[bytes, Shape] = {}

    def read(self, filters: Sequence[Filter]) -> Points:
        """The points of the filters, in their order."""
        compiled = RECORDS.compiled if len(filters) >= _FEW else None
        if compiled is None:
            return Points.of([point_of(one) for one in filters])
        packed = [one.packed for one in filters]
        forms = read_forms(compiled.read_forms, [one or b"\x90" for one in packed])
        single = np.bincount(forms.owner, minlength=len(filters)) == 1
        shapes, ends = self._shapes_of(forms), _ends(forms)
        is_filter = _are_filters(forms)
        if single.all():
            none = np.zeros(len(filters), np.bool_)
            return Points(shapes, 2 * forms.starts, ends, is_filter, ~none, none)
        points: list[Point] = []
        conjunctions = np.searchsorted(forms.owner, np.arange(len(filters))).tolist()
        starts = (2 * forms.starts).tolist()
        for one, at, is_single in zip(filters, conjunctions, single.tolist(), strict=True):
            if not is_single:
                points.append(point_of(one))
                continue
            own = ends[starts[at] : starts[at + 1]].tolist()
            points.append(Point(shapes[at], own, bool(is_filter[at]), is_precise=True))
        return Points.of(points)

    def _shapes_of(self, forms: Forms) -> list[Shape]:
        """The shape of each conjunction."""
        if len(self._attributes) + len(self._shapes) > _REMEMBERED_MAX:
            self._attributes.clear()
            self._shapes.clear()
        numbers, known = self._attributes, self._shapes
        named = [forms.attribute(number) for number in range(len(forms.names))]
        own = np.array([numbers.setdefault(name, len(numbers)) for name in named], np.int32)
        is_text = forms.low >= Low.FIRST_TEXT
        codes = (2 * own[forms.name] + is_text if len(own) else own).tobytes()
        shapes: list[Shape] = []
        for conjunction, (first, last) in enumerate(pairwise(forms.starts.tolist())):
            code = codes[_CODE_BYTES * first : _CODE_BYTES * last]
            shape = known.get(code)
            if shape is None:
                shape = known[code] = _shape(forms, conjunction, named, is_text)
            shapes.append(shape)
        return shapes


def _shape(forms: Forms, conjunction: int, names: Sequence[str], is_text: Flags) -> Shape:
    first, last = forms.starts[conjunction : conjunction + 2].tolist()
    parts: list[str | int] = []
    for at in range(first, last):
        parts += (names[forms.name[at]], TEXT if is_text[at] else NUMBER)
    return tuple(parts)


def _ends(forms: Forms) -> Floats:
    """The ends of all constraints: the smallest, negated, and the largest of each."""
    orders = _text_orders(forms)
    lows = np.full(len(forms.name), -inf)
    for of_kind, constants in ((_LOW_NUMBER, forms.numbers), (_LOW_TEXT, orders)):
        here = of_kind[forms.low]
        lows[here] = constants[forms.low_at[here]]
    lows[forms.low == Low.FIRST_TEXT] = 0.0
    ends = np.full((len(forms.name), 2), inf)
    ends[:, 0] = -lows
    for of_kind, constants in ((_HIGH_NUMBER, forms.numbers), (_HIGH_TEXT, orders)):
        here = of_kind[forms.high]
        ends[here, 1] = constants[forms.high_at[here]]
    return ends.reshape(-1)


def _text_orders(forms: Forms) -> Floats:
    """`text_order` of each text, as a float."""
    letters = np.frombuffer(forms.data + bytes(_ORDER_BYTES), np.uint8)
    first, last = forms.texts[:, :1], forms.texts[:, 1:]
    at = first + _IN_ORDER
    some = np.where(at < last, letters[at], 0).astype(np.uint8)
    return some.view(">u8").reshape(-1).astype(np.float64)


def _are_filters(forms: Forms) -> Flags:
    """True for each conjunction that its point represents exactly: closed ranges of numbers."""
    is_open = _OPEN_LOW[forms.low] | _OPEN_HIGH[forms.high]
    faults = np.concatenate(([0], np.cumsum(is_open)))
    found: Flags = faults[forms.starts[1:]] == faults[forms.starts[:-1]]
    return found
