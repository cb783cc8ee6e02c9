"""The meaning of filters, written a second time and as plainly as possible.

Nothing here shares code with `sapwood`: only the classes of the syntax tree are read. Numbers are
compared as fractions, texts as lists of code points, patterns by recursion on their two first
tokens. Slow, and meant to be obviously right.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, product
from typing import Any, TypeAlias

from sapwood.language.syntax import (
    And,
    Between,
    Comparison,
    Constant,
    Exists,
    In,
    Like,
    Node,
    Not,
    Or,
    Read,
)

Probe: TypeAlias = bool | int | float | str | Fraction
"""A value to try: fractions stand for numbers between two neighboring floats or integers."""

_OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def holds(node: Node, record: Mapping[str, Any], *, negated: bool = False) -> bool:
    """True if the tree, or its negation pushed to the leaves, accepts a flat record.

    If attributes have several values, in tuples: true if it accepts one of all combinations.
    """
    return any(_holds(node, row, negated=negated) for row in rows(record))


def rows(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """All records with one value of each attribute."""
    done: list[dict[str, Any]] = [{}]
    for name, value in record.items():
        each = value if isinstance(value, tuple) else (value,)
        done = [{**row, name: one} for row in done for one in each]
    return done


def _holds(node: Node, record: Mapping[str, Probe], *, negated: bool) -> bool:
    match node:
        case Not(operand):
            return _holds(operand, record, negated=not negated)
        case And(operands):
            parts = [_holds(operand, record, negated=negated) for operand in operands]
            return any(parts) if negated else all(parts)
        case Or(operands):
            parts = [_holds(operand, record, negated=negated) for operand in operands]
            return all(parts) if negated else any(parts)
        case Constant(constant):
            return constant is not negated
        case Exists(attribute):
            return (attribute in record) is not negated
        case Read(function, condition):
            read = _reading(function, record.get(node.attribute))
            if isinstance(condition, Exists):
                return (read is not None) is not negated
            return read is not None and _holds(condition, {node.attribute: read}, negated=negated)
    value = record.get(node.attribute)
    if value is None:
        return False
    match node:
        case Comparison(_, operator, literal):
            sign = _OPPOSITE[operator.value] if negated else operator.value
            return compares(value, sign, literal)
        case Between(_, low, high) if negated:
            return compares(value, "<", low) or compares(value, ">", high)
        case Between(_, low, high):
            return compares(value, ">=", low) and compares(value, "<=", high)
        case In(_, members) if negated:
            return all(compares(value, "<>", member) for member in members)
        case In(_, members):
            return any(compares(value, "=", member) for member in members)
        case Like(_, pattern, escape):
            return isinstance(value, str) and like(pattern, escape, value) is not negated


def _reading(function: str, text: Probe | None) -> Probe | None:
    """The reading of a text; years from 1 on."""
    if not isinstance(text, str):
        return None
    if function == "lower":
        return text.lower()
    if function == "integer":
        value = int(text) if re.fullmatch("[+-]?[0-9]+", text) else 2**63
        return value if -(2**63) <= value < 2**63 else None
    found = re.fullmatch(_MOMENT, text, re.ASCII | re.IGNORECASE)
    if found is None:
        return None
    year, month, day, hour, minute, second, hours, minutes = (int(found[at] or 0) for at in _PARTS)
    if max(hour, hours) > 23 or max(minute, minutes) > 59 or second > 60:
        return None
    ahead = (hours * 60 + minutes) * (-1 if found["sign"] == "-" else 1)
    try:
        days = date(year, month, day).toordinal()
        seconds = ((days * 24 + hour) * 60 + minute - ahead) * 60 + second
        clock = seconds % 86400
        return (
            f"{date.fromordinal(seconds // 86400).isoformat()}T{clock // 3600:02}:"
            f"{clock // 60 % 60:02}:{clock % 60:02}.{found['part'] or '':0<9}Z"
        )
    except ValueError:
        return None


_MOMENT = (
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(?P<part>\d{1,9}))?"
    r"(?:Z|(?P<sign>[+-])(?P<hours>\d\d):(?P<minutes>\d\d))"
)
_PARTS = (1, 2, 3, 4, 5, 6, "hours", "minutes")


def compares(left: Probe, sign: str, right: Probe) -> bool:
    """True if two values of one type stand in a relation; false for two types."""
    if _type(left) != _type(right):
        return False
    a, b = _key(left), _key(right)
    relations: dict[str, bool] = {
        "=": a == b,
        "<>": a != b,
        "<": a < b,
        "<=": a <= b,
        ">": a > b,
        ">=": a >= b,
    }
    return relations[sign]


def like(pattern: str, escape: str | None, text: str) -> bool:
    """SQL's `like`, by recursion."""
    return _like(tuple(_tokens(pattern, escape)), text)


def probes(*filters: Any) -> dict[str, list[Probe | None]]:
    """For each attribute of the filters, values that stand for all that they can tell apart.

    Without general patterns these are enough: of each number line the ends, a point between any
    two and beyond; of the texts the first of each range; both booleans; `None` for absent.
    """
    ends: dict[str, tuple[set[Any], set[str]]] = {}
    for conjunction in (c for f in filters for c in f.conjunctions):
        for name, constraint in conjunction.constraints:
            numbers, texts = ends.setdefault(name, (set(), {""}))
            numbers.update(end for i in constraint.numbers for end in (i.low, i.high))
            texts.update(end for r in constraint.strings.ranges for end in r if end is not None)
    return {
        name: [None, False, True, *_points(numbers), *sorted(texts)]
        for name, (numbers, texts) in sorted(ends.items())
    }


def grid(candidates: Mapping[str, Iterable[Probe | None]]) -> Iterator[dict[str, Any]]:
    """All records with one candidate for each attribute."""
    for chosen in product(*candidates.values()):
        pairs = zip(candidates, chosen, strict=True)
        yield {name: value for name, value in pairs if value is not None}


def _points(ends: set[Any]) -> list[Probe]:
    finite = sorted({_key(end) for end in ends if not math.isinf(end)} | {Fraction(0)})
    between = [(a + b) / 2 for a, b in pairwise(finite)]
    return [*finite, *between, finite[0] - 1, finite[-1] + 1, -math.inf, math.inf]


def _type(value: Probe) -> type:
    if isinstance(value, bool | str):
        return type(value)
    return Fraction


def _key(value: Probe) -> Any:
    if isinstance(value, str):
        return [ord(char) for char in value]
    if isinstance(value, float) and math.isinf(value):
        return value
    return value if isinstance(value, bool) else Fraction(value)


def _tokens(pattern: str, escape: str | None) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(pattern):
        if pattern[at] == escape:
            at += 1
            yield "char", pattern[at]
        elif pattern[at] in "%_":
            yield "wild", pattern[at]
        else:
            yield "char", pattern[at]
        at += 1


@lru_cache(maxsize=4096)
def _like(tokens: tuple[tuple[str, str], ...], text: str) -> bool:
    if not tokens:
        return not text
    head, rest = tokens[0], tokens[1:]
    if head == ("wild", "%"):
        return _like(rest, text) or (bool(text) and _like(tokens, text[1:]))
    return bool(text) and (head[0] == "wild" or head[1] == text[0]) and _like(rest, text[1:])
