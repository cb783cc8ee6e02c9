"""The chance of each step at each place from the knowledge alone, compiled.

What `Similarity._chance` computes for one step and one place, for all: steps come after those below
them, places before their kids, so each entry is made once from entries that are there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba.core import config

from sapwood.limits import EXPANSION_DEPTH_MAX
from sapwood.matching.compiling.kernels import Kernel
from sapwood.similarity.kernels.layout import F64Table, PlaceArrays, StepArrays, U8Table

F = TypeVar("F", bound=Callable[..., Any])


def _compiled(function: F) -> F:
    return function if config.DISABLE_JIT else cast("F", Kernel(function, counts=False))


@_compiled
def fill_chances(
    places: PlaceArrays, steps: StepArrays, accepted: U8Table, chances: F64Table
) -> None:
    """Fill the chances of all steps, rows, at all places, columns."""
    for step in range(len(steps.tests)):
        test, is_attribute = steps.tests[step], steps.attributes[step]
        for place in range(len(places.depths) - 1, -1, -1):
            middle = places.attributes[place]
            low = middle if is_attribute else places.starts[place]
            high = places.starts[place + 1] if is_attribute else middle
            is_deep = steps.deep[step] and places.depths[place] + 2 <= EXPANSION_DEPTH_MAX
            best = 0.0
            for at in range(low, high):
                kid = places.kids[at]
                if accepted[test, kid] and (not steps.needs_text[step] or places.holds_text[kid]):
                    chance = places.shares[at] * steps.doubts[step]
                    for below in range(steps.below_starts[step], steps.below_starts[step + 1]):
                        chance *= chances[steps.below[below], kid]
                    best = max(best, chance)
                if is_deep:
                    best = max(best, places.shares[at] * chances[step, kid])
            chances[step, place] = best
