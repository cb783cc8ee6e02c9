"""Stamps on writes and ages of what is read, between two ends wired in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import FrameError
from sapwood.limits import FRAME_BYTES_MAX
from sapwood.limits.timing import AGE_SPREAD_NS, STAMP_EVERY_NS
from sapwood.model.publication import Publication
from sapwood.routing.inputs import Receive
from sapwood.routing.messages import Confirm, Publish
from sapwood.session.connection import Connection
from sapwood.session.link_session import LinkSession
from sapwood.session.settings import ConnectionSettings
from sapwood.session.timekeeper import Timekeeper
from sapwood.timing.drift import Drift
from sapwood.timing.link_bounds import Stamp
from sapwood.timing.local import LocalClock
from sapwood.wire.greetings import Hello, Role, Welcome
from sapwood.wire.messages import Born, Ping
from tests.wire.items import one_by_one


@dataclass
class Time:
    """Real time, which passes when it is told to, and clocks that show it."""

    now: int = 0

    def clock(self, ppm: int, begins: int, epoch: int) -> LocalClock:
        return LocalClock(lambda: begins + self.now * (10**6 + ppm) // 10**6, Drift(), epoch)


def linked(time: Time, delay: int = 0) -> tuple[Connection, Connection]:
    """Two brokers' ends whose clocks drift apart; the greetings are through."""
    clocks = time.clock(500, 10**12, 1), time.clock(-500, -(10**12), 2)
    dialed, accepted = (
        Connection(role, ConnectionSettings(clock=clock), 0.0)
        for role, clock in zip((Role.BROKER, None), clocks, strict=True)
    )
    dialed.greet(Hello(role=Role.BROKER, name="a", session="a"))
    carry(time, dialed, accepted, delay)
    accepted.welcome(Welcome(name="b", session="b", frame_bytes_max=FRAME_BYTES_MAX), Role.BROKER)
    carry(time, accepted, dialed, delay)
    dialed.welcomed()
    accepted.established()
    return dialed, accepted


def carry(
    time: Time, source: Connection, target: Connection, delay: int
) -> list[tuple[object, int | None]]:
    """Carry all outgoing bytes, `delay` later; returns the messages, with the age of each."""
    data = source.take_outgoing()
    time.now += delay
    target.arrived()
    found: list[tuple[object, int | None]] = []
    for message in target.receive(data, 0.0):
        age = target.age_ns()
        found.append((message, age))
    assert target.ending is None, target.ending
    return found


def test_the_age_of_the_first_message_is_known_as_greetings_are_stamped() -> None:
    time = Time()
    dialed, accepted = linked(time, 1_000_000)
    dialed.send(Ping())
    dialed.send_routing(Confirm("k", 1))
    [(message, age)] = carry(time, dialed, accepted, 2_000_000)
    assert message == Confirm("k", 1)
    assert age is not None
    assert 2_000_000 <= age < 3_010_000, "the bound is off by the fastest way back"


@given(
    st.lists(
        st.tuples(
            st.booleans(),
            st.one_of(st.none(), st.integers(0, 10**9)),
            st.integers(0, 10**8),
            st.integers(0, 10**7),
            st.booleans(),
        ),
        max_size=20,
    )
)
def test_no_publication_is_older_than_is_said(
    sent: list[tuple[bool, int | None, int, int, bool]],
) -> None:
    """Whatever its age was when it was put into a write, and whatever else is in that."""
    time = Time(10**9)
    ends = linked(time)
    waiting: tuple[list[int | None], list[int | None]] = ([], [])
    for way, age, delay, pause, is_flushed in sent:
        source, target = ends if way else ends[::-1]
        assert source.timekeeper is not None
        source.mark(None if age is None else source.timekeeper.clock.read() - 2 * age)
        source.send_routing(Confirm("k", 1))
        waiting[way].append(None if age is None else time.now - age)
        time.now += pause
        if is_flushed:
            came = carry(time, source, target, delay)
            for made, (_, told) in zip(waiting[way], came, strict=True):
                assert (made is None) <= (told is None)
                assert told is None or made is None or told >= time.now - made
            waiting[way].clear()


def test_bytes_that_arrive_meanwhile_make_nothing_younger() -> None:
    """A message may be read behind bytes that came later: its stamp is of its own arrival."""
    time = Time(10**9)
    dialed, accepted = linked(time)
    for ago in (0, 10**8):
        assert dialed.timekeeper is not None
        dialed.mark(dialed.timekeeper.clock.read() - ago)
        dialed.send_routing(Confirm("k", 1))
    made = time.now - 10**8
    data = dialed.take_outgoing()
    accepted.arrived()
    reading = accepted.receive(data, 0.0)
    next(reading)
    time.now += 10**9
    accepted.arrived()
    next(reading)
    age = accepted.age_ns()
    assert age is not None
    assert age >= time.now - made


def test_one_word_serves_publications_of_nearly_one_age() -> None:
    time = Time(10**12)
    keeper = Timekeeper(time.clock(0, 0, 1))
    assert keeper.mark(7) is None, "the other end keeps no time, as far as is known"
    keeper.greeted(keeper.greeting())
    assert keeper.mark(5 * AGE_SPREAD_NS + 7) is None, "the stamp says it"
    assert keeper.mark(6 * AGE_SPREAD_NS) is None
    assert keeper.mark(7 * AGE_SPREAD_NS + 9) == Born(7 * AGE_SPREAD_NS)
    assert keeper.mark(2 * AGE_SPREAD_NS + 9) == Born(2 * AGE_SPREAD_NS)
    assert keeper.mark(None) == Born(None)
    assert keeper.mark(None) is None
    assert keeper.mark(2 * AGE_SPREAD_NS + 9) == Born(2 * AGE_SPREAD_NS)


def test_an_end_that_only_reads_stamps_now_and_then() -> None:
    time = Time()
    dialed, accepted = linked(time)
    dialed.send_routing(Confirm("k", 1))
    carry(time, dialed, accepted, 10)
    assert accepted.take_outgoing() == b"", "its greeting was stamped just now"
    time.now += 2 * STAMP_EVERY_NS
    dialed.send_routing(Confirm("k", 1))
    carry(time, dialed, accepted, 10)
    assert accepted.take_outgoing() != b""
    time.now += 2 * STAMP_EVERY_NS
    assert accepted.take_outgoing() == b"", "nothing was read since"


def test_who_has_no_clock_is_not_stamped_and_must_not_stamp() -> None:
    time = Time()
    with_clock = Connection(Role.CLIENT, ConnectionSettings(clock=time.clock(0, 0, 1)), 0.0)
    without = Connection(None, ConnectionSettings(), 0.0)
    with_clock.greet(Hello(role=Role.CLIENT, name="a", session="a"))
    carry(time, with_clock, without, 1)
    without.welcome(Welcome(name="b", session="b", frame_bytes_max=FRAME_BYTES_MAX), Role.CLIENT)
    carry(time, without, with_clock, 1)
    with_clock.welcomed()
    with_clock.send(Ping())
    assert len(with_clock.take_outgoing()) == 6, "a frame with a ping, and no stamp"
    assert with_clock.age_ns() is None
    keeper = Timekeeper(time.clock(0, 0, 1))
    with pytest.raises(FrameError, match="has not said how its clock drifts"):
        keeper.stamped(Stamp(1, 0, 0))


def test_links_hand_on_ages_of_messages_and_keep_those_of_publications() -> None:
    time = Time(10**9)
    dialed, accepted = linked(time)
    sender, receiver = LinkSession("b", "b", dialed), LinkSession("a", "a", accepted)
    assert dialed.timekeeper is not None
    publication = Publication("p", {"x": 1})
    publication.keep_born(dialed.timekeeper.clock.read() - 10**8)
    sender.send(Publish("a", 1, publication))
    sender.send(Confirm("k", 1), 10**7)
    data = dialed.take_outgoing()
    accepted.arrived()
    first, second = (receiver.interpret(one) for one in one_by_one(accepted.receive(data, 0.0)))
    assert isinstance(first, Receive)
    assert isinstance(first.message, Publish)
    born = first.message.publication.born
    assert born is not None
    shown = accepted.timekeeper.clock.read()  # type: ignore[union-attr]
    assert shown - born >= 10**8 * 999 // 1000
    assert isinstance(second, Receive)
    assert second.age_ns is not None
    assert second.age_ns >= 10**7
    assert second == replace(second, age_ns=None), "ages are not compared"
