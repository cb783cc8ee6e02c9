"""The ids that a router has given: what a disk that has become older does not know of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.limits.recover import LIVES_REMEMBERED_MAX
from sapwood.routing.effects import Persist
from sapwood.routing.inputs import Note
from sapwood.routing.upkeep.recover.given import GIVEN, GivenIds
from sapwood.routing.upkeep.recover.notes import ConversationId

LIVES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 20)), min_size=1, max_size=8)
"""Of each life: the ids that it gives, and the number of writings that its disk has lost before."""


def note_in(persisted: list[Persist]) -> bytes:
    (persist,) = persisted
    assert isinstance(persist.record, Note)
    assert persist.record.name == GIVEN
    return persist.record.value


@given(LIVES)
def test_an_id_is_lost_if_and_only_if_the_disk_has_not_been_told_of_it(
    lives: list[tuple[int, int]],
) -> None:
    disk: list[tuple[bytes, frozenset[ConversationId]]] = []
    ever: set[ConversationId] = set()
    present, known = GivenIds(), frozenset[ConversationId]()
    for life, (count, lost) in enumerate(lives):
        disk = disk[: max(1, len(disk) - lost)]  # the first one is never lost: else all are new
        present, known = GivenIds(), frozenset()
        if disk:
            note, known = disk[-1]
            present.restore(note)
        for number in range(count + 1):
            one = ConversationId(life, number)
            known |= {one}
            disk.append((note_in(present.give(one)), known))
        ever |= known
        for one in ever:
            if one.number == 0:  # that is its life's: conversations begin with 1
                continue
            assert present.has_lost(one, life) == (one not in known and one.life < life)
    assert not present.has_lost(None, len(lives))
    assert not present.has_lost(ConversationId(len(lives), 9), len(lives))


def test_an_id_that_is_no_news_is_not_written_again() -> None:
    present = GivenIds()
    assert present.give(ConversationId(3, 1))
    assert present.give(ConversationId(3, 1)) == []


def test_lives_before_a_router_began_anew_are_not_judged() -> None:
    present = GivenIds()
    present.give(ConversationId(3, 1))
    assert present.has_lost(ConversationId(4, 1), 7)
    present.begin_anew()
    assert not present.has_lost(ConversationId(4, 1), 7)
    present.give(ConversationId(8, 1))
    assert not present.has_lost(ConversationId(4, 1), 9)


def test_a_bounded_number_of_lives_is_remembered() -> None:
    present = GivenIds()
    for life in range(LIVES_REMEMBERED_MAX + 10):
        note = note_in(present.give(ConversationId(life, 2**63 - 1)))
    assert len(note) <= 16 * LIVES_REMEMBERED_MAX
    assert not present.has_lost(ConversationId(3, 2), 1000)
