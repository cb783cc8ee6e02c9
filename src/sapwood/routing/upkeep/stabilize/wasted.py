"""How far a publication has gone for one direction only: what is stamped on it, and by what rule.

A router that receives a publication which at least two directions want, its own clients being one,
begins to count afresh: the hop to it was needed anyway. Any other one counts that hop. The stamp is
the count when the publication leaves, and a count of 0 needs none::

    publication      r1 ------> r2 ------> r3 ------> r4 --x-- r5
    count behind           -          1          2          3
    stamp                 none      W 01       W 02

Where only r5 wants it and cannot have it, r4 knows that three hops were useless. Shen (2.16.1)
counts matching subscriptions; two of one direction would say that the publication was needed.
"""

from __future__ import annotations

from typing import Final

_MARK: Final = ord("W")
HOPS_COUNTED_MAX: Final = 255
"""What one byte counts; longer ways count as this long."""


def stamp_of(hops: int) -> bytes:
    """The stamp for a count above 0."""
    return bytes((_MARK, min(hops, HOPS_COUNTED_MAX)))


def hops_in(stamp: bytes) -> int | None:
    """The count that a stamp says; `None` for a stamp of another strategy."""
    return stamp[1] if len(stamp) == 2 and stamp[0] == _MARK else None


def counted_on(hops: int, directions: int) -> int:
    """The count behind a router that so many directions want a publication of, beside its own."""
    return 0 if directions > 1 else hops + 1
