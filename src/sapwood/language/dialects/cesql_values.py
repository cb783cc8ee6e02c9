"""Values of CloudEvents SQL: casts, functions of constants, and the casts of attributes.

CloudEvents SQL 1.0, sections 3.5 and 3.7. An expression has a value or an error, and an event that
leads to an error does not pass; so an error is an exception here, and no value is made up for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from sapwood.model import constraint as c
from sapwood.model import numbers, strings
from sapwood.model.constraint import Constraint
from sapwood.model.like import Pattern, Wildcard
from sapwood.model.numbers import ALL_NUMBERS, Interval, Numbers
from sapwood.model.readings import Reading
from sapwood.model.strings import Strings

Scalar: TypeAlias = str | int | bool
"""A value of one of the three types, of which no `int` needs more than 32 bits."""

INTEGER_MAX: Final = 2**31 - 1
INTEGER_MIN: Final = -(2**31)

_INTEGERS: Final[Numbers] = (Interval(INTEGER_MIN, INTEGER_MAX),)
_INTEGER_TEXT: Final = re.compile(r"[+-]?[0-9]+")

TEXT_ATTRIBUTES: Final = frozenset(
    ("datacontenttype", "dataschema", "id", "source", "specversion", "subject", "time", "type")
)
"""The attributes of CloudEvents 1.0 that are no extensions: all of them are texts."""


class CastError(Exception):
    """The error of a value that has no counterpart of the other type."""


class Sides(NamedTuple):
    """The values of an attribute for which a condition holds, and for which it fails.

    For values in neither it is an error.
    """

    holds: Constraint
    fails: Constraint


def to_integer(value: Scalar) -> int:
    """Cast to an integer; raises `CastError`."""
    if isinstance(value, str):
        digits = value.lstrip("+-0")
        if not _INTEGER_TEXT.fullmatch(value) or len(digits) > 10:
            raise CastError
        value = int(digits or "0") * (-1 if value[0] == "-" else 1)
    if not INTEGER_MIN <= value <= INTEGER_MAX:
        raise CastError
    return int(value)


def to_text(value: Scalar) -> str:
    """Cast to a text."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def to_boolean(value: Scalar) -> bool:
    """Cast to a boolean; raises `CastError`."""
    if isinstance(value, str):
        if value.lower() not in ("true", "false"):
            raise CastError
        return value.lower() == "true"
    return bool(value)


def cast_like(value: Scalar, example: Scalar) -> Scalar:
    """Cast to the type that another value has; raises `CastError`."""
    if isinstance(example, bool):
        return to_boolean(value)
    return to_text(value) if isinstance(example, str) else to_integer(value)


def as_integer(wanted: Numbers) -> Sides:
    """The condition that an attribute, cast to an integer, is one of the numbers."""
    holds, fails = wanted, numbers.complement(wanted)
    return Sides(_cast_to_integer(holds), _cast_to_integer(fails))


def _cast_to_integer(wanted: Numbers) -> Constraint:
    texts = Reading("integer", numbers.intersect(wanted, _INTEGERS))
    return Constraint(
        booleans=frozenset(one for one in (False, True) if numbers.accepts(wanted, int(one))),
        numbers=wanted,
        strings=strings.reads_as(texts),
    )


def as_boolean() -> Sides:
    """The condition that an attribute, cast to a boolean, is true."""
    zero = numbers.point(0)
    return Sides(
        Constraint(
            booleans=frozenset((True,)),
            numbers=numbers.complement(zero),
            strings=_spelled("true"),
        ),
        Constraint(booleans=frozenset((False,)), numbers=zero, strings=_spelled("false")),
    )


def _spelled(text: str) -> Strings:
    return strings.reads_as(Reading("lower", strings.point(text)))


def as_text(texts: tuple[str, ...]) -> Sides:
    """The condition that an attribute, cast to a text, is one of `texts`."""
    holds = Constraint(
        booleans=frozenset(one for one in (False, True) if to_text(one) in texts),
        numbers=numbers.of_points(int(text) for text in texts if _is_decimal(text)),
        strings=strings.of_points(texts),
    )
    fails = holds.complement()
    assert fails is not None, "there is no pattern in it"
    return Sides(holds, fails.intersect(c.PRESENT))


def _is_decimal(text: str) -> bool:
    """True if a text is the form in which an integer is written."""
    try:
        return to_text(to_integer(text)) == text
    except CastError:
        return False


def as_lower_text(texts: tuple[str, ...]) -> Sides:
    """The condition that an attribute, cast to a text and lowered, is one of `texts`."""
    plain = as_text(texts)
    wanted = strings.of_points(texts)
    others = strings.complement(wanted)
    assert others is not None, "there is no pattern in it"
    return Sides(
        replace(plain.holds, strings=strings.reads_as(Reading("lower", wanted))),
        replace(plain.fails, strings=strings.reads_as(Reading("lower", others))),
    )


def fits(name: str, pattern: Pattern) -> Sides | None:
    """The condition that an attribute, cast to a text, fits a pattern; `None` if no filter can be.

    That is so where the digits of some integers would fit, and those of others not.
    """
    booleans = frozenset(one for one in (False, True) if pattern.matches(to_text(one)))
    if name in TEXT_ATTRIBUTES:
        fitting: Numbers = ()
    elif _fits_all_integers(pattern):
        fitting = ALL_NUMBERS
    elif (literal := pattern.literal) is not None:
        fitting = numbers.point(int(literal)) if _is_decimal(literal) else ()
    elif _may_fit_integers(pattern):
        return None
    else:
        fitting = ()
    holds = Constraint(booleans=booleans, numbers=fitting, strings=strings.like(pattern))
    fails = Constraint(
        booleans=frozenset((False, True)) - booleans,
        numbers=numbers.complement(fitting),
        strings=strings.not_like(pattern),
    )
    return Sides(holds, fails)


def _fits_all_integers(pattern: Pattern) -> bool:
    return pattern.tokens in ((Wildcard.ANY_RUN,), (Wildcard.ANY_CHAR, Wildcard.ANY_RUN))


def _may_fit_integers(pattern: Pattern) -> bool:
    chars = [(at, char) for at, char in enumerate(pattern.tokens) if isinstance(char, str)]
    return all(char in "0123456789" or (char == "-" and at == 0) for at, char in chars)


def _left(text: str, count: int) -> str:
    _check(count >= 0)
    return text[:count]


def _right(text: str, count: int) -> str:
    _check(count >= 0)
    return text[len(text) - count :] if count < len(text) else text


def _substring(text: str, position: int, length: int | None = None) -> str:
    _check(-len(text) <= position <= len(text) and (length is None or length >= 0))
    if position == 0:
        return ""
    start = position - 1 if position > 0 else len(text) + position
    return text[start:] if length is None else text[start : start + length]


def _absolute(value: int) -> int:
    _check(value != INTEGER_MIN)
    return abs(value)


def _check(holds: bool) -> None:  # noqa: FBT001 - what holds
    if not holds:
        raise CastError


class Function(NamedTuple):
    """A function of constants: the casts of its arguments, and of `more` if it is variadic."""

    casts: tuple[Callable[[Scalar], Scalar], ...]
    call: Callable[..., Scalar]
    optional: int = 0
    more: Callable[[Scalar], Scalar] | None = None


FUNCTIONS: Final[Mapping[str, Function]] = MappingProxyType(
    {
        "ABS": Function((to_integer,), _absolute),
        "BOOL": Function((to_boolean,), bool),
        "CONCAT": Function((), lambda *parts: "".join(parts), more=to_text),
        "CONCAT_WS": Function((to_text,), lambda by, *parts: by.join(parts), more=to_text),
        "INT": Function((to_integer,), int),
        "LEFT": Function((to_text, to_integer), _left),
        "LENGTH": Function((to_text,), len),
        "LOWER": Function((to_text,), str.lower),
        "RIGHT": Function((to_text, to_integer), _right),
        "STRING": Function((to_text,), str),
        "SUBSTRING": Function((to_text, to_integer, to_integer), _substring, optional=1),
        "TRIM": Function((to_text,), str.strip),
        "UPPER": Function((to_text,), str.upper),
    }
)
"""The functions of section 3.5 by name."""


def call(function: Function, arguments: list[Scalar]) -> Scalar:
    """The value of a function of constants; raises `CastError` where it is an error."""
    casts = function.casts[: len(arguments)]
    given = [cast(value) for cast, value in zip(casts, arguments, strict=False)]
    if function.more is not None:
        given += [function.more(value) for value in arguments[len(casts) :]]
    return function.call(*given)


def takes(function: Function, count: int) -> bool:
    """True if the function takes `count` arguments."""
    least = len(function.casts) - function.optional
    return least <= count and (function.more is not None or count <= len(function.casts))


def reckon(one: int, sign: str, other: int) -> int:
    """Arithmetic of integers; raises `CastError` without a result in 32 bits."""
    if sign in "/%" and other == 0:
        raise CastError
    if sign == "/":
        found = abs(one) // abs(other) * (1 if (one < 0) == (other < 0) else -1)
    elif sign == "%":
        found = abs(one) % abs(other) * (-1 if one < 0 else 1)
    else:
        found = one + other if sign == "+" else one - other if sign == "-" else one * other
    return to_integer(found)
