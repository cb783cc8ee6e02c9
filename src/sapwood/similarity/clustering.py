"""Clusters of filters that accept much the same publications, and homes for them.

Ours; the work forms communities by links and has no clusters. A filter weighs as many subscriptions
as have it. Pairs are taken from the nearest to the farthest, and the clusters of both become one
unless that weighs more than a home may have (single linkage with a bound, as Kruskal builds a
tree). Then clusters are given homes, the heaviest first: that of most of their subscriptions where
there is room, else that with the most room.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from sapwood.errors import InputError


def clusters(weights: Sequence[int], pairs: Iterable[tuple[int, int]], most: int) -> list[int]:
    """For each filter the smallest number in its cluster.

    `pairs` are numbers of near filters, the nearest first. No cluster weighs more than `most`,
    unless a single filter does.
    """
    above, heavy = list(range(len(weights))), list(weights)

    def root(one: int) -> int:
        while above[one] != one:
            above[one] = one = above[above[one]]
        return one

    for one, other in pairs:
        a, b = sorted((root(one), root(other)))
        if a != b and heavy[a] + heavy[b] <= most:
            above[b] = a
            heavy[a] += heavy[b]
    return [root(one) for one in range(len(weights))]


def homes_for(
    cluster: Sequence[int], homes: Sequence[Mapping[str, int]], names: Sequence[str], most: int
) -> list[str]:
    """A home for each filter, one for all of a cluster.

    `homes` are the homes of each filter's subscriptions now, with how many there are; `names` are
    all homes there are. A home gets no more than `most`, but for what fits nowhere, which goes
    where the most room is. Raises `InputError` without any home.
    """
    if not names:
        raise InputError("name at least one home router")
    there: dict[int, Counter[str]] = {}
    for number, own in zip(cluster, homes, strict=True):
        there.setdefault(number, Counter()).update(own)
    loads, chosen = dict.fromkeys(sorted(names), 0), dict[int, str]()
    for number in sorted(there, key=lambda one: (-there[one].total(), one)):
        weight = there[number].total()
        wide = [name for name in loads if loads[name] + weight <= most]
        if wide:
            home = min(wide, key=lambda name: (-there[number][name], loads[name], name))
        else:
            home = min(loads, key=lambda name: (loads[name], name))
        chosen[number] = home
        loads[home] += weight
    return [chosen[number] for number in cluster]
