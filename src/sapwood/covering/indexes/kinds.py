"""Filters of records and tree patterns of documents below one graph: an index for each kind.

Nothing covers across kinds, so each question goes to one of the two.
"""

from __future__ import annotations

from sapwood.covering.protocol import CoveringIndex
from sapwood.errors import InvariantError
from sapwood.model.documents.pattern import TreePattern
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest


class BothKinds:
    """An index of interests, made of one of filters and one of tree patterns; both empty.

    #: every key is in exactly one of the two
    """

    __slots__ = ("_patterns", "documents", "records")

    def __init__(
        self, records: CoveringIndex[Filter], documents: CoveringIndex[TreePattern]
    ) -> None:
        self.records = records
        self.documents = documents
        #: the keys of tree patterns
        self._patterns: set[int] = set()

    def __len__(self) -> int:
        """The number of interests."""
        return len(self.records) + len(self.documents)

    def add(self, key: int, filter: Interest) -> None:  # noqa: A002 - the field's word
        """Hold an interest that no key has, under a free key."""
        if isinstance(filter, Filter):
            self.records.add(key, filter)
        else:
            assert isinstance(filter, TreePattern)
            self.documents.add(key, filter)
            self._patterns.add(key)

    def remove(self, key: int) -> None:
        """Give up the interest of a taken key."""
        if key in self._patterns:
            self._patterns.remove(key)
            self.documents.remove(key)
        else:
            self.records.remove(key)

    def cov(self, filter: Interest, limit: int) -> list[int]:  # noqa: A002
        """Keys of up to `limit` interests that cover it, never its own."""
        if isinstance(filter, Filter):
            return self.records.cov(filter, limit)
        assert isinstance(filter, TreePattern)
        return self.documents.cov(filter, limit)

    def covered(self, filter: Interest) -> list[int]:  # noqa: A002
        """Keys of all that it covers but itself."""
        if isinstance(filter, Filter):
            return self.records.covered(filter)
        assert isinstance(filter, TreePattern)
        return self.documents.covered(filter)

    def validate(self) -> None:
        """Raise `InvariantError` unless both indexes are consistent."""
        self.records.validate()
        self.documents.validate()
        if len(self.documents) != len(self._patterns):
            raise InvariantError("not exactly the tree patterns are in the index of documents")
