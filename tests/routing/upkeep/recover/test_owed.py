"""The retransmission buffer of a link."""

from __future__ import annotations

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InvariantError
from sapwood.model.publication import Publication
from sapwood.routing.effects import Send, SendMany
from sapwood.routing.messages import Publish, PublishMany, Unsubscribe
from sapwood.routing.upkeep.recover.owed import Content, LetGo, Owed, send


def many(*ids: int) -> PublishMany:
    return PublishMany("r1", 1, [Publication(str(one), {}) for one in ids])


def numbered(content: Content | LetGo) -> list[str]:
    """The ids or the key that a neighbor gets, one by one."""
    if isinstance(content, PublishMany):
        return [one.id for one in content.batch]
    assert isinstance(content, Unsubscribe)
    return [content.key]


def first_place(owed: Owed) -> int | None:
    """The place, asked for anew."""
    return owed.place


def test_the_example_of_the_module() -> None:
    owed = Owed(7)
    owed.append(Unsubscribe("8"), None)
    owed.append(many(9, 10, 11, 12), 130)
    owed.append(Publish("r1", 1, Publication("13", {})), 140)
    assert (owed.made, len(owed), first_place(owed)) == (13, 6, 130)
    owed.acknowledge(10)
    first, last = owed.since(10, 100)
    assert (first.number, first.last, numbered(first.content)) == (11, 12, ["11", "12"])
    assert (last.number, last.last, last.place) == (13, 13, 140)
    assert (len(owed), first_place(owed)) == (3, 130)
    owed.validate()
    owed.acknowledge(12)
    assert first_place(owed) == 140
    owed.acknowledge(13)
    assert len(owed) == 0
    assert first_place(owed) is None
    assert list(owed.since(13, 1)) == []


def test_entries_are_sent_as_they_were() -> None:
    batch = many(1, 2)
    assert send("r2", batch) == SendMany("r2", batch)
    assert send("r2", Unsubscribe("k")) == Send("r2", Unsubscribe("k"))


@given(st.lists(st.integers(0, 4), max_size=12), st.data())
def test_what_is_left_is_what_was_made_and_not_acknowledged(
    sizes: list[int], data: st.DataObject
) -> None:
    owed, made = Owed(), list[str]()
    for size in sizes:
        if size == 0:
            owed.append(Unsubscribe(str(len(made) + 1)), None)
            made.append(str(len(made) + 1))
        else:
            numbers = range(len(made) + 1, len(made) + 1 + size)
            owed.append(many(*numbers), len(made))
            made.extend(map(str, numbers))
        owed.acknowledge(data.draw(st.integers(0, len(made))))
        owed.validate()
    known = owed.acknowledged
    since = data.draw(st.integers(known, len(made)))
    left = [one for entry in owed.since(since, len(made)) for one in numbered(entry.content)]
    assert left == made[since:]
    assert len(owed) == len(made) - known


def test_some_of_it_is_whole_entries_and_no_less_than_asked_for() -> None:
    owed = Owed()
    for first in (1, 4, 7):
        owed.append(many(first, first + 1, first + 2), 0)
    assert [entry.number for entry in owed.since(0, 4)] == [1, 4]
    assert [entry.number for entry in owed.since(1, 1)] == [2]


def test_a_gap_is_noticed() -> None:
    owed = Owed()
    owed.append(Unsubscribe("1"), None)
    owed.made += 1
    with pytest.raises(InvariantError, match="up to 2 were made, 1 are there"):
        owed.validate()
    owed.acknowledged += 1
    with pytest.raises(InvariantError, match="message 2 is owed, and not there"):
        owed.validate()


def let_go(*places: int, tree: tuple[str, int] | None = None) -> LetGo:
    return LetGo("r1", 1, array("q", places), tree=tree)


def test_what_is_let_go_keeps_its_numbers_and_is_put_back_when_it_was_read() -> None:
    """The second example of the module."""
    owed = Owed(7)
    owed.append(Unsubscribe("8"), None)
    owed.append(many(9, 10, 11, 12), 130)
    owed.append(let_go(140), 140)
    owed.append(let_go(141, 145), 141)
    assert (owed.made, len(owed), owed.bytes) == (15, 8, 4 * 256)
    assert [one.number for one in owed.since(7, 100)] == [8, 9, 13]
    owed.validate()
    owed.acknowledge(13)
    assert owed.bytes == 0
    owed.read(13, [Publication("13", {}), Publication("14", {})])  # 13 was had meanwhile
    owed.validate()
    first, last = owed.since(13, 100)
    assert (first.number, first.last) == (14, 14)
    assert isinstance(last.content, LetGo)
    assert (last.number, list(last.content.places)) == (15, [145])
    owed.read(9, [Publication("9", {})])  # nobody waits for it
    owed.validate()


def test_what_is_of_another_tree_is_an_entry_of_its_own() -> None:
    owed = Owed()
    owed.append(let_go(1), 1)
    owed.append(let_go(2, tree=("r1", 3)), 2)
    owed.append(let_go(3, tree=("r1", 3)), 3)
    owed.append(LetGo("r1", 1, array("q", (4,)), (b"d",), ("r1", 3)), 4)
    assert [one.number for one in owed.since(0, 100)] == [1, 2, 4]
    owed.validate()
