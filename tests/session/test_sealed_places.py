"""Places that are sealed say where to go on, and nothing else."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InputError
from sapwood.session.sealed_places import KEY_BYTES, SealedPlaces
from sapwood.wire.durable import PLACE_NOW, SEALED_FIRST

PLACES = SealedPlaces(bytes(KEY_BYTES))
places = st.integers(0, SEALED_FIRST - 2)


@given(places)
def test_what_was_sealed_is_opened(place: int) -> None:
    sealed = PLACES.seal(place)
    assert SEALED_FIRST <= sealed < 2 * SEALED_FIRST
    assert PLACES.open(sealed) == place
    assert PLACES.begin(sealed + 1, place + 1) == place + 1


@given(st.lists(st.integers(0, 1000), min_size=2, max_size=50, unique=True))
def test_each_place_is_another_and_keys_differ(some: list[int]) -> None:
    sealed = [PLACES.seal(place) for place in some]
    assert len(set(sealed)) == len(some)
    other = SealedPlaces(b"k" * KEY_BYTES)
    assert sealed != [other.seal(place) for place in some]


def test_sealed_places_have_no_order() -> None:
    sealed = [PLACES.seal(place) for place in range(1000)]
    rising = sum(one < other for one, other in pairwise(sealed))
    assert 400 < rising < 600


def test_all_and_from_now_on_may_be_said_by_anybody() -> None:
    assert PLACES.begin(0, 7) == 0
    assert PLACES.begin(PLACE_NOW, 7) == 7


@pytest.mark.parametrize("place", [1, 5, SEALED_FIRST, SEALED_FIRST + 12_345])
def test_a_place_that_was_never_told_is_refused(place: int) -> None:
    with pytest.raises(InputError, match="that is no place"):
        PLACES.begin(place, 1000)
