"""The reference engine: filters evaluated by the letter of the language.

It evaluates the syntax tree as it was written. Nothing of the normal form, of constraints or of the
pattern matcher is used, so that it can bear witness against all of them. Negation is pushed down
during the evaluation: every leaf is evaluated for itself or for its negation, and a comparison with
an absent attribute or with a value of another type *holds* neither way.

Where attributes have several values the tree is evaluated for each choice of one value of every
attribute that it names; one choice for which it holds is enough.

Cost: every filter's whole tree for every record. Use it to check other engines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Final

from sapwood.errors import InvariantError
from sapwood.language.parser import parse
from sapwood.language.syntax import (
    And,
    Between,
    Comparison,
    Condition,
    Constant,
    Exists,
    In,
    Like,
    Node,
    Not,
    Operator,
    Or,
    Read,
)
from sapwood.matching.protocol import SlotBatch, batch_of
from sapwood.model.filter import Filter
from sapwood.model.publication import ManyValued, Record, Value

_BOOLEAN: Final = "boolean"
_NUMBER: Final = "number"
_TEXT: Final = "text"


class ReferenceEngine:
    """Brute force over syntax trees (see the module)."""

    def __init__(self) -> None:
        #: slot -> tree; exactly the taken slots
        self._trees: dict[int, Node] = {}

    def __len__(self) -> int:
        """The number of taken slots."""
        return len(self._trees)

    def add(self, slot: int, filter: Filter) -> None:
        """Put `filter`, read again from its text, into `slot`."""
        assert slot not in self._trees, f"slot {slot} is taken"
        self._trees[slot] = parse(str(filter) if filter.source is None else filter.source)

    def remove(self, slot: int) -> None:
        """Free `slot`."""
        del self._trees[slot]

    def match(self, record: Record) -> list[int]:
        """The slots whose filters accept `record`, ascending."""
        return sorted(slot for slot, tree in self._trees.items() if holds(tree, record))

    def match_any(self, record: Record) -> bool:
        """True if any filter accepts `record`."""
        return any(holds(tree, record) for tree in self._trees.values())

    def match_count(self, record: Record) -> int:
        """The number of filters that accept `record`."""
        return len(self.match(record))

    def match_slots(self, records: Sequence[Record]) -> SlotBatch:
        """The matches of many records, one after the other."""
        return batch_of(self.match(record) for record in records)

    def fold(self) -> None:
        """Do nothing: no work is ever deferred."""

    def save(self, folder: Path) -> None:
        """Write nothing: the filters are enough to restore the engine."""

    def load(self, folder: Path, filters: Iterable[tuple[int, Filter]]) -> None:  # noqa: ARG002
        """Add all filters again."""
        for slot, stored in filters:
            self.add(slot, stored)

    def validate(self) -> None:
        """Check that no slot is negative."""
        if any(slot < 0 for slot in self._trees):
            raise InvariantError("a negative slot is taken")


def holds(node: Node, record: Record, *, negated: bool = False) -> bool:
    """True if the condition, or with `negated` its negation, holds for a flat record.

    If attributes have several values, one choice of values for which it holds is enough.
    """
    return any(_holds(node, row, negated=negated) for row in _choices(node, record))


def holds_of_all(node: Node, record: Record) -> bool:
    """True if the condition holds for every choice of one value of each attribute."""
    return all(_holds(node, row, negated=False) for row in _choices(node, record))


def _choices(node: Node, record: Record) -> Iterator[Record]:
    """The record with one value of each attribute that the condition names, in all ways."""
    if type(record) is not ManyValued:
        yield record
        return
    several = [name for name in {*_names(node)} if isinstance(record.get(name), tuple)]
    for chosen in product(*(record[name] for name in several)):
        yield {**record, **dict(zip(several, chosen, strict=True))}


def _names(node: Node) -> Iterator[str]:
    """The attributes that a condition names, some more than once."""
    match node:
        case Constant():
            pass
        case Not(operand=operand):
            yield from _names(operand)
        case And(operands=operands) | Or(operands=operands):
            for operand in operands:
                yield from _names(operand)
        case _:
            yield node.attribute


def _holds(node: Node, record: Record, *, negated: bool) -> bool:
    """True if the condition, or with `negated` its negation, holds for a record of one row."""
    match node:
        case Constant(value=value):
            return value != negated
        case Not(operand=operand):
            return _holds(operand, record, negated=not negated)
        case And(operands=operands):
            asked = (_holds(operand, record, negated=negated) for operand in operands)
            return any(asked) if negated else all(asked)
        case Or(operands=operands):
            asked = (_holds(operand, record, negated=negated) for operand in operands)
            return all(asked) if negated else any(asked)
        case _:
            return _leaf_holds(node, record, negated=negated)


def _leaf_holds(leaf: Condition, record: Record, *, negated: bool) -> bool:
    if isinstance(leaf, Exists):
        return (leaf.attribute in record) != negated
    if isinstance(leaf, Read):
        return _reading_holds(leaf, record, negated=negated)
    if leaf.attribute not in record:
        return False
    value = record[leaf.attribute]
    match leaf:
        case Comparison(operator=operator, value=wanted):
            return _compares(value, operator, wanted, negated=negated)
        case Between(low=low, high=high):
            ends = (
                _compares(value, Operator.AT_LEAST, low, negated=negated),
                _compares(value, Operator.AT_MOST, high, negated=negated),
            )
            return any(ends) if negated else all(ends)
        case In(values=values):
            each = (_compares(value, Operator.EQUAL, one, negated=negated) for one in values)
            return all(each) if negated else any(each)
        case Like(pattern=pattern, escape=escape):
            if _type_of(value) != _TEXT:
                return False
            return _is_like(str(value), pattern, escape) != negated


def _reading_holds(leaf: Read, record: Record, *, negated: bool) -> bool:
    """The condition on the reading of a text; for a text without a reading neither way holds."""
    value = record.get(leaf.attribute)
    read = _READ[leaf.function](value) if isinstance(value, str) else None
    if isinstance(leaf.condition, Exists):
        return (read is not None) != negated
    return read is not None and _leaf_holds(leaf.condition, {leaf.attribute: read}, negated=negated)


def _integer(text: str) -> int | None:
    """The integer of a text of ASCII digits, perhaps behind a sign; `None` for other texts."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not digits or any(char not in "0123456789" for char in digits):
        return None
    value = 0
    for char in digits:
        value = min(value * 10 + ord(char) - ord("0"), 1 << 80)
    value = -value if text[0] == "-" else value
    return value if -(1 << 63) <= value < 1 << 63 else None


def _timestamp(text: str) -> str | None:
    """The normal form of a timestamp, computed 400 years off, as the library has no year 0."""
    try:
        date, zone = text.upper().split("T")
        at = next(at for at, char in enumerate(zone) if char in "Z+-")
        clock, _, fraction = zone[:at].partition(".")
        parts = [*date.split("-"), *clock.split(":")]
        hours, _, minutes = zone[at + 1 :].partition(":")
        offset = ["00", "00"] if zone[at:] == "Z" else [hours, minutes]
        is_written = [len(part) for part in (*parts, *offset)] == [4, *[2] * 7] and (
            "." not in zone or 1 <= len(fraction) <= 9
        )
        digits = "".join((*parts, *offset, fraction))
        if not is_written or not digits.isascii() or not digits.isdigit():
            return None
        year, month, day, hour, minute, second = map(int, parts)
        ahead = timedelta(hours=int(offset[0]), minutes=int(offset[1]))
        if second > 60 or int(offset[0]) > 23 or int(offset[1]) > 59:
            return None
        cycle = 400 if year < 5000 else -400
        moment = datetime(year + cycle, month, day, hour, minute) + timedelta(seconds=second)  # noqa: DTZ001 - in UTC
        moment += ahead if zone[at] == "-" else -ahead
    except (ValueError, StopIteration, OverflowError):
        return None
    if not 0 <= moment.year - cycle <= 9999:
        return None
    return f"{moment.year - cycle:04}{moment:-%m-%dT%H:%M:%S}.{fraction:0<9}Z"


_READ: Final[Mapping[str, Callable[[str], Value | None]]] = MappingProxyType(
    {"integer": _integer, "lower": str.lower, "timestamp": _timestamp}
)


def _type_of(value: Value) -> str:
    if value is True or value is False:
        return _BOOLEAN
    return _TEXT if isinstance(value, str) else _NUMBER


def _compares(value: Value, operator: Operator, wanted: Value, *, negated: bool) -> bool:
    """True if `value operator wanted` (or its negation) holds: never across types."""
    if _type_of(value) != _type_of(wanted):
        return False
    before, same = _order(value, wanted)
    return _holds_in_order(operator, before=before, same=same) != negated


def _holds_in_order(operator: Operator, *, before: bool, same: bool) -> bool:
    """True if `operator` holds for a value that is before the constant, or the same."""
    match operator:
        case Operator.EQUAL:
            return same
        case Operator.DIFFERENT:
            return not same
        case Operator.LESS:
            return before
        case Operator.AT_MOST:
            return before or same
        case Operator.GREATER:
            return not before and not same
        case Operator.AT_LEAST:
            return not before


def _order(a: Value, b: Value) -> tuple[bool, bool]:
    """`(a < b, a == b)` for two values of one type."""
    if isinstance(a, str) and isinstance(b, str):
        return [*map(ord, a)] < [*map(ord, b)], a == b
    assert not isinstance(a, str), "only values of one type are compared"
    assert not isinstance(b, str), "only values of one type are compared"
    # Python compares an int with a float by exact value, and infinities lie outside all finite
    # numbers.
    return a < b, a == b


def _is_like(text: str, pattern: str, escape: str | None) -> bool:
    """SQL `like` by following all positions in the pattern at once.

    `steps` are pairs (kind, character): a literal, any one character, or any run. The set of
    steps still to be satisfied starts at the first and is moved on by each character of the text.
    """
    steps = _like_steps(pattern, escape)
    reached = _past_runs({0}, steps)
    for char in text:
        moved = set()
        for at in reached:
            if at < len(steps):
                kind, literal = steps[at]
                if kind == "run":
                    moved.add(at)
                elif kind == "one" or literal == char:
                    moved.add(at + 1)
        reached = _past_runs(moved, steps)
    return len(steps) in reached


def _like_steps(pattern: str, escape: str | None) -> list[tuple[str, str]]:
    steps: list[tuple[str, str]] = []
    position = 0
    while position < len(pattern):
        char = pattern[position]
        if escape is not None and char == escape:
            position += 1
            steps.append(("literal", pattern[position]))
        elif char == "%":
            steps.append(("run", ""))
        elif char == "_":
            steps.append(("one", ""))
        else:
            steps.append(("literal", char))
        position += 1
    return steps


def _past_runs(positions: set[int], steps: list[tuple[str, str]]) -> set[int]:
    """The positions, and those behind the runs that may be empty."""
    reached = set(positions)
    for at in sorted(positions):
        ahead = at
        while ahead < len(steps) and steps[ahead][0] == "run":
            ahead += 1
            reached.add(ahead)
    return reached
