"""What filters mean, written a second time and as plainly as possible.

Nothing here shares code with `sapwood`: only the classes of the syntax tree are read. Numbers are
compared as fractions, texts as lists of code points, patterns by recursion on their two first
tokens. Slow, and meant to be obviously right.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
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
)

Probe: TypeAlias = bool | int | float | str | Fraction
"""A value to try: fractions stand for numbers between two neighboring floats or integers."""

_OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def holds(node: Node, record: Mapping[str, Probe], *, negated: bool = False) -> bool:
    """Whether the tree, or its negation pushed to the leaves, accepts a flat record."""
    match node:
        case Not(operand):
            return holds(operand, record, negated=not negated)
        case And(operands):
            parts = [holds(operand, record, negated=negated) for operand in operands]
            return any(parts) if negated else all(parts)
        case Or(operands):
            parts = [holds(operand, record, negated=negated) for operand in operands]
            return all(parts) if negated else any(parts)
        case Constant(constant):
            return constant is not negated
        case Exists(attribute):
            return (attribute in record) is not negated
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


def compares(left: Probe, sign: str, right: Probe) -> bool:
    """Whether two values of one type stand in a relation; false for two types."""
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
