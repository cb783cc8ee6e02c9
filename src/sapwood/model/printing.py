"""Constraints back to text: the notation that the filter language reads.

`parse(print(x))` gives `x` again: the printed form states the sets exactly.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from sapwood.model.like import Pattern, Wildcard
from sapwood.model.numbers import ALL_NUMBERS, Interval, Number, Numbers
from sapwood.model.readings import Reading
from sapwood.model.strings import ALL_STRINGS, Range, Strings, prefix_end, successor

if TYPE_CHECKING:
    from sapwood.model.constraint import Constraint
    from sapwood.model.publication import Value
    from sapwood.model.strings import TextTest

KEYWORDS: Final = frozenset(
    ("and", "between", "escape", "exists", "false", "in", "is", "like", "not", "null", "or", "true")
)
"""Words that an attribute name must be quoted to use."""

_NUMBER_CHARS: Final = 25
"""The longest float, such as -2.2250738585072014e-308, and a separator."""

_PART_CHARS: Final = 48
"""More than all keywords, operators, quotes and parentheses around one part of a constraint."""

_PLAIN_NAME: Final = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_EVERY_TEXT: Final = ALL_STRINGS.ranges


def print_attribute(name: str) -> str:
    """An attribute name, quoted where the bare name would not be read as one."""
    if _PLAIN_NAME.fullmatch(name) and not any(
        part.lower() in KEYWORDS for part in name.split(".")
    ):
        return name
    return '"' + name.replace('"', '""') + '"'


def print_value(value: Value) -> str:
    """A literal."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)


def print_constraint(attribute: str, constraint: Constraint) -> str:
    """The condition on one attribute, in parentheses where it is a disjunction."""
    name = print_attribute(attribute)
    if constraint.booleans and constraint.numbers and not constraint.absent:
        present = _print_present(name, constraint)
        if present is not None:
            return present
    parts = [f"{name} is null"] if constraint.absent else []
    single = sorted(constraint.booleans) if len(constraint.booleans) == 1 else []
    intervals = [n for n in constraint.numbers if not n.is_point]
    ranges = [r for r in constraint.strings.ranges if r[1] != successor(r[0])]
    points: list[Value] = [*single, *(n.low for n in constraint.numbers if n.is_point)]
    if constraint.strings.is_plain:
        points.extend(r[0] for r in constraint.strings.ranges if r[1] == successor(r[0]))
    if len(constraint.booleans) == 2:
        parts.append(f"{name} in (false, true)")
    if points:
        parts.append(_print_points(name, points))
    parts.extend(_print_numbers(name, tuple(intervals)))
    if constraint.strings.is_plain:
        parts.extend(_print_ranges(name, tuple(ranges)))
    else:
        parts.append(_print_patterns(name, constraint.strings))
    return parts[0] if len(parts) == 1 else "(" + " or ".join(parts) + ")"


def constraint_chars_max(attribute: str, constraint: Constraint) -> int:
    """A number of characters that `print_constraint` surely does not exceed; nothing is printed.

    Every part of the constraint is printed with the attribute's name twice at most, a number in
    `_NUMBER_CHARS` unless it is longer than any that is read, a text with each character as four
    (an escaped quote, doubled).
    """
    numbers, strings = constraint.numbers, constraint.strings
    ends = [end for n in numbers for end in (n.low, n.high)]
    chars = sum(
        _NUMBER_CHARS + (end.bit_length() // 3 if isinstance(end, int) else 0) for end in ends
    )
    chars += 4 * sum(len(low) + len(high or "") for low, high in strings.ranges)
    tests = (*strings.required, *strings.forbidden)
    chars += sum(
        4 * len(test.letters)
        if isinstance(test, Pattern)
        else len(_print_reading(print_attribute(attribute), test))
        for test in tests
    )
    parts = 3 + len(numbers) + len(strings.ranges) + constraint.patterns
    return chars + parts * (2 * (2 * len(attribute) + 2) + _PART_CHARS)


def _print_present(name: str, constraint: Constraint) -> str | None:
    everything = (
        len(constraint.booleans) == 2
        and constraint.numbers == ALL_NUMBERS
        and constraint.strings == ALL_STRINGS
    )
    return f"exists {name}" if everything else None


def _print_points(name: str, points: list[Value]) -> str:
    if len(points) == 1:
        return f"{name} = {print_value(points[0])}"
    return f"{name} in ({', '.join(print_value(point) for point in points)})"


def _print_numbers(name: str, intervals: Numbers) -> list[str]:
    """One condition for each run of intervals that only single numbers separate."""
    parts: list[str] = []
    run: list[Interval] = []
    for interval in intervals:
        if run and not (run[-1].high == interval.low and run[-1].high_open and interval.low_open):
            parts.append(_print_interval_run(name, run))
            run = []
        run.append(interval)
    if run:
        parts.append(_print_interval_run(name, run))
    return parts


def _print_interval_run(name: str, run: list[Interval]) -> str:
    low, high = run[0].low, run[-1].high
    holes: list[Value] = [interval.high for interval in run[:-1]]
    conditions: list[str] = []
    if low == -math.inf and high == math.inf:
        if not holes:
            return f"({name} <= 0 or {name} > 0)"
    elif not run[0].low_open and not run[-1].high_open and low != -math.inf and high != math.inf:
        conditions.append(f"{name} between {_print_number(low)} and {_print_number(high)}")
    else:
        if low != -math.inf:
            conditions.append(f"{name} {'>' if run[0].low_open else '>='} {_print_number(low)}")
        if high != math.inf:
            conditions.append(f"{name} {'<' if run[-1].high_open else '<='} {_print_number(high)}")
    return " and ".join((*conditions, *_print_holes(name, holes)))


def _print_ranges(name: str, ranges: tuple[Range, ...]) -> list[str]:
    """One condition for each run of ranges that only single texts separate."""
    parts: list[str] = []
    run: list[Range] = []
    for current in ranges:
        high = run[-1][1] if run else None
        if high is not None and current[0] != successor(high):
            parts.append(_print_range_run(name, run))
            run = []
        run.append(current)
    if run:
        parts.append(_print_range_run(name, run))
    return parts


def _print_range_run(name: str, run: list[Range]) -> str:
    low, high = run[0][0], run[-1][1]
    holes: list[Value] = [end for _, end in run[:-1] if end is not None]
    conditions: list[str] = []
    if low and high == prefix_end(low):
        conditions.append(_print_like(name, Pattern.of((*low, Wildcard.ANY_RUN))))
    elif not low and high is None:
        if not holes:
            return f"{name} like '%'"
    else:
        if low:
            conditions.append(_print_end(name, low, (">=", ">")))
        if high is not None:
            conditions.append(_print_end(name, high, ("<", "<=")))
    return " and ".join((*conditions, *_print_holes(name, holes)))


def _print_end(name: str, bound: str, operators: tuple[str, str]) -> str:
    """`bound` itself, or the text it is the successor of."""
    if bound.endswith("\0"):
        return f"{name} {operators[1]} {print_value(bound[:-1])}"
    return f"{name} {operators[0]} {print_value(bound)}"


def _print_holes(name: str, holes: list[Value]) -> list[str]:
    if not holes:
        return []
    if len(holes) == 1:
        return [f"{name} <> {print_value(holes[0])}"]
    return [f"{name} not in ({', '.join(print_value(hole) for hole in holes)})"]


def _print_patterns(name: str, strings: Strings) -> str:
    """A conjunction: the ranges unless they hold all texts, then each pattern."""
    conditions: list[str] = []
    if strings.ranges != _EVERY_TEXT:
        points: list[Value] = [low for low, high in strings.ranges if high == successor(low)]
        wide = tuple(r for r in strings.ranges if r[1] != successor(r[0]))
        parts = [_print_points(name, points)] if points else []
        parts.extend(_print_ranges(name, wide))
        conditions.append(parts[0] if len(parts) == 1 else "(" + " or ".join(parts) + ")")
    forbidden = [test for test in strings.forbidden if isinstance(test, Reading)]
    if forbidden and not conditions and not strings.required:
        conditions.append(f"{name} like '%'")
    conditions.extend(_print_test(name, test) for test in strings.required)
    conditions.extend(
        _print_like(f"{name} not", test) for test in strings.forbidden if isinstance(test, Pattern)
    )
    conditions.extend(f"not exists {_subject(name, test)}" for test in forbidden)
    return " and ".join(conditions)


def _print_reading(name: str, reading: Reading) -> str:
    """A reading that a text must have, printed."""
    subject, values = _subject(name, reading), reading.values
    if reading.is_any:
        return f"exists {subject}"
    points: list[Value]
    if isinstance(values, tuple):
        points = [n.low for n in values if n.is_point]
        parts = _print_numbers(subject, tuple(n for n in values if not n.is_point))
    elif not values.is_plain:
        return _print_patterns(subject, values)
    else:
        points = [low for low, high in values.ranges if high == successor(low)]
        parts = _print_ranges(subject, tuple(r for r in values.ranges if r[1] != successor(r[0])))
    if points:
        parts.insert(0, _print_points(subject, points))
    return parts[0] if len(parts) == 1 else "(" + " or ".join(parts) + ")"


def _subject(name: str, reading: Reading) -> str:
    return f"{reading.function}({name})"


def print_text_test(attribute: str, test: TextTest) -> str:
    """The condition that a text of the attribute passes the test."""
    return _print_test(print_attribute(attribute), test)


def _print_test(name: str, test: TextTest) -> str:
    return _print_like(name, test) if isinstance(test, Pattern) else _print_reading(name, test)


def _print_like(subject: str, pattern: Pattern) -> str:
    escaped = any(token in ("%", "_") for token in pattern.tokens)
    text = "".join(_print_token(token, escaped=escaped) for token in pattern.tokens)
    return f"{subject} like {print_value(text)}" + (" escape '\\'" if escaped else "")


def _print_token(token: str | Wildcard, *, escaped: bool) -> str:
    if isinstance(token, Wildcard):
        return token.value
    return f"\\{token}" if escaped and token in ("%", "_", "\\") else token


def _print_number(value: Number) -> str:
    return repr(value)
