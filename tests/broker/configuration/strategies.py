"""Values of options that all ways of giving them can say, and what settings come to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

from hypothesis import strategies as st

from sapwood.broker.configuration.kinds import (
    Choice,
    Kind,
    Number,
    Place,
    Several,
    Switch,
    Value,
    Whole,
)
from sapwood.broker.settings import BrokerSettings
from sapwood.errors import InputError

_WORD = st.text(st.characters(categories=("L", "N", "P", "S")), min_size=1, max_size=12)
_TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)


def values(kind: Kind) -> st.SearchStrategy[Value]:
    """The values that an option of that kind may be set to."""
    if isinstance(kind, Switch):
        return st.booleans()
    if isinstance(kind, Whole):
        return st.integers(-(2**62), 2**62)
    if isinstance(kind, Number):
        return st.floats(allow_nan=False)
    if isinstance(kind, Choice):
        return st.sampled_from(kind.names)
    if isinstance(kind, Several):
        return st.lists(_WORD, min_size=1, max_size=3).map(tuple)
    if isinstance(kind, Place):
        return _TEXT.filter(lambda one: bool(one.strip()) and "\0" not in one)
    return _TEXT.filter(lambda one: bool(one.strip()))


def refusal(work: Callable[[], object]) -> str | None:
    """The message where something is refused as input, else `None`; any other error is raised."""
    try:
        work()
    except InputError as error:
        return str(error)
    return None


def comparable(settings: BrokerSettings) -> dict[str, object]:
    """Settings by field, the protocol by its name: two that were made are never equal."""
    found = {field.name: getattr(settings, field.name) for field in fields(settings)}
    protocol = settings.protocol
    return found | {"protocol": protocol if isinstance(protocol, str) else protocol.name}


def spoken(value: Value) -> str:
    """The value as a variable of the environment has it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " ".join(value) if isinstance(value, tuple) else str(value)
