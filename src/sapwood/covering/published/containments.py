"""The XPE dissemination work's procedures by which an XPE covers another (1.5.2).

An XPE is cut at its `//` into runs of steps. `simple_covers` (AbsSimCov, figure 1.12) compares two
absolute XPEs of one run each and is exact; `relative_position` (RelSimCov, figure 1.13) looks for a
relative one in the other; `descendant_covers` (DesCov, figure 1.14) places the runs of the wide XPE
in order into those of the narrow one. A run must not lie across a `//`, with one exception: if it
ends in `*`, that may stand for the first element behind a `//` which the rest of the run reaches.

Routers use `TreePattern.covers`, which is exact for XPEs. The procedures are here to be compared
with it, and a link may use the repaired ones (`xpe-procedures` in the catalogue).

DesCov as printed claims covers that do not hold, so that publications would be lost (`PRINTED`):

* lines 12 and 17 give the last `*` of a run away at the end of the narrow XPE too, where no element
  need follow: `a/*` counts as a cover of `b//b/a`, which accepts `/b/b/a`;
* line 10 counts the used part of a run without its first element, where that was given away before:
  `a/*//*//a` counts as a cover of `b/*/a//b/a/*/b`, which accepts `/b/c/a/b/a/c/b`.

And it misses more than its idea does, the work's own example `/a/*//*/d` over `/a//b/c/d` too:
lines 03, 06, 12 and 17 require that the narrow run be as long as the wide one, of which only the
steps before the `*` have to lie in it. `REPAIRED` mends these. It never claims a cover that does
not hold, is exact without `*`, and misses covers with it: where a `*` comes before the named steps
of a run (`*/a` covers `/b//a`), or where an absolute XPE covers a relative one because it begins
with `*` (`/*` covers `a`, where by the work none does). It is not transitive: `/a/*/*` covers
`/a/*//a`, and that `/a//a/a`, but the first is not found to cover the last. The work's second
example for figure 1.14, that `/*/a//*/c` does not cover `/a/a/*//c/b/d`, is right for the
procedure, and wrong by the definition that it serves: every path of the latter has a `c` two levels
or more below the second element.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

from sapwood.covering.published.procedures import pieces_of
from sapwood.covering.published.sequences import Names, Search, covers, lies_at, naive_position
from sapwood.covering.xpe import steps_of
from sapwood.model.patterns.conditions import Axis
from sapwood.model.patterns.pattern import TreePattern

_ACROSS: Final = -1
"""Stands for the place behind the first element of the next run."""


class Version(Enum):
    """The version of DesCov: figure 1.14 to the letter, or with the repairs of the module."""

    PRINTED = "printed"
    REPAIRED = "repaired"


class Runs(NamedTuple):
    """An XPE in the form for the procedures: its runs of steps, of at least one step each."""

    is_absolute: bool
    runs: tuple[Names, ...]

    @property
    def is_simple(self) -> bool:
        """True if no `//` stands between steps."""
        return len(self.runs) == 1

    @property
    def length(self) -> int:
        """The number of steps."""
        return sum(map(len, self.runs))


def runs_of(pattern: TreePattern) -> Runs | None:
    """The runs of a pattern; `None` if it is no XPE, or names a namespace, which no run can."""
    steps = steps_of(pattern)
    if steps is None or any(one.test is not None and one.test.namespace for one in steps):
        return None
    return Runs(steps[0].axis is Axis.CHILD, pieces_of(steps))


def procedure_covers(
    wide: Runs, narrow: Runs, version: Version = Version.REPAIRED, search: Search = naive_position
) -> bool:
    """True if an XPE is found to cover another, by the procedure for the classes of both.

    RelSimCov, which is also called by DesCov, finds runs by `search`.
    """
    if not (wide.is_simple and narrow.is_simple):
        return descendant_covers(wide, narrow, version, search)
    if not wide.is_absolute:
        return search(narrow.runs[0], wide.runs[0], 0, covers) is not None
    return narrow.is_absolute and simple_covers(wide.runs[0], narrow.runs[0])


def simple_covers(wide: Names, narrow: Names) -> bool:
    """True if an absolute XPE without `//` covers another (figure 1.12, AbsSimCov)."""
    return lies_at(narrow, wide, 0, covers)


def relative_position(wide: Names, narrow: Names) -> int | None:
    """The first place where a relative XPE without `//` covers another (figure 1.13)."""
    return naive_position(narrow, wide, 0, covers)


def descendant_covers(
    wide: Runs, narrow: Runs, version: Version = Version.REPAIRED, search: Search = naive_position
) -> bool:
    """True if an XPE is found to cover another, both with `//` or without (figure 1.14, DesCov)."""
    if wide.length > narrow.length or (wide.is_absolute and not narrow.is_absolute):
        return False
    is_printed = version is Version.PRINTED
    at, into = 0, 0
    found = _place_first(wide, narrow.runs, search, is_printed=is_printed)
    if found is None and wide.is_absolute:
        return False
    while True:
        if found is None:
            into, start = into + 1, 0
        elif at + 1 == len(wide.runs):
            return True
        elif found == _ACROSS:
            at, into, start = at + 1, into + 1, 1
        else:
            at, start = at + 1, found
        if into == len(narrow.runs):
            return False
        was_across = found == _ACROSS
        found = _place(wide.runs[at], narrow.runs, into, start, search, is_printed=is_printed)
        if is_printed and was_across and found is not None and found != _ACROSS:
            found -= 1  # line 10: the used part is counted without the element given away


def _place_first(
    wide: Runs, narrow: tuple[Names, ...], search: Search, *, is_printed: bool
) -> int | None:
    """The end of the first run in the first one of the other XPE (lines 02 to 06)."""
    run, begin = wide.runs[0], narrow[0]
    if wide.is_absolute:
        if simple_covers(run, begin):
            return len(run)
        # As printed the other run has a step too many, which is never compared.
        may_cross = len(run) == len(begin) + (not is_printed)
        begin = begin[: len(run) - 1]
    else:
        found = search(begin, run, 0, covers)
        if found is not None:
            return found + len(run)
        may_cross = len(begin) >= len(run) - (not is_printed)
    return _ACROSS if may_cross and len(narrow) > 1 and _crosses(run, begin) else None


def _place(
    run: Names,
    narrow: tuple[Names, ...],
    into: int,
    start: int,
    search: Search,
    *,
    is_printed: bool,
) -> int | None:
    """The end of a run in run `into`, if it lies there from `start` on (lines 11, 12, 16, 17).

    `_ACROSS` if it ends with the first element behind.
    """
    there = narrow[into]
    found = search(there, run, start, covers)
    if found is not None:
        return found + len(run)
    has_more = is_printed or into + 1 < len(narrow)
    may_cross = len(there) - start >= len(run) - (not is_printed)
    return _ACROSS if has_more and may_cross and _crosses(run, there) else None


def _crosses(run: Names, there: Names) -> bool:
    """True if a run but for a last `*` lies at the end of another one."""
    return run[-1] is None and lies_at(there, run[:-1], len(there) - len(run) + 1, covers)
