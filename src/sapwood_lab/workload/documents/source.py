"""`DocumentWorkload`: a seeded source of XPath subscriptions and of documents of one DTD.

As with records (`sapwood_lab.workload.records.source`), both come in blocks that each have a
generator of their own. Only distinct subscriptions depend on those before them: then a stream that
is entered in the middle is made from its beginning.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Final

from sapwood.errors import InvalidValueError
from sapwood.model.patterns.pattern import TreePattern
from sapwood.model.publication import Publication
from sapwood.model.subscription import Subscription
from sapwood.xml.dtd import Dtd
from sapwood_lab.workload.documents.bodies import DocumentShape, draw_documents
from sapwood_lab.workload.documents.patterns import PatternShape, draw_patterns
from sapwood_lab.workload.documents.shipped import shipped_dtd
from sapwood_lab.workload.records.source import BLOCK, stream

_SUBSCRIPTIONS: Final = 3
_PUBLICATIONS: Final = 4

_BARREN: Final = 256 * BLOCK
"""Draws without a new pattern after which there are taken to be no more."""


@dataclass(frozen=True, slots=True)
class DocumentWorkload:
    """A source of subscriptions to documents of a DTD, and of such documents, all valid."""

    dtd: Dtd
    patterns: PatternShape
    bodies: DocumentShape

    def subscriptions(self, count: int, seed: int, start: int = 0) -> Iterator[Subscription]:
        """Subscriptions `start` to `count` - 1 of the stream, with ids `s0`, `s1`, ...

        Raises `InvalidValueError` if distinct ones are requested and there are fewer.
        """
        draw, key = partial(draw_patterns, self.dtd, self.patterns), (seed, _SUBSCRIPTIONS)
        if not self.patterns.distinct:
            for number, pattern in stream(draw, key, start, count):
                yield Subscription(f"s{number}", pattern)
            return
        endless = (pattern for _, pattern in stream(draw, key, 0, sys.maxsize))
        for number, pattern in enumerate(islice(_distinct(endless, count), start, None), start):
            yield Subscription(f"s{number}", pattern)

    def publications(self, count: int, seed: int, start: int = 0) -> Iterator[Publication]:
        """Publications `start` to `count` - 1 of the stream, with ids `p0`, `p1`, ..."""
        draw = partial(draw_documents, self.dtd, self.bodies)
        for number, document in stream(draw, (seed, _PUBLICATIONS), start, count):
            yield Publication(f"p{number}", document=document)


def documents(
    dtd: str | Dtd,
    patterns: PatternShape = PatternShape(),  # noqa: B008 - a value
    bodies: DocumentShape = DocumentShape(),  # noqa: B008 - a value
) -> DocumentWorkload:
    """The workload of a DTD, one's own or, by name, one that comes with Sapwood."""
    return DocumentWorkload(shipped_dtd(dtd) if isinstance(dtd, str) else dtd, patterns, bodies)


def _distinct(patterns: Iterator[TreePattern], count: int) -> Iterator[TreePattern]:
    """The first `count` different patterns."""
    seen: set[TreePattern] = set()
    barren = 0
    while len(seen) < count:
        pattern = next(patterns)
        if pattern not in seen:
            seen.add(pattern)
            yield pattern
            barren = 0
            continue
        barren += 1
        if barren == _BARREN:
            raise InvalidValueError(
                "distinct",
                f"there are hardly more than {len(seen)} different patterns; allow "
                "equal ones, or choose a larger DTD",
            )
