"""The pace at which a router follows links that come and go: when it uses them, and changes trees.

A link that breaks is routed around at once. All else can wait while no router is out of reach, and
does so, as each version of a tree has every subscription sent again:

* a link that has returned is *held*: the router sends nothing on it, and does not announce it,
  before it has been up for the hold, unless the neighbor is out of reach otherwise, or begins;
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
    """The hold of a router: 0 for one that is restored from what it has persisted.

    Restored changes come again all at once, and have to give the same result: so routing follows
    from the changes alone, and not from their times. The pace at which links are followed is then
    for the upkeep, which persists its decisions.
    """
    return 0.0 if persists else hold_s


class HeldLinks:
    """The links of one router that have returned, and that it does not use yet.

    Links that have been up for half the hold go together with one that is due.

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
        """The neighbors of the held links, in the order in which they came up."""
        return iter(tuple(self._since))

    @property
    def deadline(self) -> float | None:
        """The time at which the next link is due."""
        return min(self._since.values()) + self._hold_s if self._since else None

    def came_up(self, neighbor: str, now: float) -> bool:
        """Note that a link has come up; true if it is held, as it has been down before."""
        if neighbor not in self._fell or self._hold_s == 0:
            return False
        self._since[neighbor] = now
        return True

    def went_down(self, neighbor: str, *, for_good: bool) -> None:
        """Note that a link has gone; forget one that has gone for good."""
        self._since.pop(neighbor, None)
        if for_good:
            self._fell.discard(neighbor)
        else:
            self._fell.add(neighbor)

    def release(self, neighbor: str) -> None:
        """Note that a link is used from now on, held or not."""
        self._since.pop(neighbor, None)

    def due(self, now: float) -> list[str]:
        """The neighbors of links that have waited long enough."""
        first = self.deadline
        if first is None or first > now:
            return []
        soon = now - self._hold_s / 2
        return [neighbor for neighbor, since in self._since.items() if since <= soon]


class Pace:
    """The times at which a source announces its next tree.

    `deadline` is the time of the next check.
    """

    __slots__ = ("_changed_s", "_hold_s", "_pause_s", "_repaired_s", "deadline")

    def __init__(self, hold_s: float) -> None:
        self._hold_s = hold_s
        self._changed_s = -math.inf
        self._repaired_s = -math.inf
        self._pause_s = 0.0
        self.deadline: float | None = None

    def changed(self, now: float) -> None:
        """Note that the view of the links has changed."""
        self._changed_s = now

    def rest(self) -> None:
        """Check no more: the tree need not change, or not before there is news."""
        self.deadline = None

    def may_improve(self, now: float) -> bool:
        """True if a tree that reaches all may be replaced by a better one."""
        return self._is_time(self._changed_s + self._hold_s, now)

    def may_extend(self, now: float) -> bool:
        """True if a tree that lacks routers may be replaced: at once, if none was cut of late."""
        return now - self._repaired_s > self._hold_s or self.may_repair(now)

    def may_repair(self, now: float) -> bool:
        """True if a tree that is cut may be replaced; the replacement then counts as made."""
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
