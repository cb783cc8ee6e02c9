"""Matching by the subscription tree (XPE dissemination, 1.5.1)."""

from __future__ import annotations

from sapwood.matching.documents.protocol import Readable
from sapwood.matching.published.subscription_tree.tree import SubscriptionTree
from sapwood.matching.unbatched import UnbatchedEngine
from sapwood.model.patterns.pattern import TreePattern
from sapwood.xml import Document, DocumentBounds, read_document
from sapwood.xml.bounds import DEFAULT_BOUNDS


class SubscriptionTreeEngine(UnbatchedEngine[TreePattern, Readable]):
    """A document goes down the tree; below a pattern that refuses it none is evaluated.

    Pointers, which would spare a fifth of the evaluations, are not added: an insertion would cost
    several times as much. Cost: for a document, the patterns that are evaluated, each on its own;
    for a new pattern, the comparisons on its way down and with its siblings.
    """

    def __init__(self, bounds: DocumentBounds = DEFAULT_BOUNDS) -> None:
        self._bounds = bounds
        self._tree = SubscriptionTree(is_lazy=True)
        #: the slots whose patterns read content
        self._readers: set[int] = set()

    def __len__(self) -> int:
        """The number of taken slots."""
        return len(self._tree)

    def add(self, slot: int, pattern: TreePattern) -> None:
        """Put `pattern` into `slot`."""
        self._tree.add(slot, pattern)
        if pattern.reads_content:
            self._readers.add(slot)

    def remove(self, slot: int) -> None:
        """Free `slot`."""
        self._tree.remove(slot)
        self._readers.discard(slot)

    def match(self, document: Readable) -> list[int]:
        """The slots whose patterns accept `document`, ascending."""
        return sorted(self._tree.match(self._read(document)))

    def match_any(self, document: Readable) -> bool:
        """True if any pattern accepts `document`; evaluates only patterns that nothing covers."""
        return self._tree.match_any(self._read(document))

    def validate(self) -> None:
        """Raise `InvariantError` unless the tree is consistent."""
        self._tree.validate()

    def _read(self, document: Readable) -> Document:
        if isinstance(document, Document):
            return document
        return read_document(document, self._bounds, content=bool(self._readers))
