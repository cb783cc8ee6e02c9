"""Conditions on readings of texts: their constants, in the form that readings have."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from sapwood.errors import InputError
from sapwood.language.syntax import Between, Comparison, Exists, In, Like
from sapwood.model.publication import Value
from sapwood.model.readings import NUMERIC, timestamp_of

_Leaf: TypeAlias = Comparison | Between | In | Like | Exists


def readable(function: str, leaf: _Leaf) -> _Leaf:
    """The condition on a reading by `function`; timestamps are brought into their normal form.

    Raises `InputError` where a constant is of another kind than readings by that function are.
    """
    match leaf:
        case Comparison(value=value):
            return replace(leaf, value=_constant(function, value))
        case Between(low=low, high=high):
            return replace(leaf, low=_constant(function, low), high=_constant(function, high))
        case In(values=values):
            return replace(leaf, values=tuple(_constant(function, one) for one in values))
        case Like():
            if function != "lower":
                raise InputError(f"like is for texts, and {function} reads none")
    return leaf


def _constant(function: str, value: Value) -> Value:
    if isinstance(value, bool) or isinstance(value, str) == (function in NUMERIC):
        kind = "a number" if function in NUMERIC else "a text in single quotes"
        raise InputError(f"what {function} reads is compared with {kind}")
    if function == "timestamp":
        assert isinstance(value, str), "the kind was checked"
        found = timestamp_of(value)
        if found is None:
            raise InputError("a timestamp is written like '2026-01-31T12:00:00Z' (RFC 3339)")
        return found
    return value
