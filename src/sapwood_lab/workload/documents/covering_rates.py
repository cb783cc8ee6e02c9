"""Subscriptions of which a given share is covered (XPE dissemination, 4.1: sets A and B).

The work tuned the chances of `*` and `//` until 90 % and 50 % of its sets were covered. Here the
rate is exact by selection from a stream: *heads* none of which covers another, and *members* each
covered by a head. A member covers no head, since its own head would then cover that one too.

A pattern such as `/*/*` covers nearly all others; as a head it would leave no room for a second.
Heads therefore are patterns that cover little of a sample of the stream.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Final

from sapwood.covering.xsearch import XSearchIndex
from sapwood.errors import InvalidValueError
from sapwood.model.patterns.pattern import TreePattern
from sapwood.model.subscription import Subscription
from sapwood_lab.workload.documents.source import DocumentWorkload

SAMPLE: Final = 500
"""Patterns of the stream by which it is judged how much a head would cover."""

SHARE_MAX: Final = 0.02
"""The share of the sample that a head may cover; where few heads have to do, twice its part."""

_DRAWS_PER_PATTERN: Final = 20
"""Draws for each requested subscription, after which there are taken to be too few."""


def with_covering_rate(
    source: DocumentWorkload, count: int, rate: float, seed: int
) -> list[Subscription]:
    """A choice of `count` distinct subscriptions of a source, a share `rate` of them covered.

    They keep the order of the source's stream, with ids `s0`, `s1`, ...; the number of covered
    ones is `count * rate`, rounded.

    Raises `InvalidValueError` for a rate that is not between 0 and below 1, and where the source
    has too few heads or members; one with longer patterns and fewer `*` and `//` has more heads.
    """
    if not 0 <= rate < 1:
        raise InvalidValueError("rate", "is between 0 and below 1: something covers the others")
    members = round(count * rate)
    chosen = _Chosen(count - members, members, list(islice(_patterns(source, seed), SAMPLE)))
    draws = _DRAWS_PER_PATTERN * max(count, SAMPLE)
    for pattern in islice(_patterns(source, seed), draws):
        if chosen.is_complete:
            break
        chosen.offer(pattern)
    if not chosen.is_complete:
        raise InvalidValueError(
            "rate",
            f"found {chosen.heads} patterns that none covers and {chosen.members} that one of them "
            "covers; ask for fewer, or change the shape of the patterns",
        )
    return [Subscription(f"s{at}", pattern) for at, pattern in enumerate(chosen.patterns)]


def _patterns(source: DocumentWorkload, seed: int) -> Iterator[TreePattern]:
    distinct = replace(source, patterns=replace(source.patterns, distinct=True))
    for one in distinct.subscriptions(sys.maxsize, seed):
        assert isinstance(one.filter, TreePattern), "documents are asked for by patterns"
        yield one.filter


class _Chosen:
    """The patterns chosen so far; `heads` and `members` count them.

    #: _index: exactly the heads, none of which covers another
    """

    def __init__(self, heads_wanted: int, members_wanted: int, sample: list[TreePattern]) -> None:
        self.patterns: list[TreePattern] = []
        self.heads = 0
        self.members = 0
        self._heads_wanted = heads_wanted
        self._members_wanted = members_wanted
        self._index = XSearchIndex()
        self._sample = XSearchIndex()
        for key, pattern in enumerate(sample):
            self._sample.add(key, pattern)
        share = max(SHARE_MAX, 2 / max(1, heads_wanted))
        self._covered_max = round(share * len(sample))

    @property
    def is_complete(self) -> bool:
        return self.heads == self._heads_wanted and self.members == self._members_wanted

    def offer(self, pattern: TreePattern) -> None:
        """Take a new pattern as a member or as a head, or leave it."""
        if self._index.cov(pattern, 1):
            if self.members < self._members_wanted and not self._index.covered(pattern):
                self.members += 1
                self.patterns.append(pattern)
            return
        if (
            self.heads < self._heads_wanted
            and len(self._sample.covered(pattern)) <= self._covered_max
            and not self._index.covered(pattern)
        ):
            self._index.add(self.heads, pattern)
            self.heads += 1
            self.patterns.append(pattern)
