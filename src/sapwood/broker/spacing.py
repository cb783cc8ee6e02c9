"""Spacing: the changes of subscriptions that clients make one by one, while publications flow.

A change costs the next batch of publications as much again as itself, since what matches read is
put together anew, and several at once cost little more than one. So while publications flow,
changes are handled together, some milliseconds apart: after a pass of the loop that had changes,
those that come next wait `limits.bulk.CHANGES_REST` times as long as the pass took, and
`limits.bulk.CHANGES_APART_S` at most. Where no publication came within that time no change waits.

Worked example, at most 8 ms apart and 4 times as long: a change comes at 0 ms, in a pass that takes
0.5 ms. The next one comes at 1 ms, and waits until 2.5 ms, where it is handled with those that have
come meanwhile. That pass takes 3 ms, as publications are handled as well, so the next changes
come after 8 ms and not 12, at 13.5 ms.
"""

from __future__ import annotations

from collections.abc import Callable

from sapwood.limits.bulk import CHANGES_APART_S, CHANGES_REST


class ChangeSpacing:
    """The times at which the single changes of clients are handled.

    `call_soon` and `call_at` are those of the event loop, and `clock` returns its time, in seconds.

    #: _waiting is empty unless a call of `_open` is scheduled, at _next_s
    #: _is_open from the first change of a pass of the loop to the end of that pass
    """

    def __init__(
        self,
        call_soon: Callable[[Callable[[], None]], object],
        call_at: Callable[[float, Callable[[], None]], object],
        clock: Callable[[], float],
    ) -> None:
        self._call_soon = call_soon
        self._call_at = call_at
        self._clock = clock
        self._is_open = False
        self._opened_s = self._next_s = self._flowed_s = -CHANGES_APART_S
        self._waiting: list[Callable[[], None]] = []

    def flowed(self, now: float) -> None:
        """Take in that publications have come."""
        self._flowed_s = now

    def parks(self, ready: Callable[[], None]) -> bool:
        """True if a change has to wait; `ready` is called when it may be handled."""
        if self._is_open:
            return False
        now = self._clock()
        is_early = now < self._next_s and now - self._flowed_s < CHANGES_APART_S
        if not is_early and not self._waiting:
            self._begin(now)
            return False
        if not self._waiting:
            self._call_at(self._next_s, self._open)
        self._waiting.append(ready)
        return True

    def _open(self) -> None:
        """Let the changes that wait be handled, in the next pass of the loop."""
        waiting, self._waiting = self._waiting, []
        for ready in waiting:
            ready()
        self._begin(self._clock())  # behind them, so that the pass ends with their turns

    def _begin(self, now: float) -> None:
        self._is_open, self._opened_s = True, now
        self._call_soon(self._close)

    def _close(self) -> None:
        """End the pass, and let the next changes wait as long as it was."""
        now = self._clock()
        self._is_open = False
        self._next_s = now + min(CHANGES_APART_S, CHANGES_REST * (now - self._opened_s))
