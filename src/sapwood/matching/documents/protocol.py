"""What every engine of documents offers: the shape of `sapwood.matching.protocol.Engine`.

Tree patterns take the place of filters, documents that of records. A document may come as bytes,
so that an engine reads no more of it than its patterns ask for, or already read.
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
    """A set of tree patterns by slot that tells which of them accept a document.

    The caller keeps the slots right: `add` only with a free slot, `remove` only with a taken one.
    Matching raises `DocumentError` for bytes that are no document, `LimitError` beyond the
    engine's bounds; the engine is then as it was.

    An engine may learn from the documents it sees. Any number of threads may call the `match`
    methods at the same time all the same, and one `fold`; `add`, `remove`, `save` and `load` need
    the engine for themselves.
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

    def match_count(self, document: Readable) -> int:
        """How many patterns accept `document`."""

    def match_slots(self, documents: Sequence[Readable]) -> SlotBatch:
        """The matches of many documents: the fast path, as arrays."""

    def fold(self) -> None:
        """Put off work that makes matching faster no longer.

        May run in one thread beside any other use; does nothing where nothing was put off.
        """

    def save(self, folder: Path) -> None:
        """Write what `load` wants to find into the existing, empty `folder`."""

    def load(self, folder: Path, patterns: Iterable[tuple[int, TreePattern]]) -> None:
        """Take over what `save` wrote, on an engine that is still empty.

        `patterns` yields every taken slot with its pattern, ascending, and costs reading an
        expression for each step: an engine whose own files say enough does not touch it. Raises
        `FileFormatError` if the files are not what `save` wrote.
        """

    def validate(self) -> None:
        """Raise `InvariantError` unless the engine's own state is consistent."""
