"""Groups of filters among which one task searches covers, and the roles of a filter in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

COVERS: Final = 1
"""Role of a filter in a group: it may cover others."""

QUERIES: Final = 2
"""Role of a filter in a group: others may cover it."""

ALONE: Final = 4
"""Beside `QUERIES`: it queries no other group, so its covers are found here or nowhere."""

EVERYTHING: Final = COVERS | QUERIES | ALONE
"""The role where there is one group only."""


class Member(NamedTuple):
    """One filter of a group; `role` is the sum of `COVERS`, `QUERIES` and `ALONE`."""

    key: str
    role: int
    form: bytes


def with_queries(roles: dict[int, int], queried: set[int]) -> dict[int, int]:
    """The roles by group, with the role `QUERIES` in the groups of `queried`."""
    role = QUERIES | (ALONE if len(queried) == 1 else 0)
    return {slot: roles.get(slot, 0) | (role * (slot in queried)) for slot in {*roles, *queried}}


def last_covers(cover: dict[int, int], keys: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The last cover on the way up from each number that has a cover.

    A circle is opened at the member with the smallest of `keys`, which is kept. `cover` is used up.
    """
    for number in tuple(cover):
        way: dict[int, None] = {}
        at = number
        while at in cover and at not in way:
            way[at] = None
            at = cover[at]
        if at in way:
            circle = list(way)[list(way).index(at) :]
            at = min(circle, key=keys.__getitem__)
            del cover[at]
        for passed in way:
            if passed != at:
                cover[passed] = at
    yield from cover.items()
