"""XSiena, figures 9.5 to 9.7: false positives while a tree optimizer follows the filters.

Of 27 routers nine have a subscriber and nine a publisher, and one has the tree optimizer. Every
three seconds each subscriber has one filter more and each publisher sends one event, all Pareto,
and the optimizer states the routing tree anew where it differs by more than a threshold. Filters
without a place in the tree yet lie higher up, so links carry publications that match no filter
behind them. Clients never get those here, as content is matched last; they are counted on links, as
a share of all crossings, over a twentieth of the run at a time.

All routers place all filters alike, so one that has the homes of the subscribers for neighbors
decides for all: a publication crosses the links on the ways to the homes that it would go to. A
second one, which matches by content, finds the homes with a match. All links are up and take no
time; the tree that is stated holds before the next event. A tree that travels has a size that it
does not exceed (`limits.TREE_NODES_MAX`); where it is full, it stays as it is.

The work prints neither the overlay (here a binary tree) nor how many names there were. Filters and
events are those of figures 9.1 to 9.4, with as few names as give most events a match somewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from random import Random
from types import MappingProxyType
from typing import Final, NamedTuple

from sapwood.errors import InvariantError
from sapwood.matching.engine_names import Engines
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.overlay.shapes import parse_topology
from sapwood.overlay.topology import Hop, Topology
from sapwood.routing.forwarding.prefix.optimizer import Optimizer
from sapwood.routing.forwarding.protocol import NO_DIGEST, Forwarding, clearing_of
from sapwood.routing.protocols import protocol
from sapwood_lab.experiments.design import Choices, Configuration, Design
from sapwood_lab.experiments.report import (
    Chart,
    Finding,
    Report,
    Row,
    figure,
    is_within,
    line,
    number,
    table,
)
from sapwood_lab.experiments.routing_trees import workload

PUBLICATIONS: Final = 15_000
THRESHOLDS: Final[Mapping[float, int]] = MappingProxyType({0.3: 84, 0.8: 19})
"""The thresholds, and how often the tree was stated anew under each."""
OVERLAY: Final = "tree:27:2"
CLIENTS: Final = 9
NAMES: Final = 12
WINDOWS: Final = 20
MOST_PCT: Final = 1.0
"""The bound below which the share of false positives falls."""
CONTENT, TREES = "simple", "simple+prefix"
_OPTIMIZER: Final = "optimizer"
"""The side of the optimizer, which has no subscription of its own."""

GIVEN: Final = ("threshold", "publications", "seed")
COLUMNS: Final = (
    *("threshold", "publications", "at", "filters", "nodes", "is_full", "updates"),
    *("published_updates", "crossings", "needless", "needless_pct", "published_pct"),
)
COUNTED: Final = (
    "The work counts deliveries to subscribers, who get many events each; here links are counted, "
    "and a filter without a place lies at the root, whose link then carries everything."
)
"""The reason why the share may be above the published one."""


class Place(NamedTuple):
    """The places of one run's clients."""

    topology: Topology
    subscribers: Sequence[str]
    publishers: Sequence[str]


def placed(seed: int) -> Place:
    """Clients at routers drawn with the seed, those of each kind at different ones."""
    generator = Random(f"{seed}/clients")  # noqa: S311 - reproducible
    topology = parse_topology(OVERLAY, generator.randrange)
    assert isinstance(topology, Topology), "there is one way between any two routers"
    drawn = [generator.sample(topology.routers, CLIENTS) for _ in range(2)]
    return Place(topology, *drawn)


class Rounds:
    """One run, round by round: filters, the optimizer's updates for them, and events.

    #: both routers have a side for each subscriber's home, with its filters
    """

    __slots__ = ("_content", "_names", "_place", "_told", "_trees", "_ways", "optimizer")

    def __init__(self, place: Place, threshold: float) -> None:
        self.optimizer: Final = Optimizer(threshold)
        self._place = place
        self._content, self._trees = (_router(word, place) for word in (CONTENT, TREES))
        self._names: dict[str, Interest] = {}
        self._told: list[str] = []
        homes = dict.fromkeys((*place.subscribers, *place.publishers))
        self._ways = {a: {b: _hops(place.topology, a, b) for b in homes} for a in homes}

    def subscribe(self, filters: Sequence[tuple[str, Interest]]) -> None:
        """Each subscriber has one of these filters more.

        The optimizer gets them until it has left one out: its tree is full then.
        """
        for home, (key, wanted) in zip(self._place.subscribers, filters, strict=True):
            self._content.learned(home, key, wanted)
            self._trees.learned(home, key, wanted)
            self._names[key] = wanted
        if self.optimizer.left_out:
            return
        self.optimizer.hear(self._names.values())
        update = self.optimizer.update()
        if update is None:
            return
        self._trees.learned_many(_OPTIMIZER, update.subscriptions)
        for key in self._told:
            self._trees.forgot(_OPTIMIZER, key)
        self._told = [key for key, _ in update.subscriptions]
        later = clearing_of(self._trees)
        while later is not None and later.has_left:
            later.clear(1)

    def publish(self, events: Sequence[Publication]) -> tuple[int, int]:
        """Each publisher sends one of these: the links that they cross, and those for nothing."""
        crossings = needless = 0
        for home, event in zip(self._place.publishers, events, strict=True):
            ways = self._ways[home]
            sent = {hop for one in _homes(self._trees, event) for hop in ways[one]}
            wanted = {hop for one in _homes(self._content, event) for hop in ways[one]}
            if not wanted <= sent:
                raise InvariantError(f"prefix forwarding has lost {event.id}")
            crossings += len(sent)
            needless += len(sent - wanted)
        return crossings, needless


def configurations(choices: Choices) -> list[Configuration]:
    """One for each threshold and number of publications."""
    return [
        dict(zip(GIVEN, (threshold, size, choices.seed), strict=True))
        for threshold in THRESHOLDS
        for size in choices.sizes or (PUBLICATIONS,)
    ]


def measure(configuration: Configuration) -> list[Row]:
    """A row for each part of the run."""
    threshold, size, seed = (configuration[name] for name in GIVEN)
    drawn, rounds = workload("pareto", NAMES), Rounds(placed(seed), threshold)
    turns = max(1, size // CLIENTS)
    filters = [(one.id, one.filter) for one in drawn.subscriptions(turns * CLIENTS, seed)]
    events = [*drawn.publications(turns * CLIENTS, seed)]
    rows: list[Row] = []
    crossings = needless = 0
    for turn in range(turns):
        some = slice(turn * CLIENTS, (turn + 1) * CLIENTS)
        rounds.subscribe(filters[some])
        all_, useless = rounds.publish(events[some])
        crossings, needless = crossings + all_, needless + useless
        if (turn + 1) * WINDOWS // turns > turn * WINDOWS // turns:
            rows.append(
                {
                    "at": (turn + 1) * CLIENTS,
                    "filters": (turn + 1) * CLIENTS,
                    "nodes": rounds.optimizer.nodes - 1,
                    "is_full": "yes" if rounds.optimizer.left_out else "no",
                    "updates": rounds.optimizer.updates,
                    "crossings": crossings,
                    "needless": needless,
                    "needless_pct": round(100 * needless / crossings, 2) if crossings else None,
                }
            )
            crossings = needless = 0
    return rows


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    """Shares and updates along the runs."""
    shown = [_beside(row) for row in rows]
    return Report(
        title="False positives and updates of the routing tree (XSiena, figures 9.5 to 9.7)",
        settings={"seed": choices.seed, "overlay": OVERLAY, "names": NAMES},
        columns=COLUMNS,
        rows=table(COLUMNS, shown),
        compare=(
            "that the share falls with time below 1 %, that fewer updates cost more of it, and how "
            "often the tree is stated anew; the curves are lost."
        ),
        charts=tuple(_charts(shown)),
        findings=tuple(_findings(shown)),
    )


DESIGN: Final = Design(configurations, measure, report, Choices((720,)))


def _router(word: str, place: Place) -> Forwarding:
    chosen = protocol(word)
    made = chosen.forwarding.make("r", Engines(), chosen.propagation)
    for home in (*place.subscribers, _OPTIMIZER):
        made.add_side(home)
    return made


def _homes(router: Forwarding, event: Publication) -> list[str]:
    return [one.neighbor for one in router.route([event], None, [NO_DIGEST], 0.0).onward]


def _hops(topology: Topology, start: str, end: str) -> frozenset[Hop]:
    return frozenset(pairwise(topology.path(start, end)))


def _is_last(row: Row) -> bool:
    return number(row["at"]) > number(row["publications"]) - CLIENTS


def _beside(row: Row) -> Row:
    """A row with what was published of the end of the run."""
    if row["publications"] != PUBLICATIONS or not _is_last(row):
        return row
    updates = THRESHOLDS.get(number(row["threshold"]))
    return {**row, "published_updates": updates, "published_pct": MOST_PCT}


def _runs(rows: Sequence[Row]) -> dict[float, list[Row]]:
    """The longest run under each threshold."""
    most = max(number(row["publications"]) for row in rows)
    return {
        threshold: some
        for threshold in THRESHOLDS
        if (some := [r for r in rows if (r["threshold"], r["publications"]) == (threshold, most)])
    }


def _charts(rows: Sequence[Row]) -> Iterator[Chart]:
    runs = {f"threshold {threshold:.0%}": some for threshold, some in _runs(rows).items()}
    for name, title, column, unit in (
        ("needless", "Crossings for nothing (9.5)", "needless_pct", "percent of all"),
        ("updates", "Statements of the routing tree (9.6, 9.7)", "updates", "statements so far"),
        ("nodes", "The routing tree (9.6, 9.7)", "nodes", "nodes"),
    ):
        lines = {told: line(some, "at", column) for told, some in runs.items()}
        yield Chart(name, title, "publications", unit, lines, linear_x=True, linear_y=True)


def _findings(rows: Sequence[Row]) -> Iterator[Finding]:
    runs = _runs(rows)
    for threshold, some in runs.items():
        last, short = some[-1], _short(some[-1])
        if last["needless_pct"] is not None:
            yield is_within(
                f"threshold {threshold:.0%}: below {MOST_PCT:g} % after {PUBLICATIONS:,} events",
                number(last["needless_pct"]),
                MOST_PCT,
                COUNTED,
                short,
            )
        yield _is_near(threshold, number(last["updates"]), short)
        half = [row for row in some if number(row["at"]) <= number(last["at"]) / 2]
        early = number(half[-1]["updates"]) if half else 0.0
        late = number(last["updates"]) - early
        yield Finding(
            f"threshold {threshold:.0%}: fewer statements as the tree grows",
            late < early,
            f"{figure(early)} in the first half of the run, {figure(late)} in the second",
        )
    if len(runs) == len(THRESHOLDS):
        least, most = (_share(runs[threshold]) for threshold in THRESHOLDS)
        yield Finding(
            "the higher threshold has more false positives",
            most > least,
            f"{most:.3g} % of all crossings of the run, and {least:.3g} %",
        )


def _is_near(threshold: float, updates: float, short: str) -> Finding:
    published = THRESHOLDS[threshold]
    return Finding(
        f"threshold {threshold:.0%}: the tree is stated anew {published} times, within a half",
        abs(updates - published) <= published / 2,
        f"{figure(updates)} times",
        "How the work tells nodes apart is not printed. Here a node is the same where the way to "
        "it is, and the optimizer looks every three seconds, not at each filter.",
        short,
    )


def _share(rows: Sequence[Row]) -> float:
    crossings, needless = (sum(number(r[name]) for r in rows) for name in ("crossings", "needless"))
    return 100 * needless / max(1.0, crossings)


def _short(row: Row) -> str:
    is_short = number(row["publications"]) < PUBLICATIONS
    return f"{PUBLICATIONS:,} publications" if is_short else ""
