"""A covering index that decides by the XPE dissemination work's procedures (1.5.2), repaired."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sapwood.covering.published.containments import Runs, procedure_covers, runs_of
from sapwood.matching.published.subscription_tree import Relation
from sapwood.model.patterns.pattern import TreePattern


def _prepared(pattern: TreePattern) -> tuple[TreePattern, Runs | None]:
    return pattern, runs_of(pattern)


def _found_to_cover(
    wide: tuple[TreePattern, Runs | None], narrow: tuple[TreePattern, Runs | None]
) -> bool:
    (pattern, runs), (other, others) = wide, narrow
    if runs is None or others is None:
        return pattern == other
    return procedure_covers(runs, others)


PROCEDURES: Final = Relation(_prepared, _found_to_cover)
"""The covers that the procedures find; patterns that are no XPEs cover themselves only."""


class ProcedureCovering:
    """A scan by `procedure_covers`, in the order in which patterns were added.

    Patterns with branches, with content or with namespaces cover nothing here and are covered by
    nothing; some covers between XPEs with `*` are missed (`containments.py`).
    """

    __slots__ = ("_runs",)

    def __init__(self) -> None:
        #: key -> its runs, `None` for a pattern that is no XPE
        self._runs: dict[int, Runs | None] = {}

    def __len__(self) -> int:
        """The number of patterns."""
        return len(self._runs)

    def add(self, key: int, filter: TreePattern) -> None:
        """Add a pattern under a free key."""
        assert key not in self._runs, f"key {key} is taken"
        self._runs[key] = runs_of(filter)

    def remove(self, key: int) -> None:
        """Remove a pattern."""
        del self._runs[key]

    def cov(self, filter: TreePattern, limit: int) -> list[int]:
        """The keys of the first `limit` patterns that are found to cover `filter`."""
        runs = runs_of(filter)
        if runs is None:
            return []
        found: list[int] = []
        for key, other in self._others(runs):
            if procedure_covers(other, runs):
                found.append(key)
                if len(found) == limit:
                    break
        return found

    def covered(self, filter: TreePattern) -> list[int]:
        """The keys of all patterns that `filter` is found to cover."""
        runs = runs_of(filter)
        if runs is None:
            return []
        return [key for key, other in self._others(runs) if procedure_covers(runs, other)]

    def validate(self) -> None:
        """Do nothing: there is one table, so nothing can disagree."""

    def _others(self, runs: Runs) -> Iterator[tuple[int, Runs]]:
        """The keys and runs of all XPEs that are not equal to one."""
        for key, other in self._runs.items():
            if other is not None and other != runs:
                yield key, other
