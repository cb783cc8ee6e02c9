"""One mailbox: publications that wait for consumers, by number, and their states.

::

   put -> ready -> out (with a consumer) -> acknowledged
            ^        |
            +--------+   the consumer goes, or does not acknowledge in time
   ready, out -> dropped, by the bounds
   out -> spent, delivered as often as allowed -> dropped, or put into another mailbox

A number is *settled* once its publication is acknowledged or dropped. A mailbox does not hold
publications: it holds places of the journal.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from sapwood.errors import InputError, InvariantError
from sapwood.limits.durable import DURABLE_OUT_BYTES_MAX, MAILBOX_CHUNK
from sapwood.session.durable.chunks import Chunk, Chunks
from sapwood.session.durable.policy import Bounds
from sapwood.session.durable.rows import Kind, PutValue, Row, encoded
from sapwood.wire.durable import Overflow

Consumer: TypeAlias = tuple[str, str]
"""A consumer of a mailbox: a client, and the client's id for it."""

_AGAIN: Final = 2


class Parcel(NamedTuple):
    """One delivery: a publication with its number in the mailbox. `attempt` counts from 1.

    `time` is when the publication came; with a time to live, when it was made, as far as is known.
    """

    number: int
    attempt: int
    place: int
    size: int
    time: float


class _Out(NamedTuple):
    consumer: Consumer
    deadline: float
    size: int


class Mailbox:
    """The mailbox of one durable subscription.

    #: a number that is not settled is out, or returned, or spent, or at least `_fresh`
    #: every number up to `high` may have been delivered
    """

    __slots__ = (
        "_attempts",
        "_chunks",
        "_dirty",
        "_fresh",
        "_held",
        "_order",
        "_out",
        "_returned",
        "_spent",
        "_unkept",
        "bounds",
        "dropped",
        "high",
        "oldest",
    )

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        #: the number of publications dropped so far
        self.dropped = 0
        self.high = 0
        #: no number below this one is unsettled
        self.oldest = 1
        self._chunks = Chunks()
        self._fresh = 1
        self._returned: list[int] = []
        #: the numbers delivered as often as allowed, until `take_spent`
        self._spent: list[int] = []
        self._attempts: dict[int, int] = {}
        self._out: dict[int, _Out] = {}
        #: all numbers that are out, in the order of their delivery, and a few that are not any more
        self._order: deque[tuple[int, _Out]] = deque()
        #: the number of publications, and of their bytes, with each consumer
        self._held: dict[Consumer, tuple[int, int]] = {}
        #: the first number that is in no row yet
        self._unkept = 1
        #: the indexes of chunks with settled numbers that are in no row yet
        self._dirty: dict[int, None] = {}

    @property
    def count(self) -> int:
        """The number of publications that wait, those that are out among them."""
        return self._chunks.count

    @property
    def bytes(self) -> int:
        """The sum of their sizes, in bytes."""
        return self._chunks.bytes

    @property
    def last(self) -> int:
        """The last number."""
        return self._chunks.last

    @property
    def out(self) -> int:
        """The number of publications that are with consumers."""
        return len(self._out)

    def held(self, consumer: Consumer) -> tuple[int, int]:
        """The number of publications that are with a consumer, and their bytes."""
        return self._held.get(consumer, (0, 0))

    def oldest_time(self) -> float | None:
        """The time at which the oldest unsettled publication came."""
        number = self.first()
        chunk = None if number is None else self._chunks.of(number)
        return None if chunk is None or number is None else chunk.times[number - chunk.first]

    def lowest_place(self) -> int | None:
        """The lowest place that an unsettled publication has."""
        return self._chunks.lowest()

    # What comes --------------------------------------------------------------------------------

    def put(self, place: int, size: int, time: float) -> int:
        """Put a publication; return the number of those dropped, which may be this one."""
        bounds = self.bounds
        gone = 0
        if bounds.overflow is Overflow.NEWEST:
            if self.count >= bounds.count_max or (self.count and self._passes(size)):
                self.dropped += 1
                return 1
        else:
            while self.count and (self.count >= bounds.count_max or self._passes(size)):
                gone += self._let_go_oldest()
        self._chunks.add(place, size, time)
        return gone

    def _passes(self, size: int) -> bool:
        return self.bytes + size > self.bounds.bytes_max

    def _let_go_oldest(self) -> int:
        number = self.first()
        if number is None:
            raise InvariantError("a mailbox counts what is not there")
        return self.let_go(number)

    def let_go(self, number: int) -> int:
        """Drop a publication; 1 if it was not settled, else 0."""
        if not self._settle(number):
            return 0
        self.dropped += 1
        return 1

    def age(self, time: float) -> int:
        """Drop the publications that have waited too long; return their number."""
        gone, age_max_s = 0, self.bounds.age_max_s
        while age_max_s:
            oldest = self.oldest_time()
            if oldest is None or oldest + age_max_s > time:
                break
            gone += self._let_go_oldest()
        return gone

    def forget_before(self, place: int) -> int:
        """Drop the publications before a place, where the journal begins; return their number."""
        found: list[int] = []
        for _, chunk in self._chunks:
            waiting = enumerate(zip(chunk.places, chunk.settled, strict=True), chunk.first)
            found += (n for n, (there, settled) in waiting if not settled and there < place)
        return sum(self.let_go(number) for number in found)

    def first(self) -> int | None:
        """The oldest number that is not settled."""
        found = self._chunks.after(self.oldest)
        self.oldest = self.last + 1 if found is None else found
        return found

    # What goes out -----------------------------------------------------------------------------

    @property
    def is_ready(self) -> bool:
        """True if there is a publication to deliver."""
        return self._next() is not None

    def _next(self) -> int | None:
        returned = self._returned
        while returned and (returned[0] in self._out or not self._chunks.holds(returned[0])):
            heapq.heappop(returned)
        if returned:
            return returned[0]
        found = self._chunks.after(self._fresh)
        self._fresh = self.last + 1 if found is None else found
        return found

    def take(self, consumer: Consumer, count_max: int, bytes_max: int, now: float) -> list[Parcel]:
        """Deliver the oldest ready publications: at most `count_max`, of at most `bytes_max` bytes.

        One publication is delivered however long it is, to a consumer that has none.
        """
        taken: list[Parcel] = []
        count, size = self.held(consumer)
        room = min(bytes_max, DURABLE_OUT_BYTES_MAX - size)
        deadline, used = now + self.bounds.acknowledge_s, 0
        while len(taken) < count_max:
            number = self._next()
            chunk = None if number is None else self._chunks.of(number)
            if number is None or chunk is None:
                break
            at = number - chunk.first
            bytes_ = chunk.sizes[at]
            if used + bytes_ > room and (count or taken):
                break
            if self._returned and self._returned[0] == number:
                heapq.heappop(self._returned)
            else:
                self._fresh = number + 1
            attempt = self._attempts.get(number, 1 if number > self.high else _AGAIN)
            out = self._out[number] = _Out(consumer, deadline, bytes_)
            self._order.append((number, out))
            self._attempts[number] = attempt
            used += bytes_
            taken.append(Parcel(number, attempt, chunk.places[at], bytes_, chunk.times[at]))
        if len(self._order) > 2 * len(self._out) + MAILBOX_CHUNK:
            self._order = deque(self._out.items())  # behind one that is out for long
        if taken:
            self._held[consumer] = (count + len(taken), size + used)
            self.high = max(self.high, taken[-1].number)
        return taken

    def give_back(self, consumer: Consumer) -> int:
        """Make the publications of a consumer that goes ready again; return their number."""
        numbers = [number for number, out in self._out.items() if out.consumer == consumer]
        for number in numbers:
            self._return(number)
        self._held.pop(consumer, None)
        return len(numbers)

    def expire(self, now: float) -> list[Consumer]:
        """Make publications not acknowledged in time ready again; return the consumer of each."""
        late: list[Consumer] = []
        while (number := self._oldest_out()) is not None:
            out = self._out[number]
            if out.deadline > now:
                break
            self._return(number)
            late.append(out.consumer)
        return late

    def next_deadline(self) -> float | None:
        """The time at which `expire` is to be called."""
        number = self._oldest_out()
        return None if number is None else self._out[number].deadline

    def _oldest_out(self) -> int | None:
        """The number that was delivered first of all that are out."""
        order = self._order
        while order:
            number, out = order[0]
            if self._out.get(number) is out:
                return number
            order.popleft()
        return None

    def _return(self, number: int) -> None:
        self._let_out(number)
        if 0 < self.bounds.attempts_max <= self._attempts[number]:
            self._spent.append(number)
            return
        self._attempts[number] += 1
        heapq.heappush(self._returned, number)

    def take_spent(self) -> list[Parcel]:
        """Settle and return the publications that were delivered as often as allowed."""
        spent, self._spent = self._spent, []
        found: list[Parcel] = []
        for number in spent:
            chunk = self._chunks.of(number)
            assert chunk is not None, "what is spent is not settled"
            at = number - chunk.first
            of_it = (chunk.places[at], chunk.sizes[at], chunk.times[at])
            found.append(Parcel(number, self._attempts[number], *of_it))
            self._settle(number)
        return found

    def _let_out(self, number: int) -> None:
        """Take a number from its consumer, if it is with one."""
        out = self._out.pop(number, None)
        if out is not None:
            count, size = self._held[out.consumer]
            self._held[out.consumer] = (count - 1, size - out.size)

    # What is done ------------------------------------------------------------------------------

    def acknowledge(self, runs: Sequence[int]) -> int:
        """Settle runs of numbers, pairs of a first and a last one; return how many were unsettled.

        Numbers acknowledged before, or dropped, do not count: a consumer may know of neither.
        Raises `InputError` for a number that was never delivered; nothing is acknowledged then.
        """
        if max(runs) > self.high or min(runs) < 1:
            raise InputError(
                f"number {max(runs) if max(runs) > self.high else min(runs)} was never delivered; "
                f"the last one delivered is {self.high}"
            )
        done = 0
        for first, last in zip(runs[::2], runs[1::2], strict=True):
            for span in list(self._chunks.spans(first, last)):
                done += sum(1 for number in span if self._settle(number))
        return done

    def _settle(self, number: int) -> bool:
        if not self._chunks.settle(number):
            return False
        self._let_out(number)
        self._attempts.pop(number, None)
        self._dirty[_index(number)] = None
        return True

    # What is kept ------------------------------------------------------------------------------

    def rows(self, name: str) -> Iterator[Row]:
        """The rows to be stored since the last call."""
        chunks = self._chunks
        gone, chunks.gone = chunks.gone, []
        for index, chunk in gone:
            for first in chunk.rows:
                yield Row(Kind.PUT, name, first, None)
            if chunk.rows:
                yield Row(Kind.SETTLED, name, index, None)
        number: int | None = self._unkept
        while number is not None and (number := chunks.after(number)) is not None:
            there = chunks.of(number)
            assert there is not None, "what is not settled has a chunk"
            yield _put(name, there, number)
            self._dirty[_index(number)] = None
            number = there.end
        self._unkept = self.last + 1
        dirty, self._dirty = self._dirty, {}
        for index in dirty:
            there = chunks.at(index)
            if there is not None and there.left < len(there.settled):
                yield Row(Kind.SETTLED, name, index, encoded(there.runs()))

    def removal(self, name: str) -> Iterator[Row]:
        """The rows that delete everything stored of the mailbox."""
        chunks = [*self._chunks.gone, *self._chunks]
        for index, chunk in chunks:
            for first in chunk.rows:
                yield Row(Kind.PUT, name, first, None)
            yield Row(Kind.SETTLED, name, index, None)

    def restore(self, last: int, put: Sequence[tuple[int, PutValue]], runs: Sequence[int]) -> None:
        """Restore the state in rows: publications by first number, in order, and the settled runs.

        Any of them may have been delivered before this start of the broker, and none is out.
        """
        chunks = self._chunks
        for first, value in put:
            chunks.last = first - 1
            for place, size, time in zip(value.places, value.sizes, value.times, strict=True):
                chunks.add(place, size, time)
            chunk = chunks.of(first)
            assert chunk is not None, "it was put just now"
            chunk.rows.append(first)
        chunks.last = max(last, chunks.last)
        for first, end in zip(runs[::2], runs[1::2], strict=True):
            for span in list(chunks.spans(first, end)):
                for number in span:
                    chunks.settle(number)
        self._unkept = chunks.last + 1
        self.high = chunks.last

    def validate(self) -> None:
        """Check its own relations; raises `InvariantError`."""
        waiting = {
            number: size
            for _, chunk in self._chunks
            for number, size in enumerate(chunk.sizes, chunk.first)
            if not chunk.settled[number - chunk.first]
        }
        if (len(waiting), sum(waiting.values())) != (self.count, self.bytes):
            raise InvariantError("a mailbox counts other publications than it has")
        returned = {*self._returned, *self._spent}
        for number in waiting:
            if number not in self._out and number not in returned and number < self._fresh:
                raise InvariantError(f"number {number} waits where nobody looks for it")
        if any(not self._chunks.holds(number) for number in self._out):
            raise InvariantError("something is out that is settled")
        held: dict[Consumer, tuple[int, int]] = {}
        for out in self._out.values():
            count, size = held.get(out.consumer, (0, 0))
            held[out.consumer] = (count + 1, size + out.size)
        if held != {one: both for one, both in self._held.items() if both[0]}:
            raise InvariantError("consumers hold other publications than are out")


def _index(number: int) -> int:
    """The index of the chunk that a number is in."""
    return (number - 1) // MAILBOX_CHUNK


def _put(name: str, chunk: Chunk, number: int) -> Row:
    """The row of a chunk's entries from a number on."""
    at = number - chunk.first
    chunk.rows.append(number)
    places = tuple(chunk.places[at:])
    value = PutValue(places, tuple(chunk.sizes[at:]), tuple(chunk.times[at:]))
    return Row(Kind.PUT, name, number, encoded(value), max(places) + 1)
