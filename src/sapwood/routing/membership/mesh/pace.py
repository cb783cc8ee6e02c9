"""How fast a router follows links that come and go: which it routes on, and when trees change.

A link that breaks is routed around at once. All else can wait while nobody is out of reach, and
does so, as each version of a tree has every subscription told again:

* a link that has returned is *held*: the router says nothing on it, and nothing of it, before it
  has been up for the hold, unless the neighbor is out of reach otherwise, or begins;
* a tree on which all are reached is replaced by a better one only when the view of the links has
  been the same for the hold;
* a tree that is cut is replaced at once, and again when that is cut, but then no sooner than a
  pause after the time before, which doubles from one time to the next until none was due for the
  hold (as routers that compute shortest paths back off, RFC 8405).

So what links cost that come and go is bounded by time, however often they do it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from sapwood.limits import MESH_PAUSE_MAX_S, MESH_PAUSE_MIN_S


def kept_s(hold_s: float, *, persists: bool) -> float:
    """The hold of a router: none of one that is restored from what it has persisted.

    What is restored comes again all at once, and has to come to the same: so routing follows from
    the changes alone, and not from when they came. How fast links are followed is for the upkeep
    then, which persists what it decides.
    """
    return 0.0 if persists else hold_s


class HeldLinks:
    """The links of one router that have returned, and that it does not use yet.

    Together with one that is due goes whatever has been up for half the hold.

    #: _fell are the neighbors whose links went down, and not for good
    #: _since are the held links: since when they have been up again
    """

    __slots__ = ("_fell", "_hold_s", "_since")

    def __init__(self, hold_s: float) -> None:
        self._hold_s = hold_s
        self._fell: set[str] = set()
        self._since: dict[str, float] = {}

    def __contains__(self, neighbor: object) -> bool:
        return neighbor in self._since

    def __iter__(self) -> Iterator[str]:
        """The neighbors to which they lead, in the order in which they came up."""
        return iter(tuple(self._since))

    @property
    def deadline(self) -> float | None:
        """When the next one is due."""
        return min(self._since.values()) + self._hold_s if self._since else None

    def came_up(self, neighbor: str, now: float) -> bool:
        """A link has come up; whether it is held, as it has been down before."""
        if neighbor not in self._fell or self._hold_s == 0:
            return False
        self._since[neighbor] = now
        return True

    def went_down(self, neighbor: str, *, for_good: bool) -> None:
        """A link has gone; one that has gone for good is forgotten."""
        self._since.pop(neighbor, None)
        if for_good:
            self._fell.discard(neighbor)
        else:
            self._fell.add(neighbor)

    def release(self, neighbor: str) -> None:
        """One is used from now on, held or not."""
        self._since.pop(neighbor, None)

    def due(self, now: float) -> list[str]:
        """Those that have waited long enough."""
        first = self.deadline
        if first is None or first > now:
            return []
        soon = now - self._hold_s / 2
        return [neighbor for neighbor, since in self._since.items() if since <= soon]


class Pace:
    """When a source announces its next tree.

    `deadline` is when to look again.
    """

    __slots__ = ("_changed_s", "_hold_s", "_pause_s", "_repaired_s", "deadline")

    def __init__(self, hold_s: float) -> None:
        self._hold_s = hold_s
        self._changed_s = -math.inf
        self._repaired_s = -math.inf
        self._pause_s = 0.0
        self.deadline: float | None = None

    def changed(self, now: float) -> None:
        """The view of the links is another one."""
        self._changed_s = now

    def rest(self) -> None:
        """The tree need not change, or not before there is news."""
        self.deadline = None

    def may_improve(self, now: float) -> bool:
        """Whether a tree that reaches all may be replaced by a better one."""
        return self._is_time(self._changed_s + self._hold_s, now)

    def may_extend(self, now: float) -> bool:
        """Whether a tree that lacks routers may be replaced: at once, if none was cut of late."""
        return now - self._repaired_s > self._hold_s or self.may_repair(now)

    def may_repair(self, now: float) -> bool:
        """Whether a tree that is cut may be replaced; if so, it is."""
        if not self._is_time(self._repaired_s + self._pause_s, now):
            return False
        if now - self._repaired_s > self._hold_s:
            self._pause_s = min(MESH_PAUSE_MIN_S, self._hold_s)
        else:
            self._pause_s = min(2 * self._pause_s, MESH_PAUSE_MAX_S, self._hold_s)
        self._repaired_s = now
        return True

    def _is_time(self, at: float, now: float) -> bool:
        self.deadline = None if at <= now else at
        return at <= now
