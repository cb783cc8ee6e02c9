"""Advertisements of neighbors that are answered bit by bit: by what they make wanted there.

The answer to an advertisement may be all subscriptions of half the overlay. Publications do not
wait for that, so it is given as neighbors are told whose link comes up (`propagation/backlog.py`),
and the advertisement is in force here, and confirmed to the neighbor, when nothing is left to say.

Why nothing is lost, for a publication p that was accepted under an advertisement A in force, and a
subscription S that was in force before and accepts p:

1. Call the routers from A's home to that of S r0 ... rk. As soon as r(i) knows A, from r(i-1), and
   S, or a subscription that stands for it, from beyond, it has sent one that stands for S to
   r(i-1), for A intersects all that accept p; and it keeps one there, as a change is said before
   what it replaces is withdrawn.
2. Where S (or what stands for it) was at r(i) when A came, the answer precedes the confirmation of
   A on the same FIFO link; and r(i-1) confirms only after it. So where A found S at rk, r0 has the
   last confirmation of A only after every router on the way has what stands for S. An answer that
   is long is given bit by bit, and A is held until all is said.
3. Where S came to r(i) later than A, it waits until what stands for it is confirmed by r(i-1). If
   that one, too, came to r(i-1) later than A, the same holds there, and so on as far as r0; if
   not, step 2 holds from r(i-1) on. So S is in force only after every router on the way has what
   stands for it, or A is in force only then.

Where another advertisement stands for A on the link from r(i) to r(i+1), because it covers A, read
"A" there as that one: what intersects A intersects it. It may have come to r(i) from elsewhere, and
long before. Then what stands for S has come to r(i) for its sake, before r(i) had its confirmation,
and is there when A comes from r(i-1), which is step 2 for r(i); or S came to r(i+1) later, which is
step 3. When it goes, what is covered by nothing else is told first, so that at r(i+1) always
something from r(i) covers A; A stays in force, as nothing that it makes wanted is missing.

A withdrawal of A follows p on every link, and what it makes unwanted is withdrawn after it was
read; so a publication that was accepted before is delivered.
"""

from __future__ import annotations

from collections.abc import Collection


class Answering:
    """The advertisements whose answers have begun and not ended, by neighbor.

    #: a neighbor that is here has one at least
    """

    __slots__ = ("_keys",)

    def __init__(self) -> None:
        self._keys: dict[str, list[str]] = {}

    def __bool__(self) -> bool:
        return bool(self._keys)

    def begin(self, neighbor: str, key: str) -> None:
        """An advertisement has come, and more is to be said than was said at once."""
        self._keys.setdefault(neighbor, []).append(key)

    def link_down(self, neighbor: str) -> None:
        """Nobody is left to answer, and nothing that was advertised there."""
        self._keys.pop(neighbor, None)

    def done(self, behind: Collection[str]) -> list[str]:
        """The keys of neighbors that are not behind any more; they are here no longer."""
        ended = [neighbor for neighbor in self._keys if neighbor not in behind]
        return [key for neighbor in ended for key in self._keys.pop(neighbor)]
