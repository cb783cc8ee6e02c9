"""The bound that a threshold of proximity sets to each direction."""

from __future__ import annotations

from typing import Final

from sapwood.errors import InputError

SLACK: Final = 1e-9
"""A proximity this much below the threshold counts as one that reaches it: sums of products of
shares are exact to 16 digits, and a threshold never depends on the last one."""


def least_similarity(threshold: float) -> float:
    """The least similarity, in either direction, of two filters whose proximity is the threshold.

    Raises `InputError` for a threshold by which nothing can be ruled out, 1/2 and less, and for one
    above 1, which no pair has.
    """
    if not 0.5 < threshold <= 1:
        raise InputError(
            f"no pairs can be ruled out by the threshold {threshold}: up to 0.5 a pair is near by "
            "one direction alone, and above 1 there is none; name one above 0.5 and up to 1"
        )
    return 2 * threshold - 1 - SLACK
