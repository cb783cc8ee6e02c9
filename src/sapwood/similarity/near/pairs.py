"""All near pairs of a set of filters in one process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from sapwood.errors import InputError
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.model.patterns.pattern import TreePattern
from sapwood.similarity.estimates import Similarity
from sapwood.similarity.near.bounds import SLACK, least_similarity
from sapwood.similarity.near.boxes import BoxBlock
from sapwood.similarity.near.patterns import Directions, PatternBlock


class Near(NamedTuple):
    """Two filters, by their numbers, the smaller one first, and how near they are.

    `there` is the similarity of the first with the second, `back` that of the second with the
    first.
    """

    one: int
    other: int
    there: float
    back: float

    @property
    def proximity(self) -> float:
        """The mean of both directions."""
        return (self.there + self.back) / 2


def near_pairs(
    filters: Sequence[Interest], threshold: float, similarity: Similarity | None = None
) -> list[Near]:
    """All pairs of different filters whose proximity is the threshold or more, in order.

    Tree patterns are compared by `similarity`, record filters by `box_similarity`; no pair of both
    languages is near. The threshold is above 1/2 and at most 1. Raises `InputError` for another,
    and for tree patterns where there is no similarity; `LimitError` for a pattern with more
    alternatives than can be compared.
    """
    least = least_similarity(threshold)
    patterns = [at for at, one in enumerate(filters) if isinstance(one, TreePattern)]
    boxes = [at for at, one in enumerate(filters) if isinstance(one, Filter)]
    if patterns and similarity is None:
        raise InputError("tree patterns are compared by what is known of documents; bring that")
    found: list[Directions] = []
    for numbers in (patterns, boxes):
        every = range(len(numbers))
        for one, others, values in _block(
            [filters[at] for at in numbers], similarity, least
        ).directions(every, every):
            found.append(Directions(numbers[one], [numbers[at] for at in others], values))
    return sorted(paired(found, threshold))


def _block(
    filters: Sequence[Interest], similarity: Similarity | None, least: float
) -> PatternBlock | BoxBlock:
    patterns = [one for one in filters if isinstance(one, TreePattern)]
    if patterns and similarity is not None:
        return PatternBlock(similarity, patterns, least)
    return BoxBlock([one for one in filters if isinstance(one, Filter)], least)


def paired(found: Iterable[Directions], threshold: float) -> Iterator[Near]:
    """The near pairs among similarities of which each pair has both."""
    waiting: dict[tuple[int, int], float] = {}
    for one, others, values in found:
        for other, value in zip(others, values, strict=True):
            back = waiting.pop((other, one), None)
            if back is None:
                waiting[one, other] = value
                continue
            if (value + back) / 2 >= threshold - SLACK:
                yield (
                    Near(one, other, value, back) if one < other else Near(other, one, back, value)
                )
