"""The base of engines that match one subject at a time and keep no files of their own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from sapwood.matching.protocol import SlotBatch, batch_of

_Filter = TypeVar("_Filter")
_Subject = TypeVar("_Subject")


class UnbatchedEngine(ABC, Generic[_Filter, _Subject]):
    """The rest of an engine (`protocol.Engine`) that has `add`, `remove`, `match` and `validate`.

    It is an engine of filters and records, or of tree patterns and documents.
    """

    @abstractmethod
    def add(self, slot: int, filter: _Filter, /) -> None:
        """Put `filter` into `slot`; the very next match sees it."""

    @abstractmethod
    def match(self, subject: _Subject, /) -> list[int]:
        """The slots that accept the subject, ascending, each once."""

    def match_any(self, subject: _Subject, /) -> bool:
        """True if any slot accepts the subject."""
        return bool(self.match(subject))

    def match_count(self, subject: _Subject, /) -> int:
        """The number of slots that accept the subject."""
        return len(self.match(subject))

    def match_slots(self, subjects: Sequence[_Subject], /) -> SlotBatch:
        """The matches of many subjects, one after the other."""
        return batch_of(self.match(subject) for subject in subjects)

    def fold(self) -> None:
        """Do nothing: no work is ever deferred."""

    def save(self, folder: Path) -> None:
        """Write nothing: `load` restores the engine by adding everything again."""

    def load(self, folder: Path, stored: Iterable[tuple[int, _Filter]], /) -> None:  # noqa: ARG002
        """Add everything again."""
        for slot, added in stored:
            self.add(slot, added)
