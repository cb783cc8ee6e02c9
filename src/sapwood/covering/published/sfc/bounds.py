"""The source's bounds of the cost of a search, in the form in which they hold.

`leading` is the number of leading bits that each length keeps (m), `aspect_ratio` the difference
of the bit lengths of the longest and the shortest side (alpha). The shortest side is the first in
section 4.6.4 of the source and the last in 4.7; here it matters only to `runs_floor`.

Departures from the source: lemma 9 (text line 1221) is false as printed (a square of one cell has
one cube, not fewer than one) and needs `2**alpha > d - 1` (line 1278), so `cubes_bound` has another
factor d, one for each dimension whose length may contribute the bit at a cube's size; theorem 2
(line 1303) takes a logarithm that is rarely a whole number, so it is used here with the next whole
number; theorem 3 (line 1337) replaces `2**g` by `2**g - 1`, which needs `>=`.
"""

from __future__ import annotations

from fractions import Fraction

from sapwood.covering.published.sfc.rectangles import leading_bits


def cubes_bound(leading: int, aspect_ratio: int, dimensions: int) -> int:
    """The most cubes that a rectangle truncated to `leading` bits has (lemma 9, corrected)."""
    return dimensions * printed_cubes_bound(leading, aspect_ratio, dimensions)


def printed_cubes_bound(leading: int, aspect_ratio: int, dimensions: int) -> int:
    """The bound as the source prints it; it does not hold for nearly square rectangles."""
    widest = (2**leading - 1) << aspect_ratio
    return leading * int(widest ** (dimensions - 1))


def search_bound(epsilon: Fraction, aspect_ratio: int, dimensions: int) -> int:
    """The most cubes that an approximate search looks up, whatever the side lengths (theorem 2)."""
    return cubes_bound(leading_bits(epsilon, dimensions), aspect_ratio, dimensions)


def runs_floor(shortest_bits: int, aspect_ratio: int, dimensions: int) -> int:
    """The least runs on the Z curve of the rectangles of theorem 3.

    Their last side is `2**shortest_bits - 1`, all others have `aspect_ratio` bits more.
    """
    longest = 1 << shortest_bits + aspect_ratio - 1
    return int(longest ** (dimensions - 1))
