"""Texts in arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.matching.texts import TextColumn, packed, unpacked

TEXTS = st.lists(st.text(max_size=5), max_size=8)


@given(texts=st.lists(st.binary(max_size=5), max_size=8))
def test_unpacked_gives_what_was_packed(texts: list[bytes]) -> None:
    assert unpacked(*packed(texts)) == texts


@given(stored=TEXTS, added=TEXTS)
def test_column_is_a_list_of_texts_wherever_they_are(stored: list[str], added: list[str]) -> None:
    column = TextColumn(*packed(text.encode() for text in stored))
    for text in added:
        column[len(column)] = text
    everything = stored + added
    assert len(column) == len(everything)
    assert [column[at] for at in range(len(column))] == everything
    assert list(column) == column[:] == everything
    assert column.take(np.arange(len(column))[::-1]) == everything[::-1]
    assert column[1:] == everything[1:]
    assert unpacked(*column.packed()) == [text.encode() for text in everything]


@given(stored=TEXTS, read=st.booleans())
def test_empty_places_are_found_without_reading(stored: list[str], read: bool) -> None:
    column = TextColumn(*packed(text.encode() for text in stored))
    if read:
        list(column)
    assert column.empty_places() == [at for at, text in enumerate(stored) if not text]


def test_column_counts_from_the_end_too() -> None:
    column = TextColumn(*packed([b"a", b"b"]))
    assert column[-1] == "b"
    assert column[-2] == "a"
    with pytest.raises(IndexError):
        column[2]


def test_column_keeps_lone_surrogates() -> None:
    column = TextColumn()
    column[0] = "\ud800"
    assert TextColumn(*column.packed())[0] == "\ud800"


def test_column_replaces_a_stored_text() -> None:
    column = TextColumn(*packed([b"a", b"b"]))
    column[0] = ""
    assert list(column) == ["", "b"]
    assert column.empty_places() == [0]


def test_many_texts_of_a_large_column_are_taken_like_few() -> None:
    texts = [f"s{number}" for number in range(1 << 16)]
    column = TextColumn(*packed(text.encode() for text in texts))
    random = np.random.default_rng(1)
    places = random.integers(len(texts), size=5000)
    for _ in range(2):
        for wanted in (places, places.astype(np.int32), places[:5]):
            assert column.take(wanted) == [texts[place] for place in wanted]
    with pytest.raises(IndexError):
        column.take(np.full(100, 1 << 16))
