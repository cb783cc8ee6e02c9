"""Conjunctions as columns of values.

This is the neutral form between filters and segments: filters are written into it, segments are
built from it. Attributes and pattern like predicates are numbered by the engine.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import islice
from math import inf
from typing import Final, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from sapwood.matching.columnar.derived import Attribute, Derived, Function, deduced, text_tests
from sapwood.matching.columnar.domains import High, Low, RankRange, number_range, ranges, text_range
from sapwood.matching.columnar.packed_forms import Forms, Kernel, read_forms
from sapwood.matching.keys import EXACT_MAX, EXACT_MIN, number_key, text_bytes
from sapwood.model import packing
from sapwood.model.constraint import Constraint
from sapwood.model.filter import Filter
from sapwood.model.kept import KeptFilters
from sapwood.model.numbers import Interval, Number
from sapwood.model.readings import Reading
from sapwood.model.strings import TextTest

Bytes: TypeAlias = npt.NDArray[np.uint8]
Ints: TypeAlias = npt.NDArray[np.int64]
Slots: TypeAlias = npt.NDArray[np.int32]

_AT_NUMBER_LOW: Final = int(Low.AT_NUMBER)
_AT_NUMBER_HIGH: Final = int(High.AT_NUMBER)
_AT_TEXT_LOW: Final = int(Low.AT_TEXT)
_AT_TEXT_HIGH: Final = int(High.AT_TEXT)
"""Looked up once, as in `domains`."""

_LOWER: Final = Function.LOWER.name.lower()


FORBIDDEN: Final = 1
"""Flag of a check: a text which fits the pattern fails."""

DECIDED: Final = 2
"""Flag of a check: constraints on derived attributes are as strict, so it need not be made."""

ALONE: Final = 4
"""Flag of a check: the conjunction accepts no value of the attribute that is no text."""


class Checks(NamedTuple):
    """Pattern checks that conjunctions need beyond their rank ranges.

    `owner` (ascending) is the conjunction, `predicate` the engine's number of a pair of attribute
    and pattern, and `flags` are `FORBIDDEN`, `DECIDED` and `ALONE`. Values that are no texts pass.
    """

    owner: Ints
    predicate: Ints
    flags: Bytes


class Outline(NamedTuple):
    """`Rows` without the ends of their ranges, which may be ranks as well as values."""

    slot: Slots  # [n]
    constraint_start: Ints  # [n + 1]
    attribute: Ints  # [c]
    range_start: Ints  # [c + 1]
    checks: Checks


class Rows(NamedTuple):
    """`n` conjunctions with `c` constraints made of `r` ranges.

    Constraints of conjunction `i` are `constraint_start[i]` up to `constraint_start[i + 1]`, ranges
    of constraint `j` are `range_start[j]` up to `range_start[j + 1]`, in domain order. Ends are
    codes of `domain.Low` and `domain.High` with the place of their constant in `numbers` (floats
    with their `remainders`, see `keys.number_key`) or in `texts` (UTF-8, any order, repetitions
    allowed).
    """

    slot: Slots  # [n]
    constraint_start: Ints  # [n + 1]
    attribute: Ints  # [c]
    range_start: Ints  # [c + 1]
    low: Bytes  # [r]
    low_at: Ints  # [r]
    high: Bytes  # [r]
    high_at: Ints  # [r]
    numbers: npt.NDArray[np.float64]
    remainders: npt.NDArray[np.int16]
    texts: Sequence[bytes]
    checks: Checks

    @property
    def outline(self) -> Outline:
        """All columns but those of the ends of ranges."""
        return Outline(
            self.slot, self.constraint_start, self.attribute, self.range_start, self.checks
        )


class PredicateNumbers(Protocol):
    """A table that assigns numbers to pairs of attribute and pattern."""

    def number(self, attribute: str, pattern: TextTest) -> int:
        """The number of a pair, a new one if it has none yet."""


class RowWriter:
    """Collects conjunctions into `Rows`.

    `attributes` (name to number) and `predicates` are the engine's; new ones get numbers.
    """

    def __init__(self, attributes: dict[Attribute, int], predicates: PredicateNumbers) -> None:
        self._attribute_numbers = attributes
        self._predicates = predicates
        self._slots = array("i")
        self._constraint_start = array("q", (0,))
        self._attributes = array("q")
        self._range_start = array("q", (0,))
        self._low, self._high = bytearray(), bytearray()
        self._low_at, self._high_at = array("q"), array("q")
        self._numbers = array("d")
        self._remainders = array("h")
        self._texts: dict[str, int] = {}
        #: the bytes of the first of these
        self._encoded: list[bytes] = []
        self._checks: tuple[array[int], array[int], bytearray] = (
            array("q"),
            array("q"),
            bytearray(),
        )

    def __len__(self) -> int:
        """The number of conjunctions written."""
        return len(self._slots)

    def slots_from(self, first: int) -> Slots:
        """The slots of the conjunctions written, from conjunction `first` on."""
        return np.array(self._slots[first:], np.int32)

    def add(self, slot: int, filter: Filter) -> None:
        """Write the conjunctions of a filter; one that accepts nothing is left out."""
        given = filter.packed
        if given is not None:
            self.add_form(slot, packing.read(given))
            return
        for conjunction in filter.conjunctions:
            if all(_is_satisfiable(constraint) for _, constraint in conjunction.constraints):
                for name, constraint in conjunction.constraints:
                    self._add_constraint(name, constraint)
                self._slots.append(slot)
                self._constraint_start.append(len(self._attributes))

    def add_form(self, slot: int, form: packing.Form) -> None:
        """Write the conjunctions that were read from the bytes of a filter."""
        for part in form:
            self._add_part(slot, part)

    def add_many(self, filters: Sequence[tuple[int, Filter]], kernel: Kernel) -> None:
        """Write the conjunctions of many filters, most by a kernel, then the odd ones."""
        odd: list[tuple[int, Filter]] = []
        if not isinstance(filters, KeptFilters):
            given = [(slot, one.packed) for slot, one in filters]
            odd += [one for one, (_, packed) in zip(filters, given, strict=True) if packed is None]
            readable = [(slot, packed) for slot, packed in given if packed is not None]
            slots, forms = [slot for slot, _ in readable], [packed for _, packed in readable]
            filters = KeptFilters(slots, forms)
        if filters:
            read = read_forms(kernel, filters.packed)
            self._add_forms(read, np.array(filters.names, np.int32))
            odd += [filters[at] for at in np.flatnonzero(read.is_odd).tolist()]
        for slot, one in odd:
            self.add(slot, one)

    def _add_forms(self, forms: Forms, slots: Slots) -> None:
        """Write the forms that were read of filters with these slots."""
        known, texts = self._attribute_numbers, self._texts
        read = [forms.attribute(number) for number in range(len(forms.names))]
        numbers = np.zeros(len(read), np.int64)
        for at in np.unique(forms.name).tolist():  # without names of odd filters alone
            numbers[at] = known.setdefault(read[at], len(known))
        places = [texts.setdefault(text, len(texts)) for text in forms.constants()]
        text_places = np.array(places or [0], np.int64)
        first, constraints = len(self._numbers), len(self._attributes)
        self._slots.frombytes(slots[forms.owner].tobytes())
        self._constraint_start.frombytes((forms.starts[1:] + constraints).tobytes())
        self._attributes.frombytes(numbers[forms.name].tobytes())
        ranges = np.arange(1, len(forms.name) + 1, dtype=np.int64) + len(self._low)
        self._range_start.frombytes(ranges.tobytes())
        lows, highs = forms.low, forms.high
        is_number = (lows == Low.AT_NUMBER) | (lows == Low.AFTER_NUMBER)
        moved = _moved(forms.low_at, lows >= Low.AT_TEXT, text_places, first * is_number)
        self._low += lows.tobytes()
        self._low_at.frombytes(moved.tobytes())
        is_number = (highs == High.AT_NUMBER) | (highs == High.BEFORE_NUMBER)
        moved = _moved(forms.high_at, highs >= High.AT_TEXT, text_places, first * is_number)
        self._high += highs.tobytes()
        self._high_at.frombytes(moved.tobytes())
        self._numbers.frombytes(forms.numbers.tobytes())
        self._remainders.frombytes(bytes(2 * len(forms.numbers)))

    def free(self, first: int, last: int) -> None:
        """Set the slots of conjunctions that were written to -1, which no filter has."""
        for at in range(first, last):
            self._slots[at] = -1

    def equalities(self, row: int) -> Iterator[tuple[int, float | bytes]]:
        """Attribute and constant of each constraint of a conjunction that is an equality.

        The constant is a text's bytes, or the float that is nearest to a number.
        """
        starts = self._range_start
        for at in range(self._constraint_start[row], self._constraint_start[row + 1]):
            one = starts[at]
            if starts[at + 1] - one != 1:
                continue
            low, low_at, high_at = self._low[one], self._low_at[one], self._high_at[one]
            if low == _AT_NUMBER_LOW and self._high[one] == _AT_NUMBER_HIGH:
                number = self._numbers[low_at]
                if number == self._numbers[high_at]:
                    yield self._attributes[at], number
            elif low == _AT_TEXT_LOW and self._high[one] == _AT_TEXT_HIGH and low_at == high_at:
                self.texts_from(low_at)
                yield self._attributes[at], self._encoded[low_at]

    def texts_from(self, first: int) -> list[bytes]:
        """The constants that are texts, from one on, in UTF-8."""
        encoded, texts = self._encoded, self._texts
        newest = list(islice(reversed(texts), len(texts) - len(encoded)))
        encoded.extend(map(text_bytes, reversed(newest)))
        return encoded[first:]

    def columns(self) -> tuple[Sequence[float], ...]:
        """The columns of `Rows` from `constraint_start` to `remainders`, as they are written."""
        return (
            self._constraint_start,
            self._attributes,
            self._range_start,
            self._low,
            self._low_at,
            self._high,
            self._high_at,
            self._numbers,
            self._remainders,
        )

    def rows(self) -> Rows:
        """The columns of all conjunctions written."""
        owner, predicate, flags = self._checks
        return Rows(
            np.array(self._slots, np.int32),
            np.array(self._constraint_start, np.int64),
            np.array(self._attributes, np.int64),
            np.array(self._range_start, np.int64),
            np.array(self._low, np.uint8),
            np.array(self._low_at, np.int64),
            np.array(self._high, np.uint8),
            np.array(self._high_at, np.int64),
            np.array(self._numbers, np.float64),
            np.array(self._remainders, np.int16),
            self.texts_from(0),
            Checks(
                np.array(owner, np.int64),
                np.array(predicate, np.int64),
                np.array(flags, np.uint8),
            ),
        )

    def _add_part(self, slot: int, part: Sequence[packing.PackedConstraint]) -> None:
        """Write a conjunction that was read from packed bytes."""
        for _, flags, intervals, text_ranges in part:
            if not (flags or intervals or text_ranges):
                return
        numbers = self._attribute_numbers
        for name, flags, intervals, text_ranges in part:
            if flags or len(intervals) + len(text_ranges) != 1:
                for rank_range in ranges(packing.constraint(flags, intervals, text_ranges)):
                    self._add_range(rank_range)
            elif intervals:
                low, high, ends = intervals[0]
                if ends or low == -inf or high == inf:
                    is_open = (ends & packing.LOW_OPEN != 0, ends & packing.HIGH_OPEN != 0)
                    self._add_range(number_range(Interval(low, high, *is_open)))
                else:
                    self._add_closed(low, high)
            else:
                self._add_range(text_range(*text_ranges[0]))
            number = numbers.get(name)
            if number is None:
                number = numbers[name] = len(numbers)
            self._attributes.append(number)
            self._range_start.append(len(self._low))
        self._slots.append(slot)
        self._constraint_start.append(len(self._attributes))

    def _add_closed(self, low: Number, high: Number) -> None:
        """Write the range from a number to a number, the most frequent form of a range."""
        place = self._place(low)
        self._low.append(_AT_NUMBER_LOW)
        self._low_at.append(place)
        self._high.append(_AT_NUMBER_HIGH)
        self._high_at.append(place if low == high else self._place(high))

    def _add_constraint(self, attribute: str, constraint: Constraint) -> None:
        numbers, text_ranges = constraint.numbers, constraint.strings.ranges
        if constraint.absent or constraint.booleans or len(numbers) + len(text_ranges) != 1:
            for rank_range in ranges(constraint):
                self._add_range(rank_range)
        elif numbers:
            self._add_range(number_range(numbers[0]))
        else:
            self._add_range(text_range(*text_ranges[0]))
        self._end_constraint(attribute)
        if not constraint.strings.is_plain:
            self._add_tests(attribute, constraint)

    def _end_constraint(self, attribute: Attribute) -> None:
        """Make one constraint on `attribute` of the ranges that were written last."""
        self._attributes.append(self._number(attribute))
        self._range_start.append(len(self._low))

    def _number(self, attribute: Attribute) -> int:
        """The number of an attribute, a new one if it has none yet."""
        number = self._attribute_numbers.get(attribute)
        if number is None:
            number = self._attribute_numbers[attribute] = len(self._attribute_numbers)
        return number

    def _add_range(self, rank_range: RankRange) -> None:
        low, low_constant, high, high_constant = rank_range
        place = 0 if low_constant is None else self._place(low_constant)
        self._low.append(low)
        self._low_at.append(place)
        self._high.append(high)
        if low_constant is not high_constant:
            place = 0 if high_constant is None else self._place(high_constant)
        self._high_at.append(place)

    def _add_tests(self, attribute: str, constraint: Constraint) -> None:
        """Write the checks of an attribute, and the constraints on derived attributes."""
        found = deduced(constraint)
        for function, accepted in found.constraints:
            for rank_range in ranges(accepted):
                self._add_range(rank_range)
            self._end_constraint(Derived(function, attribute))
        owner, predicate, flags = self._checks
        is_alone = not (constraint.absent or constraint.booleans or constraint.numbers)
        for test, fails in text_tests(constraint.strings):
            if isinstance(test, Reading) and test.function == _LOWER:
                # Literals may be searched in it; kernels then need its number.
                self._number(Derived(Function.LOWER, attribute))
            owner.append(len(self._slots))
            predicate.append(self._predicates.number(attribute, test))
            is_decided = (test, fails) in found.decided
            flags.append(FORBIDDEN * fails | DECIDED * is_decided | ALONE * is_alone)

    def _place(self, constant: int | float | str) -> int:
        if isinstance(constant, str):
            return self._texts.setdefault(constant, len(self._texts))
        if isinstance(constant, float) or EXACT_MIN <= constant <= EXACT_MAX:
            self._numbers.append(constant)
            self._remainders.append(0)
        else:
            nearest, remainder = number_key(constant)
            self._numbers.append(nearest)
            self._remainders.append(remainder)
        return len(self._numbers) - 1


def slots_of(filters: Sequence[tuple[int, Filter]]) -> Slots:
    """The slots of pairs of slot and filter."""
    if isinstance(filters, KeptFilters):
        return np.array(filters.names, np.int32)
    return np.array([slot for slot, _ in filters], np.int32)


def _moved(places: Ints, is_text: npt.NDArray[np.bool_], texts: Ints, shift: Ints) -> Ints:
    """The new places of constants: those of texts by `texts`, those of numbers shifted."""
    moved: Ints = np.where(is_text, texts[np.where(is_text, places, 0)], places + shift)
    return moved


def _is_satisfiable(constraint: Constraint) -> bool:
    return bool(
        constraint.numbers or constraint.strings.ranges or constraint.absent or constraint.booleans
    )


def selection(starts: Ints, groups: Ints) -> tuple[Ints, Ints]:
    """The members of the chosen groups of a grouped array, and the start of each among them.

    Group `g` has the members `starts[g]` up to `starts[g + 1]`.
    """
    sizes = starts[groups + 1] - starts[groups]
    new_starts = np.zeros(len(groups) + 1, np.int64)
    np.cumsum(sizes, out=new_starts[1:])
    members = np.arange(new_starts[-1]) + np.repeat(starts[groups] - new_starts[:-1], sizes)
    return members, new_starts
