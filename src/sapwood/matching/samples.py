"""Random filters and records that meet: the workloads of `checks`.

Everything is drawn from small pools, so that constants repeat, ranges touch and records satisfy
filters. The pools hold values that engines often get wrong: neighbors of 2**53, booleans beside
numbers, texts that begin alike, texts outside the basic plane.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any, Final

from sapwood.model.printing import print_attribute, print_value
from sapwood.model.publication import Value

_NAMES: Final = ("a", "b", "c", "d", "detail.state", "unit price")
_NUMBERS: Final = (
    *(-2, -1, 0, 1, 2, 3, 4, 5),
    *(-0.5, 0.5, 1.5, 2.5, 1e300, 5e-324),
    *(2**53 - 1, 2**53, 2**53 + 1, float(2**53 + 2)),
    *(2**63 - 1, -(2**63), float(2**63)),
)
_INFINITIES: Final = (float("-inf"), float("inf"))
_TEXTS: Final = (
    *("", "a", "a\0", "aa", "ab", "abc", "b", "ba", "customer-1", "customer-10", "customer-2"),
    *("AB", "5", "-07", "2026-01-31T23:30:00-01:00"),
    *("100%", "a_b", "it's", "\uffff", "\U0001f600", "a\U0001f600"),
)
_READINGS: Final = (
    ("lower", "in ('a', 'ab')"),
    ("lower", "like '%b'"),
    ("integer", "between -1 and 5"),
    ("integer", "in (5, 7)"),
    ("timestamp", "between '2026-01-31T12:00:00Z' and '2026-02-01T00:00:00Z'"),
)
"""Functions, and conditions on their readings."""

_PATTERNS: Final = ("a%", "%a", "%a%", "a_c", "_", "__%", "%\uffff%", "b%b", "%", "abc", "%!%%")
_COMPARISONS: Final = ("=", "<>", "<", "<=", ">", ">=")


class Sampler:
    """Draws filters and records; the same seed gives the same draws."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)  # noqa: S311 - samples, not secrets

    def chance(self, share: float) -> bool:
        """True in about `share` of the draws."""
        return self._random.random() < share

    def pick(self, count: int) -> int:
        """A number from 0 to `count - 1`."""
        return self._random.randrange(count)

    def filter_text(self, depth: int = 2) -> str:
        """A filter as text; `depth` bounds the nesting of `and`, `or` and `not`."""
        if self.chance(0.02):
            return self._random.choice(("true", "false"))
        form = self._random.random()
        if depth == 0 or form < 0.3:
            return self._condition()
        if form < 0.4:
            return f"not ({self.filter_text(depth - 1)})"
        word = " and " if form < 0.8 else " or "
        operands = (self.filter_text(depth - 1) for _ in range(self._random.randint(2, 3)))
        return word.join(f"({operand})" for operand in operands)

    def record(self) -> Mapping[str, Any]:
        """A record; each attribute is present more often than not, and some are arrays."""
        return {name: self._member() for name in _NAMES if self.chance(0.7)}

    def _member(self) -> Value | list[Value]:
        if self.chance(0.9):
            return self._value(_INFINITIES)
        return [self._value(_INFINITIES) for _ in range(self.pick(4))]

    def _condition(self) -> str:
        name = print_attribute(self._random.choice(_NAMES))
        form = self._random.random()
        if form < 0.4:
            return self._comparison(name)
        negation = "not " if self.chance(0.3) else ""
        if form < 0.55:
            low, high = (print_value(self._ordered_value()) for _ in range(2))
            return f"{name} {negation}between {low} and {high}"
        if form < 0.75:
            values = (print_value(self._value()) for _ in range(self._random.randint(1, 5)))
            return f"{name} {negation}in ({', '.join(values)})"
        if form < 0.85:
            pattern = print_value(self._random.choice(_PATTERNS))
            return f"{name} {negation}like {pattern} escape '!'"
        if form < 0.92:
            function, condition = self._random.choice(_READINGS)
            return f"{function}({name}) {negation}{condition}"
        return self._random.choice((f"exists {name}", f"{name} is null", name))

    def _comparison(self, name: str) -> str:
        value = self._value()
        operators = _COMPARISONS[:2] if isinstance(value, bool) else _COMPARISONS
        return f"{name} {self._random.choice(operators)} {print_value(value)}"

    def _value(self, more_numbers: tuple[float, ...] = ()) -> Value:
        if self.chance(0.1):
            return self.chance(0.5)
        return self._ordered_value(more_numbers)

    def _ordered_value(self, more_numbers: tuple[float, ...] = ()) -> int | float | str:
        if self.chance(0.4):
            return self._random.choice(_TEXTS)
        return self._random.choice((*_NUMBERS, *more_numbers))
