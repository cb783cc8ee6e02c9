"""The protocol of matching engines: the one small interface behind `Index`.

An engine knows filters by *slot*: a small integer, dense from 0, that the index assigns and reuses
after a removal. Slots index arrays directly, so engines need no table of names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from sapwood.model.filter import Filter
from sapwood.model.publication import ManyValued, Record

if TYPE_CHECKING:
    from sapwood.matching.columnar.flat_records import Flattener
    from sapwood.matching.encoded_records import EncodedRecords

Offsets: TypeAlias = npt.NDArray[np.int64]
Slots: TypeAlias = npt.NDArray[np.int32]


ALL: Final = 1 << 62
"""More matches than there can be."""

_Wanted_co = TypeVar("_Wanted_co", covariant=True)
_Wanted_contra = TypeVar("_Wanted_contra", contravariant=True)


class SlotBatch(NamedTuple):
    """The matches of a batch of records.

    Record `i` matches `slots[offsets[i]:offsets[i + 1]]`, sorted, each slot once. `offsets` is
    int64 with one element more than there are records, `slots` is int32.
    """

    offsets: Offsets
    slots: Slots


class Engine(Protocol):
    """A set of filters by slot that returns the slots of those that accept a record.

    The caller keeps the slots right: `add` only with a free slot, `remove` only with a taken one.
    Records are flat views (`sapwood.model.publication.flatten`) and hold no NaN; every attribute
    has one value. Records whose attributes have several values come as rows (`matching.rows`).

    Any number of threads may call the `match` methods at the same time; `add`, `remove`, `save` and
    `load` need the engine for themselves.
    """

    def __len__(self) -> int:
        """The number of taken slots."""

    def add(self, slot: int, filter: Filter) -> None:
        """Put `filter` into `slot`; the very next match sees it."""

    def remove(self, slot: int) -> None:
        """Free `slot`; its filter is no longer reported."""

    def match(self, record: Record) -> list[int]:
        """The slots whose filters accept `record`, ascending, each once."""

    def match_any(self, record: Record) -> bool:
        """True if any filter accepts `record`; may stop at the first."""

    def match_count(self, record: Record) -> int:
        """The number of filters that accept `record`."""

    def match_slots(self, records: Sequence[Record]) -> SlotBatch:
        """The matches of many records at once: the fast path.

        `records` may be a `matching.tables.RecordTable`, for engines that read columns.
        """

    def fold(self) -> None:
        """Do the deferred indexing work now.

        May run in one thread beside any other use; does nothing where nothing is deferred.
        """

    def save(self, folder: Path) -> None:
        """Write the files that `load` needs into the existing, empty `folder`."""

    def load(self, folder: Path, filters: Iterable[tuple[int, Filter]]) -> None:
        """Read the files that `save` wrote, into an engine that is still empty.

        `filters` yields every taken slot with its filter, ascending, and costs a parse for each
        step: an engine whose own files suffice does not read it.

        Raises `FileFormatError` if the files are not those that `save` wrote.
        """

    def validate(self) -> None:
        """Raise `InvariantError` unless the engine's own state is consistent."""


@runtime_checkable
class Bulk(Protocol[_Wanted_contra]):
    """An engine that adds many filters at once for less than one by one."""

    def add_many(self, filters: Sequence[tuple[int, _Wanted_contra]]) -> None:
        """Put each filter into its slot, as `add` does; all of them, if it returns."""


@runtime_checkable
class BulkRemoval(Protocol):
    """An engine that removes many filters at once for less than one by one."""

    def remove_many(self, slots: Sequence[int]) -> None:
        """Free these slots, all taken and different, as `remove` does."""


@runtime_checkable
class Remembering(Protocol[_Wanted_co]):
    """An engine that returns the filters that it holds, so that no caller need keep a copy."""

    def filter(self, slot: int) -> _Wanted_co:
        """The filter in a taken slot, equal to the one that was added, without its source."""

    def holds(self, slot: int) -> bool:
        """True if a slot, which may be any number from 0, is taken."""

    def taken(self) -> Iterable[int]:
        """The taken slots, ascending."""


@runtime_checkable
class Unsorted(Protocol):
    """An engine that can leave matches unsorted, for callers that sort them in another way."""

    def found(self, record: Record, limit: int = ALL) -> Slots:
        """The slots whose filters accept `record`, in any order, each once.

        The search may end once it has `limit` slots or more; some slots may then be there twice.
        """

    def found_many(
        self, records: Sequence[Record], max_matches: int = ALL, limit: int = ALL
    ) -> SlotBatch:
        """The matches of many records, the slots of each in any order.

        Ends after the record with which a part of the engine has `max_matches` matches or more, so
        that memory is needed for as many matches of each part, and for those of one record. `limit`
        matches of a record are enough, as for `found`.
        """


@runtime_checkable
class MatchingSeveral(Protocol):
    """An engine that matches attributes with several values as they are, without rows."""

    @property
    def rows_max(self) -> int:
        """Rows of a record from which on that takes less than to match the rows."""

    def found_several(self, record: ManyValued, limit: int = ALL) -> Slots:
        """`Unsorted.found` for a record whose attributes may have several values."""


@runtime_checkable
class ReadingEncoded(Unsorted, Protocol):
    """An engine that reads records in MessagePack, with compiled code that flattens records."""

    def flattener(self) -> Flattener | None:
        """The function that makes `EncodedRecords` of records in MessagePack.

        `None` while the engine would have to decode them: flat records are as good then.
        """

    def found_encoded(self, records: EncodedRecords, limit: int = ALL) -> Slots:
        """`found` for a single record."""


@runtime_checkable
class KnowingAttributes(Protocol):
    """An engine that knows which attributes its filters read."""

    def reads(self, attribute: str) -> bool:
        """True if a filter may read an attribute; `False` only if none does."""


@runtime_checkable
class Accounting(Protocol):
    """An engine that accounts for the bytes of its arrays that a match reads."""

    def touched_bytes(self, records: Sequence[Record]) -> float:
        """The mean number of bytes that are read for a record."""


def batch_of(matches: Iterable[Sequence[int]]) -> SlotBatch:
    """The batch form of one sequence of sorted slots per record."""
    lists = list(matches)
    offsets = np.zeros(len(lists) + 1, np.int64)
    np.cumsum([len(slots) for slots in lists], out=offsets[1:])
    flat = [slot for slots in lists for slot in slots]
    return SlotBatch(offsets, np.array(flat, np.int32))
