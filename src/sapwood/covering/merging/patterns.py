"""Merging tree patterns within a budget of imperfection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from sapwood.covering.merging.records import Candidate, Group
from sapwood.covering.merging.rules import candidates
from sapwood.covering.merging.universe import PathUniverse
from sapwood.covering.xpe import XPE, pattern_of, steps_of
from sapwood.errors import LimitError
from sapwood.language.xpath import parse_xpath
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.patterns.pattern import TreePattern

_ROUNDS_MAX: Final = 8
"""Rounds of merging mergers in one pass; in practice two or three find something."""


class _Pile(NamedTuple):
    """An XPE as a pattern, and the keys and original XPEs that it stands for in this pass."""

    pattern: TreePattern
    keys: tuple[str, ...]
    originals: tuple[XPE, ...]


@dataclass(frozen=True, slots=True)
class PatternMerger:
    """Merges XPEs by the rules, as far as the degree of imperfection stays within `budget`.

    A budget of 0 makes perfect mergers only. The degree is taken against the original members. In
    each round mergers are made in the order of their degree, then of their size; patterns with
    branches, alternatives or conditions on content are left alone. A merger takes in all other
    patterns that it covers.
    """

    universe: PathUniverse
    budget: float = 0.0

    def groups(self, candidates: Mapping[str, Candidate]) -> Sequence[Group]:
        """The groups that can be merged now; no key is in two groups."""
        piles: dict[XPE, _Pile] = {}
        for key, one in candidates.items():
            steps = steps_of(one.interest) if isinstance(one.interest, TreePattern) else None
            originals = _linear(one.originals)
            if steps is not None and originals is not None:
                known = [piles[steps]] if steps in piles else []
                pile = _Pile(pattern_of(steps), (key,), originals)
                piles[steps] = _joined(pile.pattern, [*known, pile])
        for _ in range(_ROUNDS_MAX):
            if not self._merge(piles):
                break
        return [Group(pile.pattern, pile.keys) for pile in piles.values() if len(pile.keys) > 1]

    def may_stand(self, merger: AdvertisedContent, originals: Sequence[AdvertisedContent]) -> bool:
        """True if the degree is within the budget for these originals."""
        steps = steps_of(merger) if isinstance(merger, TreePattern) else None
        members = _linear(originals)
        if steps is None or members is None:
            return False
        return self.universe.is_within(self.budget, steps, members)

    def _merge(self, piles: dict[XPE, _Pile]) -> bool:
        """Replace XPEs by mergers in one round; false if there was none to make."""
        rated: list[tuple[float, int, tuple[tuple[str, str, str], ...], XPE, Sequence[XPE]]] = []
        for merger, members in candidates(piles).items():
            originals = [one for member in members for one in piles[member].originals]
            if self.universe.is_within(self.budget, merger, originals) and _can_be_said(merger):
                degree = self.universe.degree(merger, originals)
                order = tuple(step.key for step in merger)
                rated.append((degree, -len(members), order, merger, members))
        merged = False
        for *_, merger, members in sorted(rated, key=lambda one: one[:3]):
            if not all(member in piles for member in members):
                continue
            wide = pattern_of(merger)
            taken = [
                xpe for xpe, pile in piles.items() if xpe in members or wide.covers(pile.pattern)
            ]
            piles[merger] = _joined(wide, [piles.pop(xpe) for xpe in taken])
            merged = True
        return merged


def _joined(pattern: TreePattern, piles: Sequence[_Pile]) -> _Pile:
    return _Pile(
        pattern,
        tuple(key for pile in piles for key in pile.keys),
        tuple(dict.fromkeys(one for pile in piles for one in pile.originals)),
    )


def _linear(interests: Sequence[AdvertisedContent]) -> tuple[XPE, ...] | None:
    """The steps of all interests; `None` if one of them is no XPE."""
    found = [steps_of(one) if isinstance(one, TreePattern) else None for one in interests]
    linear = tuple(steps for steps in found if steps is not None)
    return linear if len(linear) == len(found) else None


def _can_be_said(merger: XPE) -> bool:
    """True if a neighbor can parse the merger: it may have more `//` than the language allows."""
    pattern = pattern_of(merger)
    try:
        parse_xpath(str(pattern), pattern.namespaces)
    except LimitError:
        return False
    return True
