"""The beginning of a connection over UDP, and what is dropped because it came before."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from sapwood.limits.datagrams import (
    DATAGRAM_BYTES_MAX,
    DATAGRAM_FIRST_MAX,
    DATAGRAM_RETRY_S,
    DATAGRAM_WINDOW,
)
from sapwood.session.datagram_link import DatagramEnd, Seen
from sapwood.wire.datagrams import Datagram, Kind, decode_datagram

ID = b"12345678"


def frame(text: str) -> bytes:
    return len(text).to_bytes(4, "big") + text.encode()


@given(st.lists(st.integers(1, 3 * DATAGRAM_WINDOW), max_size=60))
def test_no_number_is_new_twice_and_near_ones_are_new_once(numbers: list[int]) -> None:
    seen, came, last = Seen(), set[int](), 0
    for number in numbers:
        is_new = seen.is_new(number)
        assert not (is_new and number in came)
        if number not in came and number > last - DATAGRAM_WINDOW:
            assert is_new
        came.add(number)
        last = max(last, number)
    assert not seen.is_new(0)


class Pair:
    """Both ends, a stranger's cookie, and a net that loses by a seed."""

    def __init__(self, loss: float, seed: int) -> None:
        self.loss, self.generator = loss, Random(seed)
        self.dialing = DatagramEnd(ID, is_dialing=True)
        self.accepting: DatagramEnd | None = None
        self.now = 0.0
        self.read: dict[str, list[bytes]] = {"dialing": [], "accepting": []}

    def carry(self) -> None:
        """Let datagrams cross, some of them, until none is under way."""
        while True:
            out = self.dialing.take()
            back = [] if self.accepting is None else self.accepting.take()
            if not out and not back:
                return
            for data in self._arriving(out):
                self._at_accepting(data)
            for data in self._arriving(back):
                self._at_dialing(data)

    def _arriving(self, sent: list[bytes]) -> list[Datagram]:
        kept = [data for data in sent if self.generator.random() >= self.loss]
        return [one for one in map(decode_datagram, kept) if one is not None]

    def _at_accepting(self, datagram: Datagram) -> None:
        if self.accepting is None:
            assert datagram.kind is Kind.HELLO
            if datagram.cookie != b"c" * 16:
                retry = Datagram(Kind.RETRY, ID, cookie=b"c" * 16)
                if self.generator.random() >= self.loss:
                    self._at_dialing(retry)
                return
            self.accepting = DatagramEnd(ID, is_dialing=False)
            self.read["accepting"].append(datagram.payload)
            self.accepting.write(frame("welcome"), self.now)
            return
        payload = self.accepting.received(datagram, self.now)
        if payload:
            self.read["accepting"].append(payload)

    def _at_dialing(self, datagram: Datagram) -> None:
        payload = self.dialing.received(datagram, self.now)
        if payload:
            self.read["dialing"].append(payload)
            if payload == frame("welcome"):
                self.dialing.write(frame("established"), self.now)

    def wait(self) -> None:
        """Let what was not answered be said again."""
        due = self.dialing.next_deadline()
        if due is not None:
            self.now = due
            self.dialing.expire(self.now)
        self.carry()


@given(st.integers(0, 2**32), st.floats(0, 0.8))
def test_a_connection_begins_whatever_is_lost(seed: int, loss: float) -> None:
    pair = Pair(loss, seed)
    pair.dialing.write(frame("hello"), 0.0)
    pair.carry()
    for _ in range(400):
        if pair.dialing.is_up:
            break
        pair.wait()
    assert pair.dialing.is_up
    assert pair.dialing.next_deadline() is None
    assert pair.accepting is not None
    assert pair.read["accepting"] == [frame("hello"), frame("established")]
    assert pair.read["dialing"] == [frame("welcome")]
    pair.loss = 0.0
    pair.dialing.write(frame("there"), pair.now)
    pair.accepting.write(frame("back"), pair.now)
    pair.carry()
    assert pair.read["accepting"][-1] == frame("there")
    assert pair.read["dialing"][-1] == frame("back")


def begun() -> Pair:
    pair = Pair(0.0, 1)
    pair.dialing.write(frame("hello"), 0.0)
    pair.carry()
    assert pair.dialing.is_up
    return pair


def test_what_was_repeated_is_read_once() -> None:
    pair = begun()
    pair.dialing.write(frame("x"), 0.0)
    (data,) = pair.dialing.take()
    datagram = decode_datagram(data)
    assert datagram is not None
    assert pair.accepting is not None
    assert pair.accepting.received(datagram, 0.0) == frame("x")
    assert pair.accepting.received(datagram, 0.0) is None


def test_a_close_ends_the_other_end_and_says_nothing_more() -> None:
    pair = begun()
    pair.dialing.close()
    pair.carry()
    assert pair.accepting is not None
    assert pair.accepting.is_closed
    pair.dialing.write(frame("x"), 0.0)
    assert pair.dialing.take() == []


def test_what_cannot_wait_or_is_too_long_is_lost_and_counted() -> None:
    pair = begun()
    pair.dialing.write(frame("x" * DATAGRAM_BYTES_MAX), 0.0)
    assert (pair.dialing.take(), pair.dialing.lost) == ([], 1)
    alone = DatagramEnd(ID, is_dialing=False)
    for number in range(DATAGRAM_FIRST_MAX + 3):
        alone.write(frame(f"{number}"), 0.0)
    assert alone.lost == 2, "the first is the answer, and two more than may wait"


def test_it_is_said_again_when_the_time_has_come_and_not_before() -> None:
    end = DatagramEnd(ID, is_dialing=True)
    end.write(frame("hello"), 1.0)
    first = end.take()
    end.expire(1.0 + DATAGRAM_RETRY_S / 2)
    assert end.take() == []
    end.expire(1.0 + DATAGRAM_RETRY_S)
    assert end.take() == first
