"""The lookup by which the engine of documents finds a tree pattern."""

from __future__ import annotations

from collections.abc import Iterable

from sapwood.matching.automaton.access import PathStep, access
from sapwood.matching.lookups import Lookup, LookupKind
from sapwood.model.patterns.conditions import NameTest, Text
from sapwood.model.patterns.pattern import TreePattern


def lookup(pattern: TreePattern) -> Lookup:
    """The access path of a pattern as a lookup, with the pattern if it is left to check."""
    found = access(pattern)
    path, equality = _path(found.path), found.equality
    if equality is not None:
        subject = equality.subject
        if isinstance(subject, NameTest):
            named = f"@{subject.local}"
        else:
            named = "text()" if subject is Text else "."
        path = f"{path}[{named}={equality.literal!r}]"
    is_left = found.at_document or bool(getattr(found.rest, "operands", True))
    left = (str(pattern),) if is_left else ()
    way = LookupKind.PATH if equality is None else LookupKind.HASH
    return Lookup(str(pattern), way, (path,), left, (), None)


def _path(steps: Iterable[PathStep]) -> str:
    return "".join(f"{axis.value}{'*' if test is None else test.local}" for axis, test in steps)
