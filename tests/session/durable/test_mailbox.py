"""A mailbox: what is handed out, taken back, acknowledged, let go and kept."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.errors import FileFormatError, InputError
from sapwood.limits.durable import DURABLE_OUT_BYTES_MAX, MAILBOX_CHUNK
from sapwood.session.durable.chunks import Chunks
from sapwood.session.durable.mailbox import Mailbox
from sapwood.session.durable.policy import Bounds
from sapwood.session.durable.rows import Kind, PutValue, Row, decoded
from sapwood.wire.durable import Overflow, Policy
from tests.examples import examples

ME = ("client", "end")
OTHER = ("other", "end")
YEAR_S = 365 * 86_400.0


def mailbox(count: int = 0, **bounds: object) -> Mailbox:
    """A mailbox with so many publications of 10 bytes, at the places 100, 101, ..."""
    made = Mailbox(Bounds(**bounds))  # type: ignore[arg-type]
    for place in range(count):
        made.put(100 + place, 10, 0.0)
    return made


def numbers(box: Mailbox, count: int = 100, now: float = 0.0) -> list[int]:
    taken = [parcel.number for parcel in box.take(ME, count, 1 << 30, now)]
    box.validate()
    return taken


def test_what_is_handed_out_is_not_handed_out_again() -> None:
    box = mailbox(3)
    assert numbers(box, 2) == [1, 2]
    assert numbers(box) == [3]
    assert numbers(box) == []


def test_a_consumer_that_goes_gives_back_what_it_has_not_acknowledged() -> None:
    box = mailbox(3)
    assert numbers(box) == [1, 2, 3]
    box.acknowledge((2, 2))
    assert box.give_back(ME) == 2
    again = box.take(OTHER, 10, 1 << 30, 0.0)
    assert [(parcel.number, parcel.attempt, parcel.place) for parcel in again] == [
        (1, 2, 100),
        (3, 2, 102),
    ]


def test_what_is_not_acknowledged_in_time_is_handed_out_again() -> None:
    box = mailbox(2, acknowledge_s=5.0)
    assert numbers(box, 1, now=0.0) == [1]
    assert numbers(box, 1, now=3.0) == [2]
    assert box.next_deadline() == 5.0
    assert box.expire(4.9) == []
    assert box.expire(5.0) == [ME]
    assert numbers(box, now=5.0) == [1]
    assert box.next_deadline() == 8.0


def test_an_acknowledgement_after_the_time_counts_all_the_same() -> None:
    box = mailbox(1, acknowledge_s=5.0)
    assert numbers(box) == [1]
    box.expire(5.0)
    assert box.acknowledge((1, 1)) == 1
    assert numbers(box, now=6.0) == []
    assert box.count == 0


def test_acknowledging_twice_changes_nothing() -> None:
    box = mailbox(2)
    numbers(box)
    assert box.acknowledge((1, 1)) == 1
    assert box.acknowledge((1, 2)) == 1
    assert box.acknowledge((1, 2)) == 0
    box.validate()


@pytest.mark.parametrize("runs", [(3, 3), (1, 3), (0, 1), (1, 2**62)])
def test_acknowledging_what_was_never_delivered_is_an_error(runs: tuple[int, int]) -> None:
    box = mailbox(3)
    numbers(box, 2)
    with pytest.raises(InputError, match=r"never delivered; the last one delivered is 2"):
        box.acknowledge(runs)
    assert box.count == 3


def test_the_oldest_makes_room_where_the_bound_of_publications_is_reached() -> None:
    box = mailbox(3, count_max=3)
    numbers(box, 1)
    assert box.put(200, 10, 0.0) == 1
    assert (box.count, box.dropped) == (3, 1)
    assert numbers(box) == [2, 3, 4]
    assert box.acknowledge((1, 1)) == 0  # let go meanwhile, which its consumer could not know


def test_the_newest_is_not_taken_where_that_is_the_policy() -> None:
    box = mailbox(3, count_max=3, overflow=Overflow.NEWEST)
    assert box.put(200, 10, 0.0) == 1
    assert numbers(box) == [1, 2, 3]
    assert box.dropped == 1


@pytest.mark.parametrize(("overflow", "left"), [("oldest", [3, 4]), ("newest", [1, 2, 3])])
def test_the_bound_of_bytes_lets_go_until_it_fits(overflow: str, left: list[int]) -> None:
    box = mailbox(3, bytes_max=35, overflow=Overflow(overflow))
    box.put(200, 20, 0.0)
    assert numbers(box) == left


def test_one_publication_is_taken_however_long_it_is() -> None:
    for overflow in Overflow:
        box = mailbox(bytes_max=35, overflow=overflow)
        assert box.put(1, 100, 0.0) == 0
        assert numbers(box) == [1]


def test_what_waits_too_long_is_let_go() -> None:
    box = mailbox(age_max_s=10.0)
    for time in (0.0, 5.0, 9.0):
        box.put(int(time), 10, time)
    assert box.age(9.9) == 0
    assert box.age(15.0) == 2
    assert numbers(box) == [3]


def test_nothing_is_too_old_without_a_bound_of_age() -> None:
    box = mailbox(5, age_max_s=0.0)
    assert box.age(100 * YEAR_S) == 0


def test_a_mailbox_that_nobody_reads_for_a_year_keeps_what_its_bounds_allow() -> None:
    box = mailbox(age_max_s=30 * 86_400.0, count_max=1000)
    for hour in range(365 * 24):
        box.put(hour, 10, hour * 3600.0)
    box.age(YEAR_S)
    assert box.count == 30 * 24 - 1
    assert box.dropped == 365 * 24 - box.count
    assert len(list(box._chunks)) <= 2


def test_what_the_journal_does_not_keep_is_let_go() -> None:
    box = mailbox(5)
    assert box.forget_before(103) == 3
    assert (numbers(box), box.lowest_place(), box.dropped) == ([4, 5], 103, 3)


def test_a_consumer_gets_no_more_bytes_than_it_may_have() -> None:
    box = mailbox()
    for place in range(3):
        box.put(place, DURABLE_OUT_BYTES_MAX // 2, 0.0)
    assert numbers(box) == [1, 2]
    assert numbers(box) == []
    box.acknowledge((1, 1))
    assert numbers(box) == [3]


def test_a_consumer_with_nothing_gets_a_publication_however_long_it_is() -> None:
    box = mailbox()
    box.put(0, 2 * DURABLE_OUT_BYTES_MAX, 0.0)
    assert numbers(box) == [1]


def test_one_that_is_never_acknowledged_holds_its_own_chunk_and_no_other() -> None:
    box = mailbox(1)
    numbers(box)
    for _ in range(4 * MAILBOX_CHUNK // 64):
        for _ in range(64):
            box.put(0, 10, 0.0)
        for number in numbers(box, 64):
            box.acknowledge((number, number))
    assert len(list(box._chunks)) == 1
    assert len(box._order) <= MAILBOX_CHUNK + 3
    assert (box.count, box.lowest_place()) == (1, 100)


@settings(max_examples=examples(25))
@given(
    st.lists(
        st.tuples(st.sampled_from(("put", "settle", "rows", "restore")), st.integers(1, 40)),
        max_size=30,
    )
)
def test_rows_bring_back_what_waited_when_they_were_taken(steps: list[tuple[str, int]]) -> None:
    kept: dict[tuple[Kind, int], Row] = {}
    box, place = mailbox(), 0

    def keep() -> None:
        for row in box.rows("m"):
            if row.value is None:
                del kept[row.kind, row.number]
            else:
                kept[row.kind, row.number] = row

    def waiting(one: Mailbox) -> dict[int, int]:
        return {
            number: chunk.places[number - chunk.first]
            for _, chunk in one._chunks
            for number in range(chunk.first, chunk.end)
            if one._chunks.holds(number)
        }

    for step, count in steps:
        if step == "put":
            for _ in range(count * 200):
                box.put(place, 10, 1.0)
                place += 1
        elif step == "settle":
            for parcel in box.take(ME, count * 300, 1 << 30, 0.0):
                if parcel.number % 7 or count > 30:
                    box.acknowledge((parcel.number, parcel.number))
            box.give_back(ME)
        else:
            keep()
        if step == "restore":
            last, there = box.last, waiting(box)
            put = [
                (row.number, decoded(row, PutValue)) for row in kept.values() if row.kind == "put"
            ]
            settled = [row for row in kept.values() if row.kind == "settled"]
            runs = [one for row in settled for one in decoded(row, tuple[int, ...])]
            box = mailbox()
            box.restore(last, sorted(put, key=lambda one: one[0]), runs)
            assert (waiting(box), box.last) == (there, last)
        box.validate()


def test_numbers_go_on_where_a_journal_lost_its_end() -> None:
    box = mailbox()
    box.restore(9, [(1, PutValue((5, 6), (10, 10), (0.0, 0.0)))], ())
    box.put(7, 10, 0.0)
    assert numbers(box) == [1, 2, 10]


def test_a_damaged_row_says_whose_it_is() -> None:
    row = Row(Kind.PUT, "alerts", 7, b"\xc1")
    with pytest.raises(FileFormatError, match=r"'alerts', row put 7: is damaged"):
        decoded(row, PutValue)


def test_bounds_say_which_is_too_short() -> None:
    with pytest.raises(InputError, match="DURABLE_SECONDS_MIN"):
        Bounds().changed(Policy(acknowledge_s=0.001))
    assert Bounds().changed(Policy(age_max_s=0.0)).age_max_s == 0.0
    assert Bounds().changed(Policy(count_max=5)).policy().count_max == 5


def test_runs_of_numbers_over_absent_chunks_take_no_time() -> None:
    chunks = Chunks()
    chunks.add(1, 1, 0.0)
    assert list(chunks.spans(1, 2**62)) == [range(1, 2)]
