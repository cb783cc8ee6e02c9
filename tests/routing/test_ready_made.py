"""Filters by slot, and forwarding that begins with engines that were built of them."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood import parse_filter, parse_xpath
from sapwood.errors import FileFormatError
from sapwood.language.interests import Interests
from sapwood.matching.engine_names import Engines
from sapwood.matching.prepared import Prepared, prepare
from sapwood.matching.readiness import RECORDS
from sapwood.model.publication import Publication
from sapwood.routing.core import RoutingCore
from sapwood.routing.forwarding.later import Later
from sapwood.routing.inputs import (
    AttachClient,
    Change,
    ClientSubscribeMany,
    ClientUnsubscribe,
    LinkDown,
    LinkUp,
    Receive,
)
from sapwood.routing.messages import SubscribeMany, Unsubscribe
from sapwood.routing.pool import Pool
from sapwood.routing.ready_made import LINKS, OWN, Lists, ReadyMade
from sapwood.routing.router import Router
from tests.examples import examples
from tests.routing.wiring import core_of

LIKE: Final = parse_filter("t like '%x_y%'")
assert LIKE.packed is None

NEIGHBORS: Final = ("r2", "r3")


@pytest.fixture(autouse=True)
def _kernels() -> None:
    RECORDS.load()


def heard(neighbor: str, numbers: list[int], first: int = 0) -> Receive:
    filters = tuple(parse_filter(f"a = {number}") for number in numbers)
    keys = tuple(f"{neighbor}.{at}" for at in range(first, first + len(numbers)))
    return Receive(neighbor, SubscribeMany(keys, Interests(filters), 1))


def stated(client: str, numbers: list[int], first: int = 0) -> ClientSubscribeMany:
    some = ((f"s{at}", parse_filter(f"a = {number}")) for at, number in enumerate(numbers, first))
    return ClientSubscribeMany(client, tuple(some))


BEGUN: Final[tuple[Change, ...]] = (
    LinkUp("r2"),
    LinkUp("r3"),
    AttachClient("c"),
    stated("c", [*range(20), 3, 4]),
    heard("r2", [5, 5, *range(10, 30)]),
    heard("r3", [5, *range(25, 35)]),
)


def core_with(*changes: Change, engines: Engines | None = None) -> RoutingCore:
    router = Router("r1", "covering", *(() if engines is None else (engines,)))
    core = core_of(router)
    for change in changes:
        core.apply(change)
    return core


def come_back(folder: Path, begun: tuple[Change, ...], *since: Change) -> RoutingCore:
    """A core with those changes behind it, for which engines were built after the first ones."""
    before = core_with(*begun)
    lists = Lists.of(before.subscriptions.entries)
    is_made = prepare(folder / "made", {OWN: lists.own, LINKS: lists.links}) > 0
    core = core_with()
    core.put_off()
    for change in begun:
        core.apply(change)
    assert isinstance(core.forwarding, Later)
    core.forwarding.ready = ReadyMade(Prepared(folder / "made"), lists) if is_made else None
    for change in since:
        core.apply(change)
    core.caught_up()
    return core


def routed(core: RoutingCore, value: int) -> Any:
    found = core.forwarding.route((Publication("p", {"a": value}),), None, (b"",), 0.0)
    return sorted(found.keys[0]), [one.neighbor for one in found.onward]


def packed(*numbers: int) -> list[bytes | None]:
    return [parse_filter(f"a = {number}").packed for number in numbers]


def test_lists_are_in_the_order_of_entries() -> None:
    entries = core_with(*BEGUN, stated("c", [40, 2], first=50)).subscriptions.entries
    found = Lists.of(entries)
    assert found.keys == [*entries.by_key]
    assert found.own == packed(*range(20), 3, 4, 40, 2)
    assert found.links == packed(5, 5, *range(10, 30), 5, *range(25, 35))


def test_what_has_no_packed_form_is_left_out_and_then_nobody_says_whose_filters_they_are() -> None:
    other = ClientSubscribeMany("c", (("x", parse_xpath("//a")), ("l", LIKE)))
    found = Lists.of(core_with(*BEGUN, other).subscriptions.entries)
    assert found.keys == ()
    assert found.own == packed(*range(20), 3, 4)
    assert Lists.of(core_with().subscriptions.entries) == Lists((), [], [])


def test_a_core_that_comes_back_has_both_engines_and_routes_as_ever(tmp_path: Path) -> None:
    since = (
        ClientUnsubscribe("c", "s7"),
        Receive("r2", Unsubscribe("r2.1")),
        Receive("r2", Unsubscribe("r2.2")),
        heard("r3", [12, 36], first=90),
        stated("c", [36, 37], first=90),
    )
    core, usual = come_back(tmp_path, BEGUN, *since), core_with(*BEGUN, *since)
    assert core.ready_made == 20 + 26
    core.validate()
    for value in range(40):
        assert routed(core, value) == routed(usual, value)
    for one in (core, usual):
        one.apply(LinkDown("r2"))
        one.apply(stated("c", [60, 61, 62], first=200))
    core.validate()
    for value in (5, 12, 28, 36, 60, 62):
        assert routed(core, value) == routed(usual, value)


NUMBERS = st.lists(st.integers(0, 12), max_size=12)


@given(
    NUMBERS,
    NUMBERS,
    NUMBERS,
    st.lists(st.integers(0, 11), max_size=8),
    NUMBERS,
    NUMBERS,
    st.booleans(),
)
@settings(max_examples=examples(60), deadline=None)
def test_pools_that_begin_with_engines_agree_with_those_that_grow(
    own: list[int],
    first: list[int],
    second: list[int],
    gone: list[int],
    more: list[int],
    later: list[int],
    has_other: bool,
) -> None:
    begun = (*BEGUN[:3], stated("c", own), heard("r2", first), heard("r3", second))
    if has_other:  # not all filters have a packed form
        begun = (*begun, ClientSubscribeMany("c", (("l", LIKE),)))
    since: tuple[Change, ...] = (
        *(Receive("r2", Unsubscribe(f"r2.{at}")) for at in dict.fromkeys(gone) if at < len(first)),
        *(ClientUnsubscribe("c", f"s{at}") for at in dict.fromkeys(gone) if at < len(own)),
        heard("r3", more, first=100),
        stated("c", later, first=100),
    )
    with TemporaryDirectory() as folder:
        core, usual = come_back(Path(folder), begun, *since), core_with(*begun, *since)
        core.validate()
        assert [routed(core, value) for value in range(13)] == [
            routed(usual, value) for value in range(13)
        ]


def test_engines_without_saved_files_are_built(tmp_path: Path) -> None:
    before = core_with(*BEGUN)
    lists = Lists.of(before.subscriptions.entries)
    prepare(tmp_path / "made", {OWN: lists.own, LINKS: lists.links})
    core = core_with(engines=Engines("counting"))
    core.put_off()
    for change in BEGUN:
        core.apply(change)
    assert isinstance(core.forwarding, Later)
    core.forwarding.ready = ReadyMade(Prepared(tmp_path / "made"), lists)
    core.caught_up()
    assert core.ready_made == 0
    core.validate()
    assert routed(core, 28) == ([], ["r2", "r3"])


def test_whole_files_of_something_else_are_as_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise FileFormatError("here", "is something else")

    monkeypatch.setattr(Pool, "adopt", refuse)
    core = come_back(tmp_path, BEGUN)
    assert core.ready_made == 0
    core.validate()
    assert routed(core, 3)[0] == routed(core_with(*BEGUN), 3)[0] != []


def test_an_engine_with_another_number_of_filters_is_refused(tmp_path: Path) -> None:
    own = Lists.of(core_with(*BEGUN).subscriptions.entries).own
    prepare(tmp_path / "made", {OWN: own})
    engine = Prepared(tmp_path / "made").engine_of(own)
    assert engine is not None
    with pytest.raises(FileFormatError, match="has not as many filters as it says"):
        Pool(Engines()).adopt(engine._replace(filters=19), own)
