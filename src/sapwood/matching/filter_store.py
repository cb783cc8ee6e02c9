"""The two filter stores of an index: filters of records, and tree patterns of documents.

Each store has an engine of its own, made when it is first needed: a program that matches records
alone never imports the XML reader, and the other way round. The slots are the index's, so a slot is
taken in at most one store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Generic, Protocol, TypeVar, cast

import msgspec

from sapwood.errors import FileFormatError
from sapwood.language import parse_filter
from sapwood.language.written import Written, as_given, given_interest, read_interest
from sapwood.matching.documents.engines import DocumentEngineInfo
from sapwood.matching.documents.protocol import DocumentEngine
from sapwood.matching.protocol import Bulk, BulkRemoval, ReadingEncoded, Remembering, Unsorted
from sapwood.matching.sizes import memory_of
from sapwood.matching.storage import Folder
from sapwood.matching.texts import TextColumn
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.model.kept import Kept, KeptFilters, are_packed, content_of
from sapwood.model.patterns.pattern import TreePattern

_Filter = TypeVar("_Filter")
_Filter_contra = TypeVar("_Filter_contra", contravariant=True)
_Engine = TypeVar("_Engine", bound="_Slots[Any]")

_READ_KEPT: Final = 1024
"""Filters that are kept as they were read last: code that inspects small indexes often, such as
routers that check themselves, reads the same ones again and again."""

_PATTERN: Final = msgspec.json.Decoder(tuple[str, tuple[tuple[str, str], ...] | None])


class _Slots(Protocol[_Filter_contra]):
    """The methods that both kinds of engines share; see `Engine` and `DocumentEngine`."""

    def __len__(self) -> int: ...

    def add(self, slot: int, filter: _Filter_contra, /) -> None: ...

    def remove(self, slot: int) -> None: ...

    def save(self, folder: Path) -> None: ...

    def load(self, folder: Path, filter: Iterable[tuple[int, _Filter_contra]], /) -> None: ...


class FilterStore(Generic[_Engine, _Filter]):
    """The filters of one kind: an engine, and their texts where the engine does not return filters.

    `write` and `read` turn a filter into text and back; `folder` is the name of the engine's folder
    in a saved index, and begins the names of the arrays beside it.

    #: _texts[slot] is "" where the slot is free, or taken in the other store, or past the end
    #: there is an engine if there is a text
    #: _memory is the engine if it returns filters, and then there are no texts
    """

    def __init__(
        self,
        folder: str,
        make: Callable[[], _Engine],
        write: Callable[[_Filter], str],
        read: Callable[[str], _Filter],
    ) -> None:
        self._folder = folder
        self._make = make
        self._write = write
        self._read = read
        self._texts = TextColumn()
        #: `None` until it is first needed
        self.engine: _Engine | None = None
        #: the engine if it returns matches unsorted; `isinstance` would take as long as a match
        self.unsorted: Unsorted | None = None
        #: the engine if it reads records in MessagePack
        self.reading: ReadingEncoded | None = None
        self._memory: Remembering[_Filter] | None = None
        #: the engine if it adds many filters at once
        self._bulk: Bulk[_Filter] | None = None
        #: the engine if it removes many filters at once
        self._bulk_removal: BulkRemoval | None = None

    def __len__(self) -> int:
        """The number of filters."""
        return 0 if self.engine is None else len(self.engine)

    def holds(self, slot: int) -> bool:
        """True if the slot is taken in this store."""
        if self._memory is not None:
            return self._memory.holds(slot)
        return slot < len(self._texts) and self._texts[slot] != ""

    def add(self, slot: int, filter: _Filter) -> None:
        """Add a filter in a free slot."""
        self._used().add(slot, filter)
        if self._memory is None:
            self._keep_text(slot, filter)

    def add_many(self, filters: Sequence[tuple[int, _Filter]]) -> None:
        """Add filters in free slots; none of them if the engine raises an error."""
        engine = self._used()
        if self._bulk is not None:
            self._bulk.add_many(filters)
        else:
            added: list[int] = []
            try:
                for slot, wanted in filters:
                    engine.add(slot, wanted)
                    added.append(slot)
            except BaseException:
                for slot in reversed(added):
                    engine.remove(slot)
                raise
        if self._memory is None:
            for slot, wanted in filters:
                self._keep_text(slot, wanted)

    def remove(self, slot: int) -> None:
        """Free a slot that is taken in this store."""
        self._used().remove(slot)
        if self._memory is None:
            self._texts[slot] = ""

    def remove_many(self, slots: Sequence[int]) -> None:
        """Free slots, all different, that are taken in this store."""
        engine = self._used()
        if self._bulk_removal is not None:
            self._bulk_removal.remove_many(slots)
        else:
            for slot in slots:
                engine.remove(slot)
        if self._memory is None:
            for slot in slots:
                self._texts[slot] = ""

    def filter(self, slot: int) -> _Filter:
        """The filter in a slot that is taken in this store: equal to the one that was added.

        It is read again from its text, and has its source, unless the engine returns it.
        """
        if self._memory is not None:
            return self._memory.filter(slot)
        return self._read(self._texts[slot])

    def memory(self) -> Iterator[tuple[str, int]]:
        """Bytes by part."""
        if self.engine is not None:
            for part, size in memory_of(self.engine).items():
                yield f"{self._folder}: {part}", size
        yield f"{self._folder}: texts", sum(self._texts.memory().values())

    def save(self, folder: Folder) -> None:
        """Write engine and texts; no file where no filter was ever added."""
        if self.engine is None:
            return
        self.engine.save(folder.make_folder(self._folder).path)
        if self._memory is None:
            self._texts.save(folder, self._folder)

    def load(self, folder: Folder) -> None:
        """Read the files that `save` wrote, if there are any."""
        own: Path = folder.folder(self._folder).path
        if not folder.folder(self._folder).exists:
            return
        engine = self._used()
        if self._memory is not None:
            engine.load(own, ())
            return
        self._texts = TextColumn.load(folder, self._folder)
        empty = set(self._texts.empty_places())
        engine.load(own, self._stored(empty))
        if len(engine) != len(self._texts) - len(empty):
            raise FileFormatError(
                str(folder), "its files do not belong together; build the index again"
            )

    def taken(self) -> Iterable[int]:
        """The slots taken in this store, ascending."""
        if self._memory is not None:
            return self._memory.taken()
        return (slot for slot, text in enumerate(self._texts) if text)

    def _keep_text(self, slot: int, filter: _Filter) -> None:
        while len(self._texts) < slot:
            self._texts[len(self._texts)] = ""
        self._texts[slot] = self._write(filter)

    def _stored(self, empty: set[int]) -> Iterator[tuple[int, _Filter]]:
        for slot in range(len(self._texts)):
            if slot not in empty:
                yield slot, self.filter(slot)

    def _used(self) -> _Engine:
        if self.engine is None:
            self.engine = self._make()
            # `issubclass` is cached for a type, `isinstance` is not: a router makes many engines.
            kind = type(self.engine)
            if issubclass(kind, Remembering):
                self._memory = cast("Remembering[_Filter]", self.engine)
            if issubclass(kind, Bulk):
                self._bulk = cast("Bulk[_Filter]", self.engine)
            if issubclass(kind, BulkRemoval):
                self._bulk_removal = cast("BulkRemoval", self.engine)
            if issubclass(kind, Unsorted):
                self.unsorted = cast("Unsorted", self.engine)
            if issubclass(kind, ReadingEncoded):
                self.reading = cast("ReadingEncoded", self.engine)
        return self.engine


def parted(
    slots: Sequence[int], wanted: Sequence[Kept]
) -> tuple[Sequence[tuple[int, Filter]], Sequence[tuple[int, TreePattern]]]:
    """`wanted` split into record filters with their slots, and tree patterns with theirs."""
    if are_packed(wanted):
        return KeptFilters(slots, wanted), ()
    records: list[tuple[int, Filter]] = []
    documents: list[tuple[int, TreePattern]] = []
    for slot, content in zip(slots, wanted, strict=True):
        interest = given_interest(cast("Interest", content_of(content)))
        if isinstance(interest, Filter):
            records.append((slot, interest))
        else:
            documents.append((slot, cast("TreePattern", interest)))
    return records, documents


def document_store(info: DocumentEngineInfo) -> FilterStore[DocumentEngine, TreePattern]:
    """The store for tree patterns, with that engine."""
    return FilterStore("documents", info.make, _write_pattern, _read_pattern)


@lru_cache(_READ_KEPT)
def read_filter(text: str) -> Filter:
    """The filter that a text parses to; cached for repeated calls."""
    return parse_filter(text)


def _write_pattern(pattern: TreePattern) -> str:
    written = as_given(pattern)
    return msgspec.json.encode((written.text, written.bindings)).decode()


@lru_cache(_READ_KEPT)
def _read_pattern(text: str) -> TreePattern:
    pattern = read_interest(Written("xpath", *_PATTERN.decode(text)))
    assert isinstance(pattern, TreePattern), "an XPath is read as a tree pattern"
    return pattern
