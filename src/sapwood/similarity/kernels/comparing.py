"""Looking for many patterns in one expansion, compiled: what `estimates.Similarity` computes.

A step is looked for below a node. First all (step, node) are gathered that an answer depends on,
level by level; then they are answered in the reverse order, so that what each depends on is there.
An answer is a weight for each kid that the step can fall on, their sum as one branch, and flags.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from sapwood.limits import SIMILARITY_COMBINATIONS_MAX
from sapwood.similarity.kernels.chances import _compiled
from sapwood.similarity.kernels.layout import (
    F64,
    I32,
    NONE,
    GivenArrays,
    Scratch,
    SearchedArrays,
    StepArrays,
    TableArrays,
)

HAS: Final = 1
"""The step falls on a kid."""
REFUTED: Final = 2
"""The step falls on no kid, as the kids there exclude it."""

TOO_MANY: Final = -1.0
"""In the place of a value: there are more ways than are weighed together."""

_SIX: Final = np.uint64(6)
_63: Final = np.uint64(63)
_ONE: Final = np.uint64(1)


@_compiled
def compare(  # noqa: PLR0917 - as kernels are called
    given: GivenArrays,
    steps: StepArrays,
    searched: SearchedArrays,
    tables: TableArrays,
    candidates: I32,
    weight: float,
    conflict: float,
    found: F64,
    scratch: Scratch,
) -> None:
    """Add the similarity with each candidate, times a weight; NaN for one with too many ways."""
    for number in range(len(candidates)):
        pattern, best = candidates[number], 0.0
        for root in range(searched.root_starts[pattern], searched.root_starts[pattern + 1]):
            low, high = searched.step_starts[root], searched.step_starts[root + 1]
            count = gathered(given, steps, searched.steps, tables, scratch, low, high)
            for at in range(count - 1, -1, -1):
                local, node = scratch.queue_steps[at], scratch.queue_nodes[at]
                step = searched.steps[low + local]
                answer(given, steps, searched, tables, scratch, conflict, step, local, node)
                scratch.needed[local, node] = np.uint8(0)
            step, local = searched.steps[high - 1], high - 1 - low
            value = scratch.values[local, 0]
            if not scratch.flags[local, 0]:
                value = unsaid(given, steps, searched, tables, step, 0)
            if value < 0.0:
                best = np.nan
                break
            best = max(best, value)
        found[number] += weight * best


@_compiled
def gathered(  # noqa: PLR0917 - as kernels are called
    given: GivenArrays,
    steps: StepArrays,
    order: I32,
    tables: TableArrays,
    scratch: Scratch,
    low: int,
    high: int,
) -> int:
    """Queue each step, by its place in the pattern, with the nodes below which it is looked for."""
    for at in range(low, high):
        scratch.spots[order[at]] = at - low
    scratch.queue_steps[0], scratch.queue_nodes[0] = high - 1 - low, 0
    count, done = 1, 0
    while done < count:
        local, node = scratch.queue_steps[done], scratch.queue_nodes[done]
        done += 1
        step = order[low + local]
        test = steps.tests[step]
        name = steps.names[test]
        if name != NONE:
            word = given.below[node, name >> 6]
            if not (word >> (np.uint64(name) & _63)) & _ONE:
                continue
        for kid in range(given.kid_starts[node], given.kid_ends[node]):
            if tables.accepted[test, given.places[kid]]:
                for at in range(steps.below_starts[step], steps.below_starts[step + 1]):
                    spot = scratch.spots[steps.below[at]]
                    if not scratch.needed[spot, kid]:
                        scratch.needed[spot, kid] = np.uint8(1)
                        scratch.queue_steps[count], scratch.queue_nodes[count] = spot, kid
                        count += 1
            if steps.deep[step] and not given.attributes[kid] and not scratch.needed[local, kid]:
                scratch.needed[local, kid] = np.uint8(1)
                scratch.queue_steps[count], scratch.queue_nodes[count] = local, kid
                count += 1
    return count


@_compiled
def answer(  # noqa: PLR0912, PLR0917 - as kernels are called, and a call costs as much
    given: GivenArrays,
    steps: StepArrays,
    searched: SearchedArrays,
    tables: TableArrays,
    scratch: Scratch,
    conflict: float,
    step: int,
    local: int,
    node: int,
) -> None:
    """Weigh a step below a node: each kid, and all of them as one branch."""
    scratch.flags[local, node] = np.uint8(0)
    test = steps.tests[step]
    name = steps.names[test]
    if name != NONE:
        word = given.below[node, name >> 6]
        if not (word >> (np.uint64(name) & _63)) & _ONE:
            return
    low, high = given.kid_starts[node], given.kid_ends[node]
    is_refuted, options = False, 0
    most, total, number = 0.0, 0.0, NONE
    for kid in range(low, high):
        best = 0.0
        if tables.accepted[test, given.places[kid]]:
            best = placed(given, steps, searched, tables, scratch, conflict, step, kid)
            if best == TOO_MANY:
                scratch.flags[local, node], scratch.values[local, node] = np.uint8(HAS), TOO_MANY
                return
            if best < 0.0:
                is_refuted, best = True, 0.0
        if steps.deep[step] and not given.attributes[kid]:
            if scratch.flags[local, kid] == REFUTED:
                is_refuted = True
            elif scratch.flags[local, kid] == HAS:
                deeper = scratch.values[local, kid]
                best = TOO_MANY if deeper < 0.0 else max(best, deeper)
            if best == TOO_MANY:
                scratch.flags[local, node], scratch.values[local, node] = np.uint8(HAS), TOO_MANY
                return
        scratch.weights[local, kid] = best
        if given.numbers[kid] != number:
            number, total = given.numbers[kid], 0.0
        if best > 0.0:
            options += 1
            total += best * given.probabilities[kid]
            most = max(most, total)
    if options > SIMILARITY_COMBINATIONS_MAX:
        most = TOO_MANY
    if options:
        scratch.flags[local, node] = np.uint8(HAS)
        scratch.values[local, node] = min(1.0, most)
    elif is_refuted:
        scratch.flags[local, node] = np.uint8(REFUTED)
        scratch.values[local, node] = 0.0


@_compiled
def placed(  # noqa: PLR0917 - as kernels are called
    given: GivenArrays,
    steps: StepArrays,
    searched: SearchedArrays,
    tables: TableArrays,
    scratch: Scratch,
    conflict: float,
    step: int,
    kid: int,
) -> float:
    """The probability that a kid meets a step's conditions; -2 where its texts exclude that."""
    weight = 1.0
    if steps.texts[step] != NONE:
        weight = tables.texts[given.texts[kid], steps.texts[step]]
        if weight == 0.0:
            return -2.0
    low, high = steps.below_starts[step], steps.below_starts[step + 1]
    several = 1.0
    for at in range(low, high):
        below = steps.below[at]
        spot = scratch.spots[below]
        flag = scratch.flags[spot, kid]
        if flag == REFUTED:
            return -2.0
        value = scratch.values[spot, kid]
        if not flag:
            value = unsaid(given, steps, searched, tables, below, kid)
            if value == 0.0:
                return 0.0
        elif value < 0.0:
            return TOO_MANY
        several = value
    if high - low > 1:
        several = together(given, steps, searched, tables, scratch, conflict, step, kid)
        if several == TOO_MANY:
            return TOO_MANY
    if high > low and several == 0.0:
        return -2.0
    return weight * several


@_compiled
def unsaid(  # noqa: PLR0917 - as kernels are called
    given: GivenArrays,
    steps: StepArrays,
    searched: SearchedArrays,
    tables: TableArrays,
    step: int,
    node: int,
) -> float:
    """The chance of a step below a node that the expansion leaves open."""
    row = given.opposed[node]
    is_child = not steps.deep[step] and not steps.attributes[step]
    if row != NONE and is_child and tables.excluded[steps.tests[step], row]:
        return 0.0
    chance: float = searched.chances[step, given.places[node]]
    return chance


@_compiled
def together(  # noqa: PLR0917 - as kernels are called
    given: GivenArrays,
    steps: StepArrays,
    searched: SearchedArrays,
    tables: TableArrays,
    scratch: Scratch,
    conflict: float,
    step: int,
    node: int,
) -> float:
    """The best of all ways to give each branch of a step one of its options.

    `ways` has for each branch where its options begin, and which is taken; then for each option
    its kid (`NONE`: of none), and its place among the numbers of the branch. `way_weights` beside.
    """
    low, high = steps.below_starts[step], steps.below_starts[step + 1]
    branches, ways = high - low, scratch.ways
    end, combinations, kinds = 2 * branches + 1, 1, 1
    radix = 1
    for branch in range(branches):
        below = steps.below[low + branch]
        spot = scratch.spots[below]
        ways[branch] = end
        if not scratch.flags[spot, node]:
            ways[end], ways[end + 1] = NONE, 0
            scratch.way_weights[end] = unsaid(given, steps, searched, tables, below, node)
            end += 2
            continue
        kinds, number, options = 0, NONE, 0
        for kid in range(given.kid_starts[node], given.kid_ends[node]):
            if scratch.weights[spot, kid] > 0.0:
                if given.numbers[kid] != number:
                    number = given.numbers[kid]
                    kinds += 1
                ways[end], ways[end + 1] = kid, (kinds - 1) * radix
                scratch.way_weights[end] = scratch.weights[spot, kid]
                end += 2
                options += 1
        radix *= kinds
        combinations *= options
        if combinations > SIMILARITY_COMBINATIONS_MAX:
            return TOO_MANY
    ways[branches] = end
    for branch in range(branches):
        ways[branches + 1 + branch] = ways[branch]
    for kind in range(radix):
        scratch.sums[kind] = 0.0
    for _ in range(combinations):
        kind, weight = weighed(given, scratch, conflict, branches, node)
        scratch.sums[kind] += weight
        for branch in range(branches):
            at = branches + 1 + branch
            ways[at] += 2
            if ways[at] < ways[branch + 1]:
                break
            ways[at] = ways[branch]
    best = 0.0
    for kind in range(radix):
        best = max(best, scratch.sums[kind])
    return min(1.0, best)


@_compiled
def weighed(
    given: GivenArrays, scratch: Scratch, conflict: float, branches: int, node: int
) -> tuple[int, float]:
    """The numbers of a way to place all branches, and how likely that is."""
    ways, kind, weight = scratch.ways, 0, 1.0
    for branch in range(branches):
        at = ways[branches + 1 + branch]
        kind += ways[at + 1]
        weight *= scratch.way_weights[at]
        kid = ways[at]
        if kid == NONE:
            continue
        is_new = True
        for before in range(branch):
            other = ways[ways[branches + 1 + before]]
            if other == kid:
                is_new = False
                break
        if not is_new:
            continue
        weight *= given.probabilities[kid]
        for before in range(branch):
            other = ways[ways[branches + 1 + before]]
            if other == NONE or is_again(scratch, branches, before, other):
                continue
            if given.numbers[other] == given.numbers[kid]:
                weight *= conflict
            elif are_opposed(given, node, min(kid, other), max(kid, other)):
                return kind, 0.0
    return kind, weight


@_compiled
def is_again(scratch: Scratch, branches: int, branch: int, kid: int) -> bool:
    """True if a branch before this one is placed on the same kid."""
    for before in range(branch):  # noqa: SIM110 - compiled code has no generators
        if scratch.ways[scratch.ways[branches + 1 + before]] == kid:
            return True
    return False


@_compiled
def are_opposed(given: GivenArrays, node: int, one: int, other: int) -> bool:
    """True if two kids of a node are never there together."""
    low, pair = given.kid_starts[node], NONE
    for at in range(given.pair_starts[node], given.pair_starts[node + 1]):
        pair = given.pairs[at]
        if pair == (one - low) << 32 | (other - low):
            return True
    return False
