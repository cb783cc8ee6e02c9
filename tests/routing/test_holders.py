"""Keys of clients by number, in chains of those that hold the same filter."""

from __future__ import annotations

from array import array

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.model.filter import NOTHING
from sapwood.model.interest import Interest
from sapwood.routing.client_rows import OWNER, OWNER_BITS, PREFIX, ROW, START, ClientRows
from sapwood.routing.holders import NOBODY, NUMBERS, HeldSlots, Holders, KeyBatch
from sapwood.routing.tables import Entries, LocalEntry

steps = st.lists(st.tuples(st.booleans(), st.integers(0, 5), st.sampled_from("abc")), max_size=40)


@given(steps)
def test_chains_have_the_keys_that_hold_a_filter(taken: list[tuple[bool, int, str]]) -> None:
    holders, heads = Holders(), array(NUMBERS, [NOBODY] * 3)
    held: dict[str, int] = {}
    for is_added, number, client in taken:
        key = f"{client}{number}"
        slot = held.get(key, number % 3)
        if is_added and key not in held:
            heads[slot] = holders.take(key, heads[slot])
            held[key] = slot
        elif not is_added and key in held:
            before, behind = holders.release(key)
            if before == NOBODY:
                heads[slot] = behind
            del held[key]
        holders.validate()
    for slot in range(3):
        names = [holders.names[number] for number in holders.from_head(heads[slot])]
        assert sorted(names) == sorted(key for key, at in held.items() if at == slot)
    assert holders.numbers.keys() == held.keys()
    assert len(holders.names) == len(held) + len([name for name in holders.names if not name])


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 9), st.integers(-3, 2)), max_size=40))
def test_slots_of_two_pools_are_known_by_their_keys(taken: list[tuple[bool, int, int]]) -> None:
    holders = Holders()
    first, second = (HeldSlots(holders, is_second=is_second) for is_second in (False, True))
    held: dict[str, int] = {}
    for is_added, number, place in taken:
        key = f"k{number}"
        if is_added and key not in held:
            holders.take(key, NOBODY, place)
            held[key] = place
        elif not is_added and key in held:
            holders.release(key)
            del held[key]
        holders.validate()
        assert dict(first) == {key: at for key, at in held.items() if at >= 0}
        assert dict(second) == {key: ~at for key, at in held.items() if at < 0}
        assert (len(first), len(second)) == (len(dict(first)), len(dict(second)))
        assert all((key in first, key in second) == (at >= 0, at < 0) for key, at in held.items())
    assert "unknown" not in first
    with pytest.raises(KeyError):
        second["unknown"]


@given(steps)
def test_rows_say_whose_each_number_is_and_under_which_id(
    taken: list[tuple[bool, int, str]],
) -> None:
    holders, rows = Holders(), ClientRows()
    entries: Entries[Interest] = Entries()
    by_key = entries.by_key
    for is_added, number, client in taken:
        key = f"{client}{number}"
        if is_added and key not in by_key:
            id_ = "größe" * number + "s"
            entries.by_client.setdefault(client, {})
            entries.add(LocalEntry[Interest](key, client, id_, NOTHING))
            holders.take(key, NOBODY)
        elif not is_added and key in by_key:
            entries.remove(by_key[key])
            holders.release(key)
        if number % 2:
            rows.follow(holders, entries)
            assert not holders.renamed
    rows.follow(holders, entries)
    rows.validate(holders, entries)
    for key, entry in by_key.items():
        number = holders.numbers[key]
        assert (rows.client(number), rows.id(number)) == (entry.client, entry.id)


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.text(max_size=20)), min_size=64, max_size=80),
    st.integers(0, 3),
    st.booleans(),
)
def test_rows_of_many_are_those_of_one_after_the_other(
    ids: list[tuple[str, str]], before: int, is_leaving: bool
) -> None:
    entries: Entries[Interest] = Entries(by_client={client: {} for client in "abc"})
    one, many = (Holders(), ClientRows()), (Holders(), ClientRows())
    for number, (client, id_) in enumerate(ids[:before]):
        entries.add(LocalEntry[Interest](f"k{number}", client, f"{number}{id_}", NOTHING))
        for holders, rows in (one, many):
            holders.take(f"k{number}", NOBODY)
            rows.follow(holders, entries)
    for number, (client, id_) in enumerate(ids, before):
        entries.add(LocalEntry[Interest](f"k{number}", client, f"{number}{id_}", NOTHING))
    if is_leaving:
        entries.let_go("a")
        for _, rows in (one, many):
            rows.disown("a")
    keys = [f"k{number}" for number in range(before, before + len(ids))]
    assert many[0].take_many(keys) == before
    for key in keys:
        one[0].take(key, NOBODY)
        one[1].follow(one[0], entries)
    many[1].follow(many[0], entries)
    assert not many[0].renamed
    for holders, rows in (one, many):
        holders.validate()
        rows.validate(holders, entries)
    assert many[1].words.tolist() == one[1].words.tolist()
    assert many[1].texts.tobytes() == one[1].texts.tobytes()


def test_a_row_is_three_words() -> None:
    holders, rows = Holders(), ClientRows()
    entries: Entries[Interest] = Entries(by_client={"c": {}})
    for at, id_ in enumerate(("s1", "a-long-id")):
        entries.add(LocalEntry[Interest](f"k{at}", "c", id_, NOTHING))
        holders.take(f"k{at}", NOBODY)
    rows.follow(holders, entries)
    words = rows.words.tolist()
    assert words[OWNER::ROW] == [0 << OWNER_BITS | 2, 0 << OWNER_BITS | 9]
    assert words[START::ROW] == [0, 8]
    assert words[PREFIX::ROW] == [0x7331000000000000, 0x612D6C6F6E672D69]
    assert rows.texts.tobytes() == b"s1".ljust(8, b"\0") + b"a-long-id".ljust(16, b"\0")


def test_a_free_region_is_taken_again_and_so_is_a_free_client() -> None:
    holders, rows = Holders(), ClientRows()
    for number in range(20):
        entry = LocalEntry[Interest]("k", f"c{number}", f"{number:02}", NOTHING)
        entries: Entries[Interest] = Entries(by_client={entry.client: {}})
        entries.add(entry)
        holders.take("k", NOBODY)
        rows.follow(holders, entries)
        assert (rows.client(0), rows.id(0)) == (entry.client, entry.id)
        holders.release("k")
    assert len(rows.texts) == 8
    assert len(rows.words) == ROW
    assert len(rows.names) == 1


def test_a_batch_of_keys_is_a_sequence_of_each_publications_keys() -> None:
    holders, heads = Holders(), array(NUMBERS, [NOBODY] * 3)
    for key, slot in (("k7", 2), ("k8", 0), ("k9", 2)):
        heads[slot] = holders.take(key, heads[slot])
    assert heads.tolist() == [1, NOBODY, 2]
    assert holders.nexts.tolist() == [NOBODY, NOBODY, 0]
    assert holders.befores.tolist() == [2, NOBODY, NOBODY]
    numbered = KeyBatch.of([[2], [0, 2]], holders)
    batch = KeyBatch(numbered.offsets, numbered.slots, heads, holders)
    assert [list(keys) for keys in batch] == [["k9", "k7"], ["k8", "k9", "k7"]]
    assert batch[:1] == [["k9", "k7"]]
    assert list(batch.first(1)) == [["k9", "k7"]]
    assert batch.first(2) is batch
    counts = array(NUMBERS, [1, 0, 2])
    counted = KeyBatch(numbered.offsets, numbered.slots, heads, holders, counts)
    assert [counted.within(most) for most in (1, 2, 4, 5, 6)] == [1, 1, 1, 2, 2]
    assert [numbered.within(most) for most in (1, 2, 3)] == [1, 1, 2]
    assert counted.first(1).within(1) == 1
    other = KeyBatch.of([[], [1]], holders)
    assert list(numbered.beside(other)) == [["k9"], ["k7", "k9", "k8"]]


def test_keys_of_two_pools_are_joined_publication_by_publication() -> None:
    holders, one, two = Holders(), array(NUMBERS, [NOBODY] * 3), array(NUMBERS, [NOBODY] * 2)
    for key, heads, slot in (("k7", one, 2), ("k8", one, 0), ("k9", one, 2), ("x1", two, 1)):
        heads[slot] = holders.take(key, heads[slot])
    here = KeyBatch(np.array([0, 1, 3]), np.array([2, 0, 2], np.int32), one, holders)
    there = KeyBatch(np.array([0, 1, 2]), np.array([1, 1], np.int32), two, holders)
    joined = here.beside(there)
    assert [list(keys) for keys in joined] == [["k9", "k7", "x1"], ["k8", "k9", "k7", "x1"]]
    assert joined.slots.tolist() == [2, 4, 0, 2, 4]
    nothing = KeyBatch(np.zeros(3, np.int64), np.zeros(0, np.int32), two, holders)
    assert here.beside(nothing) is here
    assert nothing.beside(here) is here
