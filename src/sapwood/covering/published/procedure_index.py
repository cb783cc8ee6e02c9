"""A covering index that decides by the XPE dissemination work's procedures (1.5.2), repaired."""

from __future__ import annotations

from collections.abc import Iterator

from sapwood.covering.published.containments import Runs, procedure_covers, runs_of
from sapwood.model.patterns.pattern import TreePattern


def found_to_cover(wide: TreePattern, narrow: TreePattern) -> bool:
    """Whether the procedures find that a pattern covers another; equal ones cover each other.

    Never a cover that does not hold; of patterns that are no XPEs none is found.
    """
    if wide == narrow:
        return True
    runs, others = runs_of(wide), runs_of(narrow)
    return runs is not None and others is not None and procedure_covers(runs, others)


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
        """The first `limit` patterns that are found to cover it."""
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
        """All patterns that it is found to cover."""
        runs = runs_of(filter)
        if runs is None:
            return []
        return [key for key, other in self._others(runs) if procedure_covers(runs, other)]

    def validate(self) -> None:
        """There is one table, so nothing can disagree."""

    def _others(self, runs: Runs) -> Iterator[tuple[int, Runs]]:
        """The XPEs that are not equal to one."""
        for key, other in self._runs.items():
            if other is not None and other != runs:
                yield key, other
