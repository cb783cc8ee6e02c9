"""Merging: one interest in the place of several that no other covers.

A merger accepts everything that its members accept. It is *perfect* if it accepts nothing else, and
imperfect up to a budget otherwise (XPE dissemination 2.19; XSiena 2.11). Deliveries to clients are
matched against the members themselves, so clients receive exactly what they subscribed; a merger
only decides what crosses a link.

Mergers of mergers are judged by their original members, as errors would add up unseen otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from sapwood.errors import LimitError
from sapwood.limits import MERGED_TEXT_CHARS_MAX
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.conjunction import Conjunction
from sapwood.model.constraint import Constraint
from sapwood.model.filter import Filter


class Candidate(NamedTuple):
    """An interest that could be propagated, and the interests it stands for (at least itself)."""

    interest: AdvertisedContent
    originals: tuple[AdvertisedContent, ...]


class Group(NamedTuple):
    """A merger, and the keys of the two or more interests that it replaces."""

    interest: AdvertisedContent
    keys: tuple[str, ...]


class Merger(Protocol):
    """A way to merge: its rules, and the degree of imperfection that it allows."""

    def groups(self, candidates: Mapping[str, Candidate]) -> Sequence[Group]:
        """The groups that can be merged now; no key is in two groups."""

    def may_stand(self, merger: AdvertisedContent, originals: Sequence[AdvertisedContent]) -> bool:
        """True if a merger is still within the budget when it stands for `originals` only."""


@dataclass(frozen=True, slots=True)
class PerfectRecordMerger:
    """Filters of one conjunction each that differ in one attribute become one, without loss.

    Every attribute is tried, in rounds, until nothing changes; filters that agree in all other
    attributes are merged all at once. The cost of a round is one hash of every constraint for every
    attribute of every filter. Filters of several conjunctions are left alone, and a merger is not
    made where its text would pass `limits.MERGED_TEXT_CHARS_MAX`.
    """

    def groups(self, candidates: Mapping[str, Candidate]) -> Sequence[Group]:
        """Groups whose union is exactly one conjunction."""
        boxes: dict[Conjunction, tuple[str, ...]] = {}
        for key, one in candidates.items():
            if isinstance(one.interest, Filter) and len(one.interest.conjunctions) == 1:
                box = one.interest.conjunctions[0]
                boxes[box] = (*boxes.get(box, ()), key)
        while (merged := _round(boxes)) is not None:
            boxes = merged
        return [Group(Filter((box,)), keys) for box, keys in boxes.items() if len(keys) > 1]

    def may_stand(self, merger: AdvertisedContent, originals: Sequence[AdvertisedContent]) -> bool:
        """True if the originals still make up the merger."""
        if not isinstance(merger, Filter):
            return False
        boxes = [box for one in originals if isinstance(one, Filter) for box in one.conjunctions]
        try:
            return Filter.from_conjunctions(boxes) == merger
        except LimitError:  # too many to compare
            return False


@dataclass(frozen=True, slots=True)
class EitherMerger:
    """Several mergers, each of which ignores the interests that the others merge."""

    mergers: tuple[Merger, ...]

    def groups(self, candidates: Mapping[str, Candidate]) -> Sequence[Group]:
        """The groups of all mergers."""
        return [group for merger in self.mergers for group in merger.groups(candidates)]

    def may_stand(self, merger: AdvertisedContent, originals: Sequence[AdvertisedContent]) -> bool:
        """True if any of the mergers would keep the merger."""
        return any(one.may_stand(merger, originals) for one in self.mergers)


_Boxes = dict[Conjunction, tuple[str, ...]]
"""Conjunctions, and the keys that each stands for."""


def _round(boxes: _Boxes) -> _Boxes | None:
    """Merge along the first attribute along which boxes can be merged; `None` if there is none."""
    names = sorted({name for box in boxes for name in box.attributes})
    for name in names:
        along: dict[Conjunction, list[Conjunction]] = {}
        for box in boxes:
            if name in box.attributes:
                along.setdefault(box.without(name), []).append(box)
        unions = {
            rest: union
            for rest, alike in along.items()
            if len(alike) > 1 and (union := _union(rest, name, alike)) is not None
        }
        if unions:
            return _with_unions(boxes, along, unions)
    return None


def _with_unions(
    boxes: _Boxes,
    along: Mapping[Conjunction, Iterable[Conjunction]],
    unions: Mapping[Conjunction, Conjunction],
) -> _Boxes:
    """The boxes after merging; a box that a union has become equal to is joined with it."""
    gone = {box for rest in unions for box in along[rest]}
    found = {box: keys for box, keys in boxes.items() if box not in gone}
    for rest, union in unions.items():
        keys = [key for box in along[rest] for key in boxes[box]]
        found[union] = (*found.get(union, ()), *keys)
    return found


def _union(rest: Conjunction, name: str, alike: Sequence[Conjunction]) -> Conjunction | None:
    """The union of conjunctions that agree but for one attribute; `None` if there is none."""
    first, *others = alike
    together: Constraint | None = first.constraint(name)
    for box in others:
        together = None if together is None else together.union(box.constraint(name))
    if together is None:
        return None
    union = rest.with_constraint(name, together)
    return union if len(str(union)) <= MERGED_TEXT_CHARS_MAX else None
