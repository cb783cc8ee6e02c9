"""The owner and the id of each numbered subscription, in arrays that compiled code reads.

A row has three words: the number of the client, with the length of the id in bytes in the lower
half; the place where these bytes begin among the texts; and the first eight of them as a number,
which sorts as they do. The texts lie in regions of whole words, filled up with NULs, and a free
region is taken again for the same number of words.

Client c (number 0) has the subscription "s1" under the number 0, and "a-long-id" under 1:

    row 0   0 << 32 | 2    0   0x7331000000000000      texts   s1......
    row 1   0 << 32 | 9    8   0x612d6c6f6e672d69              a-long-id.......

A client that has gone may have rows that are yet to be freed: its number has no name then, and a
new client of the same name gets another number.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from sapwood.errors import InvariantError
from sapwood.model.interest import Interest
from sapwood.routing.holders import Holders
from sapwood.routing.tables import Entries, LocalEntry

U8: TypeAlias = npt.NDArray[np.uint8]
U64: TypeAlias = npt.NDArray[np.uint64]

OWNER, START, PREFIX, ROW = range(4)
"""The words of a row by place; `ROW` is their number."""

OWNER_BITS: Final = 32
_SIZE_MASK: Final = (1 << OWNER_BITS) - 1
WORD_BYTES: Final = 8
"""Bytes of a word."""

_WORDS: Final = "Q"
_ABSENT: Final = -1
_ANY_TEXT: Final = "surrogatepass"

_MANY: Final = 64
"""The least number of rows that are entered together, if they can be."""

_ID: Final[Callable[[LocalEntry[Any]], str]] = attrgetter("id")
_CLIENT: Final[Callable[[LocalEntry[Any]], str]] = attrgetter("client")


class ClientRows:
    """The rows of all clients' subscriptions at one core.

    #: a row with a text is that of a taken number; its client is known by number, and by name
    #: unless it has gone
    """

    __slots__ = (
        *("_client_numbers", "_free", "_free_clients", "_gone", "_held", "_texts", "_words"),
        "names",
    )

    def __init__(self) -> None:
        self._words = array(_WORDS)
        self._texts = bytearray()
        #: words of a region -> where such regions are free
        self._free: dict[int, list[int]] = {}
        #: number -> client; "" where it is free, or of a client that has gone
        self.names: list[str] = []
        #: number -> true if no client has it, or only one that has gone
        self._gone = bytearray()
        self._client_numbers: dict[str, int] = {}
        #: number -> the count of its rows
        self._held: list[int] = []
        self._free_clients: list[int] = []

    @property
    def words(self) -> U64:
        """All rows; they may not change while the array is in use."""
        return np.frombuffer(self._words, np.uint64) if self._words else np.zeros(0, np.uint64)

    @property
    def texts(self) -> U8:
        """The bytes of all ids; they may not change while the array is in use."""
        return np.frombuffer(self._texts, np.uint8) if self._texts else np.zeros(0, np.uint8)

    @property
    def gone(self) -> U8:
        """For each client, true if it has gone and gets no deliveries; like `texts`."""
        return np.frombuffer(self._gone, np.uint8) if self._gone else np.zeros(0, np.uint8)

    def disown(self, client: str) -> None:
        """Mark a client as gone; its remaining rows have no owner."""
        number = self._client_numbers.pop(client, _ABSENT)
        if number != _ABSENT:
            self.names[number] = ""
            self._gone[number] = True

    def follow(self, holders: Holders, entries: Entries[Interest]) -> None:
        """Enter the numbers that were taken or freed since the last call, and empty their list."""
        renamed = holders.renamed
        if len(renamed) >= _MANY and self._follow_many(renamed, holders, entries):
            renamed.clear()
            return
        for number in dict.fromkeys(renamed):
            missing = ROW * (number + 1) - len(self._words)
            if missing > 0:
                self._words.extend([0] * missing)
            if self._words[ROW * number + OWNER] & _SIZE_MASK:
                self._forget(number)
            entry = entries.by_key.get(holders.names[number])
            if entry is not None:
                client = "" if entries.has_left(entry) else entry.client
                self._enter(number, client, entry.id.encode(errors=_ANY_TEXT))
        holders.renamed.clear()

    def _follow_many(
        self, renamed: Sequence[int], holders: Holders, entries: Entries[Interest]
    ) -> bool:
        """Enter numbers that are all new, one after the other; false if they are not.

        Their texts lie one behind the other, each in words of its own, so the first eight bytes of
        each text are the word where it begins.
        """
        first, count = len(self._words) // ROW, len(renamed)
        if renamed[0] != first or not np.array_equal(renamed, np.arange(first, first + count)):
            return False
        names = holders.names[first : first + count]
        # After a start they are all entries: each lookup in a large table takes long.
        if count == len(entries.by_key) and names == [*entries.by_key]:
            some = [*entries.by_key.values()]
        else:
            found = map(entries.by_key.get, names)
            some = [entry for entry in found if entry is not None]
        if len(some) < count or (entries.leaving and any(map(entries.has_left, some))):
            return False
        data, sizes = _encoded([*map(_ID, some)])
        if not sizes.all():
            return False
        starts = np.zeros(count + 1, np.uint64)
        words = (sizes + np.uint64(WORD_BYTES - 1)) // np.uint64(WORD_BYTES)
        np.cumsum(words, out=starts[1:])
        written = _padded(data, sizes, words, starts)
        rows = np.empty((count, ROW), np.uint64)
        rows[:, OWNER] = self._owners(some) << np.uint64(OWNER_BITS) | sizes
        rows[:, START] = starts[:-1] * np.uint64(WORD_BYTES) + np.uint64(len(self._texts))
        rows[:, PREFIX] = np.frombuffer(written, ">u8")[starts[:-1].astype(np.int64)]
        self._texts += written
        self._words.frombytes(rows.tobytes())
        return True

    def _owners(self, entries: Sequence[LocalEntry[Interest]]) -> U64:
        """The numbers of the clients of some entries, whose counts of rows are raised."""
        clients = [*map(_CLIENT, entries)]
        held = Counter(clients)
        for client, rows in held.items():
            if client not in self._client_numbers:
                self._number(client)
            self._held[self._client_numbers[client]] += rows
        numbers = self._client_numbers
        return np.fromiter(map(numbers.__getitem__, clients), np.uint64, len(entries))

    def id(self, number: int) -> str:
        """The client's own id of a subscription."""
        row = ROW * number
        size, start = self._words[row + OWNER] & _SIZE_MASK, self._words[row + START]
        return self._texts[start : start + size].decode(errors=_ANY_TEXT)

    def client(self, number: int) -> str:
        """The owner of a subscription; empty if it has gone."""
        return self.names[self._words[ROW * number + OWNER] >> OWNER_BITS]

    def validate(self, holders: Holders, entries: Entries[Interest]) -> None:
        """Check that there is a row for each subscription, and no other; `InvariantError`."""
        known = {
            key: ("" if entries.has_left(entry) else entry.client, entry.id)
            for key, entry in entries.by_key.items()
        }
        here = {key: (self.client(at), self.id(at)) for key, at in holders.numbers.items()}
        if known != here:
            raise InvariantError("the rows of clients' subscriptions are of others")
        live = [at for at, name in enumerate(self.names) if name]
        if any(bool(name) == self._gone[at] for at, name in enumerate(self.names)):
            raise InvariantError("a client is said to have gone, or to be there, and is not")
        if {self.names[at]: at for at in live} != self._client_numbers:
            raise InvariantError("clients and their numbers disagree")
        owners = [self._words[ROW * at + OWNER] >> OWNER_BITS for at in holders.numbers.values()]
        if any(self._held[at] != owners.count(at) for at in range(len(self.names))):
            raise InvariantError("a client has more or fewer rows than it is said to have")

    def _enter(self, number: int, client: str, text: bytes) -> None:
        """Write a row."""
        words = -(-len(text) // WORD_BYTES)
        padded = text.ljust(words * WORD_BYTES, b"\0")
        free = self._free.get(words)
        if free:
            start = free.pop()
            self._texts[start : start + words * WORD_BYTES] = padded
        else:
            start = len(self._texts)
            self._texts += padded
        owner = self._client_numbers.get(client, _ABSENT)
        if owner == _ABSENT:
            owner = self._number(client)
        self._held[owner] += 1
        row = ROW * number
        self._words[row + OWNER] = owner << OWNER_BITS | len(text)
        self._words[row + START] = start
        prefix = text[:WORD_BYTES].ljust(WORD_BYTES, b"\0")
        self._words[row + PREFIX] = int.from_bytes(prefix, "big")

    def _forget(self, number: int) -> None:
        """Free the region of a row, and its client's number with the client's last row."""
        row = ROW * number
        owner, size = divmod(self._words[row + OWNER], 1 << OWNER_BITS)
        self._free.setdefault(-(-size // WORD_BYTES), []).append(self._words[row + START])
        self._words[row + OWNER] = 0
        self._held[owner] -= 1
        if not self._held[owner]:
            self._client_numbers.pop(self.names[owner], None)
            self.names[owner] = ""
            self._gone[owner] = True
            self._free_clients.append(owner)

    def _number(self, client: str) -> int:
        if self._free_clients:
            owner = self._free_clients.pop()
            self.names[owner] = client
        else:
            owner = len(self.names)
            self.names.append(client)
            self._gone.append(False)
            self._held.append(0)
        self._gone[owner] = not client
        if client:
            self._client_numbers[client] = owner
        return owner


def _encoded(ids: list[str]) -> tuple[U8, U64]:
    """The bytes of some ids, one behind the other, and the length of each."""
    joined = "".join(ids)
    if joined.isascii():  # as a rule
        sizes, data = map(len, ids), joined.encode()
    else:
        texts = [id_.encode(errors=_ANY_TEXT) for id_ in ids]
        sizes, data = map(len, texts), b"".join(texts)
    return np.frombuffer(data, np.uint8), np.fromiter(sizes, np.uint64, len(ids))


def _padded(data: U8, sizes: U64, words: U64, starts: U64) -> bytes:
    """The bytes of ids, each of which begins at a word; `starts` are the words.

    Those of as many words each are rows of a table, into which their bytes go in order.
    """
    if len(words) and words[0] == words.max() == words.min():
        columns = np.arange(int(words[0]) * WORD_BYTES, dtype=np.uint64)
        table = np.zeros((len(words), len(columns)), np.uint8)
        table[columns < sizes[:, None]] = data
        return table.tobytes()
    padded = np.zeros(int(starts[-1]) * WORD_BYTES, np.uint8)
    ends = np.cumsum(sizes)
    shifts = starts[:-1] * np.uint64(WORD_BYTES) - (ends - sizes)
    padded[np.arange(len(data), dtype=np.uint64) + np.repeat(shifts, sizes.astype(np.int64))] = data
    return padded.tobytes()
