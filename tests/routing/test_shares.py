"""A side knows in which of its shares a key is."""

from __future__ import annotations

import pytest

from sapwood import parse_filter, parse_xpath
from sapwood.errors import UnknownIdError
from sapwood.matching.engine_names import Engines
from sapwood.routing.pool import Pool
from sapwood.routing.shares import Share, Side

COUNTING = Engines("counting")


def share() -> Share:
    return Share(Pool(COUNTING), 1)


def test_share_gives_filters_to_another() -> None:
    one, other = share(), share()
    filters = {f"k{number}": parse_filter(f"a > {number}") for number in range(3)}
    for key, wanted in filters.items():
        one.add(key, wanted)
    one.give(other, 2)
    assert (list(one.slots), list(other.slots)) == (["k2"], ["k0", "k1"])
    one.give(other, 2)
    assert {key: other.filter(key) for key in other.slots} == filters
    assert (len(one.pool), len(other.pool)) == (0, 3)


def test_filter_goes_to_its_own_pool_when_all_its_like_are_there() -> None:
    wanted = parse_filter("a > 1")
    side = Side(share(), None, share())
    assert side.share_for(wanted) is side.common
    assert side.share_for(parse_xpath("/a")) is side.patterns
    side.own = share()
    assert side.share_for(wanted) is side.own
    assert side.common is not None
    side.common.add("k", wanted)
    assert side.share_for(wanted) is side.common
    assert Side(None, side.own, share()).share_for(wanted) is side.own


def test_key_is_found_in_its_share() -> None:
    side = Side(None, share(), share())
    side.patterns.add("k", parse_xpath("/a"))
    assert side.share_of("k") is side.patterns
    assert len(side) == 1
    with pytest.raises(UnknownIdError):
        side.share_of("l")
