"""The leases of one router: how long they last, and what is said of them.

P37, P38 and P40 are properties of XSiena chapter 7 (the dossier's numbers).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InputError
from sapwood.language import parse_filter
from sapwood.language.advertisements import parse_advertisement
from sapwood.limits import UPKEEP_NOTE_BYTES_MAX
from sapwood.limits.leases import LEASE_EXTENSION_MAX_S
from sapwood.routing.effects import Effect, Send
from sapwood.routing.inputs import AttachClient, ClientSubscribe, Input, LinkUp, Receive, Tick
from sapwood.routing.messages import Confirm, Stamped, Subscribe, UpkeepNote
from sapwood.routing.protocols import protocol
from sapwood.routing.router import Router
from sapwood.routing.upkeep.leases.choice import leases_on
from sapwood.routing.upkeep.leases.extension import (
    Conservative,
    Extension,
    Uncertainty,
    Unextended,
)
from sapwood.routing.upkeep.leases.gate import Gate
from sapwood.routing.upkeep.leases.leases import Leases
from sapwood.routing.upkeep.leases.notes import (
    Missing,
    Number,
    Renewal,
    Renewed,
    digest_of,
    note_of,
    number_in,
    portions,
    said_in,
    stamp_of,
)
from sapwood.routing.upkeep.leases.table import Lease, LeaseTable
from sapwood.routing.upkeep.leases.terms import Terms
from sapwood.timing.drift import Drift

WANTED = parse_filter("x > 1")
NS = 1_000_000_000
EXACT = Drift(0, 0)
"""A clock that is right, so that leases are as long as the works say."""


def router_on(terms: Terms, name: str = "r2") -> Router:
    chosen = protocol("simple+leases")
    strategy = leases_on(terms)
    return Router(name, replace(chosen, upkeep=strategy))


def leases_of(router: Router) -> Leases:
    assert isinstance(router.upkeep, Leases)
    return router.upkeep


def terms(interval_s: float, extension: Callable[[], Extension] = Conservative) -> Terms:
    return Terms(interval_s, interval_s, extension, EXACT)


def renewal(interval_s: float, *, origin: str = "s", number: Number | None = None) -> UpkeepNote:
    entry = Renewed("s.0.1", digest_of(WANTED))
    return note_of(Renewal(number, origin, round(interval_s * 1e6), (entry,)))


def stated(router: Router, age_s: float, now: float) -> None:
    router.handle(Receive("r1", Subscribe("s.0.1", WANTED, 1), age_ns=round(age_s * NS)), now)


def expiry_of(router: Router) -> float | None:
    return leases_of(router)._tables[0].next_expiry()


@pytest.mark.parametrize(("age_s", "lease_s"), [(3, 8), (5, 10)])
def test_figure_7_4_an_interval_is_extended_by_the_age(age_s: int, lease_s: int) -> None:  # P40
    router = router_on(terms(5.0))
    router.handle(LinkUp("r1"), 0.0)
    stated(router, age_s, 100.0)
    assert expiry_of(router) == 100.0 + lease_s
    router.handle(Receive("r1", renewal(5.0), age_ns=age_s * NS), 101.0)
    assert leases_of(router)._tables[0].get("r1", "s.0.1").expires == 101.0 + lease_s  # type: ignore[union-attr]


def test_figure_7_3_intervals_alone_end_when_the_third_router_hears() -> None:  # P40
    expiries = []
    for name, hears in (("B1", 2.0), ("B3", 6.0)):
        router = router_on(terms(4.0, Unextended), name)
        router.handle(LinkUp("r1"), 0.0)
        stated(router, hears, hears)
        expiries.append(expiry_of(router))
    assert expiries[0] == 6.0  # the instant at which B3 receives it
    assert expiries[1] == 10.0


@given(
    st.lists(st.integers(0, 40), min_size=2, max_size=8),
    st.integers(1, 40),
    st.integers(1, 40),
)
def test_an_entry_outlives_renewals_that_are_late_by_no_more_than_is_allowed(  # P38
    delays: list[int], period: int, interval: int
) -> None:
    router = router_on(terms(float(interval)))
    router.handle(LinkUp("r1"), 0.0)
    lease_ends, last = None, 0.0
    for number, delay in enumerate(delays):
        now = float(number * period + delay)
        if lease_ends is not None:
            if now < last:  # overtaken: links are FIFO, so this one is as late as the one before
                now = last
            due = now >= lease_ends
            router.handle(Tick(), now)
            assert (router.table_sizes()["received"] == 0) == due
            if due:
                return
            router.handle(Receive("r1", renewal(interval), age_ns=delay * NS), now)
        else:
            stated(router, delay, now)
        last, lease_ends = now, now + interval + delay


@given(st.integers(-(10**6), 10**6))
def test_no_decision_rests_on_what_a_clock_shows_at_first(offset: int) -> None:  # P37
    told: list[list[Effect]] = []
    for begin in (0.0, float(offset)):
        router = router_on(Terms(3.0, 1.0))
        effects: list[Effect] = []
        inputs: list[tuple[Input, float]] = [
            (LinkUp("r1"), 0.0),
            (LinkUp("r3"), 0.0),
            (AttachClient("c"), 0.5),
            (ClientSubscribe("c", "s", WANTED), 0.5),
            (Receive("r1", Subscribe("s.0.1", WANTED, 1), age_ns=NS), 0.5),
            (Tick(), 1.0),
            (Receive("r1", renewal(3.0), age_ns=NS), 1.5),
            (Tick(), 2.0),
            (Tick(), 5.75),
        ]
        for one, at in inputs:
            effects += router.handle(one, begin + at)
        told.append(effects)
        assert router.table_sizes()["received"] == 0
    assert told[0] == told[1]


def test_a_corrupted_age_keeps_an_entry_no_longer_than_the_cap() -> None:
    router = router_on(terms(5.0))
    router.handle(LinkUp("r1"), 0.0)
    for age_ns in (10**30, None):
        router.handle(Receive("r1", Subscribe("s.0.1", WANTED, 1), age_ns=age_ns), 0.0)
        assert expiry_of(router) == 5.0 + LEASE_EXTENSION_MAX_S


def test_who_lacks_an_entry_asks_for_it_and_gets_it() -> None:
    owner, other = router_on(Terms(), "s"), router_on(Terms())
    for one in (AttachClient("c"), LinkUp("r2"), ClientSubscribe("c", "a", WANTED)):
        owner.handle(one, 0.0)
    other.handle(LinkUp("s"), 0.0)
    due = owner.next_deadline()
    assert due == 20.0
    (said,) = owner.handle(Tick(), due)
    assert isinstance(said, Send)
    asked = [
        one
        for one in other.handle(Receive("s", said.message, age_ns=0), due)
        if isinstance(one, Send)
    ]
    assert said_in(asked[0].message) == Missing(None, ("s.0.1",))  # type: ignore[arg-type]
    (again,) = owner.handle(Receive("r2", asked[0].message, age_ns=0), due)
    assert again == Send("r2", Subscribe("s.0.1", WANTED, 1))
    (answer,) = other.handle(Receive("s", Subscribe("s.0.1", WANTED, 1), age_ns=0), due)
    assert answer == Send("s", Confirm("s.0.1", 1))


def test_a_key_of_another_side_is_not_believed_until_leases_have_run_out() -> None:
    router = router_on(Terms(10.0, 3.0))
    for neighbor in ("r1", "r3"):
        router.handle(LinkUp(neighbor), 0.0)
    stated(router, 0, 0.0)
    for key in ("s.0.1", "r2.0.7"):  # of another side, and of this router itself
        assert router.handle(Receive("r3", Subscribe(key, WANTED, 1), age_ns=0), 1.0) == []
    assert router.table_sizes()["received"] == 1


def test_on_a_lossy_link_what_is_late_or_comes_twice_is_dropped() -> None:
    router = router_on(Terms())
    router.handle(LinkUp("r1", is_lossy=True), 0.0)
    assert router.handle(Receive("r1", Subscribe("k", WANTED, 1)), 0.0) == []  # not numbered
    first, later = (
        Stamped(stamp_of(Number(0, 1, n)), Subscribe(f"k{n}", WANTED, n)) for n in (1, 2)
    )
    for message in (later, first, later):
        router.handle(Receive("r1", message), 0.0)
    assert [key for _, key, *_ in router.received()] == ["k2"]
    counts = router.counters()
    assert counts["leases_overtaken"] == 3


def test_a_number_that_nobody_reaches_is_forgotten() -> None:
    gate = Gate(1, 1, patience_s=10.0)
    assert gate.number() == Number(1, 1, 1)
    assert gate.admits(Number(9, 9, 9), 0.0)
    assert not gate.admits(Number(1, 1, 2), 10.0)
    assert gate.admits(Number(1, 1, 3), 10.5)
    assert not gate.admits(None, 11.0)


def test_uncertainty_is_how_far_ages_lie_apart_in_the_window() -> None:  # P44
    by_time, by_count = Uncertainty(20.0), Uncertainty(None, 2)
    assert by_time.of("p", 5, 0.0) == 5  # the first one says nothing of others
    assert by_time.of("p", 9, 10.0) == 4
    assert by_time.of("q", 7, 10.0) == 7
    assert by_time.of("p", 9, 25.0) == 0
    assert [by_count.of("p", age, 0.0) for age in (5, 9, 8, 8)] == [5, 4, 1, 0]
    assert by_time.of("p", None, 26.0) == LEASE_EXTENSION_MAX_S * 1e9
    assert Unextended().of("p", 9, 0.0) == 0


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 50)), min_size=2, max_size=30))
def test_uncertainty_is_the_largest_minus_the_smallest(steps: list[tuple[int, int]]) -> None:
    extension, now, seen = Uncertainty(10.0), 0.0, list[tuple[float, int]]()
    for step, age in steps:
        now += step
        seen.append((now, age))
        ages = [one for at, one in seen if at >= now - 10.0]
        expected = max(ages) - min(ages) if len(ages) > 1 else age
        assert extension.of("p", age, now) == expected


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 9), st.booleans()), max_size=40))
def test_leases_run_out_in_order_and_none_is_forgotten(steps: list[tuple[str, int, bool]]) -> None:
    table, model, now = LeaseTable(), dict[str, float](), 0.0
    for key, length, is_dropped in steps:
        if is_dropped:
            table.drop("n", key)
            model.pop(key, None)
        else:
            table.begin("n", key, Lease(now, now + length, 0))
            model[key] = now + length
        table.validate()
        assert table.next_expiry() == min(model.values(), default=None)
        now += 1.0
        gone = [key for _, key in table.expired(now)]
        assert sorted(gone) == sorted(key for key, at in model.items() if at <= now)
        model = {key: at for key, at in model.items() if at > now}
        assert len(table) == len(model)


def test_notes_are_split_and_none_is_too_long() -> None:
    many = [Renewed(f"router-{number}.0.{number}", b"x" * 8, 2**62) for number in range(500)]
    parts = list(portions(many[:400], many[400:]))
    assert [one for part in parts for one in part[1]] == many[400:]
    assert [one for part in parts for one in part[0]] == many[:400]
    notes = [
        note_of(Renewal(Number(2**62, 2**62, 2**62), "r" * 200, 10**9, *part)) for part in parts
    ]
    assert all(len(note.note) <= UPKEEP_NOTE_BYTES_MAX for note in notes)
    assert not list(portions([Renewed("k" * 2000, b"")], []))


def test_what_cannot_be_read_says_nothing() -> None:
    for text in (b"", b"\xff", b"\x93\xa1r\xa5\xf1\xf1\xf1\xf1\xf1", b"\xa5\xf1\xf1\xf1\xf1\xf1"):
        assert said_in(UpkeepNote(text)) is None
        assert number_in(text) is None
    router = router_on(Terms())
    router.handle(LinkUp("r1"), 0.0)
    assert router.handle(Receive("r1", UpkeepNote(b"?")), 0.0) == []
    assert router.counters()["leases_unread"] == 1


def test_equal_content_has_one_digest_whatever_it_is() -> None:
    assert digest_of(parse_filter("x > 1 and y < 2")) == digest_of(parse_filter("y < 2 and x > 1"))
    patterns = [parse_filter(f"t like '{text}'") for text in ("%a%b%", "%b%a%")]
    assert digest_of(patterns[0]) != digest_of(patterns[1])
    paths = parse_advertisement("/a/b")
    assert digest_of(paths) == digest_of(parse_advertisement("/a/b")) != digest_of(WANTED)


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("leases", Conservative),
        ("leases:20", Conservative),
        ("leases:20:none", Unextended),
        ("leases:20:uncertainty", Uncertainty),
        ("leases:20:uncertainty=30s", Uncertainty),
        ("leases:20:uncertainty=200", Uncertainty),
    ],
)
def test_a_word_says_how_long_leases_are(word: str, kind: type) -> None:
    chosen = protocol(f"{word}+covering")
    assert chosen.name == f"covering+{word}"
    assert chosen.allows_loss
    router = Router("r1", chosen)
    made = leases_of(router)._terms
    assert isinstance(made.extension(), kind)
    assert made.interval_s == (20.0 if ":" in word else 60.0)
    assert made.period_s == made.interval_s / 3


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("covering+leases:soon", "says no interval"),
        ("covering+leases:0", "says no interval"),
        ("covering+leases:20:luck", "says no extension"),
        ("covering+leases:20:uncertainty=1", "says no extension"),
        ("covering+leases:20:uncertainty=xs", "says no extension"),
        ("mesh+covering+leases", "along one tree"),
        ("xroute+leases", "counts"),
        ("covering+leases+failover", "goes to a backup"),
        ("covering+leases+recover", "only one can"),
    ],
)
def test_what_leases_cannot_do_is_refused_with_the_reason(name: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        protocol(name)
