"""The count of hops that a publication has crossed for one direction only, and its stamp.

A router that receives a publication which at least two directions want, its own clients being one,
begins to count afresh: the hop to it was needed anyway. Any other router counts that hop. The stamp
is the count when the publication leaves, and a count of 0 needs none::

    publication      r1 ------> r2 ------> r3 ------> r4 --x-- r5
    count behind           -          1          2          3
    stamp                 none      W 01       W 02

Where only r5 wants it and cannot have it, three hops were useless, as r4 can see. Shen (2.16.1)
counts matching subscriptions; by that, two of one direction would make the publication needed.
"""

from __future__ import annotations

from typing import Final

_MARK: Final = ord("W")
HOPS_COUNTED_MAX: Final = 255
"""The greatest count in one byte; longer ways count as this long."""


def stamp_of(hops: int) -> bytes:
    """The stamp for a count above 0."""
    return bytes((_MARK, min(hops, HOPS_COUNTED_MAX)))


def hops_in(stamp: bytes) -> int | None:
    """The count in a stamp; `None` for a stamp of another strategy."""
    return stamp[1] if len(stamp) == 2 and stamp[0] == _MARK else None


def counted_on(hops: int, directions: int) -> int:
    """The count behind a router that passes a publication to `directions`, beside its own."""
    return 0 if directions > 1 else hops + 1
