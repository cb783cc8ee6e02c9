"""The two ends of an edge: rounds, sketches, differences, notes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.language import parse_filter
from sapwood.limits import UPKEEP_NOTE_BYTES_MAX
from sapwood.limits.healing import NOTE_ENTRIES_MAX, ROUNDS_AFRESH
from sapwood.routing.tables import SentEntry
from sapwood.routing.upkeep.stabilize.edges import Difference, Holder, Sender, difference
from sapwood.routing.upkeep.stabilize.notes import (
    Again,
    Correct,
    Listing,
    Observe,
    Sketch,
    note_of,
    portions,
    said_in,
)
from sapwood.routing.upkeep.stabilize.sketched import SketchedTable, named
from sapwood.sketches.shape import Shape

Table = dict[str, SentEntry]
NAMES = st.sampled_from([f"sr{n}.0.1" for n in range(6)])
ELEMENTS = st.dictionaries(NAMES, st.integers(0, 3))


def table(*keys: str, text: str = "x > 1", sending: int = 1) -> Table:
    wanted = parse_filter(text)
    return dict(named("subscription", (SentEntry(key, wanted, sending) for key in keys)))


def compare(sender: Sender, told: Table, holder: Holder, held: Table) -> Difference | None:
    """A round between two tables that nobody changes; `None` where sketches are alike."""
    question: Observe | None = sender.observe(told.items(), 0)
    while question is not None:
        answers = [said_in(note_of(one).note) for one in holder.answer(question, held.items())]
        question = None
        for answer in answers:
            if isinstance(answer, Sketch):
                question = sender.heard_sketch(answer, told.items()) or question
            elif isinstance(answer, Listing):
                found = sender.heard_listing(answer, told.items())
                if found is not None:
                    return found
    return None


def test_equal_tables_need_one_question() -> None:
    sender, holder = Sender("a/b"), Holder()
    for _ in range(3 * ROUNDS_AFRESH):
        assert compare(sender, table("k", "l"), holder, table("l", "k")) is None
    assert sender.number == 3 * ROUNDS_AFRESH
    assert not sender.is_asking


def test_what_lacks_and_what_is_too_much_is_found_by_name() -> None:
    found = compare(Sender("a/b"), table("k", "l"), Holder(), table("l", "m"))
    assert found == Difference(("sk",), ("sm",))


def test_another_filter_or_another_number_under_a_key_is_another_entry() -> None:
    for held in (table("k", text="x > 2"), table("k", sending=2)):
        assert compare(Sender("a/b"), table("k"), Holder(), held) == Difference(("sk",), ("sk",))


def test_tables_of_many_notes_are_compared_part_by_part() -> None:
    told = table(*(f"router-{n}.0.{n}" for n in range(1500)))
    held = dict(told)
    del held["srouter-7.0.7"]
    sender, holder = Sender("a/b"), Holder()
    assert compare(sender, told, holder, held) == Difference(("srouter-7.0.7",), ())
    assert compare(sender, told, holder, told) is None


@given(ELEMENTS, ELEMENTS, ELEMENTS)
def test_a_correction_undoes_nothing_that_was_said_meanwhile(
    snapshot: dict[str, int], listed: dict[str, int], now: dict[str, int]
) -> None:
    found = difference(snapshot, listed, now)
    # While the answer was on its way the sender said how what it had told changed, and the holder
    # did as it was told: what it did not have, it did not drop; what it had already, it kept.
    held = dict(listed)
    for name in snapshot.keys() - now.keys():
        held.pop(name, None)
    held |= {name: one for name, one in now.items() if snapshot.get(name) != one}
    for name in found.surplus:
        assert now.get(name) != held.get(name)
        held.pop(name, None)
    for name in found.missing:
        held[name] = snapshot[name]
        assert now[name] == held[name]
    assert held == now


def test_an_answer_to_an_earlier_question_says_nothing() -> None:
    sender, holder = Sender("a/b"), Holder()
    late = list(holder.answer(sender.observe(table("k").items(), 0), ()))
    sender.observe(table("k").items(), 0)
    assert all(isinstance(one, Sketch) for one in late)
    for one in late:
        assert isinstance(one, Sketch)
        assert sender.heard_sketch(one, table("k").items()) is None
    assert sender.is_asking
    assert sender.heard_listing(Listing(1, 0, 1, (), ()), ()) is None


def test_a_sketch_is_believed_for_some_rounds_and_no_longer() -> None:
    sender, holder, told = Sender("a/b"), Holder(), table("k", "l")
    salts = set()
    for _ in range(2 * ROUNDS_AFRESH):
        question = sender.observe(told.items(), 0)
        list(holder.answer(question, told.items()))
        salts.add(question.salt)
    assert 2 <= len(salts) <= 4


def test_a_sketch_grows_with_the_table_of_either_end() -> None:
    sender = Sender("a/b")
    small = sender.observe(table("k").items(), 0).size
    assert sender.observe(table("k").items(), 4000).size >= 16_000 > small


def test_what_was_remembered_wrongly_is_forgotten_when_tables_seem_to_differ() -> None:
    sender, holder, told = Sender("a/b"), Holder(), table("k", "l")
    assert compare(sender, told, holder, told) is None
    for spoiled in (sender.table, holder.table):
        spoiled.sum += 1
        assert compare(sender, told, holder, told) == Difference((), ())
        assert compare(sender, told, holder, told) is None


def test_a_table_that_is_followed_has_the_summary_of_a_new_one() -> None:
    followed, shape = SketchedTable(), Shape(128, 2, 5)
    for keys in (("k", "l"), ("l", "m", "n"), (), ("k",)):
        assert followed.summary(table(*keys).items(), shape) == SketchedTable().summary(
            table(*keys).items(), shape
        )


@given(st.lists(st.text(min_size=1, max_size=200), max_size=300, unique=True))
def test_names_go_in_notes_that_fit(names: list[str]) -> None:
    parts = list(portions(names))
    assert [name for part in parts for name in part] == names
    for part in parts:
        elements = tuple(2**64 - 1 for _ in part)
        note = note_of(Listing(2**53, 9, 9, part, elements)).note
        assert len(note) <= UPKEEP_NOTE_BYTES_MAX
        assert len(part) <= NOTE_ENTRIES_MAX


def test_notes_of_others_and_damaged_ones_are_none() -> None:
    note = note_of(Correct(("sk",), 1)).note
    assert said_in(note) == Correct(("sk",), 1)
    assert said_in(note_of(Again(("sk",))).note) == Again(("sk",))
    assert said_in(b"F" + note[1:]) is None
    assert said_in(note[:-1]) is None
    assert said_in(b"Z") is None
    assert said_in(note.replace(b"sk", b"s\xff")) is None
