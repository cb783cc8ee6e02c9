"""Tables for each DTD under the oracle: among faults, beside others, and with bugs planted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

import pytest

from sapwood.language.advertisements import parse_advertisement
from sapwood.language.xpath import parse_xpath
from sapwood.matching.engine_names import Engines
from sapwood.model.patterns.advertisements.advertisement import Advertisement
from sapwood.model.publication import Publication
from sapwood.overlay.shapes import parse_topology
from sapwood.routing.forwarding.every_hop import EveryHop
from sapwood.routing.forwarding.types.known import KnownTypes
from sapwood.routing.forwarding.types.tables import Placed, TypedTables
from sapwood.routing.protocols import protocol
from sapwood.routing.router import Router
from sapwood.simulation.history import AdvertisementName, ClientName, SubscriptionName
from sapwood.simulation.machine import MakeRouter
from sapwood.simulation.scenario import Scenario
from sapwood.simulation.simulator import router_maker
from sapwood.simulation.swarm import Mixture
from sapwood.simulation.world import World
from tests.routing.wiring import core_of
from tests.simulation.helpers import (
    assert_found,
    assert_right,
    delivered,
    drawn,
    faults_found,
    run_with,
    seeds,
)
from tests.simulation.test_mutants import SEEDS_MAX, Mutant
from tests.simulation.test_seams import routers_of

PROTOCOL = "advertisement+xroute+types"
WORDS = (
    "advertisement+types",
    "advertisement+covering+merging+types",
    "mesh+advertisement+xroute+types",
    "advertisement+xroute+types+recover",
    "failover:5+advertisement+xroute+types",
    "redundant:2+advertisement+covering+types",
)
DOCUMENTS = Mixture(actions_max=15, advertisements=True, documents=True)


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.one_in(3)
@seeds(2)
def test_tables_by_type_deliver_exactly_under_churn_and_faults(seeds: range, word: str) -> None:
    chosen = protocol(word)
    mixture = replace(DOCUMENTS, circles=chosen.allows_circles, stores=chosen.persists)
    for seed in seeds:
        assert_right(drawn(seed, mixture), word)


# Routers with and without tables by type ----------------------------------------------------------

LINE = parse_topology("line:4", lambda n: 0)
NEWS, SONGS = map(parse_advertisement, ("/news/title|/news/p", "/songs/song/title"))
TEXTS = {
    "n1": b"<news><title/></news>",
    "n2": b"<news><p/></news>",
    "s1": b"<songs><song><title/></song></songs>",
}
WANTED = {"all": "//title", "news": "/news", "paragraphs": "/news/p", "songs": "//song"}


def mixed(who: Iterable[str]) -> MakeRouter:
    """Routers of which some have tables by type."""
    plain, typed = protocol("advertisement+xroute"), protocol(PROTOCOL)
    return lambda name, incarnation: Router(
        name, typed if name in who else plain, incarnation=incarnation
    )


def told(make_router: MakeRouter) -> World:
    """r1 publishes two kinds of documents, and r4 has subscribed."""
    world = World(LINE, make_router)
    for id_, content in (("n", NEWS), ("s", SONGS)):
        world.advertise(AdvertisementName("r1", "bob", id_), content)
    for id_, wanted in WANTED.items():
        world.subscribe(SubscriptionName("r4", "ann", id_), parse_xpath(wanted))
    world.drain()
    for id_, document in TEXTS.items():
        world.publish(ClientName("r1", "bob"), Publication(id_, document=document))
    world.drain()
    return world


@pytest.mark.parametrize("who", [("r1", "r2", "r3", "r4"), ("r1", "r3"), ("r2", "r4"), ()])
def test_routers_with_and_without_such_tables_deliver_the_same(who: Sequence[str]) -> None:
    world = told(mixed(who))
    came = {("n1", "all"), ("n1", "news"), ("n2", "news"), ("n2", "paragraphs")}
    came |= {("s1", "all"), ("s1", "songs")}
    assert sorted(delivered(world)) == sorted(f"{id_}>r4/ann/{wanted}" for id_, wanted in came)
    for router in routers_of(world):
        unread = router.counters()["digests_unread"]
        assert unread == (len(TEXTS) if "r1" in who and router.name not in who else 0)


def test_a_filter_that_fits_several_types_stands_in_several_tables() -> None:
    world = told(router_maker(PROTOCOL))
    for router in routers_of(world):
        forwarding = core_of(router).forwarding
        assert isinstance(forwarding, TypedTables)
        assert {table.content for table in forwarding._tables.values()} == {NEWS, SONGS}
        placed = {
            str(one.pattern): {table.content for table in one.tables}
            for some in forwarding._placed.values()
            for one in some.values()
        }
        expected = {"//title": {NEWS, SONGS}, "/news": {NEWS}, "//song": {SONGS}}
        if router.name == "r4":  # elsewhere it is covered by /news
            expected["/news/p"] = {NEWS}
        assert placed == expected


# Planted bugs ------------------------------------------------------------------------------------


class TypedMutant(Mutant):
    """A router with tables by type, of a kind that has a defect."""

    protocol_used = protocol(PROTOCOL)
    tables: type[TypedTables] = TypedTables

    def __init__(self, name: str, incarnation: int) -> None:
        chosen = protocol(PROTOCOL)
        forwarding = replace(chosen.forwarding, make=lambda _, engines, __: self.tables(engines))
        self.protocol_used = replace(chosen, forwarding=forwarding)
        super().__init__(name, incarnation)


class FindsNoPlaceForWhatWasThere(TypedTables):
    """A type that is advertised has a table of what comes later."""

    def _begin(self, name: bytes, content: Advertisement) -> None:
        before = self._placed
        self._placed = {side: {} for side in before}
        super()._begin(name, content)
        self._placed = before


class TakesOneTable(TypedTables):
    """A pattern that fits several types stands in the table of the first alone."""

    def _put(self, side: str, key: str, filter: object) -> Iterable[EveryHop]:
        indexes = super()._put(side, key, filter)  # type: ignore[arg-type]
        placed = self._placed[side].get(key)
        if placed is None or len(placed.tables) < 2:
            return indexes
        del placed.tables[1:]
        return (placed.tables[0].index,)


class LosesWhatATypeHad(TypedTables):
    """A pattern that fits no other type is nowhere when its type is not advertised any more."""

    def _end(self, name: bytes) -> None:
        table = self._tables.pop(name)
        for patterns in self._placed.values():
            for key, placed in tuple(patterns.items()):
                if placed.tables == [table]:
                    patterns[key] = Placed(placed.pattern, [table])
                elif table in placed.tables:
                    placed.tables.remove(table)


class NamesAnyType(TypedTables):
    """The first router names a type whatever the document is."""

    def _asked(
        self, publication: Publication, name: bytes | None
    ) -> Iterable[tuple[EveryHop, Publication]]:
        return super()._asked(publication, next(iter(self._tables), name))


class ForgetsRecords(TypedTables):
    """Beside a document of a type nobody looks at the record."""

    def _asked(
        self, publication: Publication, name: bytes | None
    ) -> Iterable[tuple[EveryHop, Publication]]:
        return (
            list(super()._asked(publication, name))[:1]
            if name
            else super()._asked(publication, None)
        )


class EndsTooEarly(TypedTables):
    """With one of several equal advertisements the type is gone, and its documents go nowhere."""

    def __init__(self, engines: Engines) -> None:
        super().__init__(engines)
        self.types = _EndsAtOnce(self._begin, self._drop)

    def _drop(self, name: bytes) -> None:
        self._tables.pop(name, None)


class _EndsAtOnce(KnownTypes):
    def forgot(self, side: str, key: str) -> None:
        name = self._names[side].get(key)
        super().forgot(side, key)
        if name is not None:
            self._end(name)


def mutant_of(tables: type[TypedTables]) -> type[TypedMutant]:
    return type(tables.__name__, (TypedMutant,), {"tables": tables, "__doc__": tables.__doc__})


MUTANTS = tuple(
    map(
        mutant_of,
        (
            FindsNoPlaceForWhatWasThere,
            TakesOneTable,
            LosesWhatATypeHad,
            NamesAnyType,
            EndsTooEarly,
        ),
    )
)
RARE = mutant_of(ForgetsRecords)
"""Found where a publication has both, and somebody wants it for its record alone."""


def scenarios() -> Iterator[Scenario]:
    yield from (drawn(seed, DOCUMENTS) for seed in range(SEEDS_MAX))


@pytest.mark.parametrize(
    "mutant",
    [*MUTANTS, pytest.param(RARE, marks=pytest.mark.long)],
    ids=lambda mutant: mutant.__name__,
)
@pytest.mark.one_in(6)
def test_the_oracle_finds_a_planted_bug(mutant: type[TypedMutant]) -> None:
    assert_found(mutant, frozenset({"lost"}), scenarios(), PROTOCOL)


def test_a_mutant_without_a_defect_is_found_right() -> None:
    for scenario in islice(scenarios(), 2):
        trial = run_with(scenario, TypedMutant, PROTOCOL)
        assert faults_found(trial, router_maker(PROTOCOL)) == {}
