"""What every engine of documents offers: the shape of `sapwood.matching.protocol.Engine`.

Tree patterns take the place of filters, documents that of records. A document may come as bytes,
so that an engine reads no more of it than its patterns ask for, or already read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol, TypeAlias

from sapwood.matching.protocol import SlotBatch
from sapwood.model.documents.pattern import TreePattern
from sapwood.xml import Document

Readable: TypeAlias = bytes | Document
"""A document as it came, or as `sapwood.xml.read_document` made it, with its content."""


class DocumentEngine(Protocol):
    """A set of tree patterns by slot that tells which of them accept a document.

    The caller keeps the slots right: `add` only with a free slot, `remove` only with a taken one.
    Matching raises `DocumentError` for bytes that are no document, `LimitError` beyond the
    engine's bounds; the engine is then as it was.

    An engine learns from the documents it sees: matching changes it. One thread at a time.
    """

    def __len__(self) -> int:
        """The number of taken slots."""

    def add(self, slot: int, pattern: TreePattern) -> None:
        """Take `slot` for `pattern`; it is seen by the very next match."""

    def remove(self, slot: int) -> None:
        """Free `slot`; its pattern is not reported any more."""

    def match(self, document: Readable) -> list[int]:
        """The slots whose patterns accept `document`, ascending, each once."""

    def match_any(self, document: Readable) -> bool:
        """Whether any pattern accepts `document`; may stop at the first."""

    def match_slots(self, documents: Sequence[Readable]) -> SlotBatch:
        """The matches of many documents: the fast path, as arrays."""

    def save(self, folder: Path) -> None:
        """Write what `load` wants to find into the existing, empty `folder`."""

    def load(self, folder: Path, patterns: Iterable[tuple[int, TreePattern]]) -> None:
        """Take over what `save` wrote, on an engine that is still empty.

        `patterns` yields every taken slot with its pattern, ascending. Raises `FileFormatError` if
        the files are not what `save` wrote.
        """

    def validate(self) -> None:
        """Raise `InvariantError` unless the engine's own state is consistent."""
