"""`Index`: a set of filters by id, and which of them accept a publication."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, TypeAlias

from sapwood.errors import (
    DuplicateIdError,
    FileFormatError,
    InvalidValueError,
    InvariantError,
    UnknownIdError,
)
from sapwood.language import parse_filter
from sapwood.matching.engines import EngineInfo, engine_info
from sapwood.matching.protocol import SlotBatch
from sapwood.matching.storage import Folder, PathName, opened, replaced
from sapwood.matching.texts import TextColumn
from sapwood.model.filter import Filter
from sapwood.model.publication import Publication, Record, flatten

Matchable: TypeAlias = Publication | Mapping[str, Any]
"""A publication, or the possibly nested record of one."""

_FORMAT: Final = "sapwood index"
_VERSION: Final = 1
_HEADER: Final = "index"


class Index:
    """A set of filters by id that tells which of them accept a publication.

    `records` names the engine (`sapwood.matching.engines.ENGINES`), or is an `EngineInfo` of your
    own; `sapwood.matching.checks.check_index` checks one.

    Threads: any number may match at the same time. Whoever adds, removes or saves must be alone;
    the index does not check that.

    Raises `UnknownNameError` for an engine that does not exist.
    """

    def __init__(self, records: str | EngineInfo = "columnar") -> None:
        self._info = engine_info(records) if isinstance(records, str) else records
        self._engine = self._info.make()
        #: slot -> id; "" where the slot is free
        self._ids = TextColumn()
        #: slot -> text of the filter, "" where the slot is free
        self._filters = TextColumn()
        #: id -> slot, the inverse of `_ids`; `None` until somebody asks by id
        self._slots: dict[str, int] | None = {}
        #: the free slots below `len(_ids)`; the last one is taken first
        self._free: list[int] = []

    @property
    def engine(self) -> EngineInfo:
        """The engine in use."""
        return self._info

    @property
    def ids(self) -> Sequence[str]:
        """Slot to id, for the result of `match_slots`; free slots hold the empty text."""
        return self._ids

    def __len__(self) -> int:
        """The number of filters."""
        return len(self._engine)

    def __contains__(self, id: object) -> bool:  # noqa: A002 - the contract's word
        """Whether a filter has this id."""
        return id in self._by_id()

    def __iter__(self) -> Iterator[str]:
        """The ids, sorted."""
        return iter(sorted(self._by_id()))

    def add(self, id: str, filter: Filter | str) -> None:  # noqa: A002 - the contract's words
        """Add a filter, or the text of one.

        Raises `DuplicateIdError` for an id that is taken, `FilterSyntaxError` or `LimitError` for a
        text that is no filter, `InvalidValueError` for an id that is no text or is empty. The index
        is then as it was.
        """
        if not isinstance(id, str) or not id:
            raise InvalidValueError("id", "a subscription needs a non-empty text as its id")
        slots = self._by_id()
        if id in slots:
            raise DuplicateIdError("subscription", id)
        parsed = parse_filter(filter) if isinstance(filter, str) else filter
        slot = self._free[-1] if self._free else len(self._ids)
        self._engine.add(slot, parsed)
        if self._free:
            self._free.pop()
        self._ids[slot] = id
        self._filters[slot] = str(parsed) if parsed.source is None else parsed.source
        slots[id] = slot

    def remove(self, id: str) -> None:  # noqa: A002 - the contract's word
        """Remove a filter; raises `UnknownIdError` if there is none with this id."""
        slot = self._slot(id)
        self._engine.remove(slot)
        del self._by_id()[id]
        self._ids[slot] = self._filters[slot] = ""
        self._free.append(slot)

    def filter(self, id: str) -> Filter:  # noqa: A002 - the contract's word
        """The filter with this id, read again from its text; raises `UnknownIdError`."""
        return parse_filter(self._filters[self._slot(id)])

    def match(self, publication: Matchable) -> list[str]:
        """The ids whose filters accept the publication, sorted.

        Raises `InvalidValueError` or `LimitError` for a record that no publication may hold.
        """
        return sorted(self._ids.decode(self._engine.match(_record(publication))))

    def match_any(self, publication: Matchable) -> bool:
        """Whether any filter accepts the publication; may stop at the first. Errors as `match`."""
        return self._engine.match_any(_record(publication))

    def match_count(self, publication: Matchable) -> int:
        """How many filters accept the publication; looks up no id. Errors as `match`."""
        return self._engine.match_count(_record(publication))

    def match_many(self, publications: Iterable[Matchable]) -> list[list[str]]:
        """`match` for each publication; faster for many at once."""
        records = [_record(publication) for publication in publications]
        offsets, slots = self._engine.match_slots(records)
        ids = self._ids.decode(slots.tolist())
        bounds = offsets.tolist()
        return [sorted(ids[a:b]) for a, b in pairwise(bounds)]

    def match_slots(self, records: Sequence[Record]) -> SlotBatch:
        """The matches of flat records as arrays, without looking up ids.

        Record `i` matches the slots `slots[offsets[i]:offsets[i + 1]]` (int64, int32), ascending;
        `ids` decodes them. Records are taken as they are: use `model.publication.flatten` where
        they may be nested or hold what no record may.
        """
        return self._engine.match_slots(records)

    def fold(self) -> None:
        """Do what the engine has put off so that matching is as fast as it can be.

        Additions and matches only do as much of it as lets nobody wait for long. Call this after
        many additions, or from time to time; it takes some microseconds for each filter, and may
        run in one thread of its own beside any other use of the index.
        """
        self._engine.fold()

    def save(self, path: PathName) -> None:
        """Write the index into a folder of `.npy` and JSON files that takes the place of `path`.

        Raises `FileFormatError` if `path` holds something that is no index.
        """
        with replaced(path, _HEADER) as folder:
            self._engine.save(folder.make_folder("engine").path)
            for name, column in (("ids", self._ids), ("filters", self._filters)):
                offsets, joined = column.packed()
                folder.write_arrays({f"{name}_offsets": offsets, f"{name}_bytes": joined})
            header = {"format": _FORMAT, "version": _VERSION, "engine": self._info.name}
            folder.write_json(_HEADER, {**header, "subscriptions": len(self)})

    @classmethod
    def load(cls, path: PathName, records: EngineInfo | None = None) -> Index:
        """The index that `save` wrote, its arrays mapped into memory and shared with other readers.

        `records` is needed for an engine that is not in the catalogue. Raises `FileFormatError` if
        `path` is no index, was written by a newer version, or is damaged; `UnknownNameError` if
        its engine does not exist here.
        """
        folder = opened(path)
        header = _read_header(folder)
        index = cls(header["engine"] if records is None else records)
        arrays = ("ids_offsets", "ids_bytes", "filters_offsets", "filters_bytes")
        columns = folder.read_arrays(arrays)
        index._ids = TextColumn(columns["ids_offsets"], columns["ids_bytes"])
        index._filters = TextColumn(columns["filters_offsets"], columns["filters_bytes"])
        index._slots = None
        index._free = index._ids.empty_places()
        index._engine.load(folder.folder("engine").path, index._stored())
        taken = len(index._ids) - len(index._free)
        if not len(index) == taken == header["subscriptions"]:
            raise FileFormatError(str(folder), "its files do not belong together; save it again")
        return index

    def validate(self) -> None:
        """Raise `InvariantError` unless ids, slots and engine agree."""
        self._engine.validate()
        taken = {taken: slot for slot, taken in enumerate(self._ids) if taken}
        if taken != self._by_id() or len(taken) != len(self._engine):
            raise InvariantError("ids and slots disagree")
        if sorted(self._free) != self._ids.empty_places():
            raise InvariantError("the free slots are not those without an id")
        if len(self._filters) != len(self._ids):
            raise InvariantError("there are not as many filters as slots")

    def _by_id(self) -> dict[str, int]:
        if self._slots is None:
            self._slots = {taken: slot for slot, taken in enumerate(self._ids) if taken}
        return self._slots

    def _slot(self, id: str) -> int:  # noqa: A002 - the contract's word
        slot = self._by_id().get(id)
        if slot is None:
            raise UnknownIdError("subscription", id)
        return slot

    def _stored(self) -> Iterator[tuple[int, Filter]]:
        free = set(self._free)
        for slot in range(len(self._ids)):
            if slot not in free:
                yield slot, parse_filter(self._filters[slot])


def _record(publication: Matchable) -> Record:
    if isinstance(publication, Publication):
        return publication.record
    return flatten(publication).record


def _read_header(folder: Folder) -> dict[str, Any]:
    path = folder.place(f"{_HEADER}.json")
    if not folder.exists:
        raise FileFormatError(str(folder), "is no folder; an index is a folder that save made")
    if not folder.has_json(_HEADER):
        raise FileFormatError(str(folder), f"is no index: it has no {_HEADER}.json")
    header = folder.read_json(_HEADER)
    if not isinstance(header, dict) or header.get("format") != _FORMAT:
        raise FileFormatError(path, "does not describe an index")
    version = header.get("version")
    if not isinstance(version, int) or version < 1:
        raise FileFormatError(path, f"has no version but {version!r}")
    if version > _VERSION:
        raise FileFormatError(
            path,
            f"has version {version}, this program reads up to {_VERSION}; use a newer one",
        )
    if not isinstance(header.get("engine"), str) or not isinstance(
        header.get("subscriptions"), int
    ):
        raise FileFormatError(path, "does not say its engine and its size")
    return header
