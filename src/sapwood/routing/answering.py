"""Answers to neighbors' advertisements that are sent chunk by chunk.

The answer to an advertisement is all the subscriptions that it makes wanted at the neighbor, and
these may be those of half the overlay. Publications do not wait for that, so the answer is sent as
the subscriptions for a new link are (`propagation/backlog.py`), and the advertisement is in force
here, and confirmed to the neighbor, when all of it is sent.

Why nothing is lost, for a publication p that was accepted under an advertisement A in force, and a
subscription S that was in force before and accepts p:

1. Call the routers from A's home to that of S r0 ... rk. As soon as r(i) has A, from r(i-1), and
   S, or a subscription that stands for it, from beyond, it has sent one that stands for S to
   r(i-1), for A intersects all that accept p; and it keeps one there, as a replacement is sent
   before the former one is withdrawn.
2. Where S (or what stands for it) was at r(i) when A came, the answer precedes the confirmation of
   A on the same FIFO link; and r(i-1) confirms only after it. So where A found S at rk, r0 has the
   last confirmation of A only after every router on the way has what stands for S. A long answer
   is sent chunk by chunk, and A is held until all of it is sent.
3. Where S came to r(i) later than A, it waits until what stands for it is confirmed by r(i-1). If
   that one, too, came to r(i-1) later than A, the same holds there, and so on as far as r0; if
   not, step 2 holds from r(i-1) on. So S is in force only after every router on the way has what
   stands for it, or A is in force only then.

Where another advertisement stands for A on the link from r(i) to r(i+1), because it covers A, read
"A" there as that one: what intersects A intersects it. It may have come to r(i) from elsewhere, and
long before. Then what stands for S has come to r(i) for its sake, before r(i) had its confirmation,
and is there when A comes from r(i-1), which is step 2 for r(i); or S came to r(i+1) later, which is
step 3. When the cover goes, the advertisements that nothing else covers are sent first, so that at
r(i+1) always something from r(i) covers A; A stays in force, as no subscription that it makes
wanted is missing.

A withdrawal of A follows p on every link, and the subscriptions that it makes unwanted are
withdrawn after it was read; so a publication that was accepted before is delivered.
"""

from __future__ import annotations

from collections.abc import Collection


class Answering:
    """The advertisements whose answers have begun and not ended, by neighbor.

    #: every neighbor in the table has at least one
    """

    __slots__ = ("_keys",)

    def __init__(self) -> None:
        self._keys: dict[str, list[str]] = {}

    def __bool__(self) -> bool:
        return bool(self._keys)

    def begin(self, neighbor: str, key: str) -> None:
        """Enter an advertisement whose answer was not sent as a whole at once."""
        self._keys.setdefault(neighbor, []).append(key)

    def link_down(self, neighbor: str) -> None:
        """Forget a neighbor whose link is gone, with its advertisements."""
        self._keys.pop(neighbor, None)

    def done(self, behind: Collection[str]) -> list[str]:
        """Remove the keys of neighbors that are not behind any more, and return them."""
        ended = [neighbor for neighbor in self._keys if neighbor not in behind]
        return [key for neighbor in ended for key in self._keys.pop(neighbor)]
