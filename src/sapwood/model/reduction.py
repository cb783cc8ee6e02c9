"""Fewer boxes for the same union: duplicates and covered boxes dropped, adjacent ones joined.

Both reductions are exact and cheap enough for a thousand boxes; the canonical form
(`sapwood.model.canonical`) starts from their result. Their work is counted against an
`Allowance`, so that no filter's text, however hostile, costs more than about a second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeAlias

from sapwood.errors import LimitError
from sapwood.limits import NORMAL_FORM_STEPS_MAX
from sapwood.model.conjunction import EVERY_RECORD, Conjunction
from sapwood.model.constraint import united
from sapwood.model.publication import Value

_Key: TypeAlias = tuple[tuple[str, ...] | None, str, Value | None]
"""All attributes of a box (`None` for any), one of them, and the only value it may hold (`None`
where it may hold several)."""


@dataclass(slots=True)
class Allowance:
    """Steps that a computation may still take; a step is about a microsecond."""

    left: int

    def spend(self, steps: int) -> bool:
        """Spend `steps` steps and return true if the allowance still had them."""
        self.left -= steps
        return self.left >= 0

    def charge(self, steps: int) -> None:
        """Spend `steps` steps on a normal form; `LimitError` beyond the allowance."""
        if not self.spend(steps):
            raise LimitError(
                "NORMAL_FORM_STEPS_MAX",
                NORMAL_FORM_STEPS_MAX,
                None,
                "the work that the filter's normal form takes",
            )


def reduced(boxes: Iterable[Conjunction], allowance: Allowance) -> list[Conjunction]:
    """The boxes of the same union, adjacent ones joined and covered ones dropped, sorted.

    Reducing again changes nothing. Raises `LimitError` past the allowance.
    """
    return absorb(join(boxes, allowance), allowance)


def absorb(boxes: Iterable[Conjunction], allowance: Allowance) -> list[Conjunction]:
    """The boxes without those that another one covers, sorted; `LimitError` past the allowance.

    Whatever covers a box comes before it in the order of extents, but for boxes of equal extent:
    one pass over all boxes, then one backwards over each run of equal extents.
    """
    extents = {box: box.extent for box in boxes}
    if EVERY_RECORD in extents:
        return [EVERY_RECORD]
    ordered = in_order(extents, extents.__getitem__)
    left = _uncovered(ordered, allowance) if len(ordered) > 1 else ordered
    kept: list[Conjunction] = []
    for _, run in groupby(left, key=extents.__getitem__):
        alike = list(run)[::-1]
        kept.extend(_uncovered(alike, allowance) if len(alike) > 1 else alike)
    return in_normal_order(kept)


def in_normal_order(boxes: Iterable[Conjunction]) -> list[Conjunction]:
    """Few constraints first, then by text: the order of normal forms."""
    return in_order(boxes, lambda box: len(box.constraints))


def in_order(boxes: Iterable[Conjunction], key: Callable[[Conjunction], Any]) -> list[Conjunction]:
    """Sorted by a key, and by text where keys are equal: only these are printed."""
    ordered: list[Conjunction] = []
    for _, run in groupby(sorted(boxes, key=key), key=key):
        alike = list(run)
        ordered += alike if len(alike) == 1 else sorted(alike, key=str)
    return ordered


def join(boxes: Iterable[Conjunction], allowance: Allowance) -> list[Conjunction]:
    """The boxes with those united that differ in one attribute only, until none do.

    One attribute after the other in each round, in the order of their names; each round costs no
    more than the boxes hold constraints. Raises `LimitError` past the allowance.
    """
    joining = _Joining(allowance)
    for box in boxes:
        joining.add(box)
    count = 0
    while count != len(joining.boxes):
        count = len(joining.boxes)
        for attribute in sorted(joining.holders):
            joining.along(attribute)
    return list(joining.boxes.values())


class _Joining:
    """Distinct boxes by number, and for each attribute those that constrain it.

    `sums` holds for each box the sum of the hashes of its constraints: less one attribute's hash,
    and but for collisions, it is equal for boxes that agree on all other attributes.
    """

    def __init__(self, allowance: Allowance) -> None:
        self.allowance = allowance
        self.numbers: dict[Conjunction, int] = {}
        self.boxes: dict[int, Conjunction] = {}
        self.sums: dict[int, int] = {}
        self.holders: dict[str, dict[int, int]] = {}

    def add(self, box: Conjunction) -> None:
        number = self.numbers.setdefault(box, len(self.numbers))
        if number in self.boxes:
            return
        self.allowance.charge(4 * len(box.constraints))
        hashes = [hash(item) for item in box.constraints]
        self.boxes[number] = box
        self.sums[number] = sum(hashes)
        for name, value in zip(box.attributes, hashes, strict=True):
            self.holders.setdefault(name, {})[number] = value

    def remove(self, number: int) -> None:
        del self.sums[number]
        for name in self.boxes.pop(number).attributes:
            del self.holders[name][number]

    def along(self, attribute: str) -> None:
        """Unite the boxes that differ in this attribute only."""
        holders = self.holders[attribute]
        if len(holders) < 2:
            return
        self.allowance.charge(len(holders))
        alike: dict[int, list[int]] = {}
        for number, own in holders.items():
            alike.setdefault(self.sums[number] - own, []).append(number)
        for group in alike.values():
            if len(group) > 1:
                self.unite(attribute, group)

    def unite(self, attribute: str, group: list[int]) -> None:
        by_rest: dict[Conjunction, list[int]] = {}
        for number in group:
            by_rest.setdefault(self.boxes[number].without(attribute), []).append(number)
        for rest, members in by_rest.items():
            unions = united(self.boxes[number].constraint(attribute) for number in members)
            if len(unions) < len(members):
                for number in members:
                    self.remove(number)
                for union in unions:
                    self.add(rest.with_constraint(attribute, union))


def _uncovered(boxes: list[Conjunction], allowance: Allowance) -> list[Conjunction]:
    """The boxes, given by rising number of constraints, without those that one before covers.

    A box can only be covered by one that constrains the same attributes, or fewer of them, and
    whose only value of an attribute, if there is only one, is also its own. Each kept box is filed
    under one such key, where few are filed: first among those with the same attributes, and once
    longer boxes come also among all shorter ones.
    """
    files: dict[_Key, list[Conjunction]] = {}
    newest: list[tuple[_Key, Conjunction]] = []
    kept: list[Conjunction] = []
    for box in boxes:
        if newest and len(newest[0][1].constraints) < len(box.constraints):
            for (_, attribute, only), shorter in newest:
                files.setdefault((None, attribute, only), []).append(shorter)
            newest = []
        names = box.attributes
        own = [(names, name, constraint.only) for name, constraint in box.constraints]
        near = [
            files[key]
            for key in dict.fromkeys(
                (among, name, only)
                for among in (names, None)
                for _, name, value in own
                for only in (value, None)
            )
            if key in files
        ]
        allowance.charge(8 + sum(map(len, near)) * (1 + box.weight // 6))
        if not any(other.covers(box) for file in near for other in file):
            kept.append(box)
            key = min(own, key=lambda key: len(files.get(key, ())))
            files.setdefault(key, []).append(box)
            newest.append((key, box))
    return kept
