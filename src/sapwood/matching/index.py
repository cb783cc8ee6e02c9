"""`Index`: a set of filters by id that returns the ids of those that accept a publication.

Filters of records and tree patterns of documents live side by side: one set of ids and slots, two
engines (`sapwood.matching.filter_store`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import numpy as np

from sapwood.errors import (
    DuplicateIdError,
    FileFormatError,
    InvalidValueError,
    InvariantError,
    UnknownIdError,
)
from sapwood.language.never import warn_if_never
from sapwood.language.written import given_interest
from sapwood.matching.documents.engines import DOCUMENT_ENGINES, DocumentEngineInfo
from sapwood.matching.engines import ENGINES, EngineInfo
from sapwood.matching.filter_store import FilterStore, document_store, parted
from sapwood.matching.given_records import Matchable, encoded_record, encoded_records, parts_of
from sapwood.matching.index_header import HEADER, chosen_engine, read_header, write_header
from sapwood.matching.ordering import ARRANGED_MAX, IdOrder
from sapwood.matching.protocol import ALL, Accounting, Engine, SlotBatch, Slots
from sapwood.matching.record_store import RecordStore
from sapwood.matching.rows import rows_of
from sapwood.matching.sizes import held_bytes, own_bytes
from sapwood.matching.slot_batches import match_present, united
from sapwood.matching.storage import Folder, PathName, opened, replaced
from sapwood.matching.texts import TextColumn
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.model.json_objects import check_members, decode_flat, decode_object
from sapwood.model.kept import Kept
from sapwood.model.publication import Record

if TYPE_CHECKING:
    from sapwood.matching.documents.protocol import DocumentEngine, Readable
    from sapwood.model.patterns.pattern import TreePattern

_Piece: TypeAlias = "tuple[Sequence[Record | None], Sequence[Readable | None] | None]"
"""Records and, if there are filters of documents, the documents beside them."""

_PIECE: Final = ARRANGED_MAX
"""Publications that a thread matches at a time: enough to make the call's own cost vanish, and few
enough for threads to take turns at making lists of ids, which only one may do at a time."""

_HELD_MAX: Final = 1 << 22
"""Matches that are held as slots at a time, apart from those of one publication."""

_FEW: Final = 20
"""Ids that are sorted as texts at once faster than by their ranks."""

_DICT: Final = frozenset({dict})

_NO_SLOTS: Final = np.zeros(0, np.int32)

_SLOT_BYTES: Final = 32
"""Bytes of an integer in Python."""


class Index:
    """A set of filters by id that returns the ids of those that accept a publication.

    `records` and `documents` name the engines for the two kinds of filters
    (`sapwood.matching.engines.ENGINES` and `sapwood.matching.documents.DOCUMENT_ENGINES`), or are
    infos of your own; `check_index` and `check_document_engine` check such an engine.

    Threads: any number may match at the same time. A thread that adds, removes or saves must be the
    only one that uses the index; the index does not check that.

    Raises `UnknownNameError` for an engine that does not exist.

    #: a slot is taken in one store, and has an id, or in none, and is in _free
    #: or else no slot has an id, and _unnamed is the number of slots
    """

    def __init__(
        self,
        records: str | EngineInfo = "auto",
        documents: str | DocumentEngineInfo = "auto",
        *,
        warns: bool = True,
    ) -> None:
        self._info = ENGINES.chosen(records)
        self._document_info = DOCUMENT_ENGINES.chosen(documents)
        self._warns = warns
        self._records = RecordStore(self._info)
        self._documents = document_store(self._document_info)
        #: slot -> id; "" where the slot is free
        self._ids = TextColumn()
        #: id -> slot, the inverse of `_ids`; `None` until a filter is looked up by id
        self._slots: dict[str, int] | None = {}
        #: the order of `_ids`, as far as it is known
        self._order = IdOrder()
        #: the free slots below `len(_ids)`; the last one is taken first
        self._free: list[int] = []
        #: slots that were taken without an id, and those of them that are free again
        self._unnamed = 0

    @property
    def engine(self) -> EngineInfo:
        """The engine in use for records."""
        return self._info

    @property
    def document_engine(self) -> DocumentEngineInfo:
        """The engine in use for documents."""
        return self._document_info

    @property
    def ids(self) -> Sequence[str]:
        """Slot to id, for the result of `match_slots`; free slots hold the empty text."""
        return self._ids

    def __len__(self) -> int:
        """The number of filters."""
        return len(self._records) + len(self._documents)

    def __contains__(self, id: object) -> bool:
        """True if a filter has this id."""
        return id in self._by_id()

    def __iter__(self) -> Iterator[str]:
        """The ids, sorted."""
        return iter(sorted(self._by_id()))

    def add(self, id: str, filter: Interest | str) -> int:
        """Add a filter of either language, or the text of a record filter; returns its slot.

        Raises `DuplicateIdError` for an id that is taken, `FilterSyntaxError` or `LimitError` for a
        text that is no filter, `InputError` for a value that is neither filter nor text,
        `InvalidValueError` for an id that is no text or is empty. The index is then as it was. If
        the index `warns`, it warns of a filter that can never match (`NeverMatchesWarning`).
        """
        _check_id(id)
        slots = self._by_id()
        if id in slots:
            raise DuplicateIdError("subscription", id)
        wanted = given_interest(filter)
        if self._warns:
            warn_if_never(id, wanted, stacklevel=2)
        slot = self._free[-1] if self._free else len(self._ids)
        if isinstance(wanted, Filter):
            self._records.add(slot, wanted)
        else:
            self._documents.add(slot, cast("TreePattern", wanted))
        if self._free:
            self._free.pop()
        self._ids[slot] = id
        self._order.forget(slot)
        slots[id] = slot
        return slot

    def add_many(self, items: Iterable[tuple[str, Interest | str]]) -> list[int]:
        """Add many filters, each under its id; all of them, or none where an error is raised.

        Returns their slots. Errors and warnings are those of `add`. Where the engine adds many at
        once, as the default one does above a small number, each costs a few microseconds.
        """
        slots = self._by_id()
        wanted: dict[str, Interest] = {}
        for name, given in items:
            _check_id(name)
            if name in slots or name in wanted:
                raise DuplicateIdError("subscription", name)
            wanted[name] = given_interest(given)
        for name, one in wanted.items() if self._warns else ():
            warn_if_never(name, one, stacklevel=2)
        chosen = self._take([*wanted.values()], len(self._ids))
        for slot, name in zip(chosen, wanted, strict=True):
            self._ids[slot] = name
            slots[name] = slot
        self._order.forget_many(chosen)
        return chosen

    def take(self, wanted: Sequence[Kept]) -> list[int]:
        """Add many filters, or packed filters, without ids, all or none; returns their slots.

        For callers that know the filters by slot and have no use for ids, which take more memory
        than filters do. An index has ids for all its filters or for none; without, it is not saved.
        """
        assert not len(self._ids), "the filters of this index have ids"
        if len(wanted) == 1 and isinstance(wanted[0], Filter):  # as a rule
            slot = self._free[-1] if self._free else self._unnamed
            self._records.add(slot, wanted[0])
            if self._free:
                self._free.pop()
            else:
                self._unnamed += 1
            return [slot]
        slots = self._take(wanted, self._unnamed)
        self._unnamed = max(self._unnamed, max(slots, default=-1) + 1)
        return slots

    def adopt(self, engine: Folder, filters: int) -> None:
        """Begin with `filters` filters of a saved engine (`prepared`): slot by slot, no ids."""
        self._records.load(engine)
        self._unnamed = filters

    def release(self, slot: int) -> None:
        """Remove a filter that has no id, and free its slot."""
        self._store_of(slot).remove(slot)
        self._free.append(slot)

    def release_many(self, slots: Sequence[int]) -> None:
        """`release` for each of several slots, all different, in order."""
        documents = [slot for slot in slots if self._documents.holds(slot)]
        if documents:
            self._documents.remove_many(documents)
        if len(documents) < len(slots):
            gone = {*documents}
            self._records.remove_many([slot for slot in slots if slot not in gone])
        self._free.extend(slots)

    def filter_in(self, slot: int) -> Interest:
        """The filter in a taken slot; see `filter`."""
        return self._store_of(slot).filter(slot)

    def remove(self, id: str) -> None:
        """Remove a filter; raises `UnknownIdError` if there is none with this id."""
        slot = self._slot(id)
        self._store_of(slot).remove(slot)
        del self._by_id()[id]
        self._ids[slot] = ""
        self._order.forget(slot)
        self._free.append(slot)

    def filter(self, id: str) -> Interest:
        """The filter with this id, equal to the one that was added; raises `UnknownIdError`.

        It has the text that it was read from unless the engine gives filters back from arrays, as
        the default one does above a small number of filters.
        """
        slot = self._slot(id)
        return self._store_of(slot).filter(slot)

    def match(self, publication: Matchable) -> list[str]:
        """The ids whose filters accept the publication, sorted.

        Raises `InvalidValueError` or `LimitError` for a record that no publication may hold,
        `DocumentError` or `LimitError` for a document that is none.
        """
        return self._sorted(self.found(publication))

    def match_json(self, line: bytes | str) -> list[str]:
        """`match` of a record as one JSON object, such as a line of a file.

        A method of its own, since `match` takes bytes for a document. The decoder checks a flat
        object while it reads it, so this takes less than to decode the line and to match the dict.
        Raises `InputError` for a line that is no JSON object or has a name twice, and as `match`.
        """
        if isinstance(line, str):
            line = line.encode("utf-8", "surrogatepass")  # which the decoder refuses
        record = decode_flat(line)
        if record is None:
            members = decode_object(line, "record")
            check_members(line, members)
            return self.match(members)
        return self._sorted(self._records.found(record))

    def found(self, publication: Matchable, limit: int = ALL) -> Slots:
        """The slots whose filters accept the publication, in any order; errors as `match`.

        A result shorter than `limit` is complete, each slot once. If it has `limit` slots or more,
        the search may have ended early, and some slots may be there twice.
        """
        encoded = self._found_encoded(publication, limit)
        if encoded is not None:
            return encoded
        record, document = parts_of(publication)
        slots = _NO_SLOTS if record is None else self._records.found(record, limit)
        if document is not None and self._documents.engine is not None:
            seen = np.array(self._documents.engine.match(document), np.int32)
            slots = np.concatenate((slots, seen))
        return slots

    def match_any(self, publication: Matchable) -> bool:
        """True if any filter accepts the publication; may stop at the first. Errors as `match`."""
        encoded = self._found_encoded(publication, 1)
        if encoded is not None:
            return len(encoded) > 0
        record, document = parts_of(publication)
        documents = self._documents.engine
        if record is not None and self._records.match_any(record):
            return True
        return document is not None and documents is not None and documents.match_any(document)

    def match_count(self, publication: Matchable) -> int:
        """The number of filters that accept the publication; looks up no id. Errors as `match`."""
        encoded = self._found_encoded(publication, ALL)
        if encoded is not None:
            return len(encoded)
        record, document = parts_of(publication)
        documents = self._documents.engine
        count = 0 if record is None else self._records.match_count(record)
        if document is not None and documents is not None:
            count += documents.match_count(document)
        return count

    def match_many(self, publications: Iterable[Matchable], threads: int = 1) -> list[list[str]]:
        """`match` for each publication; faster for many at once.

        With more than one thread, pieces of 64 publications are matched side by side, as far as
        the engine does without the interpreter lock (the default one does most without); an index
        that holds document filters takes one. Where slots will do in place of ids, `match_slots`
        takes thousands at a time, for less. Raises `InvalidValueError` for less than one thread,
        and otherwise as `match`.
        """
        if threads < 1:
            raise InvalidValueError("threads", f"{threads} are too few to match anything")
        given = list(publications)
        pieces = [self._piece(given[at : at + _PIECE]) for at in range(0, len(given), _PIECE)]
        # Engines of documents learn from what they match: one thread at a time.
        if threads == 1 or len(pieces) < 2 or self._documents.engine is not None:
            return [ids for piece in pieces for ids in self._matched(piece)]
        matched: list[list[list[str]]] = [[]] * len(pieces)
        numbers = iter(range(len(pieces)))

        def work() -> None:
            for number in numbers:  # each number goes to one thread
                matched[number] = self._matched(pieces[number])

        # This thread works as well: waiting for pieces, it would take the lock from the others.
        with ThreadPoolExecutor(threads - 1) as pool:
            others = [pool.submit(work) for _ in range(threads - 1)]
            work()
            for other in others:
                other.result()
        return [ids for piece in matched for ids in piece]

    def match_flat(
        self,
        records: Sequence[Record | None],
        documents: Sequence[Readable | None] | None = None,
    ) -> Iterator[list[str]]:
        """The sorted ids of each of many publications, given as `match_slots` takes them."""
        done = 0
        while done < len(records):
            found = self.match_slots(
                records[done:],
                documents and documents[done:],
                in_order=False,
                max_matches=_HELD_MAX,
            )
            for first, last in pairwise(found.offsets.tolist()):
                yield self._sorted(found.slots[first:last]) if first < last else []
            done += len(found.offsets) - 1

    def _piece(self, publications: list[Matchable]) -> _Piece:
        """A piece of publications in the form in which it is matched."""
        reading = self._records.reading
        flattener = None if reading is None else reading.flattener()
        if flattener is not None and {*map(type, publications)} == _DICT:
            records = encoded_records(cast("list[dict[str, Any]]", publications), flattener)
            if records is not None:
                return records, None
        parts = [parts_of(publication) for publication in publications]
        documents = None if self._documents.engine is None else [document for _, document in parts]
        return [record for record, _ in parts], documents

    def _matched(self, piece: _Piece) -> list[list[str]]:
        """The sorted ids of each record and document of a piece."""
        records, beside = piece
        matched: list[list[str]] = []
        while len(matched) < len(records):
            found = self.match_slots(
                records[len(matched) :],
                beside and beside[len(matched) :],
                in_order=False,
                max_matches=_HELD_MAX,
            )
            matched += self._sorted_ids(found)
        return matched

    def _found_encoded(self, publication: Matchable, limit: int) -> Slots | None:
        """`found` of a dict in compiled code alone; `None` where Python has to do a step."""
        reading = self._records.reading
        if reading is None or type(publication) is not dict:
            return None
        flattener = reading.flattener()
        records = None if flattener is None else encoded_record(publication, flattener)
        return None if records is None else reading.found_encoded(records, limit)

    def _sorted(self, slots: Slots) -> list[str]:
        """The sorted ids of the filters that one publication matches."""
        if len(slots) > _FEW:
            in_order = self._order.sorted(slots)
            if in_order is not None:
                return self._ids.take(in_order)
        ids = self._ids.take(slots) if len(slots) else []
        ids.sort()
        return ids

    def _sorted_ids(self, found: SlotBatch) -> list[list[str]]:
        """The sorted ids for each publication of a piece."""
        slots, doubtful = self._order.arranged(found)
        ids = self._ids.take(slots)
        matches = [ids[first:last] for first, last in pairwise(found.offsets.tolist())]
        for number in doubtful:
            matches[number].sort()
        return matches

    def match_slots(
        self,
        records: Sequence[Record | None],
        documents: Sequence[Readable | None] | None = None,
        *,
        in_order: bool = True,
        max_matches: int = ALL,
        limit: int = ALL,
    ) -> SlotBatch:
        """The matches of flat records, and of the documents beside them, without looking up ids.

        Publication `i`, which has `records[i]` and `documents[i]` (`None` for a part that it does
        not have), matches the slots `slots[offsets[i]:offsets[i + 1]]` (int64, int32), ascending;
        `ids` decodes them. Without `in_order` the slots of a publication may come in any order,
        which is faster.

        With `limit`, as for `found`, that many slots of a record are enough, some perhaps twice;
        the search may have ended early for a record that has as many. With `max_matches` the batch
        ends after the publication with which a part of the engine (one, as a rule) has that many
        matches or more, or earlier, but holds at least one publication: however many are passed,
        memory is needed for `max_matches` of each part and the matches of one publication.

        Records are taken as they are: use `model.publication.flatten` where they may be nested or
        hold values that no record may hold. Records in columns are best passed as a
        `matching.tables.RecordTable`, and records in MessagePack as
        `matching.encoded_records.EncodedRecords`: nothing is decoded then. Raises `DocumentError`
        or `LimitError` for a document that is none.
        """
        trees = self._documents.engine
        if self._records.unsorted is None or in_order or documents is not None:
            # These engines match all records that they get.
            records = records[: max(1, max_matches // max(1, len(self)))]
        found = self._records.match_slots(
            records, in_order=in_order, max_matches=max_matches, limit=limit
        )
        if documents is None or trees is None:
            return found
        return united(found, match_present(documents[: len(records)], trees.match_slots))

    def memory(self) -> dict[str, int]:
        """Bytes of the index's own memory, by part; files that are mapped count like memory.

        Takes about a microsecond for each id and each object: engines whose filters are arrays
        report the sizes of these, all other engines are measured object by object.
        """
        by_id = self._slots or {}
        return {
            "ids": sum(self._ids.memory().values()),
            "order of ids": self._order.memory(),
            "slots by id": own_bytes(by_id) + _SLOT_BYTES * len(by_id),
            "free slots": held_bytes(self._free),
            **dict(self._records.memory()),
            **dict(self._documents.memory()),
        }

    def touched_bytes(self, publications: Iterable[Matchable]) -> float | None:
        """Bytes of arrays that matching the record of a publication reads, on average.

        `None` where the engine does not account for them. Divided by the rate at which memory
        streams, this is a lower bound of the time of a match.
        """
        engine = self._records.engine
        records = [record for record, _ in map(parts_of, publications) if record is not None]
        if not isinstance(engine, Accounting):
            return None
        rows = rows_of(records, self._records.reads, ALL).rows
        return engine.touched_bytes(rows)

    def fold(self) -> None:
        """Do the work that the engine has deferred, so that matching is as fast as it can be.

        Additions and matches only do as much of it as makes no caller wait for long. Call this
        after many additions, or from time to time; it takes some microseconds for each filter, and
        may run in one thread of its own beside any other use of the index. It also learns the order
        of the ids, by which many matches are sorted faster than as texts.
        """
        for engine in (self._records.engine, self._documents.engine):
            if engine is not None:
                engine.fold()
        self._order.learn(self._ids)

    def save(self, path: PathName) -> None:
        """Write the index into a folder of `.npy` and JSON files that takes the place of `path`.

        The default engines write the files of `columnar` and `path-automaton`. Raises
        `FileFormatError` if `path` holds something that is no index.
        """
        assert not self._unnamed, "an index without ids is not saved"
        with replaced(path, HEADER) as folder:
            self._records.save(folder)
            self._documents.save(folder)
            self._order.learn(self._ids)
            self._ids.save(folder, "ids")
            self._order.save(folder, "ids_ranks")
            write_header(folder, self._info, self._document_info, len(self))

    @classmethod
    def load(
        cls,
        path: PathName,
        records: EngineInfo | None = None,
        documents: DocumentEngineInfo | None = None,
    ) -> Index:
        """The index that `save` wrote, its arrays mapped into memory and shared with other readers.

        Every file is read once and compared with the checksum that it was saved with. That finds
        damage, not malice: load only what you trust, and change no file of a folder in use. The
        index has the engines that the saved one had; `records` and `documents` are needed for other
        engines that read the same files, and for those that are not in the catalogues. Raises
        `FileFormatError` if `path` is no index, was written by another version, or is damaged;
        `UnknownNameError` if one of its engines does not exist here.
        """
        folder = opened(path)
        header = read_header(folder)
        index = cls(
            records or chosen_engine(header, "records", ENGINES),
            documents or chosen_engine(header, "documents", DOCUMENT_ENGINES),
        )
        index._ids = TextColumn.load(folder, "ids")
        index._order = IdOrder.load(folder, "ids_ranks", len(index._ids))
        index._slots = None
        index._free = index._ids.empty_places()
        index._records.load(folder)
        index._documents.load(folder)
        taken = len(index._ids) - len(index._free)
        if not len(index) == taken == header["subscriptions"]:
            raise FileFormatError(
                str(folder), "its files do not belong together; build the index again"
            )
        return index

    def validate(self) -> None:
        """Raise `InvariantError` unless ids, slots and engines agree."""
        for engine in (self._records.engine, self._documents.engine):
            if engine is not None:
                engine.validate()
        stored = sorted((*self._records.taken(), *self._documents.taken()))
        if self._unnamed:
            if len(self._ids) or sorted((*stored, *self._free)) != [*range(self._unnamed)]:
                raise InvariantError("the slots without ids are neither taken nor free")
            return
        ids = list(self._ids) if len(self._ids) else []
        taken = {given: slot for slot, given in enumerate(ids) if given}
        if taken != self._by_id() or len(taken) != len(self):
            raise InvariantError("ids and slots disagree")
        if not ids and not self._free:
            return  # nothing was ever added: many of a router's indexes stay empty
        if sorted(self._free) != [slot for slot, given in enumerate(ids) if not given]:
            raise InvariantError("the free slots are not those without an id")
        self._order.validate(ids)
        if stored != sorted(taken.values()):
            raise InvariantError("the slots with an id are not those with a filter")

    def _take(self, wanted: Sequence[Kept], first: int) -> list[int]:
        """Take slots for all these filters, or for none: free slots first, then from `first` on."""
        again = self._free[: -len(wanted) - 1 : -1]
        chosen = [*again, *range(first, first + len(wanted) - len(again))]
        records, documents = parted(chosen, wanted)
        if records:
            self._records.add_many(records)
        if documents:
            try:
                self._documents.add_many(documents)
            except BaseException:
                for slot, _ in records:
                    self._records.remove(slot)
                raise
        del self._free[len(self._free) - len(again) :]
        return chosen

    def _by_id(self) -> dict[str, int]:
        if self._slots is None:
            self._slots = {taken: slot for slot, taken in enumerate(self._ids) if taken}
        return self._slots

    def _slot(self, id: str) -> int:
        slot = self._by_id().get(id)
        if slot is None:
            raise UnknownIdError("subscription", id)
        return slot

    def _store_of(
        self, slot: int
    ) -> FilterStore[Engine, Filter] | FilterStore[DocumentEngine, TreePattern]:
        return self._documents if self._documents.holds(slot) else self._records


def _check_id(id: str) -> None:
    if not isinstance(id, str) or not id:
        raise InvalidValueError("id", "a subscription needs a non-empty text as its id")
