"""One end of a connection over UDP: its handshake, and the removal of duplicates.

::

   the end that connects              the end that accepts
   HELLO, no cookie             ->    (a stranger: nothing is kept)
                                <-    RETRY, cookie
   HELLO, cookie                ->
                                <-    WELCOME
   FIRST                        ->
                                <-    TAKEN
   DATA                         <->   DATA

The bytes that the connection on top writes go into these datagrams in turn: its greeting, the
answer to that, its first frames. `DatagramEnd` repeats HELLO and FIRST until they are answered, at
its deadlines; the other end answers each of them. The class uses no clock and no socket: datagrams
come in through `received`, and go out through `take`.
"""

from __future__ import annotations

from collections import deque

from sapwood.limits.datagrams import DATAGRAM_FIRST_MAX, DATAGRAM_RETRY_S, DATAGRAM_WINDOW
from sapwood.wire.datagrams import NO_COOKIE, Datagram, Kind, Packer, encode_datagram, fits


class Seen:
    """The sequence numbers that have arrived, within a window.

    #: bit i of _bits is set iff number _last - i has arrived
    """

    __slots__ = ("_bits", "_last")

    def __init__(self) -> None:
        self._last = 0
        self._bits = 0

    def is_new(self, number: int) -> bool:
        """Record a number, from 1 on; true if it is new, and within the window."""
        if number > self._last:
            ahead = number - self._last
            mask = (1 << DATAGRAM_WINDOW) - 1
            self._bits = ((self._bits << ahead) & mask | 1) if ahead < DATAGRAM_WINDOW else 1
            self._last = number
            return True
        behind = self._last - number
        if number < 1 or behind >= DATAGRAM_WINDOW or self._bits >> behind & 1:
            return False
        self._bits |= 1 << behind
        return True


class DatagramEnd:
    """One end of a connection with an id.

    #: _repeated is the datagram that is repeated until it is answered; only at the end that
    #: connects
    #: is_up: the link is in use, so frames leave as DATA; else they wait in _waiting
    """

    __slots__ = (
        *("_answer", "_due", "_greeting", "_has_first", "_is_dialing", "_number"),
        *(
            "_out",
            "_packer",
            "_repeated",
            "_seen",
            "_waiting",
            "connection",
            "is_closed",
            "is_up",
            "lost",
        ),
    )

    def __init__(self, connection: bytes, *, is_dialing: bool) -> None:
        self.is_up = False
        self.is_closed = False
        #: the number of frames that were too long, or were written while too many waited
        self.lost = 0
        self.connection = connection
        self._is_dialing = is_dialing
        self._greeting = b""
        self._answer = b""
        self._has_first = False
        self._repeated: Datagram | None = None
        self._due: float | None = None
        self._number = 0
        self._packer = Packer()
        self._seen = Seen()
        self._waiting: deque[bytes] = deque()
        self._out: list[bytes] = []

    def take(self) -> list[bytes]:
        """The datagrams to be sent now."""
        out, self._out = self._out, []
        return out

    def next_deadline(self) -> float | None:
        """The time at which `expire` is to be called; `None` for never."""
        return None if self.is_closed else self._due

    def expire(self, now: float) -> None:
        """Repeat the datagram that has no answer yet."""
        if self._due is not None and now >= self._due and self._repeated is not None:
            self._say(self._repeated)
            self._due = now + DATAGRAM_RETRY_S

    def write(self, data: bytes, now: float) -> None:
        """Send the bytes that the connection writes: whole frames."""
        if self.is_closed:
            return
        if self._is_dialing:
            self._write_dialing(data, now)
        elif not self._answer:
            self._answer = data
            self._say(Datagram(Kind.WELCOME, self.connection, data))
        elif self.is_up:
            self._send(data)
        else:
            self._wait(data)

    def received(self, datagram: Datagram, now: float) -> bytes | None:
        """Take in a datagram; return the bytes that the connection is to read, if there are any."""
        match datagram.kind:
            case Kind.CLOSE:
                self.is_closed = True
            case Kind.DATA:
                return self._data(datagram)
            case Kind.RETRY | Kind.WELCOME | Kind.TAKEN if self._is_dialing:
                return self._answered(datagram, now)
            case Kind.HELLO if not self._is_dialing and self._answer:
                self._say(Datagram(Kind.WELCOME, self.connection, self._answer))
            case Kind.FIRST if not self._is_dialing:
                self._say(Datagram(Kind.TAKEN, self.connection))
                if not self._has_first:
                    self._has_first = True
                    self._be_up()
                    return datagram.payload
        return None

    def close(self) -> None:
        """End the connection."""
        if not self.is_closed:
            self.is_closed = True
            self._say(Datagram(Kind.CLOSE, self.connection))

    def _write_dialing(self, data: bytes, now: float) -> None:
        if not self._greeting:
            self._greeting = data
            self._repeat(Datagram(Kind.HELLO, self.connection, data), now)
        elif self.is_up:
            self._send(data)
        elif self._answer and not self._has_first:
            self._has_first = True
            first, *others = self._packer.packed(data)
            self._repeat(Datagram(Kind.FIRST, self.connection, first), now)
            for piece in others:
                self._wait(piece)
        else:
            self._wait(data)

    def _answered(self, datagram: Datagram, now: float) -> bytes | None:
        """Take in an answer to HELLO or FIRST."""
        if datagram.kind is Kind.RETRY:
            if not self._answer and datagram.cookie != NO_COOKIE:
                hello = Datagram(
                    Kind.HELLO, self.connection, self._greeting, cookie=datagram.cookie
                )
                self._repeat(hello, now)
            return None
        if datagram.kind is Kind.WELCOME:
            if self._answer or not datagram.payload:
                return None
            self._answer = datagram.payload
            self._repeated = self._due = None
            return datagram.payload
        if self._has_first and not self.is_up:
            self._repeated = self._due = None
            self._be_up()
        return None

    def _data(self, datagram: Datagram) -> bytes | None:
        """The payload of DATA, unless it is a duplicate, or arrives before the link is in use."""
        if not (self.is_up or self._has_first) or not self._seen.is_new(datagram.number):
            return None
        return datagram.payload

    def _be_up(self) -> None:
        self.is_up = True
        while self._waiting:
            self._send(self._waiting.popleft())

    def _wait(self, data: bytes) -> None:
        if len(self._waiting) < DATAGRAM_FIRST_MAX:
            self._waiting.append(data)
        else:
            self.lost += 1

    def _send(self, data: bytes) -> None:
        for piece in self._packer.packed(data):
            if not fits(piece):
                self.lost += 1
                continue
            self._number += 1
            self._say(Datagram(Kind.DATA, self.connection, piece, self._number))

    def _repeat(self, datagram: Datagram, now: float) -> None:
        self._repeated, self._due = datagram, now + DATAGRAM_RETRY_S
        self._say(datagram)

    def _say(self, datagram: Datagram) -> None:
        self._out.append(encode_datagram(datagram))
