"""Faults as words of a command line: one each, with the fields that an entry of a file has.

::

    corruption router=r3 at=2 kinds=drop,insert share=0.5
    tampering between=r1,r2 start=1 seconds=2 how=alter
    timer router=r3 start=1 seconds=30
    clock router=r2 at=1 jump=0.5
    link between=r1,r2 down=1 up=2

The first word is the name of the table in a file (`sapwood.simulation.faults`), its fields follow.
The names and contents of fields are checked where files are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any, Final

from sapwood.errors import InputError

_LISTS: Final = frozenset({"between", "kinds", "links"})
"""Fields whose value is a list, also of one."""

_TEXTS: Final = frozenset({"router", "name", "of", "how", "tail"})
"""Fields that are never numbers, whatever they look like."""

_FLAGS: Final[Mapping[str, bool]] = MappingProxyType({"true": True, "false": False})


def with_faults(document: Mapping[str, Any], texts: Iterable[str]) -> dict[str, Any]:
    """A document of faults, with the faults of `texts` behind its entries; raises `InputError`."""
    found = dict(document)
    for text in texts:
        table, entry = parse_fault(text)
        before = found.get(table, [])
        if not isinstance(before, list):
            raise InputError(f"`{table}` is not a list of tables: write [[{table}]]")
        found[table] = [*before, entry]
    return found


def parse_fault(text: str) -> tuple[str, dict[str, Any]]:
    """The name of a fault's table, and the entry in it; raises `InputError`."""
    table, *words = text.split() or [""]
    if not table:
        raise InputError("a fault has no words: say, for example, timer router=r3 seconds=30")
    entry: dict[str, Any] = {}
    for word in words:
        field, equals, value = word.partition("=")
        if not (field and equals and value):
            raise InputError(f"{text!r}: {word!r} is not like field=value")
        if field in entry:
            raise InputError(f"{text!r} says {field} twice")
        entry[field] = _value(field, value)
    return table, entry


def _value(field: str, text: str) -> Any:
    if field in _LISTS:
        return text.split(",")
    if field in _TEXTS:
        return text
    if text in _FLAGS:
        return _FLAGS[text]
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text
