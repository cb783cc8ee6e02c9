"""The counting algorithm: predicates first, then a tally.

Source: Shen 2007, chapter 3 (L327, L587), and the baseline of XSiena (L1352-1383).

Each conjunction needs a number of satisfied constraints. For every attribute of a record the
constraints that its value satisfies are looked up, and each adds one to the tally of its
conjunction; a conjunction whose tally reaches the needed number is matched. Equal values are found
by hashing, intervals in an interval tree (`sapwood.matching.stabbing`), and constraints that are
neither (general `like` patterns) are tried one by one, each distinct constraint once.

A constraint that an absent attribute satisfies (`a is null or a > 5`) cannot be counted, because an
absent attribute looks nothing up. It is turned round: it is not needed, but a present value outside
it *vetoes* its conjunction. Conjunctions that need nothing are candidates for every record.

Cost: proportional to the constraints that a record satisfies, not to all constraints; popular
predicates make that a fixed share of all. Adding and removing touch only the filter's own
predicates. It wins where sets are small or change with every other record: a few thousand filters
need no preparation and no compiled code.

Values and their exactness are Python's own: integers and floats hash and compare by exact value.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Final, NamedTuple, TypeAlias, TypeVar

from sapwood.errors import InvariantError
from sapwood.matching.keys import number_order, text_order
from sapwood.matching.stabbing import Span, StabbingIndex
from sapwood.matching.unbatched import UnbatchedEngine
from sapwood.model.conjunction import Conjunction
from sapwood.model.constraint import Constraint
from sapwood.model.filter import Filter
from sapwood.model.numbers import Number
from sapwood.model.publication import Record, Value
from sapwood.model.strings import successor

_Key: TypeAlias = int
"""Names one conjunction of one filter; never used twice."""

_TextEnd: TypeAlias = tuple[int, str]
"""A text in an order that has a top: `(0, text)`, or `(1, "")` above all texts."""

_TOP: Final[_TextEnd] = (1, "")

_K = TypeVar("_K")


class CountingEngine(UnbatchedEngine[Filter, Record]):
    """Counting over conjunctions (see the module)."""

    def __init__(self) -> None:
        #: slot -> its conjunctions; exactly the taken slots
        self._taken: dict[int, tuple[tuple[_Key, Conjunction], ...]] = {}
        #: conjunction -> its slot; exactly the conjunctions in `_taken`
        self._slots: dict[_Key, int] = {}
        #: conjunction -> the number of its constraints that absence does not satisfy; at least 1
        self._needs: dict[_Key, int] = {}
        #: the conjunctions that are in `_slots` but not in `_needs`
        self._unconditional: set[_Key] = set()
        #: attribute -> its constraints; none is empty
        self._attributes: dict[str, _AttributeIndex] = {}
        self._next_keys = count()

    def __len__(self) -> int:
        """The number of taken slots."""
        return len(self._taken)

    def add(self, slot: int, filter: Filter) -> None:
        """Put `filter` into `slot`."""
        assert slot not in self._taken, f"slot {slot} is taken"
        self._taken[slot] = tuple((next(self._next_keys), c) for c in filter.conjunctions)
        for key, conjunction in self._taken[slot]:
            self._slots[key] = slot
            need = sum(not constraint.absent for _, constraint in conjunction.constraints)
            if need:
                self._needs[key] = need
            else:
                self._unconditional.add(key)
            for name, constraint in conjunction.constraints:
                self._attributes.setdefault(name, _AttributeIndex()).add(constraint, key)

    def remove(self, slot: int) -> None:
        """Free `slot`."""
        for key, conjunction in self._taken.pop(slot):
            del self._slots[key]
            self._needs.pop(key, None)
            self._unconditional.discard(key)
            for name, constraint in conjunction.constraints:
                index = self._attributes[name]
                index.remove(constraint, key)
                if index.is_empty:
                    del self._attributes[name]

    def match(self, record: Record) -> list[int]:
        """The slots whose filters accept `record`, ascending, each once."""
        return sorted({self._slots[key] for key in self._matched(record)})

    def reads(self, attribute: str) -> bool:
        """True if a filter reads an attribute."""
        return attribute in self._attributes

    def match_any(self, record: Record) -> bool:
        """True if any filter accepts `record`; stops at the first tally that is full.

        Vetoes must be known before a tally can count, so they are collected first.
        """
        return next(self._matched(record), None) is not None

    def validate(self) -> None:
        """Check that the tables agree, and that attributes hold exactly their constraints."""
        conjunctions = {key: c for pairs in self._taken.values() for key, c in pairs}
        if self._slots != {k: s for s, pairs in self._taken.items() for k, _ in pairs}:
            raise InvariantError("conjunctions and slots disagree")
        if self._needs.keys() & self._unconditional or (
            self._needs.keys() | self._unconditional != conjunctions.keys()
        ):
            raise InvariantError("a conjunction is neither counted nor unconditional, or both")
        used = {name for c in conjunctions.values() for name in c.attributes}
        if used != self._attributes.keys():
            raise InvariantError("attributes without constraints, or constraints without attribute")
        for name, index in self._attributes.items():
            index.validate(
                {
                    key: conjunction.constraint(name)
                    for key, conjunction in conjunctions.items()
                    if name in conjunction.attributes
                }
            )

    def _matched(self, record: Record) -> Iterator[_Key]:
        """The matched conjunctions, each once."""
        present = [
            (self._attributes[name], value)
            for name, value in record.items()
            if name in self._attributes
        ]
        vetoed: set[_Key] = set()
        for index, value in present:
            vetoed.update(index.vetoes(value))
        yield from self._unconditional - vetoed
        tally: dict[_Key, int] = {}
        for index, value in present:
            for key in index.satisfied(value):
                tally[key] = tally.get(key, 0) + 1
                if tally[key] == self._needs[key] and key not in vetoed:
                    yield key


class _Pieces(NamedTuple):
    """A constraint without `like` patterns, cut into hashed values and searched intervals."""

    booleans: frozenset[bool]
    numbers: tuple[Number, ...]
    texts: tuple[str, ...]
    number_spans: tuple[Span[Number], ...]
    text_spans: tuple[Span[_TextEnd], ...]


class _AttributeIndex:
    """The constraints on one attribute.

    The pieces of one constraint are disjoint, so a value finds each conjunction at most once.
    """

    def __init__(self) -> None:
        self._booleans: dict[bool, set[_Key]] = {}
        self._numbers: dict[Number, set[_Key]] = {}
        self._texts: dict[str, set[_Key]] = {}
        self._number_spans: StabbingIndex[Number] = StabbingIndex(number_order)
        self._text_spans: StabbingIndex[_TextEnd] = StabbingIndex(_text_end_order)
        #: constraints with general patterns; evaluated once for all conjunctions that share one
        self._others: dict[Constraint, set[_Key]] = {}
        #: constraints that absence satisfies; a present value outside vetoes
        self._optional: dict[Constraint, set[_Key]] = {}

    @property
    def is_empty(self) -> bool:
        """True if no constraint is left."""
        return not (
            self._booleans
            or self._numbers
            or self._texts
            or self._others
            or self._optional
            or len(self._number_spans)
            or len(self._text_spans)
        )

    def add(self, constraint: Constraint, key: _Key) -> None:
        if constraint.absent:
            self._optional.setdefault(constraint, set()).add(key)
        elif not constraint.strings.is_plain:
            self._others.setdefault(constraint, set()).add(key)
        else:
            pieces = _cut(constraint)
            for boolean in pieces.booleans:
                self._booleans.setdefault(boolean, set()).add(key)
            for number in pieces.numbers:
                self._numbers.setdefault(number, set()).add(key)
            for text in pieces.texts:
                self._texts.setdefault(text, set()).add(key)
            for number_span in pieces.number_spans:
                self._number_spans.add(number_span, key)
            for text_span in pieces.text_spans:
                self._text_spans.add(text_span, key)

    def remove(self, constraint: Constraint, key: _Key) -> None:
        if constraint.absent:
            _discard(self._optional, constraint, key)
        elif not constraint.strings.is_plain:
            _discard(self._others, constraint, key)
        else:
            pieces = _cut(constraint)
            for boolean in pieces.booleans:
                _discard(self._booleans, boolean, key)
            for number in pieces.numbers:
                _discard(self._numbers, number, key)
            for text in pieces.texts:
                _discard(self._texts, text, key)
            for number_span in pieces.number_spans:
                self._number_spans.remove(number_span, key)
            for text_span in pieces.text_spans:
                self._text_spans.remove(text_span, key)

    def satisfied(self, value: Value) -> Iterator[_Key]:
        """The conjunctions whose constraint here accepts the present value, each once."""
        if isinstance(value, bool):
            yield from self._booleans.get(value, ())
        elif isinstance(value, str):
            yield from self._texts.get(value, ())
            yield from self._text_spans.stab((0, value))
        else:
            yield from self._numbers.get(value, ())
            yield from self._number_spans.stab(value)
        for constraint, keys in self._others.items():
            if constraint.accepts(value):
                yield from keys

    def vetoes(self, value: Value) -> Iterator[_Key]:
        """The conjunctions that accept absence here, but not the present value."""
        for constraint, keys in self._optional.items():
            if not constraint.accepts(value):
                yield from keys

    def validate(self, constraints: dict[_Key, Constraint]) -> None:
        """Raise `InvariantError` unless this holds exactly `constraints`."""
        self._number_spans.validate()
        self._text_spans.validate()
        expected = _AttributeIndex()
        for key, constraint in constraints.items():
            expected.add(constraint, key)
        for field, held in vars(self).items():
            wanted = getattr(expected, field)
            same = len(held) == len(wanted) if isinstance(held, StabbingIndex) else held == wanted
            if not same:
                raise InvariantError(f"{field.lstrip('_')} of an attribute are not its constraints")


def _discard(table: dict[_K, set[_Key]], entry: _K, key: _Key) -> None:
    table[entry].remove(key)
    if not table[entry]:
        del table[entry]


def _cut(constraint: Constraint) -> _Pieces:
    ranges = constraint.strings.ranges
    return _Pieces(
        constraint.booleans,
        tuple(interval.low for interval in constraint.numbers if interval.is_point),
        tuple(low for low, high in ranges if high == successor(low)),
        tuple(
            Span(interval.low, interval.high, interval.low_open, interval.high_open)
            for interval in constraint.numbers
            if not interval.is_point
        ),
        tuple(
            Span((0, low), _TOP if high is None else (0, high), low_open=False, high_open=True)
            for low, high in ranges
            if high != successor(low)
        ),
    )


def _text_end_order(end: _TextEnd) -> int:
    return text_order(end[1]) if end != _TOP else (1 << 64) - 1
