"""IRBR when many routers crash at once: what is lost until tables are right again, and after.

The work announces its tolerance of faults and shows no figures of it (004, L42, L229-246). Here,
routers join one after the other by one that is there, each subscribes to one value of `SPREAD`, and
publications go from drawn routers. Then a share of all routers crashes in one instant. From then
on, every `STEP_S`, some are published and tables are looked at. They have a *gap* while a router
that is alive lacks, in the slot of another one, an entry that covers the interest of that one:
entries of routers that are gone serve as well until they are dropped, and gaps come then. They are
*repaired* when there is no gap and no such entry any more. Then as many are published as in the
beginning.

Scribe and reverse path forwarding on the same circle have other tables, so for them deliveries
decide: they are repaired after the last step in which anything was lost, once nothing was in
`QUIET` steps more.

The due deliveries follow from the live routers and their interests, and from nothing that routers
know. Time is virtual; links take 10 ms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random
from typing import Final

from sapwood.language import parse_filter
from sapwood.limits.structured import RANGES_REPAIR_S
from sapwood.model.publication import Publication
from sapwood.overlay.identifiers import IdentifierSpace, Range, slot_of
from sapwood.overlay.topology import Topology
from sapwood.routing.membership.pastry.choice import space_of
from sapwood.routing.membership.pastry.pastry import Pastry
from sapwood.routing.messages import Message, Publish, RangeSubscribe, Subscribe
from sapwood.routing.router import Router
from sapwood.simulation.history import ClientName, SubscriptionName
from sapwood.simulation.network import Delay, default_delay
from sapwood.simulation.simulator import router_maker
from sapwood.simulation.world import World
from sapwood_lab.experiments.design import Choices, Configuration, Design
from sapwood_lab.experiments.report import Finding, Report, Row, number, table

ROUTERS: Final = (1_000,)
SHARES: Final = (0.2, 0.5)
PUBLICATIONS: Final = 200
SPREAD: Final = 50
"""Values of which each router subscribes to one, so that 2 % of all match a publication."""
BASE: Final = 4
JOIN_S: Final = 0.2
"""Between two routers that join: longer than one takes."""
STEP_S: Final = 5.0
PROBES: Final = 20
"""Publications in each step of a repair."""
REPAIR_MAX_S: Final = 40 * RANGES_REPAIR_S
"""Seconds after which tables that are not right yet count as never repaired."""

PROTOCOLS: Final = ("irbr", "scribe", "rpf")
QUIET: Final = 12
"""Steps without a loss, a minute, after which there are taken to be no more."""

GIVEN: Final = ("protocol", "routers", "crashed", "seed")
COLUMNS: Final = (
    *GIVEN[:3], "links", "join_messages", "entries", "subscribe_messages", "publish_messages",
    "due_before", "lost_before", "due_meanwhile", "lost_meanwhile",
    "gap_s", "repair_s", "due_after", "lost_after", "duplicates",
)  # fmt: skip


def joined_world(
    protocol: str, routers: int, random: Random, delay: Delay = default_delay
) -> World:
    """Routers that have joined one after the other by one that was there."""
    first, make = Topology(("r0",), ()), router_maker(protocol)
    world = World(first, make, validate=False, traced=False, delay=delay)
    for number_ in range(1, routers):
        name, by = f"r{number_}", f"r{random.randrange(number_)}"
        world.add_router(name)
        world.add_link(name, by, delay(name, by))
        world.run_until(world.now + JOIN_S)
    world.drain()
    return world


class Trial:
    """One overlay, and its clients' interests: `wanted` by live router, `_ever` by any router."""

    def __init__(self, routers: int, random: Random, protocol: str = "irbr") -> None:
        self._random = random
        self.world = joined_world(protocol, routers, random)
        self.wanted: dict[str, int] = {}
        self._ever: dict[str, int] = {}
        self._space: IdentifierSpace = space_of(BASE)

    def sent(self, kind: type[Message] | None = None) -> int:
        """The messages that were sent so far, of a kind or all, those of comparisons among them."""
        messages = self.world.tally.messages
        return messages.total() if kind is None else messages[kind.__name__.lower()]

    def subscribe(self) -> None:
        """Let each router have a subscriber, and wait until all are in force."""
        for home in self.world.topology.routers:
            value = self._random.randrange(SPREAD)
            self.wanted[home] = self._ever[home] = value
            self.world.subscribe(SubscriptionName(home, "ann", "s"), parse_filter(f"x = {value}"))
            self.world.run_until(self.world.now + JOIN_S)
        self.world.drain()

    def crash(self, share: float) -> None:
        """Crash a share of the routers in one instant."""
        for home in self._random.sample(sorted(self.wanted), round(share * len(self.wanted))):
            del self.wanted[home]
            self.world.crash_router(home)

    def publish(self, word: str, count: int) -> Counter[str]:
        """From drawn routers; how many deliveries are due, lost, and there more than once."""
        homes, got = list(self.wanted), Counter[tuple[str, str]]()
        values = {f"{word}-{at}": self._random.randrange(SPREAD) for at in range(count)}
        known = len(self.world.history.deliveries)
        for id_, value in values.items():
            client = ClientName(self._random.choice(homes), "bob")
            self.world.publish(client, Publication(id_, {"x": value}))
        self.world.run_until(self.world.now + STEP_S)
        for _, id_, name in self.world.history.deliveries[known:]:
            got[id_, name.home] += 1
        due = {
            (id_, home)
            for id_, value in values.items()
            for home, wanted in self.wanted.items()
            if wanted == value
        }
        return Counter(due=len(due), lost=len(due - got.keys()), twice=sum(got.values()) - len(got))

    def repair(self) -> tuple[Counter[str], float, float | None]:
        """Until tables are right: what came of publications, seconds with gaps, seconds in all.

        `None` if they do not become right.
        """
        needed, began, gap_s = self._needed(), self.world.now, 0.0
        found: Counter[str] = Counter()
        for step in range(int(REPAIR_MAX_S / STEP_S)):
            gaps, stale = self._wrong(needed)
            if not gaps and not stale:
                return found, gap_s, self.world.now - began
            gap_s += STEP_S * bool(gaps)
            found.update(self.publish(f"meanwhile-{step}", PROBES))
        return found, gap_s, None

    def settle(self) -> tuple[Counter[str], float | None]:
        """Until nothing is lost: what came of publications, and seconds to the last loss.

        `None` if losses do not end.
        """
        began, last_s, quiet = self.world.now, 0.0, 0
        found: Counter[str] = Counter()
        for step in range(int(REPAIR_MAX_S / STEP_S)):
            came = self.publish(f"meanwhile-{step}", PROBES)
            found.update(came)
            quiet = 0 if came["lost"] else quiet + 1
            if came["lost"]:
                last_s = self.world.now - began
            if quiet == QUIET:
                return found, last_s
        return found, None

    def tables(self, home: str) -> dict[str, list[str]]:
        """The keys that a router has by range."""
        router = self.world.routers[home]
        assert isinstance(router, Router)
        assert isinstance(router.membership, Pastry)
        received = router.membership.subscriptions.entries.received
        return {range_: list(entries) for range_, entries in received.items()}

    def entries(self, home: str) -> int:
        """The number of other routers' subscriptions in a router's tables."""
        router = self.world.routers[home]
        assert isinstance(router, Router)
        return router.table_sizes()["received"]

    def _needed(self) -> dict[str, set[tuple[Range, int]]]:
        """For each live router the slots of the others, with their interests."""
        at = {home: self._space.identifier_of(home) for home in self.wanted}
        return {
            home: {(slot_of(at[home], at[one]), self.wanted[one]) for one in at if one != home}
            for home in at
        }

    def _wrong(self, needed: Mapping[str, set[tuple[Range, int]]]) -> tuple[int, int]:
        """The number of gaps in tables, and of entries of routers that are gone."""
        gaps = stale = 0
        for home, wanted in needed.items():
            known = [
                (range_, key.rsplit(".", 2)[0])
                for range_, keys in self.tables(home).items()
                for key in keys
            ]
            gaps += len(wanted - {(range_, self._ever[one]) for range_, one in known})
            stale += sum(one not in self.wanted for _, one in known)
        return gaps, stale


def configurations(choices: Choices) -> list[Configuration]:
    """One for each protocol and share of routers that crash; `sizes` are numbers of routers."""
    return [
        dict(zip(GIVEN, (protocol, routers, share, choices.seed), strict=True))
        for protocol in PROTOCOLS
        for routers in choices.sizes or ROUTERS
        for share in SHARES
    ]


def measure(configuration: Configuration) -> list[Row]:
    """One crash, with what came before and after."""
    protocol, routers, share, seed = (configuration[name] for name in GIVEN)
    random = Random(f"{seed}/{routers}")  # noqa: S311 - reproducible
    trial = Trial(routers, random, protocol)
    is_irbr = protocol == "irbr"
    world = trial.world
    joined = trial.sent()
    trial.subscribe()
    subscribed = trial.sent(RangeSubscribe if is_irbr else Subscribe)
    entries = sum(map(trial.entries, trial.wanted))
    before = trial.publish("before", PUBLICATIONS)
    published = trial.sent(Publish)
    links = 2 * len(world.topology.links) / routers
    trial.crash(share)
    if is_irbr:
        meanwhile, gap_s, repair_s = trial.repair()
    else:
        meanwhile, repair_s = trial.settle()
        gap_s = None
    after = trial.publish("after", PUBLICATIONS)
    return [
        {
            "links": links,
            "join_messages": joined / routers,
            "entries": entries / routers,
            "subscribe_messages": subscribed / routers,
            "publish_messages": published / PUBLICATIONS,
            "due_before": before["due"],
            "lost_before": before["lost"],
            "due_meanwhile": meanwhile["due"],
            "lost_meanwhile": meanwhile["lost"],
            "gap_s": gap_s,
            "repair_s": repair_s,
            "due_after": after["due"],
            "lost_after": after["lost"],
            "duplicates": before["twice"] + meanwhile["twice"] + after["twice"],
        }
    ]


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    """The losses and the time of repair, by the share that crashed."""
    lost = sum(number(row["lost_before"]) + number(row["lost_after"]) for row in rows)
    shares = {
        name: (
            sum(number(row["lost_meanwhile"]) for row in rows if row["protocol"] == name),
            sum(number(row["due_meanwhile"]) for row in rows if row["protocol"] == name),
        )
        for name in PROTOCOLS
    }
    shown = ", ".join(f"{name} {a:,.0f} of {b:,.0f}" for name, (a, b) in shares.items())
    twice = sum(number(row["duplicates"]) for row in rows)
    repaired = sum(row["repair_s"] is not None for row in rows)
    return Report(
        title="When many routers crash at once (announced by the work, and not shown)",
        settings={"seed": choices.seed, "base": BASE, "publications": PUBLICATIONS},
        columns=COLUMNS,
        rows=table(COLUMNS, rows),
        compare="nothing: the work shows no figures of faults.",
        findings=(
            Finding("tables are right again", repaired == len(rows), f"in {repaired} rows"),
            Finding("nothing is lost before, and once repaired", not lost, f"{lost:g} lost"),
            Finding(
                "until repaired Scribe and RPF lose publications (bar v)",
                all(shares[name][0] > 0 for name in PROTOCOLS[1:]),
                f"lost until repaired: {shown}",
                "IRBR keeps a publication until it is known to be there; they do not.",
            ),
            Finding("nothing comes twice", not twice, f"{twice:g} did"),
        ),
    )


DESIGN: Final = Design(configurations, measure, report, Choices((60,)))
"""Crashes of many routers at once."""
