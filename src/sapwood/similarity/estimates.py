"""Similarity: how likely a document for one pattern is one for another (8.4, L3126-3177).

The source gives the principle and ten examples; the rest is the completion in which all ten come
out (one has a slip: S7 is 1/8). `Sim(S1, S2)` looks for S2 in the expansion of S1:

* branches of S2 that fall on different occurrences: probabilities multiply; on the same one: it
  counts once; on alternatives for the same step of S1: they exclude each other as a rule, which a
  penalty accounts for; on occurrences that the DTD opposes: zero;
* alternatives for one step add up (S9), placements on different steps are alternatives to each
  other, and the best counts (S4);
* a text that S1 and S2 both require: 1; one that S1 excludes: 0; else a small constant;
* what S1 leaves open is estimated from the knowledge alone: with a synopsis the share of
  documents that have the path among those that have its beginning.

If S2 covers S1, the similarity is 1, whatever the estimate.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from heapq import nlargest
from itertools import combinations
from typing import Final, NamedTuple

from sapwood.errors import InputError
from sapwood.limits import (
    EXPANSION_DEPTH_MAX,
    SIMILARITIES_KNOWN_MAX,
    SIMILARITY_COMBINATIONS_MAX,
)
from sapwood.model.interest import Interest
from sapwood.model.patterns.conditions import Axis, NameTest
from sapwood.model.patterns.pattern import TreePattern
from sapwood.model.patterns.texts import Texts
from sapwood.similarity.expansion import Occurrence, expanded
from sapwood.similarity.knowledge import Knowledge, Place
from sapwood.similarity.steps import Step, steps_of


@dataclass(frozen=True, slots=True)
class Constants:
    """Constants that the work leaves open: for an unknown text, a conflict, an unmatched step."""

    unknown_text: float = 0.1
    conflict: float = 0.2
    unmatched: float = 0.5

    def __post_init__(self) -> None:
        for value in (self.unknown_text, self.conflict, self.unmatched):
            if not 0 <= value <= 1:
                raise InputError(f"{value} is no probability; name one from 0 to 1")


DEFAULT_CONSTANTS: Final = Constants()


class _Option(NamedTuple):
    """A place for a branch: the number and position of the occurrence (-1: none), and a weight."""

    number: int
    at: int
    weight: float


class _Found(NamedTuple):
    """The options of a branch; if there are none, whether that is because they exclude it."""

    options: Sequence[_Option]
    is_refuted: bool = False


class _Value(NamedTuple):
    """A probability; `is_refuted`: S1 makes it zero, and no estimate may raise it."""

    value: float
    is_refuted: bool = False


_REFUTED: Final = _Value(0.0, is_refuted=True)
_NOWHERE: Final = _Found(())


class Similarity:
    """The probability that a document that one pattern accepts is accepted by another.

    A callable of two filters, not symmetric, with values in [0, 1]. It remembers the expansions of
    patterns and the similarities found, up to `limits.SIMILARITIES_KNOWN_MAX` pairs. Equal steps of
    patterns are one object, so results for one are known by its identity; and while the first
    filter stays the same, a step that was searched in its expansion is not searched again.
    """

    __slots__ = (
        *("_chances", "_expansions", "_known", "_options_known", "_steps", "_within"),
        *("_opposed_known", "_patterns", "constants", "knowledge"),
    )

    def __init__(self, knowledge: Knowledge, constants: Constants = DEFAULT_CONSTANTS) -> None:
        self.knowledge = knowledge
        self.constants = constants
        self._expansions: dict[TreePattern, tuple[tuple[float, Occurrence], ...]] = {}
        #: each step by itself, so that equal ones are one; and those of patterns, all among them
        self._steps: dict[Step, Step] = {}
        self._patterns: dict[TreePattern, tuple[Step, ...]] = {}
        #: by the identity of a step of those
        self._chances: dict[tuple[int, Place], float] = {}
        self._known: dict[tuple[TreePattern, TreePattern], float] = {}
        #: the expansions in which steps were searched last, and the results, by identities
        self._within: tuple[tuple[float, Occurrence], ...] = ()
        self._options_known: dict[tuple[int, int], _Found] = {}
        #: there as well: by the tested name, whether a certain child excludes it
        self._opposed_known: dict[tuple[NameTest | None, int], bool] = {}

    def __call__(self, one: Interest, other: Interest) -> float:
        """The probability that `other` accepts a document that `one` accepts.

        Raises `InputError` for filters that are no tree patterns, `LimitError` for patterns with
        more alternatives than can be compared (`limits.COVERING_ALTERNATIVES_MAX`).
        """
        given, searched = _pattern(one), _pattern(other)
        found = self._known.get((given, searched))
        if found is None:
            if len(self._known) >= SIMILARITIES_KNOWN_MAX:
                self._known.clear()
            found = 1.0 if searched.covers(given) else self.estimate(given, searched)
            self._known[given, searched] = found
        return found

    def proximity(self, one: Interest, other: Interest) -> float:
        """The mean of both directions: symmetric, and 1 for equivalent filters (f_s, L2848)."""
        return (self(one, other) + self(other, one)) / 2

    def probability(self, filter_: Interest) -> float:
        """The share of all documents that the filter is expected to accept."""
        every = self.steps(_pattern(filter_))
        return max(self._chance(one, self.knowledge.root) for one in every)

    def estimate(self, one: TreePattern, other: TreePattern) -> float:
        """The similarity without the check whether `other` covers `one`.

        For a pattern with `or` it is the mean over its alternatives, as likely as they are, of the
        best alternative of `other`; zero for one that no document can match.
        """
        expansions = self.expansions(one)
        # Last, since results may be forgotten before: identities are of steps that stay.
        searched = self.steps(other)
        if expansions is not self._within:
            self._within = expansions
            self._options_known.clear()
            self._opposed_known.clear()
        total = 0.0
        for weight, given in expansions:
            total += weight * max(self._joint((step,), given).value for step in searched)
        return min(1.0, total)

    def expansions(self, pattern: TreePattern) -> tuple[tuple[float, Occurrence], ...]:
        """The expansions of a pattern's alternatives that are possible, with their shares."""
        found = self._expansions.get(pattern)
        if found is None:
            if len(self._expansions) >= SIMILARITIES_KNOWN_MAX >> 4:
                self._expansions.clear()
            found = self.expanded(pattern)
            self._expansions[pattern] = found
        return found

    def expanded(self, pattern: TreePattern) -> tuple[tuple[float, Occurrence], ...]:
        """As `expansions`, without keeping the result."""
        made = [(step, expanded(step, self.knowledge)) for step in self.steps(pattern)]
        some = [(step, one) for step, one in made if one is not None]
        if len(some) == 1:
            return ((1.0, some[0][1]),)
        shares = [self._chance(step, self.knowledge.root) for step, _ in some]
        total = sum(shares)
        return tuple(
            (share / total if total else 1 / len(some), one)
            for share, (_, one) in zip(shares, some, strict=True)
        )

    def steps(self, pattern: TreePattern) -> tuple[Step, ...]:
        """The steps of a pattern's alternatives; equal ones are one object.

        Raises `LimitError` beyond `limits.COVERING_ALTERNATIVES_MAX` alternatives.
        """
        found = self._patterns.get(pattern)
        if found is None:
            if len(self._patterns) >= SIMILARITIES_KNOWN_MAX >> 4:
                for known in (self._patterns, self._steps, self._chances, self._options_known):
                    known.clear()
            found = tuple(map(self._one, steps_of(pattern)))
            self._patterns[pattern] = found
        return found

    def _one(self, step: Step) -> Step:
        """The step that is equal to this one, with all below it."""
        known = self._steps.get(step)
        if known is None:
            known = replace(step, steps=tuple(map(self._one, step.steps)))
            self._steps[known] = known
        return known

    def _joint(self, steps: Sequence[Step], above: Occurrence) -> _Value:
        """The probability that all steps are there below an occurrence, which is there."""
        every: list[Sequence[_Option]] = []
        for step in steps:
            options, is_refuted = self._options(step, above)
            if not options:
                if is_refuted:
                    return _REFUTED
                chance = self._unsaid(step, above)
                if not chance:
                    return _Value(0.0)
                options = (_Option(0, -1, chance),)
            every.append(options)
        return self._weighed(every, above)

    def _weighed(self, every: Iterable[Sequence[_Option]], above: Occurrence) -> _Value:
        """The best of all ways to give each branch one of its options."""
        every = tuple(every)
        if len(every) == 1 == len(every[0]):
            (only,) = every[0]
            there = above.children[only.at].probability if only.at >= 0 else 1.0
            best = min(1.0, only.weight * there)
            return _Value(best) if best else _REFUTED
        ways: list[tuple[float, frozenset[int], tuple[int, ...]]] = [(1.0, frozenset(), ())]
        for options in every:
            ways = [
                (
                    weight * one.weight,
                    used | ({one.at} if one.at >= 0 else set()),
                    (*to, one.number),
                )
                for weight, used, to in ways
                for one in options
            ]
            if len(ways) > SIMILARITY_COMBINATIONS_MAX:
                ways = nlargest(SIMILARITY_COMBINATIONS_MAX, ways, key=lambda way: way[0])
        sums: dict[tuple[int, ...], float] = {}
        for weight, used, numbers in ways:
            sums[numbers] = sums.get(numbers, 0.0) + weight * self._together(used, above)
        best = min(1.0, max(sums.values()))
        return _Value(best) if best else _REFUTED

    def _together(self, used: frozenset[int], above: Occurrence) -> float:
        """The probability that these children of an occurrence are all there."""
        weight = 1.0
        for at in used:
            weight *= above.children[at].probability
        for one, other in combinations(sorted(used), 2):
            if above.children[one].number == above.children[other].number:
                weight *= self.constants.conflict
            elif (one, other) in above.opposed:
                return 0.0
        return weight

    def _options(self, step: Step, above: Occurrence) -> _Found:
        """The occurrences on which a step can fall, with the probability of its conditions."""
        key = id(step), id(above)
        found = self._options_known.get(key)
        if found is None:
            found = self._options_known[key] = self._looked_for(step, above)
        return found

    def _looked_for(self, step: Step, above: Occurrence) -> _Found:
        is_deep = step.axis is Axis.DESCENDANT
        name = None if step.test is None or step.is_attribute else step.test.local
        if name is not None and name not in (above.below if is_deep else above.beside):
            return _NOWHERE
        options: list[_Option] = []
        is_refuted = False
        for at, child in enumerate(above.children):
            best = _Value(0.0)
            if step.accepts(child.place):
                best = self._met(step, child)
                is_refuted |= best.is_refuted
            if is_deep and not child.place.is_attribute:
                found, refuted = self._options(step, child)
                is_refuted |= refuted
                # Nothing further down is no reason to guess: it may be here.
                deeper = self._weighed((found,), child) if found else _Value(0.0)
                best = max(best, deeper, key=lambda one: one.value)
            if best.value:
                options.append(_Option(child.number, at, best.value))
        return _Found(options, is_refuted and not options)

    def _met(self, step: Step, found: Occurrence) -> _Value:
        """The probability that an occurrence has the text and the branches that a step requires."""
        weight = 1.0
        for wanted in step.texts:
            weight *= self.text(wanted, found.texts)
        if not weight:
            return _REFUTED
        below, is_refuted = self._joint(step.steps, found) if step.steps else _Value(1.0)
        return _Value(weight * below, is_refuted)

    def text(self, wanted: Texts, there: Sequence[Texts]) -> float:
        """The probability that a text is in a set, given the sets that it is in."""
        if any(wanted.includes(one) for one in there):
            return 1.0
        if not all(wanted.meets(one) for one in there):
            return 0.0
        return self.constants.unknown_text

    def _unsaid(self, step: Step, above: Occurrence) -> float:
        """The probability of a branch that the expansion leaves open."""
        if step.axis is Axis.CHILD and not step.is_attribute and self.knowledge.dtd is not None:
            key = step.test, id(above)
            is_opposed = self._opposed_known.get(key)
            if is_opposed is None:
                is_opposed = self._opposed_known[key] = self._is_opposed(step, above)
            if is_opposed:
                return 0.0
        return self._chance(step, above.place)

    def _is_opposed(self, step: Step, above: Occurrence) -> bool:
        """True if a certain child rules out every child that the step names."""
        certain = [one.place for one in above.children if one.probability >= 1]
        places = [place for place, _ in self.knowledge.elements(above.place)]
        named = [place for place in places if step.accepts(place)]
        return bool(named) and all(
            any(self.knowledge.opposed(above.place, place, one) for one in certain)
            for place in named
        )

    def _chance(self, step: Step, above: Place) -> float:
        """The probability of a step and all below it at a place, from the knowledge alone.

        Of several paths the likeliest counts.
        """
        key = id(step), above
        found = self._chances.get(key)
        if found is not None:
            return found
        if len(self._chances) >= SIMILARITIES_KNOWN_MAX:
            self._chances.clear()
        knowledge, best = self.knowledge, 0.0
        weighed = knowledge.attributes(above) if step.is_attribute else knowledge.elements(above)
        for place, _ in weighed:
            if step.accepts(place) and (not step.needs_text or knowledge.holds_text(place)):
                chance = self.share(above, place, len(weighed))
                chance *= self.constants.unknown_text ** len(step.texts)
                for one in step.steps:
                    chance *= self._chance(one, place)
                best = max(best, chance)
        if step.axis is Axis.DESCENDANT and above.depth + 2 <= EXPANSION_DEPTH_MAX:
            name = None if step.test is None else step.test.local
            for place, _ in weighed:
                if name is None or knowledge.reaches(place, name):
                    share = self.share(above, place, len(weighed))
                    best = max(best, share * self._chance(step, place))
        self._chances[key] = best
        return best

    def share(self, above: Place, place: Place, beside: int) -> float:
        """The probability of a place where the one above it is there."""
        documents, having = self.knowledge.count(above), self.knowledge.count(place)
        if documents and having is not None:
            return having / documents
        if place.is_attribute:
            is_required = self.knowledge.is_required(above, place)
            return 1.0 if is_required else self.constants.unmatched
        return self.constants.unmatched / beside


def _pattern(filter_: Interest) -> TreePattern:
    if not isinstance(filter_, TreePattern):
        raise InputError(
            f"similarity is that of tree patterns; {filter_} is a record filter, of which no "
            "document says anything"
        )
    return filter_
