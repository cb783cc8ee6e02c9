"""The rules of merging: the common parts of XPEs, and the merger that accepts all of them.

* M1: they differ in the name of one step, which becomes `*`;
* M1': they differ in the axis of one step, which becomes any depth (`//`);
* M2: both at once, at two places;
* M3: they have a head and a tail in common, which are joined by `//` in the place of the middles.

M1 and M1' are lost in the printed text (L395 to L399) and taken from its example and from M2. XPEs
that differ in one place are found by hashing the rest when the place is blanked, so that all XPEs
that differ there only come together at once. M3 is tried for neighbors in sorted order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from sapwood.covering.xpe import XPE, Step
from sapwood.model.patterns.conditions import Axis

COMMON_MIN: Final = 0.5
"""The least share of the longer XPE's steps that are the same in both: most of both has to
coincide, otherwise the merger accepts far too much (L416 notes that for M3)."""


def candidates(xpes: Iterable[XPE]) -> Mapping[XPE, Sequence[XPE]]:
    """Mergers of two or more distinct XPEs each, with the XPEs that a rule makes them of."""
    known = sorted(set(xpes), key=_order)
    found: dict[XPE, dict[XPE, None]] = {}
    for rule in (_one_name, _one_axis, _name_and_axis):
        alike: dict[XPE, dict[XPE, None]] = {}
        for xpe in known:
            for merger in rule(xpe):
                alike.setdefault(merger, {})[xpe] = None
        for merger, members in alike.items():
            if len(members) > 1:
                found.setdefault(merger, {}).update(members)
    for one, other in _neighbors(known):
        joined = join(one, other)
        if joined is not None:
            found.setdefault(joined, {}).update({one: None, other: None})
    return {merger: tuple(members) for merger, members in found.items()}


def join(one: XPE, other: XPE) -> XPE | None:
    """Rule M3 for two XPEs; `None` where too little coincides, or one begins with the other."""
    shorter, longer = sorted((len(one), len(other)))
    head = next((at for at in range(shorter) if one[at] != other[at]), shorter)
    room = shorter - head
    tail = next((at for at in range(room) if one[-1 - at] != other[-1 - at]), room)
    if head + tail < COMMON_MIN * longer or head == shorter:
        return None
    if tail:
        first, *rest = one[len(one) - tail :]
        return (*one[:head], Step(Axis.DESCENDANT, first.test), *rest)
    both_are_children = one[head].axis is Axis.CHILD is other[head].axis
    return (*one[:head], Step(Axis.CHILD if both_are_children else Axis.DESCENDANT, None))


def _one_name(xpe: XPE) -> Iterator[XPE]:
    if len(xpe) - 1 < COMMON_MIN * len(xpe):
        return
    for at, step in enumerate(xpe):
        if step.test is not None:
            yield (*xpe[:at], Step(step.axis, None), *xpe[at + 1 :])


def _one_axis(xpe: XPE) -> Iterator[XPE]:
    for at, step in enumerate(xpe):
        yield (*xpe[:at], Step(Axis.DESCENDANT, step.test), *xpe[at + 1 :])


def _name_and_axis(xpe: XPE) -> Iterator[XPE]:
    if len(xpe) - 2 < COMMON_MIN * len(xpe):
        return
    for at, step in enumerate(xpe):
        if step.test is not None:
            blanked = (*xpe[:at], Step(step.axis, None), *xpe[at + 1 :])
            for other in range(len(xpe)):
                if other != at:
                    wide = Step(Axis.DESCENDANT, xpe[other].test)
                    yield (*blanked[:other], wide, *blanked[other + 1 :])


def _neighbors(known: Sequence[XPE]) -> Iterator[tuple[XPE, XPE]]:
    """XPEs next to each other, sorted from the front and from the back."""
    yield from pairwise(known)
    backward = sorted(known, key=lambda xpe: _order(xpe[::-1]))
    yield from pairwise(backward)


def _order(xpe: XPE) -> tuple[tuple[str, str, str], ...]:
    return tuple(step.key for step in xpe)
