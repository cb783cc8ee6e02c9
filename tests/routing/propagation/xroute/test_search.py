"""Strict containment over any covering index."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.covering.catalogue import COVERING_INDEXES, interest_index
from sapwood.covering.reference import ReferenceCovering
from sapwood.errors import InvariantError
from sapwood.language import parse_filter
from sapwood.language.xpath import parse_xpath
from sapwood.model.interest import Interest
from sapwood.routing.propagation.xroute.search import Containment
from tests.examples import examples
from tests.matching.published.posets.nesting import EQUIVALENT
from tests.routing.propagation.xroute.networks import S, strictly_contains

EXACT = [name for name, info in COVERING_INDEXES.items() if info.exact]
POOL: tuple[Interest, ...] = (
    *(S(*numbers) for numbers in ((0,), (1,), (0, 1), (0, 1, 2), (3,), (2, 3))),
    *map(parse_filter, ("e > 1", "e > 2", "true", "f = 1", "e > 1 or f = 1", "f like '%a_b%'")),
    *map(parse_xpath, ("//a", "//a/b", "/a/b[c]")),
)


@pytest.mark.parametrize("name", EXACT)
@settings(max_examples=examples(25))
@given(acts=st.lists(st.integers(0, len(POOL) - 1), max_size=30))
def test_containment_finds_what_pairs_of_filters_say(name: str, acts: list[int]) -> None:
    search = Containment(interest_index(COVERING_INDEXES[name]))
    held: set[Interest] = set()
    for at in acts:
        one = POOL[at]
        above = search.containing(one)
        wider = {other for other in held if strictly_contains(other, one)}
        assert above in wider if wider else above is None
        assert set(search.contained(one)) == {o for o in held if strictly_contains(one, o)}
        if one in held:
            held.remove(one)
            search.remove(one)
        else:
            held.add(one)
            search.add(one)
        search.validate()
        assert set(search) == held
        assert len(search) == len(held)
        assert all((other in search) == (other in held) for other in POOL)


def test_containment_looks_further_where_the_first_cover_is_another_form_of_the_same() -> None:
    one, same, _ = EQUIVALENT
    assert one != same
    assert one.covers(same)
    assert same.covers(one)
    wide = parse_filter("exists a")
    search = Containment(ReferenceCovering())
    search.add(same)
    assert search.containing(one) is None
    assert search.contained(one) == []
    search.add(wide)
    assert search.containing(one) == wide


def test_containment_validate_notices_damage() -> None:
    index = ReferenceCovering()
    search = Containment(index)
    search.add(S(0))
    index.remove(0)
    with pytest.raises(InvariantError, match="does not hold exactly"):
        search.validate()
    index.add(0, S(0))
    search._free.append(0)
    with pytest.raises(InvariantError, match="make up all keys"):
        search.validate()
    search._free.clear()
    search._keys[S(1)] = 1
    with pytest.raises(InvariantError, match="disagree"):
        search.validate()
