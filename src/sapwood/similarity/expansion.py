"""The expansion of a pattern: the concrete elements that it can mean, with probabilities.

Chand 2005, 8.3.2 and algorithm 26 (L2997-3124), in the corrected form of its completion. Every
occurrence has a name, never `*` or `//`, and the probability that it is there if its parent is.
Occurrences of the same *number* below one parent are alternatives for one step of the pattern;
their probabilities sum to 1, in proportion to the weights of their places (`knowledge.py`).
Occurrences of different numbers are all there, unless the DTD opposes them: then one that is
certain deletes the others (`_settled`), and pairs that stay opposed are listed in `opposed`. So
`/a/*[c]` with `a (b | d)`, `b (c)` and `d (c?)` becomes::

    ""  ─  a 1.0 number 1  ─┬─  b 0.5 number 1  ─  c 1.0 number 1
                            └─  d 0.5 number 1  ─  c 1.0 number 1

Departures from the print, where it is silent or contradicts its own figure: `*` with a comparison
of `text()` becomes elements that can hold text only (figure 8.3); probabilities are shared among
what survives pruning (L3101 against figure 8.3); the same name twice below a parent that may have
it once is one element with both conditions, not a conflict, where the texts agree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final

from sapwood.limits import EXPANSION_DEPTH_MAX, EXPANSION_NODES_MAX
from sapwood.model.patterns.conditions import Axis
from sapwood.model.patterns.texts import Texts
from sapwood.similarity.knowledge import Knowledge, Place
from sapwood.similarity.steps import Step
from sapwood.xml.document import local_name

LEAST_PROBABILITY: Final = 1e-4
"""The probability of a path (tau, L3110) from which on `//` is followed further down; the work
names none. With a hundred names below an element that is two levels."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """An element that a step of the pattern can mean, and all that is below it.

    `opposed` are pairs of `children`, by their positions, that are never there together. `beside`
    and `below` are the local names of children, and of all elements further down as well: other
    names need not be searched.
    """

    place: Place
    number: int
    probability: float
    texts: tuple[Texts, ...] = ()
    children: tuple[Occurrence, ...] = ()
    opposed: frozenset[tuple[int, int]] = frozenset()
    beside: frozenset[str] = field(init=False, compare=False, repr=False)
    below: frozenset[str] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        names = frozenset(
            local_name(one.place.name) for one in self.children if not one.place.is_attribute
        )
        object.__setattr__(self, "beside", names)
        object.__setattr__(self, "below", names.union(*(one.below for one in self.children)))

    @property
    def groups(self) -> tuple[frozenset[int], ...]:
        """The correlation groups: largest sets of children of which no two are there together."""
        found = _cliques(frozenset(), frozenset({one for pair in self.opposed for one in pair}),
                         frozenset(), self.opposed)  # fmt: skip
        return tuple(sorted(found, key=sorted))

    def descend(self) -> Iterator[Occurrence]:
        """The occurrence and all below it."""
        yield self
        for child in self.children:
            yield from child.descend()


def expanded(step: Step, knowledge: Knowledge) -> Occurrence | None:
    """The expansion of a pattern, at the document; `None` if no document can match it."""
    root = _Draft(knowledge.root, 0, 1, 1.0)
    if not _Expansion(knowledge).place(step, root) or not _settled(root, knowledge):
        return None
    return _finished(root, knowledge)


@dataclass(slots=True, eq=False)
class _Draft:
    """An occurrence in the making; `reach` is the probability of the path as far as one knows."""

    place: Place
    number: int
    weight: int
    reach: float
    texts: tuple[Texts, ...] = ()
    children: list[_Draft] = field(default_factory=list)
    numbers: int = 0
    probability: float = 1.0


class _Expansion:
    """Places the steps of one pattern; `left` elements may still be made below `//`."""

    __slots__ = ("knowledge", "left")

    def __init__(self, knowledge: Knowledge) -> None:
        self.knowledge = knowledge
        self.left = EXPANSION_NODES_MAX

    def place(self, step: Step, above: _Draft) -> bool:
        """Add the meanings of a step below an occurrence; true if there is any."""
        above.numbers += 1
        number = above.numbers
        kids = self._weighed(step, above.place)
        found = [
            self._placed(step, above, place, weight, number)
            for place, weight in kids
            if step.accepts(place) and (not step.needs_text or self.knowledge.holds_text(place))
        ]
        if step.axis is Axis.DESCENDANT and self._goes_on(above):
            # An element passed on the way is an alternative of the same step.
            found += [self._passed(step, above, place, weight, number) for place, weight in kids]
        return any(found)

    def _weighed(self, step: Step, place: Place) -> tuple[tuple[Place, int], ...]:
        return (
            self.knowledge.attributes(place)
            if step.is_attribute
            else self.knowledge.elements(place)
        )

    def _goes_on(self, above: _Draft) -> bool:
        return (
            above.place.depth + 2 <= EXPANSION_DEPTH_MAX
            and above.reach > LEAST_PROBABILITY
            and self.left > 0
        )

    def _placed(self, step: Step, above: _Draft, place: Place, weight: int, number: int) -> bool:
        made = self._made(above, place, weight, number)
        made.texts = step.texts
        if not all(self.place(one, made) for one in step.steps):
            return False
        above.children.append(made)
        return True

    def _passed(self, step: Step, above: _Draft, place: Place, weight: int, number: int) -> bool:
        if step.test is not None and not self.knowledge.reaches(place, step.test.local):
            return False
        made = self._made(above, place, weight, number)
        if not self.place(step, made):
            return False
        above.children.append(made)
        return True

    def _made(self, above: _Draft, place: Place, weight: int, number: int) -> _Draft:
        self.left -= 1
        beside = max(1, len(self.knowledge.elements(above.place)))
        return _Draft(place, number, weight, above.reach / beside)


def _settled(draft: _Draft, knowledge: Knowledge) -> bool:
    """Share out probabilities and delete what opposes the certain; whether anything is left.

    Bottom-up and to a fixpoint, since each deletion may make another occurrence certain (L3112).
    """
    draft.children = [one for one in draft.children if _settled(one, knowledge)]
    while True:
        _share(draft)
        if len({one.number for one in draft.children}) < draft.numbers:
            return False
        if draft.numbers <= 1:
            return True
        certain = [one for one in draft.children if one.probability >= 1]
        gone = [
            other
            for other in draft.children
            if any(_conflict(draft, one, other, knowledge) for one in certain)
        ]
        if not gone:
            return True
        if any(one in certain for one in gone):
            return False
        draft.children = [one for one in draft.children if one not in gone]


def _share(draft: _Draft) -> None:
    sums: dict[int, int] = {}
    for one in draft.children:
        sums[one.number] = sums.get(one.number, 0) + one.weight
    for one in draft.children:
        one.probability = one.weight / sums[one.number]


def _conflict(above: _Draft, one: _Draft, other: _Draft, knowledge: Knowledge) -> bool:
    """True if two occurrences for different steps are never there together."""
    if one.number == other.number or not knowledge.opposed(above.place, one.place, other.place):
        return False
    is_one_element = one.place.name == other.place.name
    return not is_one_element or not all(a.meets(b) for a in one.texts for b in other.texts)


def _finished(draft: _Draft, knowledge: Knowledge) -> Occurrence:
    opposed = frozenset[tuple[int, int]]()
    # Occurrences for one step are alternatives anyway, and most elements have one step below.
    if draft.numbers > 1:
        opposed = frozenset(
            (at, other)
            for at, other in combinations(range(len(draft.children)), 2)
            if _conflict(draft, draft.children[at], draft.children[other], knowledge)
        )
    children = tuple(_finished(one, knowledge) for one in draft.children)
    return Occurrence(draft.place, draft.number, draft.probability, draft.texts, children, opposed)


def _cliques(
    chosen: frozenset[int],
    rest: frozenset[int],
    done: frozenset[int],
    pairs: frozenset[tuple[int, int]],
) -> Iterator[frozenset[int]]:
    """The largest sets all of whose members are paired (Bron and Kerbosch 1973)."""
    if not rest and not done and chosen:
        yield chosen
    for one in sorted(rest):
        near = frozenset(
            other for other in rest | done if (min(one, other), max(one, other)) in pairs
        )
        yield from _cliques(chosen | {one}, rest & near, done & near, pairs)
        rest, done = rest - {one}, done | {one}
