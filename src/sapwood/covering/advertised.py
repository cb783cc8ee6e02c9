"""Covers among advertised content: filters of records, tree patterns, and paths of documents.

A router has few advertisements from most neighbors, and a compiled index takes longer to make than
a dozen of them to compare. So all are compared, one by one, as long as they are few; from then on
interests lie in the indexes that routers use for subscriptions. Paths have no index: the values are
a DTD's worth of paths each, and of equal ones only one is here.

With `few` = 2, and the place of each key after each step:

    step            compared one by one   in the indexes
    add 0, price    0                     -
    add 1, paths    0 1                   -
    add 2, size     1                     0 2
    remove 2        1                     0
"""

from __future__ import annotations

from itertools import islice
from typing import Final

from sapwood.covering.catalogue import COVERING_INDEXES, interest_index
from sapwood.covering.protocol import CoveringIndex
from sapwood.errors import InvariantError
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest

FEW: Final = 64
"""Advertisements that are compared one by one. With this many both ways take about as long, a
millisecond and a half for one more; the compiled index takes a fifth of one to make."""


class AdvertisedIndex:
    """A covering index of advertised content: a scan that becomes an index, but for paths.

    #: every key is in exactly one of the two
    #: interests are among the scanned only as long as there is no index
    """

    __slots__ = ("_few", "_interests", "_scanned")

    def __init__(self, few: int = FEW) -> None:
        self._few = few
        self._scanned: dict[int, AdvertisedContent] = {}
        self._interests: CoveringIndex[Interest] | None = None

    def __len__(self) -> int:
        """The number of keys."""
        return len(self._scanned) + (0 if self._interests is None else len(self._interests))

    def add(self, key: int, filter: AdvertisedContent) -> None:
        """Add content that no key has, under a free key."""
        if self._interests is not None and isinstance(filter, Interest):
            self._interests.add(key, filter)
            return
        assert key not in self._scanned, f"key {key} is taken"
        self._scanned[key] = filter
        if self._interests is None and len(self._scanned) > self._few:
            self._interests = self._indexed()

    def remove(self, key: int) -> None:
        """Remove the content of a taken key."""
        if self._scanned.pop(key, None) is None:
            assert self._interests is not None, f"no content has key {key}"
            self._interests.remove(key)

    def cov(self, filter: AdvertisedContent, limit: int) -> list[int]:
        """The keys of up to `limit` contents that cover `filter`, never its own."""
        if self._interests is not None and isinstance(filter, Interest):
            return self._interests.cov(filter, limit)
        found = (k for k, one in self._scanned.items() if one.covers(filter) and one != filter)
        return list(islice(found, limit))

    def covered(self, filter: AdvertisedContent) -> list[int]:
        """The keys of all contents that `filter` covers but itself."""
        if self._interests is not None and isinstance(filter, Interest):
            return self._interests.covered(filter)
        return [k for k, one in self._scanned.items() if filter.covers(one) and one != filter]

    def validate(self) -> None:
        """Raise `InvariantError` unless every key is where searches look for it."""
        if self._interests is None:
            return
        self._interests.validate()
        if any(isinstance(one, Interest) for one in self._scanned.values()):
            raise InvariantError("an advertised interest is not in the index of interests")

    def _indexed(self) -> CoveringIndex[Interest]:
        """Move the interests that were scanned so far into an index; returns that."""
        made = interest_index(COVERING_INDEXES["columnar"])
        scanned = {k: one for k, one in self._scanned.items() if isinstance(one, Interest)}
        for key, interest in scanned.items():
            del self._scanned[key]
            made.add(key, interest)
        return made
