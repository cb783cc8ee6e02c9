"""Conditions without `or`: they state that something exists, which distributes over `or`."""

from __future__ import annotations

from itertools import product
from typing import TypeAlias, assert_never

from sapwood.errors import LimitError
from sapwood.model.patterns.conditions import (
    AllOf,
    AnyOf,
    Attribute,
    Below,
    Condition,
    StringValue,
    Text,
)

Alternative: TypeAlias = tuple[Condition, ...]
"""A condition on one element without `or`: leaves, and `Below` with a conjunction inside."""


def alternatives(condition: Condition, *, limit: str, most: int) -> tuple[Alternative, ...]:
    """The alternatives of a condition, multiplied out; operands stay in their order.

    Raises `LimitError` beyond `most` alternatives, which is the value of `limits.<limit>`.
    """

    def checked(count: int) -> None:
        if count > most:
            raise LimitError(
                limit, most, count, "the number of alternatives without 'or' in the expression"
            )

    def found(asked: Condition) -> tuple[Alternative, ...]:
        match asked:
            case Below(axis=axis, test=test, condition=inner):
                return tuple((Below(axis, test, AllOf(one)),) for one in found(inner))
            case AllOf(operands=operands):
                every: tuple[Alternative, ...] = ((),)
                for operand in operands:
                    choices = found(operand)
                    checked(len(every) * len(choices))
                    every = tuple((*one, *more) for one, more in product(every, choices))
                return every
            case AnyOf(operands=operands):
                distinct = {one: None for operand in operands for one in found(operand)}
                checked(len(distinct))
                return tuple(distinct)
            case Attribute() | Text() | StringValue():
                return ((asked,),)
            case _:
                assert_never(asked)

    return found(condition)
