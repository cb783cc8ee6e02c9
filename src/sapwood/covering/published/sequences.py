"""Runs of steps without `//`, searches of one in another (XPE dissemination, figures 1.3 to 1.6).

A step *overlaps* another if some name passes both (for advertisements), and *covers* another if
every name that passes the other passes it (for subscriptions). A run lies in another one from a
place on if each of its steps stands in that relation to the step there. Three searches find the
first such place:

* `naive_position` tries every place;
* `table_position` is the printed optimization (figures 1.5 and 1.6): Knuth, Morris and Pratt, with
  a table of the places to go on after a mismatch. It assumes that the relation is transitive, and
  *overlaps* is not: `a/b/a` is not found in `a/*/b/a`, and `a/*/b` is in `a/b/a/b`, which no
  `a/*/b` lies in. Both go right where neither run has a `*`. It is kept for comparison, and nothing
  relies on it;
* `position` has one bit for each step (Baeza-Yates and Gonnet 1992): it reads every step of the
  longer run once, as the optimization was meant to, and is always right.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Names: TypeAlias = tuple[str | None, ...]
"""Steps, each a child of the one before; `None` is any name."""

Rule: TypeAlias = Callable[[str | None, str | None], bool]
"""The relation of a searched step to the step there: `overlaps` or `covers`."""

Search: TypeAlias = Callable[[Names, Names, int, Rule], int | None]
"""A search for the first place of a run in another: the longer run, the searched one, the place to
begin at, and the rule. Places count from 0; `None` if there is none."""


def overlaps(wanted: str | None, there: str | None) -> bool:
    """True if some name passes both steps (figure 1.3, for subscriptions and advertisements)."""
    return wanted is None or there is None or wanted == there


def covers(wide: str | None, narrow: str | None) -> bool:
    """True if every name that passes the second step passes the first (1.5.2)."""
    return wide is None or wide == narrow


def lies_at(longer: Names, wanted: Names, start: int, rule: Rule) -> bool:
    """True if a run lies in another one from `start` on (figures 1.4 and 1.12)."""
    return len(wanted) <= len(longer) - start and all(
        rule(step, longer[place]) for place, step in enumerate(wanted, start)
    )


def naive_position(
    longer: Names, wanted: Names, start: int = 0, rule: Rule = overlaps
) -> int | None:
    """The first place of a run in another, by trying every place (figure 1.13)."""
    places = range(start, len(longer) - len(wanted) + 1)
    return next((place for place in places if lies_at(longer, wanted, place, rule)), None)


def next_table(wanted: Names, rule: Rule) -> tuple[int, ...]:
    """The printed *next* table of a run (figure 1.5): entry i is that of step i, from 1.

    Entry 0 has no meaning; entries are -1 for the first step and 0 for the second.
    """
    table = [0, -1, 0]
    for at in range(3, len(wanted) + 1):
        found = table[at - 1] + 1
        while found > 0 and not rule(wanted[found - 1], wanted[at - 2]):
            found = table[found] + 1
        table.append(found)
    return tuple(table)


def table_position(
    longer: Names,
    wanted: Names,
    start: int = 0,
    rule: Rule = overlaps,
    borders: Rule | None = None,
) -> int | None:
    """The first place of a run in another by the printed search (figure 1.6), which may be wrong.

    The *next* table is made by the same rule, or by `borders`. The result may be `None` where there
    is a place, a later place than the first, or a place where the run does not lie; see the module.
    """
    table = next_table(wanted, rule if borders is None else borders)
    at, step = start + 1, 1
    while at <= len(longer):
        if rule(wanted[step - 1], longer[at - 1]):
            at, step = at + 1, step + 1
        else:
            step = table[step] + 1
            if step == 0:
                at, step = at + 1, 1
        if step == len(wanted) + 1:
            return at - len(wanted) - 1
    return None


def position(longer: Names, wanted: Names, start: int = 0, rule: Rule = overlaps) -> int | None:
    """The first place of a run of at least one step in another, reading each step once."""
    unnamed = sum(1 << place for place, step in enumerate(wanted) if rule(step, None))
    other = sum(1 << place for place, step in enumerate(wanted) if step is None)
    places: dict[str, int] = {}
    for place, step in enumerate(wanted):
        if step is not None:
            places[step] = places.get(step, other) | 1 << place
    begun, end = 0, 1 << len(wanted) - 1
    for place in range(start, len(longer)):
        name = longer[place]
        begun = (begun << 1 | 1) & (unnamed if name is None else places.get(name, other))
        if begun & end:
            return place - len(wanted) + 1
    return None
