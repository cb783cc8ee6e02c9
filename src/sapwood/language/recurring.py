"""Parts of filters that come again and again, read once.

Sets of filters that test attributes for some dozens of values each have the same thousand
constraints in a hundred thousand combinations. What a part says does not depend on the others, so
whoever reads filters may put them together from parts that are known, in a third of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Final, Generic, TypeVar

_REMEMBERED_MAX: Final = 8192
"""Parts that are known, 2 MB, and so many that were met once; then all are forgotten."""

_PASSED_OVER: Final = 3
"""Filters that nobody looks at after one with a part that is not known: where each has others,
looking costs next to nothing."""

Part = TypeVar("Part", bound=Hashable)
Read = TypeVar("Read")


class Recurring(Generic[Part, Read]):
    """What `read` says of parts that were met twice; `None` for what cannot be read by itself.

    Several threads may ask: what is forgotten or counted twice by that is met again.
    """

    __slots__ = ("_known", "_left", "_met", "_read")

    def __init__(self, read: Callable[[Part], Read | None]) -> None:
        self._read = read
        self._known: dict[Part, Read] = {}
        self._met: set[Part] = set()
        #: filters that are to be passed over
        self._left = 0

    @property
    def is_looking(self) -> bool:
        """Whether the parts of the next filter are looked up; to be asked once for each."""
        if self._left:
            self._left -= 1
            return False
        return True

    def known(self, parts: Sequence[Part]) -> list[Read] | None:
        """What each of some parts says, if all of them are known."""
        known = self._known
        try:
            return [known[part] for part in parts]
        except KeyError:
            self._left = _PASSED_OVER
            for part in parts:
                self._meet(part)
            return None

    def _meet(self, part: Part) -> None:
        """Read a part that is not known and comes for the second time."""
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
