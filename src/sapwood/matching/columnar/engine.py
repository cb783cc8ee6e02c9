"""The columnar engine: a mutable tail, immutable segments, and when the one becomes the other.

Additions go to the tail, filters that are tried one by one. The tail is folded into a segment when
trying them has cost about as much as folding would have, so neither a burst of additions nor a
burst of matches pays for the other. Segments are joined like the digits of a binary counter
(Bentley and Saxe 1980, the logarithmic method): no two have sizes of the same power of two, so
there are at most `log2(n / 4096) + 1` of them, and a conjunction is rebuilt at most so many times.
An addition therefore costs an amortized `O(log n)` rebuilds of a few microseconds each; additions
without matches between them are built once or twice. Amortized is not worst: the match that joins a
million conjunctions waits for seconds, and the next such match comes after as many additions again.

A removal marks conjunctions; a segment with more marked than unmarked ones is built again, which
is paid for by the removals.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from sapwood.errors import FileFormatError, InvariantError
from sapwood.matching.columnar import residual
from sapwood.matching.columnar.batch import Batch, Found, encode
from sapwood.matching.columnar.build import build
from sapwood.matching.columnar.residual import Probes
from sapwood.matching.columnar.rows import Rows, RowWriter, joined
from sapwood.matching.columnar.segment import Columns, Segment
from sapwood.matching.protocol import Offsets, SlotBatch, Slots
from sapwood.matching.storage import Folder
from sapwood.model.filter import Filter
from sapwood.model.publication import Record

_ALL: Final = 1 << 62
"""More matches than there can be."""

_SLOT_BITS: Final = 32
_SLOT_MASK: Final = (1 << _SLOT_BITS) - 1

_FREE: Final = -1
_IN_TAIL: Final = -2
_NOWHERE: Final = -3

KernelsName: TypeAlias = Literal["compiled", "plain"]

_KERNELS: Final = MappingProxyType(
    {
        "compiled": "sapwood.matching.kernels.compiled",
        "plain": "sapwood.matching.kernels.plain",
    }
)


class Kernels(Protocol):
    """The module that does the matching proper."""

    def match_batch(
        self, columns: Columns, marks: npt.NDArray[np.uint8], batch: Batch, limit: int
    ) -> Found:
        """See `sapwood.matching.kernels.plain.match_batch`."""


@dataclass(frozen=True, slots=True)
class FoldPolicy:
    """When the tail becomes a segment, and when segments are joined.

    Costs are in units of trying one filter of the tail, about a microsecond.
    """

    #: conjunctions; segments below this size count as equally large
    smallest: int = 4096
    #: filters in the tail that a match may try one by one
    tail_matched_max: int = 1024
    #: filters in the tail before it becomes a segment even if nobody matches; bounds the memory
    #: that filters take as objects, some kilobytes each
    tail_max: int = 65_536
    #: the cost of any fold
    fold_cost: int = 2000
    #: the further cost of a fold for each conjunction in it
    conjunction_cost: int = 4


class _Part(NamedTuple):
    """A segment and its number, which no other segment in the same state has."""

    serial: int
    segment: Segment


class _State(NamedTuple):
    """What a match reads.

    Folding replaces it as a whole: a match sees one state or the other, and two that fold at the
    same time reach the same matches, of which one state stays.
    """

    #: from the oldest to the newest
    parts: tuple[_Part, ...]
    #: slot -> filter; changed in place by `add` and `remove` only, which are alone
    tail: dict[int, Filter]
    #: where each slot is: a part's serial, _IN_TAIL, _NOWHERE (it accepts nothing) or _FREE
    homes: npt.NDArray[np.int32]
    #: some parts were made of a full tail and not yet joined
    crowded: bool


class ColumnarEngine:
    """Access predicates over columns (see `sapwood.matching.columnar`).

    `kernels` names the compiled loops or their plain twins, which need no compiler and are slow.
    """

    def __init__(
        self, policy: FoldPolicy | None = None, *, kernels: KernelsName = "compiled"
    ) -> None:
        self._policy = policy or FoldPolicy()
        self._kernels_name = kernels
        self._kernels: Kernels | None = None
        #: attribute -> number, from 0 without gaps; only ever grows
        self._attributes: dict[str, int] = {}
        self._probes = Probes()
        self._state = _State((), {}, np.full(64, _FREE, np.int32), crowded=False)
        self._taken = 0
        #: filters of the tail tried since the last fold
        self._tried = 0

    def __len__(self) -> int:
        """The number of taken slots."""
        return self._taken

    def add(self, slot: int, filter: Filter) -> None:  # noqa: A002 - the field's word
        """Take `slot` for `filter`; an amortized O(log n) rebuilds of its conjunctions."""
        homes = self._state.homes
        if slot >= len(homes):
            grown = np.full(max(slot + 1, 2 * len(homes)), _FREE, np.int32)
            grown[: len(homes)] = homes
            self._state = self._state._replace(homes=grown)
            homes = grown
        assert homes[slot] == _FREE, f"slot {slot} is taken"
        self._taken += 1
        homes[slot] = _IN_TAIL
        self._state.tail[slot] = filter
        self._number_names(filter)
        if len(self._state.tail) >= self._policy.tail_max:
            folded = self._folded(self._state, len(self._state.parts))
            self._state = folded._replace(crowded=True)

    def remove(self, slot: int) -> None:
        """Free `slot`; amortized constant."""
        parts, tail, homes, _ = self._state
        home = int(homes[slot])
        assert home != _FREE, f"slot {slot} is free"
        homes[slot] = _FREE
        self._taken -= 1
        if home == _IN_TAIL:
            del tail[slot]
        elif home != _NOWHERE:
            at = next(at for at, part in enumerate(parts) if part.serial == home)
            segment = parts[at].segment
            segment.remove(slot)
            if segment.dead > segment.live:
                smaller = self._built(segment.rows(), parts, homes)
                kept = (*parts[:at], *smaller, *parts[at + 1 :])
                self._state = self._state._replace(parts=kept)

    def match(self, record: Record) -> list[int]:
        """The slots whose filters accept `record`, ascending, each once."""
        state = self._settled()
        batch = encode((record,), self._attributes)
        slots = [slot for slot, wanted in state.tail.items() if wanted.accepts(record)]
        repeats = False
        for _, segment in state.parts:
            found = self._search(segment, batch, _ALL)
            slots += found.slots.tolist()
            repeats |= found.repeats
            if len(found.doubts):
                passes = residual.settle(found, segment.annex, self._probes, (record,))
                slots += segment.columns.slot[found.doubts[passes]].tolist()
        return sorted(set(slots)) if repeats else sorted(slots)

    def match_any(self, record: Record) -> bool:
        """Whether any filter accepts `record`; stops at the first one that surely does."""
        state = self._settled()
        if any(wanted.accepts(record) for wanted in state.tail.values()):
            return True
        batch = encode((record,), self._attributes)
        doubtful: list[tuple[Segment, Found]] = []
        for _, segment in state.parts:
            found = self._search(segment, batch, 1)
            if len(found.slots):
                return True
            if len(found.doubts):
                doubtful.append((segment, found))
        return any(
            residual.settle(found, segment.annex, self._probes, (record,)).any()
            for segment, found in doubtful
        )

    def match_slots(self, records: Sequence[Record]) -> SlotBatch:
        """The matches of many records: one call of the kernel for each segment.

        The kernel runs without the interpreter lock; what is left in Python is a few microseconds a
        record to write its values into arrays.
        """
        state = self._settled()
        batch = encode(records, self._attributes)
        numbers = np.arange(len(records))
        pairs = _Pairs()
        for _, segment in state.parts:
            found = self._search(segment, batch, _ALL)
            pairs.add(np.repeat(numbers, np.diff(found.offsets)), found.slots)
            pairs.repeats |= found.repeats
            if len(found.doubts):
                passes = residual.settle(found, segment.annex, self._probes, records)
                doubted = np.repeat(numbers, np.diff(found.doubt_offsets))
                pairs.add(doubted[passes], segment.columns.slot[found.doubts[passes]])
        for number, record in enumerate(records if state.tail else ()):
            tail = [slot for slot, wanted in state.tail.items() if wanted.accepts(record)]
            pairs.add(np.full(len(tail), number), np.array(tail, np.int32))
        return pairs.batch(len(records))

    def save(self, folder: Path) -> None:
        """Fold everything into one segment and write its arrays."""
        store = Folder(folder)
        self._state = self._folded(self._state, 0)
        store.write_json("attributes", list(self._attributes))
        store.write_json("probes", list(self._probes.texts()))
        store.write_arrays({"nowhere": np.flatnonzero(self._state.homes == _NOWHERE)})
        for part in self._state.parts:
            part.segment.save(store.make_folder("segment"))

    def load(
        self,
        folder: Path,
        filters: Iterable[tuple[int, Filter]],  # noqa: ARG002 - the arrays say enough
    ) -> None:
        """Map what `save` wrote; no filter is read."""
        assert not len(self), "an engine is loaded when it is empty"
        store = Folder(folder)
        self._attributes = _read_attributes(store)
        self._probes.restore(_read_probes(store))
        nowhere = store.read_arrays(("nowhere",))["nowhere"].astype(np.int64)
        parts: tuple[_Part, ...] = ()
        if store.folder("segment").exists:
            parts = (_Part(0, Segment.load(store.folder("segment"))),)
        slots = np.concatenate([nowhere, *(part.segment.slots() for part in parts)])
        homes = np.full(max(64, int(slots.max(initial=0)) + 1), _FREE, np.int32)
        homes[slots] = 0
        homes[nowhere] = _NOWHERE
        self._state = _State(parts, {}, homes, crowded=False)
        self._taken = int(np.count_nonzero(homes != _FREE))

    def validate(self) -> None:
        """Every taken slot is where `homes` says, and nowhere else."""
        parts, tail, homes, _ = self._state
        found = np.where(homes == _NOWHERE, homes, np.int32(_FREE))
        found[list(tail)] = _IN_TAIL
        for serial, segment in parts:
            segment.validate()
            slots = segment.slots()
            if np.any(found[slots] != _FREE):
                raise InvariantError("a slot is in two places")
            found[slots] = serial
        if not np.array_equal(found, homes):
            raise InvariantError("a slot is not where it is said to be")
        if self._taken != np.count_nonzero(homes != _FREE):
            raise InvariantError("the count of taken slots is wrong")

    def _search(self, segment: Segment, batch: Batch, limit: int) -> Found:
        if self._kernels is None:
            self._kernels = cast("Kernels", import_module(_KERNELS[self._kernels_name]))
        return self._kernels.match_batch(segment.columns, segment.marks, batch, limit)

    def _number_names(self, added: Filter) -> None:
        """Number what is new in a filter: here, because folding may run in several threads."""
        for conjunction in added.conjunctions:
            for name, constraint in conjunction.constraints:
                self._attributes.setdefault(name, len(self._attributes))
                strings = constraint.strings
                for pattern in (*strings.required, *strings.forbidden):
                    self._probes.add(name, pattern)

    def _settled(self) -> _State:
        """The state to match against, folded first if that is due."""
        state = self._state
        if state.tail or state.crowded:
            self._tried += len(state.tail)
            first = self._first_to_join(state)
            if self._is_fold_due(state, first):
                state = self._state = self._folded(state, first)
                self._tried = 0
        return state

    def _is_fold_due(self, state: _State, first: int) -> bool:
        if state.crowded or len(state.tail) > self._policy.tail_matched_max:
            return True
        joined_size = len(state.tail) + sum(part.segment.live for part in state.parts[first:])
        cost = self._policy.fold_cost + self._policy.conjunction_cost * joined_size
        return self._tried > cost

    def _first_to_join(self, state: _State) -> int:
        """The first part that what is newer has caught up with, by powers of two."""
        first, newer = len(state.parts), len(state.tail)
        for at in reversed(range(len(state.parts))):
            size = state.parts[at].segment.live
            if newer and self._size_class(size) <= self._size_class(newer):
                first = at
            newer += size
        return first

    def _size_class(self, conjunctions: int) -> int:
        return max(conjunctions, self._policy.smallest).bit_length()

    def _folded(self, state: _State, first: int) -> _State:
        """The state with the tail and the parts from `first` on joined into one new part."""
        parts, tail, homes, _ = state
        if not tail and len(parts) - first <= 1:
            return state._replace(crowded=False)
        writer = RowWriter(self._attributes, self._probes)
        for slot, wanted in tail.items():
            writer.add(slot, wanted.conjunctions)
        homes = homes.copy()
        homes[list(tail)] = _NOWHERE  # unless a part takes them
        rows = joined([*(part.segment.rows() for part in parts[first:]), writer.rows()])
        return _State((*parts[:first], *self._built(rows, parts, homes)), {}, homes, crowded=False)

    def _built(
        self, rows: Rows, others: tuple[_Part, ...], homes: npt.NDArray[np.int32]
    ) -> tuple[_Part, ...]:
        """The part made of `rows`, entered in `homes`; none if there are no rows."""
        if not len(rows.slot):
            return ()
        serial = max((part.serial for part in others), default=-1) + 1
        homes[rows.slot] = serial
        return (_Part(serial, build(rows, len(self._attributes))),)


class _Pairs:
    """Pairs of record and slot from several places, brought into the order of a `SlotBatch`."""

    def __init__(self) -> None:
        self._numbers: list[npt.NDArray[np.int64]] = []
        self._slots: list[Slots] = []
        #: a pair may be there more than once
        self.repeats = False

    def add(self, numbers: npt.NDArray[np.int64], slots: Slots) -> None:
        """Add pairs, in any order."""
        self._numbers.append(numbers)
        self._slots.append(slots)

    def batch(self, records: int) -> SlotBatch:
        """All pairs, sorted and each once."""
        if not self._slots:
            return SlotBatch(np.zeros(records + 1, np.int64), np.zeros(0, np.int32))
        pairs = (np.concatenate(self._numbers) << _SLOT_BITS) | np.concatenate(self._slots)
        pairs.sort()
        if self.repeats:
            pairs = pairs[np.diff(pairs, prepend=-1) != 0]
        offsets: Offsets = np.searchsorted(pairs, np.arange(records + 1) << _SLOT_BITS)
        return SlotBatch(offsets, (pairs & _SLOT_MASK).astype(np.int32))


def _read_attributes(folder: Folder) -> dict[str, int]:
    names = folder.read_json("attributes")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise FileFormatError(folder.place("attributes.json"), "is not a list of names")
    return {name: number for number, name in enumerate(names)}


def _read_probes(folder: Folder) -> list[tuple[str, str]]:
    pairs = folder.read_json("probes")
    if not isinstance(pairs, list) or not all(map(_is_pair, pairs)):
        raise FileFormatError(folder.place("probes.json"), "is not a list of pairs of texts")
    return [(attribute, pattern) for attribute, pattern in pairs]


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(isinstance(v, str) for v in value)
