"""The publications of one mailbox, by number, in chunks that are dropped as a whole.

A chunk holds the numbers n with (n - 1) // MAILBOX_CHUNK equal to its index: references in columns,
25 bytes each. Worked example, chunks of 4: numbers 1 to 5 came at the places 70, 71, 75, 80, 82,
and 1, 2, 4 are settled::

   chunk 0   first 1   places 70 71 75 80   settled 1 1 0 1   left 1
   chunk 1   first 5   places 82            settled 0         left 1

When 3 is settled as well, chunk 0 goes, however long 5 waits; and a number without a chunk is
settled. A chunk of settled numbers goes at once, even the last one: the next number begins it anew.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator

from sapwood.limits.durable import MAILBOX_CHUNK


class Chunk:
    """A range of publications of a mailbox: `places[i]` is that of number `first + i`.

    #: the columns have one length; `left` entries are not settled
    """

    __slots__ = ("first", "left", "places", "rows", "settled", "sizes", "times")

    def __init__(self, first: int) -> None:
        self.first = first
        self.places = array("q")
        self.sizes = array("q")
        self.times = array("d")
        self.settled = bytearray()
        self.left = 0
        #: the numbers under which rows of the chunk are stored
        self.rows: list[int] = []

    @property
    def end(self) -> int:
        """The number after the last one."""
        return self.first + len(self.places)

    def add(self, place: int, size: int, time: float) -> None:
        """Append a publication."""
        self.places.append(place)
        self.sizes.append(size)
        self.times.append(time)
        self.settled.append(0)
        self.left += 1

    def skip_to(self, number: int) -> None:
        """Fill up to, and without, a number with settled entries: their publications are gone."""
        missing = number - self.end
        if missing > 0:
            for column in (self.places, self.sizes, self.times):
                column.extend([0] * missing)
            self.settled += bytes([1]) * missing

    def settle(self, number: int) -> int:
        """Settle a number; return the size of its publication, or -1 if it was settled already."""
        at = number - self.first
        if self.settled[at]:
            return -1
        self.settled[at] = 1
        self.left -= 1
        return self.sizes[at]

    def lowest(self) -> int:
        """The lowest place that is not settled; there must be one."""
        waiting = zip(self.places, self.settled, strict=True)
        return min(place for place, settled in waiting if not settled)

    def runs(self) -> tuple[int, ...]:
        """The first and last number of each run of settled numbers."""
        found: list[int] = []
        at = self.settled.find(1)
        while at >= 0:
            end = self.settled.find(0, at)
            end = len(self.settled) if end < 0 else end
            found += (self.first + at, self.first + end - 1)
            at = self.settled.find(1, end)
        return tuple(found)


class Chunks:
    """All chunks of a mailbox, oldest first.

    #: count and bytes are those of the publications not settled; every chunk has at least one of
    #: them
    """

    __slots__ = ("_by_index", "bytes", "count", "gone", "last")

    def __init__(self) -> None:
        self._by_index: dict[int, Chunk] = {}
        self.last = 0
        self.count = 0
        self.bytes = 0
        #: the chunks, with their indexes, that have gone since this list was taken
        self.gone: list[tuple[int, Chunk]] = []

    def add(self, place: int, size: int, time: float) -> int:
        """Append a publication; return its number."""
        self.last += 1
        index = (self.last - 1) // MAILBOX_CHUNK
        chunk = self._by_index.get(index)
        if chunk is None:
            chunk = self._by_index[index] = Chunk(self.last)
        chunk.skip_to(self.last)
        chunk.add(place, size, time)
        self.count += 1
        self.bytes += size
        return self.last

    def of(self, number: int) -> Chunk | None:
        """The chunk of a number; `None` if that has gone, or never existed."""
        chunk = self._by_index.get((number - 1) // MAILBOX_CHUNK)
        return chunk if chunk is not None and chunk.first <= number < chunk.end else None

    def at(self, index: int) -> Chunk | None:
        """The chunk of an index, or `None`."""
        return self._by_index.get(index)

    def holds(self, number: int) -> bool:
        """True if a number exists and is not settled."""
        chunk = self.of(number)
        return chunk is not None and not chunk.settled[number - chunk.first]

    def settle(self, number: int) -> bool:
        """Settle a number; true if it was not settled before."""
        chunk = self.of(number)
        size = -1 if chunk is None else chunk.settle(number)
        if chunk is None or size < 0:
            return False
        self.count -= 1
        self.bytes -= size
        if not chunk.left:
            index = (number - 1) // MAILBOX_CHUNK
            del self._by_index[index]
            self.gone.append((index, chunk))
        return True

    def after(self, number: int) -> int | None:
        """The first number from this one on that is not settled, or `None`."""
        while number <= self.last:
            chunk = self.of(number)
            if chunk is None:
                number = self._begin_after(number)
                continue
            at = chunk.settled.find(0, number - chunk.first)
            if at >= 0:
                return chunk.first + at
            number = chunk.end
        return None

    def _begin_after(self, number: int) -> int:
        """The first number of the next chunk, for a number that is in no chunk."""
        for chunk in self._by_index.values():
            if chunk.first >= number:
                return chunk.first
        return self.last + 1

    def spans(self, first: int, last: int) -> Iterator[range]:
        """The numbers from the first to the last one that are in chunks."""
        if last - first < len(self._by_index) * MAILBOX_CHUNK:
            low, high = (first - 1) // MAILBOX_CHUNK, (last - 1) // MAILBOX_CHUNK
            chunks = [self._by_index[i] for i in range(low, high + 1) if i in self._by_index]
        else:
            chunks = list(self._by_index.values())
        for chunk in chunks:
            yield range(max(first, chunk.first), min(last + 1, chunk.end))

    def lowest(self) -> int | None:
        """The lowest place of all publications that are not settled."""
        return min((chunk.lowest() for chunk in self._by_index.values()), default=None)

    def __iter__(self) -> Iterator[tuple[int, Chunk]]:
        return iter(self._by_index.items())
