"""Parts of filters that come again and again, read once.

Sets of filters that test attributes for some dozens of values each have the same thousand
constraints in a hundred thousand combinations. The meaning of a part does not depend on the others,
so a reader of filters may compose them of parts that are known, in a third of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Final, Generic, TypeVar

_REMEMBERED_MAX: Final = 8192
"""Parts that are cached, 2 MB, and parts that were met once, at most; then all are dropped."""

_PASSED_OVER: Final = 3
"""Filters that are skipped after one with an unknown part: where each filter has other parts, the
look-ups cost next to nothing."""

Part = TypeVar("Part", bound=Hashable)
Read = TypeVar("Read")


class Recurring(Generic[Part, Read]):
    """A cache of `read` for parts that were met twice; `None` for parts that it cannot read alone.

    Several threads may use it: a part that is dropped or counted twice by that is met again.
    """

    __slots__ = ("_known", "_left", "_met", "_read")

    def __init__(self, read: Callable[[Part], Read | None]) -> None:
        self._read = read
        self._known: dict[Part, Read] = {}
        self._met: set[Part] = set()
        #: the number of filters still to be skipped
        self._left = 0

    @property
    def is_looking(self) -> bool:
        """True if the parts of the next filter are to be looked up; read it once a filter."""
        if self._left:
            self._left -= 1
            return False
        return True

    def known(self, parts: Sequence[Part]) -> list[Read] | None:
        """The readings of all parts; `None` unless all of them are known."""
        known = self._known
        try:
            return [known[part] for part in parts]
        except KeyError:
            self._left = _PASSED_OVER
            for part in parts:
                self._meet(part)
            return None

    def _meet(self, part: Part) -> None:
        """Read an unknown part when it is met for the second time."""
        if part in self._known:
            return
        if part not in self._met:
            if len(self._met) >= _REMEMBERED_MAX:
                self._met.clear()
            self._met.add(part)
            return
        read = self._read(part)
        if read is not None:
            if len(self._known) >= _REMEMBERED_MAX:
                self._known.clear()
            self._known[part] = read
