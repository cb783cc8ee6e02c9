"""IRBR, its two figures once more: the protocols as they run, beside what the model counts.

`irbr_messages` counts messages in a model of the protocols of the works. Here routers of this
project join one after the other in the simulator, and subscriptions and publications are those of
that experiment (IRBR, 004, L249-277). The model gets the routing tables that these routers have
found, and counts for each subscription and each publication; both must come to the same.

In the model too, the rendezvous of Scribe does not know where a publication comes from, as it goes
back there. Where they do not agree: in the plain form of RPF, routers that run take a publication
from their next hop towards its home only, so that publications keep their order, and the model the
first that comes; so more routers take and hand on what they need not in the model. Answers, repair
and the messages of the circle itself are counted in neither.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random
from types import MappingProxyType
from typing import Final

from sapwood.language import parse_filter
from sapwood.model.publication import Publication
from sapwood.overlay.identifiers import Identifier
from sapwood.routing.membership.pastry.by_hops import Rendezvous
from sapwood.routing.membership.pastry.on_circle import OnCircle
from sapwood.routing.router import Router
from sapwood.simulation.history import ClientName, SubscriptionName
from sapwood.simulation.world import World
from sapwood_lab.experiments.design import Choices, Configuration, Design
from sapwood_lab.experiments.irbr_faults import joined_world
from sapwood_lab.experiments.irbr_messages import ATTRIBUTES, Circle, Subscribed
from sapwood_lab.experiments.report import Finding, Report, Row, number, table
from sapwood_lab.workload.rates import RatedWorkload, as_text

ROUTERS: Final = 100
SUBSCRIPTIONS: Final = (100,)
PUBLICATIONS: Final = 40
SETTLE_S: Final = 2.0
"""After a subscription or a publication: with links of 10 ms far more than either needs."""
PROTOCOLS: Final[Mapping[str, str]] = MappingProxyType(
    {"irbr": "irbr", "scribe": "scribe", "rpf": "rpf", "rpf:plain": "rpf_plain"}
)
"""Each protocol, and its name in the model."""

GIVEN: Final = ("protocol", "routers", "attributes", "last", "seed")
COLUMNS: Final = (
    "protocol", "routers", "rate", "last",
    "subscribe_model", "subscribe_run", "subscribe_differ",
    "wanting", "publish_model", "publish_run", "publish_differ",
)  # fmt: skip


class Found(Circle):
    """The routing tables that routers of a world have found, for the model."""

    def __init__(self, world: World) -> None:
        members = {name: _member(world, name) for name in world.topology.routers}
        self.at: dict[str, Identifier] = {
            name: one.tables.identifier for name, one in members.items()
        }
        self.routers = list(self.at.values())
        self.tables = {
            one.tables.identifier: {slot: self.at[peer] for slot, peer in one.tables.rows()}
            for one in members.values()
        }
        #: router -> its parent, where routers have one
        self._parents: dict[Identifier, Identifier] = {
            one.tables.identifier: self.at[one.parent]
            for one in members.values()
            if isinstance(one, Rendezvous) and one.parent is not None
        }

    def upward(self, start: Identifier) -> list[Identifier]:
        """The routers from one to the rendezvous, as each has its parent."""
        found = [start]
        while found[-1] in self._parents:
            found.append(self._parents[found[-1]])
        return found


def _member(world: World, name: str) -> OnCircle:
    router = world.routers[name]
    assert isinstance(router, Router)
    assert isinstance(router.membership, OnCircle)
    return router.membership


def configurations(choices: Choices) -> list[Configuration]:
    """One for each size, number of attributes and protocol."""
    return [
        dict(zip(GIVEN, (name, min(ROUTERS, last), attributes, last, choices.seed), strict=True))
        for last in choices.sizes or SUBSCRIPTIONS
        for attributes in ATTRIBUTES
        for name in PROTOCOLS
    ]


def measure(configuration: Configuration) -> list[Row]:
    """Mean messages of all subscriptions, and of publications then, by both."""
    protocol, routers, attributes, last, seed = (configuration[name] for name in GIVEN)
    random = Random(f"{seed}/{routers}/{attributes}")  # noqa: S311 - reproducible
    workload, world = RatedWorkload(attributes), joined_world(protocol, routers, random)
    circle = Found(world)
    model, name = Subscribed(circle, comes_back=True), PROTOCOLS[protocol]
    homes = sorted(circle.at)
    counts: Counter[str] = Counter()
    for at in range(last):
        home, wanted = random.choice(homes), workload.draw_filter(random)
        before = _told(world)
        world.subscribe(SubscriptionName(home, "ann", f"s{at}"), parse_filter(as_text(wanted)))
        world.run_until(world.now + SETTLE_S)
        # Subscriptions are sent alike in both forms of RPF.
        counted = model.add(circle.at[home], wanted)[name.partition("_")[0]]
        _count(counts, "subscribe", counted, _told(world) - before)
    for at in range(PUBLICATIONS):
        home, record = random.choice(homes), workload.draw_record(random)
        before = world.tally.messages["publish"]
        world.publish(ClientName(home, "bob"), Publication(f"p{at}", dict(record)))
        world.run_until(world.now + SETTLE_S)
        sent, those = model.publish(circle.at[home], record)
        counts["wanting"] += len(those)
        _count(counts, "publish", sent[name], world.tally.messages["publish"] - before)
    each = {"subscribe": last, "publish": PUBLICATIONS, "wanting": PUBLICATIONS}
    means = {
        one: total if one.endswith("_differ") else total / each[one.partition("_")[0]]
        for one, total in counts.items()
    }
    return [{"rate": workload.covering_rate, **means}]


def _told(world: World) -> int:
    """The messages so far that carry a subscription."""
    return world.tally.messages["subscribe"] + world.tally.messages["rangesubscribe"]


def _count(counts: Counter[str], what: str, model: int, run: int) -> None:
    counts[f"{what}_model"] += model
    counts[f"{what}_run"] += run
    counts[f"{what}_differ"] += model != run


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    """Both counts, and in how many subscriptions and publications they differ."""
    exact = [row for row in rows if row["protocol"] != "rpf:plain"]
    plain = [row for row in rows if row["protocol"] == "rpf:plain"]
    differ = sum(number(row["publish_differ"]) for row in exact)
    told = sum(number(row["subscribe_differ"]) for row in rows)
    fewer = sum(number(row["publish_run"]) <= number(row["publish_model"]) for row in plain)
    return Report(
        title="Messages of IRBR, Scribe and RPF as they run, beside the model",
        settings={"seed": choices.seed, "publications": PUBLICATIONS},
        columns=COLUMNS,
        rows=table(COLUMNS, rows),
        compare="nothing: all values of the figures are lost. Run and model are compared.",
        findings=(
            Finding("every subscription is told as the model has it", not told, f"{told:g} differ"),
            Finding("every publication goes as the model has it, but in the plain form of RPF",
                    not differ, f"{differ:g} differ"),
            Finding("in the plain form fewer messages run, as only the next hop's is taken",
                    fewer == len(plain), f"in {fewer} of {len(plain)} rows"),
        ),
    )  # fmt: skip


DESIGN: Final = Design(configurations, measure, report, Choices((20,)))
"""The protocols as they run, beside the model."""
