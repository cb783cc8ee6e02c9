"""Comparing a text of a document with a literal, as XPath 1.0 does (section 3.4).

A string literal is compared as a string, and only for equality; a number is compared with the
result of `number()` for the text. For a text that is no number that is NaN, of which only `!=`
holds (IEEE 754).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Final, TypeAlias

from sapwood.errors import InputError

Literal: TypeAlias = str | float

_NUMBER: Final = re.compile(r"[ \t\r\n]*(-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))[ \t\r\n]*")


class Relation(Enum):
    """The comparison operators of XPath."""

    EQUAL = "="
    DIFFERENT = "!="
    LESS = "<"
    AT_MOST = "<="
    GREATER = ">"
    AT_LEAST = ">="

    @property
    def is_equality(self) -> bool:
        """True if strings are compared as strings."""
        return self in (Relation.EQUAL, Relation.DIFFERENT)


@dataclass(frozen=True, slots=True)
class Comparison:
    """`text relation literal`; a string literal goes with `=` and `!=` only."""

    relation: Relation
    literal: Literal

    def __post_init__(self) -> None:
        if isinstance(self.literal, str):
            if not self.relation.is_equality:
                raise InputError("texts have no order in XPath 1.0; compare with a number")
        elif math.isnan(self.literal):
            raise InputError("NaN equals nothing; compare with a number")

    def accepts(self, text: str) -> bool:
        """True if the comparison holds for a text of a document."""
        if isinstance(self.literal, str):
            return (text == self.literal) == (self.relation is Relation.EQUAL)
        return compares(number(text), self.relation, self.literal)

    def __str__(self) -> str:
        """The comparison in the language, without its left side."""
        return f"{self.relation.value}{print_literal(self.literal)}"


def number(text: str) -> float:
    """The result of the XPath 1.0 function `number()` for a string (section 4.4), or NaN."""
    match = _NUMBER.fullmatch(text)
    return float(match[1]) if match else math.nan


def compares(left: float, relation: Relation, right: float) -> bool:
    """True if the relation holds between two numbers."""
    match relation:
        case Relation.EQUAL:
            return left == right
        case Relation.DIFFERENT:
            return left != right
        case Relation.LESS:
            return left < right
        case Relation.AT_MOST:
            return left <= right
        case Relation.GREATER:
            return left > right
        case Relation.AT_LEAST:
            return left >= right


def print_literal(literal: Literal) -> str:
    """A literal in the language; texts never hold both kinds of quotes there."""
    if isinstance(literal, str):
        quote = '"' if "'" in literal else "'"
        return f"{quote}{literal}{quote}"
    return format(Decimal(repr(literal)), "f").removesuffix(".0")
