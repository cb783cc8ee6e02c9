"""Withholding of the journal from clients that may not see all of it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from sapwood import parse_filter
from sapwood.broker.withholding import WITHHELD, Withholding, shown
from sapwood.errors import InputError
from sapwood.language.xpath import parse_xpath
from sapwood.matching.engine_names import Engines
from sapwood.model.publication import Publication
from sapwood.session.grants import Gate, Grant
from sapwood.store.store import Store
from sapwood.wire.durable import (
    SEALED_FIRST,
    DurablesReply,
    DurableState,
    Policy,
    SinceId,
    SincePlace,
    SinceTime,
)
from sapwood.wire.publications import encode_publication

LITTLE = Gate(Grant(subscribe=parse_filter("region = 'eu'")), Engines())
ALL = Gate(
    Grant(subscribe=parse_filter("true"), subscribe_documents=(parse_xpath("//*"),)), Engines()
)
REGIONS = ("us", "eu", "us", "eu")


class _Kept:
    """A store with four publications, two ids of which are there twice."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bounds, self.next_place = (0, len(REGIONS)), len(REGIONS)
        self.ids = ("a", "b", "b", "c")

    def places_of_id(self, id_: str) -> list[int]:
        return [at for at in reversed(range(len(self.ids))) if self.ids[at] == id_]

    def read_places(self, places: list[int]) -> list[Any]:
        kept = [Publication(self.ids[at], {"region": REGIONS[at]}) for at in places]
        return [SimpleNamespace(encoded=encode_publication(one)) for one in kept]

    def place_at(self, _: float) -> int:
        return 2


def withholding(folder: Path) -> Withholding:
    return Withholding(cast("Store", _Kept(folder)))


def test_who_sees_all_is_told_places_as_they_are(tmp_path: Path) -> None:
    for gate in (None, ALL, Gate(Grant(operates=True), Engines())):
        one = withholding(tmp_path)
        assert one.told([1, 3, 2], 0, gate) == (1, 3, 2)
        assert one.start(SincePlace(3), gate) == 3
        assert one.start(SincePlace(9), gate) == 4
        assert one.start(SinceId("a"), gate) == 1
        assert one.start(SinceId("b"), gate) == 3
    assert not list(tmp_path.iterdir())


def test_who_sees_little_finds_what_it_may_see(tmp_path: Path) -> None:
    one = withholding(tmp_path)
    assert one.start(None, LITTLE) is None
    assert one.start(SinceTime(1.0), LITTLE) == 2
    assert one.start(SincePlace(0), LITTLE) == 0
    assert one.start(SinceId("b"), LITTLE) == 2
    with pytest.raises(InputError, match="has no publication 'a'"):
        one.start(SinceId("a"), LITTLE)
    with pytest.raises(InputError, match="that is no place"):
        one.start(SincePlace(2), LITTLE)


def test_a_place_leads_behind_all_that_came_before_in_a_later_life_too(tmp_path: Path) -> None:
    one = withholding(tmp_path)
    one.start(None, LITTLE)
    told = one.told([1, 3, 2], 0, LITTLE)
    assert min(told) >= SEALED_FIRST
    later = withholding(tmp_path)
    assert [later.start(SincePlace(place + 1), LITTLE) for place in told] == [2, 4, 4]
    assert later.told([1], 3, LITTLE) == (later.places.seal(2),)
    assert (tmp_path / "places.key").stat().st_mode & 0o777 == 0o600


def test_a_key_that_is_none_is_said_before_anybody_gets_places(tmp_path: Path) -> None:
    (tmp_path / "places.key").write_bytes(b"short")
    with pytest.raises(InputError, match=r"places\.key is no key of 32 bytes; remove it"):
        withholding(tmp_path).start(None, LITTLE)
    with pytest.raises(InputError, match="cannot be read or made"):
        withholding(tmp_path / "nowhere").start(None, LITTLE)


def test_of_a_durable_subscription_with_more_only_the_name_is_shown() -> None:
    numbers = (3, 100, 1, ("feed/desk",), 2, 5.0, 0.0, "in force", 4, 6)
    within, beyond = (
        DurableState(name, "g", filter_, Policy(1), *numbers)
        for name, filter_ in (("within", "region = 'eu' and a = 1"), ("beyond", "a = 1"))
    )
    reply = DurablesReply((within, beyond), more=True)
    assert shown(reply, None) == reply
    assert shown(reply, ALL) == reply
    hidden = DurableState("beyond", "", "", Policy(), 0, 0, 0, (), 0, 0.0, 0.0, WITHHELD)
    assert shown(reply, LITTLE) == DurablesReply((within, hidden), more=True)
