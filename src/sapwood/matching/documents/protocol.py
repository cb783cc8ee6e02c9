"""The protocol of engines of documents, of the shape of `sapwood.matching.protocol.Engine`.

Tree patterns take the place of filters, documents that of records. A document may come as bytes, so
that an engine reads no more of it than its patterns need, or already read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol, TypeAlias

from sapwood.matching.protocol import SlotBatch
from sapwood.model.patterns.pattern import TreePattern
from sapwood.xml import Document

Readable: TypeAlias = bytes | Document
"""A document as it came, or as `sapwood.xml.read_document` made it, with its content."""


class DocumentEngine(Protocol):
    """A set of tree patterns by slot that returns the slots of those that accept a document.

    The caller keeps the slots right: `add` only with a free slot, `remove` only with a taken one.
    Matching raises `DocumentError` for bytes that are no document, `LimitError` beyond the
    engine's bounds; the engine is then as it was.

    An engine may learn from the documents that it matches. Any number of threads may call the
    `match` methods at the same time all the same, and one `fold`; `add`, `remove`, `save` and
    `load` need the engine for themselves.
    """

    def __len__(self) -> int:
        """The number of taken slots."""

    def add(self, slot: int, pattern: TreePattern) -> None:
        """Put `pattern` into `slot`; the very next match sees it."""

    def remove(self, slot: int) -> None:
        """Free `slot`; its pattern is no longer reported."""

    def match(self, document: Readable) -> list[int]:
        """The slots whose patterns accept `document`, ascending, each once."""

    def match_any(self, document: Readable) -> bool:
        """True if any pattern accepts `document`; may stop at the first."""

    def match_count(self, document: Readable) -> int:
        """The number of patterns that accept `document`."""

    def match_slots(self, documents: Sequence[Readable]) -> SlotBatch:
        """The matches of many documents: the fast path, as arrays."""

    def fold(self) -> None:
        """Do the deferred indexing work now.

        May run in one thread beside any other use; does nothing where nothing is deferred.
        """

    def save(self, folder: Path) -> None:
        """Write the files that `load` needs into the existing, empty `folder`."""

    def load(self, folder: Path, patterns: Iterable[tuple[int, TreePattern]]) -> None:
        """Read the files that `save` wrote, into an engine that is still empty.

        `patterns` yields every taken slot with its pattern, ascending, and costs reading an
        expression for each step: an engine whose own files suffice does not read it. Raises
        `FileFormatError` if the files are not those that `save` wrote.
        """

    def validate(self) -> None:
        """Raise `InvariantError` unless the engine's own state is consistent."""
