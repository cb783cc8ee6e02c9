"""IRBR, its two figures: messages a subscription and a publication, by number of subscriptions.

One circle of routers with routing tables that are right, each with drawn routers for its ranges,
and subscriptions one after the other, as the work had it (004, L249-277). Four protocols:

* *IRBR*: delegation, less far where a router nearby stands for a subscription.
* *Scribe* with one rendezvous: a subscription goes to parents until one has sent its own parent a
  cover of it; a publication goes to the rendezvous and from there to all routers with a match.
* *RPF*, strong form: a subscription goes as under IRBR, to all, but no router hands a range a
  subscription after a cover of it; a publication takes the way back from all routers with a match,
  as if entries named their owners.
* *RPF*, plain form: the same entries without that; a router hands a publication that is new to it
  to all from whom it has an entry that matches.

The work has values of its figures lost, as well as its number of routers, base and rates; those
here are the dossier's (4.1). What can be compared is the order of the curves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import log
from random import Random
from typing import Final

from sapwood.overlay.identifiers import Identifier, IdentifierSpace, Range, common_digits, slot_of
from sapwood_lab.experiments.design import Choices, Configuration, Design
from sapwood_lab.experiments.report import Chart, Finding, Report, Row, line, number, table
from sapwood_lab.workload.rates import Bounds, RatedWorkload, covers, matches

ROUTERS: Final = 1_000
SPACE: Final = IdentifierSpace(4, 6)
SUBSCRIPTIONS: Final = (1_000,)
ATTRIBUTES: Final = (1, 5, 25)
"""The attributes, of which a filter constrains one: rates of 0.5, 0.1 and 0.02."""
STEPS: Final = 10
PUBLICATIONS: Final = 40
PROTOCOLS: Final = ("irbr", "scribe", "rpf", "rpf_plain")
LOAD_FACTOR: Final = 3
"""c of bar iv: ours, the dossier names none. 15 times the mean among 1,000 routers."""

GIVEN: Final = ("routers", "attributes", "last", "seed")
COLUMNS: Final = (
    "routers", "attributes", "rate", "subscriptions",
    "subscribe_irbr", "subscribe_scribe", "subscribe_rpf", "wanting",
    "publish_irbr", "publish_scribe", "publish_rpf", "publish_rpf_plain",
    "busiest_irbr", "busiest_scribe",
)  # fmt: skip


class Circle:
    """Routers at drawn identifiers, with drawn representatives of their slots."""

    def __init__(self, routers: int, random: Random) -> None:
        chosen = random.sample(range(SPACE.size), routers)
        self.routers = [SPACE.written(number) for number in chosen]
        inside: dict[Range, list[Identifier]] = {}
        for router in self.routers:
            for length in range(1, SPACE.digits + 1):
                inside.setdefault(router[:length], []).append(router)
        #: router -> slot -> who stands for it, short slots first
        self.tables = {
            router: {
                slot: random.choice(inside[slot]) for slot in SPACE.slots(router) if slot in inside
            }
            for router in self.routers
        }
        middle = SPACE.size // 2
        self.rendezvous = min(self.routers, key=lambda one: abs(SPACE.number(one) - middle))

    def way(self, start: Identifier, end: Identifier) -> list[Identifier]:
        """The routers from one to another, each by the table of the one before."""
        found = [start]
        while found[-1] != end:
            here = found[-1]
            found.append(self.tables[here][slot_of(here, end)])
        return found

    def upward(self, start: Identifier) -> list[Identifier]:
        """The routers from one to the rendezvous."""
        return self.way(start, self.rendezvous)

    def within(self, router: Identifier, range_: Range) -> list[tuple[Range, Identifier]]:
        """The slots of a router in a range that it looks after."""
        slots = self.tables[router].items()
        return [(s, one) for s, one in slots if len(s) > len(range_) and s.startswith(range_)]


class Subscribed:
    """The tables of routers on a circle, protocol by protocol; each method counts messages.

    `comes_back`: the rendezvous of Scribe does not know where a publication comes from, so that it
    goes back there as well if its home has a match; else its home is left out.
    """

    def __init__(self, circle: Circle, *, comes_back: bool = False) -> None:
        self._circle = circle
        self._comes_back = comes_back
        self.wanted: list[tuple[Identifier, Bounds]] = []
        #: IRBR: router -> slot -> the filters wanted there
        self._ranges: dict[Identifier, dict[Range, list[Bounds]]] = {}
        #: Scribe: router -> the filters that it has sent its parent
        self._upward: dict[Identifier, list[Bounds]] = {}
        #: RPF: (router, slot) -> the filters that were handed there
        self._handed: dict[tuple[Identifier, Range], list[Bounds]] = {}
        #: messages of publications that each router sent or got, by protocol
        self.handled: Counter[tuple[str, Identifier]] = Counter()
        #: RPF: router -> from whom, and what
        self._entries: dict[Identifier, dict[Identifier, list[Bounds]]] = {}

    def add(self, home: Identifier, wanted: Bounds) -> Counter[str]:
        """One more subscription."""
        count: Counter[str] = Counter()
        own = [known for router, known in self.wanted if router == home]
        self.wanted.append((home, wanted))
        count["scribe"] = self._scribe(home, wanted)
        if not any(covers(known, wanted) for known in own):
            count["irbr"] = self._irbr(home, wanted)
        count["rpf"] = self._rpf(home, wanted)
        return count

    def _irbr(self, home: Identifier, wanted: Bounds) -> int:
        known = self._ranges.get(home, {})
        lengths = [len(s) for s, some in known.items() if any(covers(one, wanted) for one in some)]
        reach, count = max(lengths, default=1), 0
        told = [one for one in self._circle.within(home, "") if len(one[0]) >= reach]
        for range_, router in told:
            count += 1
            seen = home[: common_digits(home, router) + 1]
            some = self._ranges.setdefault(router, {}).setdefault(seen, [])
            some[:] = [one for one in some if not covers(wanted, one)]
            some.append(wanted)
            told.extend(self._circle.within(router, range_))
        return count

    def _scribe(self, home: Identifier, wanted: Bounds) -> int:
        count = 0
        for router in self._circle.upward(home)[:-1]:
            told = self._upward.setdefault(router, [])
            if any(covers(one, wanted) for one in told):
                break
            told.append(wanted)
            count += 1
        return count

    def _rpf(self, home: Identifier, wanted: Bounds) -> int:
        count, waiting = 0, [(home, "")]
        for router, range_ in waiting:
            for slot, to in self._circle.within(router, range_):
                handed = self._handed.setdefault((router, slot), [])
                if any(covers(one, wanted) for one in handed):
                    continue
                handed[:] = [one for one in handed if not covers(wanted, one)]
                handed.append(wanted)
                self._entries.setdefault(to, {}).setdefault(router, []).append(wanted)
                count += 1
                waiting.append((to, slot))
        return count

    def publish(self, home: Identifier, record: Bounds) -> tuple[Counter[str], set[Identifier]]:
        """The messages of one publication by protocol, and the routers with a match."""
        circle = self._circle
        known = {router for router, one in self.wanted if matches(one, record)}
        wanting = known - {home}
        forward = {step for end in wanting for step in _steps(circle.way(home, end))}
        back = {step for end in wanting for step in _steps(circle.way(end, home))}
        up = _steps(circle.upward(home))
        below = known if self._comes_back else wanting
        down = {step for end in below for step in _steps(circle.upward(end))}
        count = Counter(
            irbr=len(forward), scribe=len(up) + len(down), rpf=len(back),
            rpf_plain=self._flooded(home, record),
        )  # fmt: skip
        for a, b in forward:
            self.handled["irbr", a] += 1
            self.handled["irbr", b] += 1
        for a, b in (*up, *down):
            self.handled["scribe", a] += 1
            self.handled["scribe", b] += 1
        return count, wanting

    def _flooded(self, home: Identifier, record: Bounds) -> int:
        count, arrived, waiting = 0, {home}, [(home, home)]
        for router, source in waiting:
            for to, some in self._entries.get(router, {}).items():
                if to != source and any(matches(one, record) for one in some):
                    count += 1
                    if to not in arrived:
                        arrived.add(to)
                        waiting.append((to, router))
        return count


def _steps(way: Sequence[Identifier]) -> list[tuple[Identifier, Identifier]]:
    return list(pairwise(way))


def configurations(choices: Choices) -> list[Configuration]:
    """One for each size and number of attributes."""
    return [
        dict(zip(GIVEN, (min(ROUTERS, 4 * last), attributes, last, choices.seed), strict=True))
        for last in choices.sizes or SUBSCRIPTIONS
        for attributes in ATTRIBUTES
    ]


def measure(configuration: Configuration) -> list[Row]:
    """Mean messages of the last tenth of subscriptions, and of publications then."""
    routers, attributes, last, seed = (configuration[name] for name in GIVEN)
    random = Random(f"{seed}/{routers}/{attributes}")  # noqa: S311 - reproducible
    workload, circle = RatedWorkload(attributes), Circle(routers, random)
    known = Subscribed(circle)
    rows: list[Row] = []
    some = max(last // STEPS, 1)
    for number_ in range(some, last + 1, some):
        told: Counter[str] = Counter()
        for _ in range(some):
            told.update(known.add(random.choice(circle.routers), workload.draw_filter(random)))
        sent: Counter[str] = Counter()
        wanting = 0
        known.handled.clear()
        for _ in range(PUBLICATIONS):
            record = workload.draw_record(random)
            counted, those = known.publish(random.choice(circle.routers), record)
            sent.update(counted)
            wanting += len(those)
        rows.append(
            {
                "rate": workload.covering_rate,
                "subscriptions": number_,
                **{f"subscribe_{name}": told[name] / some for name in PROTOCOLS[:3]},
                "wanting": wanting / PUBLICATIONS,
                **{f"publish_{name}": sent[name] / PUBLICATIONS for name in PROTOCOLS},
                **{f"busiest_{name}": _busiest(known, name, routers) for name in PROTOCOLS[:2]},
            }
        )
    return rows


def _busiest(known: Subscribed, name: str, routers: int) -> float:
    """The load of the busiest router, as a multiple of the mean."""
    handled = [count for (protocol, _), count in known.handled.items() if protocol == name]
    return max(handled) * routers / sum(handled) if handled else 0.0


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    """Both figures, for each rate."""
    rates = sorted({number(row["rate"]) for row in rows}, reverse=True)
    charts = tuple(
        Chart(
            f"{what}-{rate:g}", f"Messages to {what}, rates of {rate:g}",
            "subscriptions", "messages",
            {name: line([row for row in rows if row["rate"] == rate],
                        "subscriptions", f"{what}_{name}")
             for name in PROTOCOLS if f"{what}_{name}" in COLUMNS},
            linear_x=True, linear_y=True,
        )
        for rate in rates
        for what in ("subscribe", "publish")
    )  # fmt: skip
    return Report(
        title="Messages of IRBR, Scribe and reverse path forwarding (IRBR, both figures)",
        settings={"seed": choices.seed, "base": SPACE.base, "digits": SPACE.digits},
        columns=COLUMNS,
        rows=table(COLUMNS, rows),
        compare="the order of the curves: all values of the figures are lost.",
        charts=charts,
        findings=_findings(rows),
    )


def _findings(rows: Sequence[Row]) -> tuple[Finding, ...]:
    last = max(number(row["subscriptions"]) for row in rows)
    final = [row for row in rows if row["subscriptions"] == last]
    few = [row for row in rows if number(row["wanting"]) <= number(row["routers"]) / 50]
    strong = (
        "IRBR sends fewer only than the plain form, in which entries do not say for whom they are; "
        "the work does not say which form it compares with."
    )
    many = (
        "Where many routers want a publication, those on the way by digits that do not want it "
        "cost IRBR more than the detour over the rendezvous costs Scribe."
    )
    return (
        _all_below("a subscription costs less by IRBR than by RPF, in its strong form",
                   rows, "subscribe_irbr", "subscribe_rpf", strong),
        _all_below("so it does when there are many", final, "subscribe_irbr", "subscribe_rpf",
                   strong),
        _all_below("a subscription costs least by Scribe",
                   rows, "subscribe_scribe", "subscribe_irbr"),
        _all_below("a publication costs less by IRBR than by Scribe", rows,
                   "publish_irbr", "publish_scribe", many),
        _all_below("so it does where at most 2 % of routers want it", few,
                   "publish_irbr", "publish_scribe"),
        _all_below("a publication costs less by IRBR than by RPF, in its strong form", rows,
                   "publish_irbr", "publish_rpf", strong),
        _all_below("and in its plain form", rows, "publish_irbr", "publish_rpf_plain"),
        _all_below("the busiest router has less to do by IRBR than the rendezvous of Scribe",
                   rows, "busiest_irbr", "busiest_scribe"),
        *_bars(rows),
    )  # fmt: skip


def _bars(rows: Sequence[Row]) -> Iterator[Finding]:
    """The findings on costs and loads that the dossier expects (4.3, bars iii and iv)."""
    rates = sorted({number(row["rate"]) for row in rows}, reverse=True)
    by_rate = [line([row for row in rows if row["rate"] == rate], "subscriptions",
                    "subscribe_irbr") for rate in rates]  # fmt: skip
    ends = [(points[0][1], points[-1][1]) for points in by_rate]
    yield Finding(
        "a subscription costs less by IRBR the more there are (bar iii)",
        all(first > last for first, last in ends),
        "; ".join(f"rate {rate:g}: {first:.1f} to {last:.1f}"
                  for rate, (first, last) in zip(rates, ends, strict=True)),
    )  # fmt: skip
    yield Finding(
        "and the less the more often one covers another (bar iii)",
        all(a[1] <= b[1] for a, b in pairwise(ends)),
        ", ".join(f"{last:.1f} with {rate:g}" for rate, (_, last) in zip(rates, ends, strict=True)),
    )
    bounds = [LOAD_FACTOR * log(number(row["routers"]), SPACE.base) for row in rows]
    over = {
        name: sum(number(row[f"busiest_{name}"]) > most
                  for row, most in zip(rows, bounds, strict=True))
        for name in PROTOCOLS[:2]
    }  # fmt: skip
    most_of = {name: max(number(row[f"busiest_{name}"]) for row in rows) for name in over}
    yield Finding(
        f"no router has more than {LOAD_FACTOR} log4 N times the mean to do by IRBR, and Scribe's "
        "rendezvous has (bar iv)",
        not over["irbr"] and over["scribe"] > 0,
        f"more in {over['irbr']} and {over['scribe']} of {len(rows)} rows; at most "
        f"{most_of['irbr']:.1f} and {most_of['scribe']:.1f} times, {min(bounds):.1f} allowed",
        "The dossier leaves the constant open; with few who want a publication the mean is small.",
    )


def _all_below(claim: str, rows: Sequence[Row], lower: str, upper: str, why: str = "") -> Finding:
    """The finding whether one figure is at most another one in all rows."""
    holding = sum(number(row[lower]) <= number(row[upper]) for row in rows)
    return Finding(claim, holding == len(rows), f"in {holding} of {len(rows)} rows", why)


DESIGN: Final = Design(configurations, measure, report, Choices((100,)))
