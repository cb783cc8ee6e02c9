"""Kernels in plain Python, by which compiled ones are judged: the same results, the obvious way.

They use neither the order of a domain nor clusters nor bitmaps: a value is compared with every
constant of its attribute, a record with every conjunction.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from sapwood.errors import InputError
from sapwood.matching.columnar import bitmaps, literals
from sapwood.matching.columnar.batch import REPEATS, UNREADABLE
from sapwood.matching.columnar.columns import (
    BITMAPS_FROM,
    BLOCK_WORDS,
    CHECKED,
    DEAD,
    I32,
    I64,
    KEY_MAX,
    SEVERAL,
    SHARED,
    SLOT_MASK,
    U8,
    U32,
    U64,
    Columns,
    block_start_of,
    block_starts,
    columns_of,
    entry_conjunctions,
)
from sapwood.matching.columnar.derived import Derived, Function
from sapwood.matching.columnar.domains import (
    FALSE_RANK,
    FIRST_NUMBER_RANK,
    FIRST_TEXT_RANK,
    TRUE_RANK,
)
from sapwood.matching.columnar.flat_records import DOUBTFUL, NONE, READ, WITH_ARRAYS
from sapwood.matching.columnar.segment import block
from sapwood.matching.encoded_records import header
from sapwood.matching.keys import number_key, text_bytes
from sapwood.matching.protocol import ALL
from sapwood.matching.tables import (
    PLACE_DATA,
    PLACE_FIRST,
    PLACE_KIND,
    PLACE_OFFSETS,
    PLACE_SIZE,
    PLACE_VALIDITY,
    Kind,
)
from sapwood.model.publication import Value
from sapwood.wire.publications import decode_publication
from tests.matching.columnar import plain_trying
from tests.matching.columnar.plain_trying import bytes_of, is_readable

fill_bitmaps = bitmaps.fill_bitmaps
find_fail_states = literals.find_fail_states
names_of, try_rows = plain_trying.names_of, plain_trying.try_rows

Readable: TypeAlias = Mapping[str | bytes, Value | bytes]
"""A record as it is read back: texts that are no UTF-8 are bytes."""


def number_rank(
    numbers: npt.NDArray[np.floating[Any]],
    remainders: npt.NDArray[np.int16],
    first: int,
    last: int,
    number: float,
    remainder: int,
) -> int:
    """Twice the rank of a number among others, and one more if it is one of them.

    These are `numbers[first:last]`. `remainders` are as many as numbers, or none if all are 0.
    """
    exact = remainders.tolist() if len(remainders) else [0] * len(numbers)
    constants = list(zip(numbers.tolist(), exact, strict=True))[first:last]
    wanted = (number, remainder)
    return 2 * sum(constant < wanted for constant in constants) + (wanted in constants)


def text_rank(columns: Columns, first: int, last: int, text: bytes) -> int:
    """Twice the rank of a text among those of a domain, and one more if it is one of them.

    The texts of the domain are `first` up to `last` of the column `text_refs`.
    """
    offsets = columns.text_offsets
    constants = [
        columns.text_bytes[offsets[ref] : offsets[ref + 1]].tobytes()
        for ref in columns.text_refs[first:last].tolist()
    ]
    return 2 * sum(constant < text for constant in constants) + (text in constants)


def rank_record(columns: Columns, names: U64, record: Readable, ranks: U32) -> None:
    """Write the rank of every value of a record; `ranks` has an element for each attribute."""
    numbers = names_of(names)
    for name, value in record.items():
        attribute = numbers.get(bytes_of(name), len(columns.points))
        if attribute < len(columns.points):
            ranks[attribute] = _rank_of(columns, attribute, value)
        if isinstance(value, str | bytes):
            for one, derived in _derived_from(numbers, name, value):
                if one < len(columns.points):
                    ranks[one] = _rank_of(columns, one, derived)


def _derived_from(
    numbers: Mapping[bytes, int], name: str | bytes, text: str | bytes
) -> Iterator[tuple[int, Value]]:
    """The numbers of what is derived from an attribute, and the values."""
    for function in Function:
        derived = Derived(function, _text_of(name))
        if derived.key in numbers:
            yield numbers[derived.key], derived.value(_text_of(text))


def literals_of(columns: Columns) -> list[tuple[int, bool, bytes]]:
    """The attribute of each literal, whether it is sought in lower case, and its bytes."""
    found: dict[int, tuple[int, bool, bytes]] = {}
    for which, attribute in enumerate(columns.literal_attribute.tolist()):
        first, last = columns.literal_start[which : which + 2].tolist()
        paths = {first: b""}
        for state in range(first, last):
            begin, end = columns.literal_child[state + which : state + which + 2].tolist()
            for child in range(begin, end):
                paths[child] = paths[state] + columns.literal_label[child : child + 1].tobytes()
        outputs = columns.literal_output.tolist()
        for state, path in paths.items():
            # The first state with an output, in their order, is that of the literal itself.
            if outputs[state] and outputs[state] not in found:
                found[outputs[state]] = attribute, bool(columns.literal_is_lower[which]), path
    return [found[number] for number in sorted(found)]


def literals_in(columns: Columns, texts: Mapping[int, str]) -> Iterator[int]:
    """The literals that occur in the texts that some attributes have."""
    for number, (attribute, is_lower, literal) in enumerate(literals_of(columns)):
        text = texts.get(attribute)
        if text is not None and literal in text_bytes(text.lower() if is_lower else text):
            yield number


def _texts_of(names: U64, record: Readable) -> dict[int, str]:
    """The texts of a record by the numbers of their attributes."""
    numbers = names_of(names)
    return {
        numbers[bytes_of(name)]: _text_of(value)
        for name, value in record.items()
        if isinstance(value, str | bytes) and bytes_of(name) in numbers
    }


def _text_of(text: str | bytes) -> str:
    return text if isinstance(text, str) else text.decode("utf-8", "surrogatepass")


def match_batch(
    buffer: U64,
    marks: U8,
    names: U64,
    records: bytes,
    scratch: U32,
    limit: int,
    max_matches: int,
    join_threshold: int,
) -> I32:
    """All matches of every record, as `columnar.batch.SegmentMatches.of` reads them.

    `records` is what `columnar.batch.encoded` makes, `names` what `columnar.batch.name_table`
    does. `scratch` has two elements for each attribute, two at least, and its first half is all 0;
    it is left so. Keeps no more than `limit` sure matches of a record, and ends after the record
    with which there are `max_matches` matches or more. Of records that cannot be read nothing is
    told but `UNREADABLE`.
    """
    columns = columns_of(buffer)
    given: list[Readable] = msgspec.msgpack.decode(records)
    if not all(is_readable(value) for record in given for value in record.values()):
        return np.array([UNREADABLE], np.int32)
    all_ranks = np.zeros((len(given), len(scratch) // 2), np.uint32)
    for record, ranks in zip(given, all_ranks, strict=True):
        rank_record(columns, names, record, ranks)
    texts = [_texts_of(names, record) for record in given]
    return _result(columns, marks, all_ranks, texts, limit, max_matches)


def match_table(
    buffer: U64,
    marks: U8,
    names: U64,
    places: I64,
    numbers: I64,
    first: int,
    rows: int,
    max_matches: int,
    join_threshold: int,
) -> I32:
    """All matches of some rows of a table, as `columnar.batch.SegmentMatches.of` reads them.

    The rows are `rows` from row `first` of the columns on. `places` and `numbers` are as for
    `rank_columns`. Ends after the row with which there are `max_matches` matches or more.
    """
    columns = columns_of(buffer)
    all_ranks = np.zeros((rows, len(columns.points)), np.uint32)
    rank_columns(buffer, names, places, numbers, first, rows, all_ranks.reshape(-1))
    by_column = list(zip(numbers.tolist(), places.reshape(-1, PLACE_SIZE).tolist(), strict=True))
    texts: list[dict[int, str]] = [{} for _ in range(rows)]
    for row, own in enumerate(texts):
        for attribute, place in by_column:
            value = _value_at(place, first + row)
            if isinstance(value, bytes):
                own[attribute] = _text_of(value)
    return _result(columns, marks, all_ranks, texts, ALL, max_matches)


def match_several(
    buffer: U64, marks: U8, names: U64, values: bytes, scratch: U32, limit: int
) -> I32:
    """All matches of one record with several values; see `columnar.searching.Kernels`.

    A conjunction holds if a choice of one value of each of its attributes does, and what is derived
    from a value goes with it; one with a literal, if such a choice has it.
    """
    columns = columns_of(buffer)
    given: list[Readable] = msgspec.msgpack.decode(values)
    if not all(is_readable(value) for record in given for value in record.values()):
        return np.array([UNREADABLE], np.int32)
    known = names_of(names)
    base = {number: number for number in known.values()}
    for key, number in known.items():
        if not key.startswith(b"\xff"):
            for one, _ in _derived_from(known, key, ""):
                base[one] = number
    choices: dict[int, list[tuple[U32, set[int]]]] = {}
    by_literal = _members_of_literals(columns)
    members = {conjunction for own in by_literal for conjunction in own}
    for record in given:
        ranks = np.zeros(len(scratch) // 2, np.uint32)
        rank_record(columns, names, record, ranks)
        found = literals_in(columns, _texts_of(names, record))
        reached = {at for number in found for at in by_literal[number]}
        for name in record:
            if bytes_of(name) in known:
                choices.setdefault(known[bytes_of(name)], []).append((ranks, reached))
    absent = [(np.zeros(len(scratch) // 2, np.uint32), set[int]())]

    def accepted(conjunction: int, needs_literal: bool) -> bool:
        groups: dict[int, list[tuple[int, tuple[int, int]]]] = {}
        for attribute, own in zip(*block(columns, conjunction), strict=True):
            groups.setdefault(base[attribute], []).append((attribute, own))
        has_literal = False
        for group, constraints in groups.items():
            passing = [
                conjunction in reached
                for ranks, reached in choices.get(group, absent)
                if all(is_in_range(columns, *own, int(ranks[on])) for on, own in constraints)
            ]
            if not passing:
                return False
            has_literal |= any(passing)
        return has_literal or not needs_literal

    found_ones = [
        conjunction
        for conjunction, mark in enumerate(marks.tolist())
        if not mark & DEAD and accepted(conjunction, conjunction in members)
    ]
    unverified = [one for one in found_ones if marks[one] & CHECKED]
    matches = [one for one in found_ones if not marks[one] & CHECKED][:limit]
    slots = columns.blocks[block_start_of(columns, np.array(matches, np.int64))] & SLOT_MASK
    repeats = any(marks[one] & SHARED for one in found_ones)
    told = [REPEATS * repeats, 1, len(slots), len(unverified), *slots.tolist(), *unverified]
    return np.array(told, np.int32)


def rank_columns(
    buffer: U64, names: U64, places: I64, numbers: I64, first: int, rows: int, ranks: U32
) -> None:
    """Write the ranks of `rows` rows of a table, from row `first` of its columns on.

    `places` is the table's (`RecordTable.places`), `numbers` the attribute of each column; those
    that are no attribute of the segment buffer are left out. In `ranks` each row has an element for
    each attribute of the segment buffer. What is absent gets the rank 0.
    """
    columns = columns_of(buffer)
    width, known = len(columns.points), names_of(names)
    own_name = {number: name for name, number in known.items()}
    by_column = places.reshape(-1, PLACE_SIZE)
    for attribute, place in zip(numbers.tolist(), by_column.tolist(), strict=True):
        if 0 <= attribute < width:
            for row in range(rows):
                value = _value_at(place, first + row)
                rank = 0 if value is None else _rank_of(columns, attribute, value)
                ranks[row * width + attribute] = rank
        is_text = place[PLACE_KIND] in (Kind.TEXT, Kind.LONG_TEXT)
        for row in range(rows if is_text and attribute in own_name else 0):
            value = _value_at(place, first + row)
            text = value if isinstance(value, bytes) else b""
            for one, derived in _derived_from(known, own_name[attribute], text):
                if one < width:
                    rank = 0 if value is None else _rank_of(columns, one, derived)
                    ranks[row * width + one] = rank


def mark_removed(buffer: U64, marks: U8, by_slot: U32, slot: int) -> int:
    """Mark the conjunctions of a slot as removed; returns how many were not so before.

    `by_slot` are all conjunctions, sorted by slot.
    """
    columns = columns_of(buffer)
    heads = columns.blocks[block_start_of(columns, by_slot)]
    found = by_slot[(heads & SLOT_MASK) == slot]
    removed = int(np.count_nonzero((marks[found] & DEAD) == 0))
    marks[found] |= DEAD
    return removed


def flatten_records(
    data: bytes, starts: I64, ends: I64, scratch: U64, out: U8, offsets: I64, verdicts: U8
) -> None:
    """Flat views of records as they came, as `columnar.flat_records.Kernel` says."""
    written = bytearray(header(len(starts)))
    for number, (first, last) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        record = data[first:last] if 0 <= first < last <= len(data) else b""
        offsets[number], verdicts[number] = len(written), READ
        try:
            publication = decode_publication(b"\x92\xa1p" + record)
            flat = publication.record
            if publication.has_arrays:
                flat, verdicts[number] = {}, WITH_ARRAYS
        except InputError:
            flat, verdicts[number] = {}, NONE if record == b"\xc0" else DOUBTFUL
        written += msgspec.msgpack.encode(flat)
    offsets[len(starts)] = len(written)
    out[: len(written)] = np.frombuffer(written, np.uint8)


def read_forms(data: bytes, ends: I64, *columns: npt.NDArray[Any]) -> None:
    """See `packed_forms.Kernel`: all filters are odd, so Python reads them."""
    columns[-2][:] = 1


def looked_up(buffer: U64, names: U64, records: bytes, scratch: U32) -> int:
    """The number of entries that the lookups of a batch's records lead to; see `match_batch`."""
    columns, total = columns_of(buffer), 0
    for record in msgspec.msgpack.decode(records):
        ranks = np.zeros(len(scratch) // 2, np.uint32)
        rank_record(columns, names, record, ranks)
        found = all_candidate_ranges(columns, names, record, ranks)
        total += sum(last - first for first, last in found)
    return total


def touched(buffer: U64, names: U64, records: bytes, scratch: U32) -> int:
    """The bytes of directories, bitmaps and blocks that a batch has read; see `match_batch`."""
    columns, total = columns_of(buffer), 0
    sizes = 4 * np.diff(block_starts(columns))[entry_conjunctions(columns)]
    for record in msgspec.msgpack.decode(records):
        ranks = np.zeros(len(scratch) // 2, np.uint32)
        rank_record(columns, names, record, ranks)
        for first, last in all_candidate_ranges(columns, names, record, ranks):
            if first < last:
                total += 8 + _read_of(columns, ranks, sizes, first, last)
    return total


def all_candidate_ranges(
    columns: Columns, names: U64, record: Readable, ranks: U32
) -> Iterator[tuple[int, int]]:
    """`find_candidate_ranges`, and those of literals."""
    yield from find_candidate_ranges(columns, ranks)
    start, cluster = columns.cluster_start, int(columns.literal_cluster[0])
    for number in literals_in(columns, _texts_of(names, record)):
        first, last = start[cluster + number : cluster + number + 2].tolist()
        yield first, last


def _result(
    columns: Columns,
    marks: U8,
    all_ranks: npt.NDArray[np.uint32],
    texts: Sequence[Mapping[int, str]],
    limit: int,
    max_matches: int,
) -> I32:
    """The result of a kernel for records with these ranks, a row for each."""
    slots: list[list[int]] = []
    unverified: list[list[int]] = []
    held = 0
    repeats = False
    by_literal = _members_of_literals(columns)
    members = {conjunction for own in by_literal for conjunction in own}
    for ranks, own_texts in zip(all_ranks, texts, strict=True):
        reached = {at for number in literals_in(columns, own_texts) for at in by_literal[number]}
        found = [
            conjunction
            for conjunction, mark in enumerate(marks.tolist())
            if not mark & DEAD
            and (conjunction in reached or conjunction not in members)
            and _holds(columns, conjunction, ranks)
        ]
        unverified.append([conjunction for conjunction in found if marks[conjunction] & CHECKED])
        matches = [conjunction for conjunction in found if not marks[conjunction] & CHECKED]
        heads = columns.blocks[block_start_of(columns, np.array(matches[:limit], np.int64))]
        slots.append((heads & SLOT_MASK).tolist())
        repeats = repeats or any(marks[conjunction] & SHARED for conjunction in found)
        held += len(slots[-1]) + len(unverified[-1])
        if held >= max_matches:
            break
    beyond = [0] * (len(all_ranks) - len(slots))
    told = [
        *(REPEATS * repeats, len(slots)),
        *(*map(len, slots), *beyond, *map(len, unverified), *beyond),
        *(slot for each in slots for slot in each),
        *(unverified_match for each in unverified for unverified_match in each),
    ]
    return np.array(told, np.int32)


def _members_of_literals(columns: Columns) -> list[list[int]]:
    """The conjunctions in the cluster of each literal."""
    start, entries = columns.cluster_start.tolist(), entry_conjunctions(columns)
    first = int(columns.literal_cluster[0])
    return [
        entries[start[first + number] : start[first + number + 1]].tolist()
        for number in range(len(columns.literal_next))
    ]


def _value_at(place: Sequence[int], row: int) -> Value | bytes | None:
    """The value of a row of a column, of which `place` tells; `None` if it is absent."""
    at, data = place[PLACE_FIRST] + row, place[PLACE_DATA]
    if place[PLACE_VALIDITY] and not _bit_at(place[PLACE_VALIDITY], at):
        return None
    match Kind(place[PLACE_KIND]):
        case Kind.BOOLEAN:
            return _bit_at(data, at)
        case Kind.INTEGER:
            return ctypes.c_int64.from_address(data + 8 * at).value
        case Kind.FLOAT:
            return ctypes.c_double.from_address(data + 8 * at).value
        case Kind.TEXT:
            first, last = (ctypes.c_int32 * 2).from_address(place[PLACE_OFFSETS] + 4 * at)
        case Kind.LONG_TEXT:
            first, last = (ctypes.c_int64 * 2).from_address(place[PLACE_OFFSETS] + 8 * at)
    return ctypes.string_at(data + first, last - first)


def _bit_at(address: int, at: int) -> bool:
    return bool(ctypes.c_uint8.from_address(address + (at >> 3)).value >> (at & 7) & 1)


def _read_of(
    columns: Columns, ranks: U32, sizes: npt.NDArray[np.int64], first: int, last: int
) -> int:
    """Bytes of bitmaps and blocks that are read of a candidate range."""
    partition = int(np.searchsorted(columns.partition_first, first, side="right")) - 1
    if last - first < BITMAPS_FROM or partition < 0 or first >= columns.partition_last[partition]:
        return int(sizes[first:last].sum())
    base, end = int(columns.partition_first[partition]), int(columns.partition_last[partition])
    attributes = columns.bitmap_attribute[
        columns.bitmap_start[partition] : columns.bitmap_start[partition + 1]
    ]
    at_rank = ranks[attributes].astype(np.int64)
    wanted = np.where(at_rank, 1 + (at_rank * columns.bin_scale[attributes] >> 32), 0)
    bins, words = int(columns.bins[0]), -(-(end - base) // 64)
    of_block = len(attributes) * bins
    total = 8 * len(attributes) * ((last - 1 - base) // 64 - (first - base) // 64 + 1)
    for entry in range(first, last):
        word, bit = divmod(entry - base, 64)
        start = word // BLOCK_WORDS * BLOCK_WORDS
        width = min(BLOCK_WORDS, words - start)
        begin = int(columns.bitmap_word[partition]) + start * of_block
        block = columns.bitmaps[begin : begin + width * of_block]
        block = block.reshape(len(attributes), bins, width)
        rows = block[np.arange(len(attributes)), wanted, word - start]
        if np.all(rows >> np.uint64(bit) & np.uint64(1)):
            total += int(sizes[entry])
    return total


def find_candidate_ranges(columns: Columns, ranks: U32) -> Iterator[tuple[int, int]]:
    """First entry and end of every candidate range of a record; some are empty."""
    start = columns.cluster_start.tolist()
    yield start[-2], start[-1]
    for attribute, rank in enumerate(ranks[: len(columns.points)].tolist()):
        base = int(columns.points[attribute])
        if rank % 2 and base >= 0:
            yield start[base + rank // 2], start[base + rank // 2 + 1]
        for which in range(*columns.ordered_start[attribute : attribute + 2].tolist()):
            if columns.ordered_zone_low[which] <= rank <= columns.ordered_zone_high[which]:
                yield _in_reach(columns, which, rank)
        for grid in range(*columns.grid_start[attribute : attribute + 2].tolist()):
            yield from _in_grid(columns, grid, rank, int(ranks[columns.grid_second[grid]]))


def _in_reach(columns: Columns, which: int, rank: int) -> tuple[int, int]:
    """The entries of an ordered cluster that begin at or before a rank, and not too far before."""
    first, last = columns.cluster_start[which : which + 2].tolist()
    keys = columns.entry_key[first:last].astype(np.int64)
    key = KEY_MAX - rank if columns.ordered_is_up_to[which] else rank
    begin = np.searchsorted(keys, key - int(columns.ordered_reach[which]))
    return first + int(begin), first + int(np.searchsorted(keys, key, side="right"))


def _in_grid(columns: Columns, grid: int, rank: int, other: int) -> Iterator[tuple[int, int]]:
    """The rows of buckets that may hold what two ranks satisfy."""
    reaches = (int(columns.grid_first_reach[grid]), int(columns.grid_second_reach[grid]))
    scales = (int(columns.grid_first_scale[grid]), int(columns.grid_second_scale[grid]))
    sides = tuple(zip((rank, other), reaches, scales, strict=True))
    if not rank or not other or any(not reach and not at % 2 for at, reach, _ in sides):
        return
    rows, domain = (
        range(max(0, at - reach) * scale >> 32, (at * scale >> 32) + 1)
        for at, reach, scale in sides
    )
    for row in rows:
        bucket = int(columns.grid_cluster[grid]) + row * int(columns.grid_columns[grid])
        begin, end = columns.cluster_start[[bucket + domain.start, bucket + domain.stop]].tolist()
        yield begin, end


def _rank_of(columns: Columns, attribute: int, value: Value | bytes) -> int:
    if isinstance(value, bool):
        return TRUE_RANK if value else FALSE_RANK
    if isinstance(value, str | bytes):
        return _text(columns, attribute, bytes_of(value))
    return _number(columns, attribute, *number_key(value))


def _number(columns: Columns, attribute: int, number: float, remainder: int) -> int:
    first, last = columns.single_start[attribute : attribute + 2].tolist()
    if first < last:
        none = columns.remainders[:0]
        return FIRST_NUMBER_RANK + number_rank(
            columns.singles, none, first, last, number, remainder
        )
    first, last = columns.number_start[attribute : attribute + 2].tolist()
    rank = number_rank(columns.numbers, columns.remainders, first, last, number, remainder)
    return FIRST_NUMBER_RANK + rank


def _text(columns: Columns, attribute: int, text: bytes) -> int:
    starts = (columns.number_start, columns.single_start)
    numbers = sum(int(start[attribute + 1]) - int(start[attribute]) for start in starts)
    first, last = columns.text_start[attribute : attribute + 2].tolist()
    return FIRST_TEXT_RANK + 2 * numbers + text_rank(columns, first, last, text)


def _holds(columns: Columns, conjunction: int, ranks: U32) -> bool:
    return all(
        is_in_range(columns, *own, int(ranks[attribute]))
        for attribute, own in zip(*block(columns, conjunction), strict=True)
    )


def is_in_range(columns: Columns, low: int, width: int, rank: int) -> bool:
    """True if a rank satisfies a constraint, as its block has it."""
    if width != SEVERAL:
        return low <= rank <= low + width
    first, last = columns.several_start[low : low + 2].tolist()
    ranges = columns.several[2 * first : 2 * last].reshape(-1, 2).tolist()
    return any(low <= rank <= low + width for low, width in ranges)
