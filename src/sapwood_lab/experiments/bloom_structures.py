"""XSiena, figures 9.14, 9.15 and 9.17 to 9.19: the structures of Bloom forwarding beside posets.

Filters have 2 to 5 predicates, each filter is of another interface. What is measured is processor
time, of each structure by itself: the Siena poset and the poset-derived forest; the sbsposet, bits
of predicates, which the first broker searches; the sbstree and its counting variant, bits of
filters, which the other brokers search with the bits that the sbsposet has found. Subscribers
compute bits, so that inserting does not include it. There are four parts.

* `filters`: names are Pareto out of 20,000, events have 2 to 5 pairs (9.14, 9.15, 9.17).
* `bits`: the most filters, and events with ever more pairs, of 2,000 names, so that they have ever
  more bits (9.18).
* `constant`: the same with five pairs and ever more filters; the bits of an event are those that it
  has among the fewest (9.19).
* `short`: as `constant`, but hardly two filters have a predicate, and so a bit, in common; beside
  the counting sbstree one that sets all counters back after each event, as the work has it.

Two of 2^14 bits are those of a predicate, as in the work's example, and of 2^24 in `short`. All
structures are Python here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import inf, log
from statistics import fmean
from typing import Final, NamedTuple, TypeAlias, TypeVar

from sapwood.matching.published.posets.engine import PosetEngine
from sapwood.matching.published.posets.forest import PosetForest
from sapwood.matching.published.posets.hasse import HasseDiagram
from sapwood.model.filter import Filter
from sapwood.model.subscription import Subscription
from sapwood.routing.forwarding.bloom.choice import PUBLISHED_BITS, PUBLISHED_HASHES
from sapwood.routing.forwarding.bloom.digest import PREDICATES, shape_of
from sapwood.routing.forwarding.bloom.published.counting_sbstree import CountingSbsTree
from sapwood.routing.forwarding.bloom.published.sbsposet import SbsPoset
from sapwood.routing.forwarding.bloom.published.sbstree import SbsTree
from sapwood.routing.forwarding.bloom.published.structures import bits_of
from sapwood.sketches.shape import Shape
from sapwood.sketches.sliced import SlicedShape
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
from sapwood_lab.workload.records.draws import Spread
from sapwood_lab.workload.records.xsiena import XSiena

S = TypeVar("S")
T = TypeVar("T")

FILTERS, BITS, CONSTANT, SHORT = "filters", "bits", "constant", "short"
SIZES: Final = (500, 1_000, 2_000, 5_000)
SIZES_OF_TREES: Final = (1_000, 5_000, 20_000, 100_000)
"""Of the parts `constant` and `short`, which need no poset."""
EVENTS: Final = 300
EVENTS_OF_BITS: Final = 60
"""Events where they have many bits."""
PAIRS: Final = (2, 5, 10, 20, 40, 80)
CONSTANT_PAIRS: Final = 5
NAMES_OF_BITS: Final = 2_000
NAMES_OF_SHORT: Final = 20_000
SHORT_PAIRS: Final = 80
SHORT_BITS: Final = 1 << 24
ROUNDS: Final = 3
FILLING_S: Final = 2.0
"""Seconds after which a structure is not filled once more."""
SHAPE: Final = shape_of(PUBLISHED_BITS, PUBLISHED_HASHES, PREDICATES)
SHAPE_OF_SHORT: Final = SlicedShape(Shape(SHORT_BITS, PUBLISHED_HASHES, 0), 0)

POSET, FOREST, SBSPOSET, SBSTREE = "poset", "forest", "sbsposet", "sbstree"
COUNTING: Final = "counting sbstree"
SET_BACK: Final = "counting sbstree, all set back"

PUBLISHED_BITS_SET: Final = 200
"""Bits that an event has at most, on the mean (9.17)."""
PUBLISHED_FASTER: Final = 10.0
"""The factor by which insertion into sbsposet and sbstree is faster than into the forest (9.14)."""

FLAT: Final = 0.25
"""The power of what grows so little that it counts as flat: half as much more for five times."""

ALL: Final = (POSET, FOREST, SBSPOSET, SBSTREE, COUNTING)
TREES: Final = (SBSTREE, COUNTING)

GIVEN: Final = ("part", "filters", "fewest", "pairs", "seed")
TIMED: Final = ("add_us", "match_us")
COLUMNS: Final = (
    *("part", "filters", "pairs", "structure", "add_us", "match_us"),
    *("bits_set", "published_bits_set", "steps"),
)


class Drawn(NamedTuple):
    """A filter, and the bits of its predicates."""

    filter: Filter
    bits: Sequence[Sequence[int]]

    @property
    def every(self) -> set[int]:
        """The bits of the filter."""
        return {bit for some in self.bits for bit in some}


def configurations(choices: Choices) -> list[Configuration]:
    """One for each number of filters, and one for each number of pairs."""
    sizes = choices.sizes or SIZES
    given = [(FILTERS, size, min(sizes), 0) for size in sizes]
    given += [(BITS, max(sizes), max(sizes), pairs) for pairs in PAIRS]
    sizes = choices.sizes or SIZES_OF_TREES
    given += [(CONSTANT, size, min(sizes), CONSTANT_PAIRS) for size in sizes]
    given += [(SHORT, size, min(sizes), SHORT_PAIRS) for size in sizes]
    return [dict(zip(GIVEN, (*one, choices.seed), strict=True)) for one in given]


def measure(configuration: Configuration) -> list[Row]:
    """A row for each structure."""
    part, size, fewest, pairs, seed = (configuration[name] for name in GIVEN)
    parameters, events = _parameters(part, pairs), EVENTS_OF_BITS if pairs else EVENTS
    shape = SHAPE_OF_SHORT if part == SHORT else SHAPE
    drawn = [_with_bits(one, shape) for one in parameters.workload().subscriptions(size, seed)]
    records = [one.record for one in parameters.workload().publications(events, seed)]
    rows = list[Row]()
    asked, add_us = _filled(SbsPoset, _insert, drawn[:fewest] if pairs else drawn)
    if part == FILTERS:
        makers = {
            POSET: lambda: PosetEngine(HasseDiagram()),
            FOREST: lambda: PosetEngine(PosetForest()),
        }
        slots = [*enumerate(one.filter for one in drawn)]
        for name, make in makers.items():
            engine, added_us = _filled(make, _put, slots)
            match_us = _least_us(engine.match, records)
            rows.append({"structure": name, "add_us": added_us, "match_us": match_us})
        match_us = _least_us(asked.match, records)
        rows.append({"structure": SBSPOSET, "add_us": add_us, "match_us": match_us})
    digests = [asked.match(record) for record in records]
    trees: dict[str, Callable[[], _Tree]] = {SBSTREE: SbsTree, COUNTING: CountingSbsTree}
    if part == SHORT:
        trees[SET_BACK] = _SetBack
    for name, make_tree in trees.items():
        rows.append({"structure": name, **_of_tree(make_tree, drawn, digests)})
    return rows


class _SetBack:
    """The counting sbstree as the work has it: all counters are set back after each event."""

    def __init__(self) -> None:
        self._postings: dict[int, list[int]] = {}
        self._need, self._left = list[int](), list[int]()
        self._holders: list[str] = []
        self.steps = 0

    def add(self, bits: Iterable[int], holder: str) -> None:
        """A holder has a filter."""
        ones = {*bits}
        for bit in ones:
            self._postings.setdefault(bit, []).append(len(self._need))
        self._need.append(len(ones))
        self._left.append(len(ones))
        self._holders.append(holder)

    def match(self, bits: Iterable[int]) -> set[str]:
        """The holders of filters all of whose bits are among these."""
        found, left = set[str](), self._left
        for bit in {*bits}:
            for row in self._postings.get(bit, ()):
                self.steps += 1
                left[row] -= 1
                if not left[row]:
                    found.add(self._holders[row])
        for row, need in enumerate(self._need):
            left[row] = need
        self.steps += len(left)
        return found


_Tree: TypeAlias = SbsTree | CountingSbsTree | _SetBack


def _of_tree(make: Callable[[], _Tree], drawn: Sequence[Drawn], digests: Sequence[set[int]]) -> Row:
    """The times of a tree; `steps` are nodes, or postings, that a search visits on the mean."""
    whole = [(one.every, str(at)) for at, one in enumerate(drawn)]
    tree, add_us = _filled(make, _add, whole)
    for digest in digests:
        tree.match(digest)
    steps = tree.steps / len(digests)
    return {
        "add_us": add_us,
        "match_us": _least_us(tree.match, digests),
        "bits_set": round(fmean(map(len, digests)), 1),
        "steps": round(steps, 1),
    }


def _parameters(part: str, pairs: int) -> XSiena:
    """The filters and events of figure 9.14, or of fewer names and `pairs` pairs."""
    if not pairs:
        return XSiena()
    if part == SHORT:
        return XSiena(names=Spread(0, NAMES_OF_SHORT - 1), pairs=Spread(pairs, pairs))
    return XSiena(names=Spread(0, NAMES_OF_BITS - 1, "pareto"), pairs=Spread(pairs, pairs))


def _with_bits(subscription: Subscription, shape: SlicedShape) -> Drawn:
    wanted = subscription.filter
    assert isinstance(wanted, Filter), "a record workload has filters of records"
    return Drawn(wanted, [bits_of(one, shape) for one in wanted.conjunctions[0].constraints])


def _filled(
    make: Callable[[], S], add: Callable[[S, T], None], some: Sequence[T]
) -> tuple[S, float]:
    """A structure with all of `some`, and the microseconds for each, the least of some rounds.

    One round where that takes longer than `FILLING_S`.
    """
    least, begun = inf, time.process_time()
    for _ in range(ROUNDS):
        made = make()
        least = min(least, _each_us(partial(add, made), some))
        if time.process_time() - begun > FILLING_S:
            break
    return made, least


def _add(tree: _Tree, filter: tuple[set[int], str]) -> None:
    tree.add(*filter)


def _put(engine: PosetEngine, slot: tuple[int, Filter]) -> None:
    engine.add(*slot)


def _insert(poset: SbsPoset, drawn: Drawn) -> None:
    predicates = drawn.filter.conjunctions[0].constraints
    for (name, asked), bits in zip(predicates, drawn.bits, strict=True):
        poset.add(name, asked, bits)


def _each_us(work: Callable[[T], object], some: Sequence[T]) -> float:
    """Microseconds of processor time for each."""
    began = time.process_time()
    for one in some:
        work(one)
    return float(f"{1e6 * (time.process_time() - began) / len(some):.4g}")


def _least_us(work: Callable[[T], object], some: Sequence[T]) -> float:
    """The same, the least of some rounds."""
    return min(_each_us(work, some) for _ in range(ROUNDS))


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    """Times by filters, and by bits."""
    shown = [_beside(row) for row in rows]
    return Report(
        title="Structures of Bloom forwarding (XSiena, figures 9.14, 9.15, 9.17 to 9.19)",
        settings={"seed": choices.seed, "events": EVENTS, "bits": PUBLISHED_BITS},
        columns=COLUMNS,
        rows=table(COLUMNS, shown),
        compare=(
            "which structure is faster and how costs grow, not times: Java there, Python here. The "
            "curves are lost."
        ),
        charts=tuple(_charts(shown)),
        findings=tuple(_findings(shown)),
        timed=frozenset(TIMED),
    )


DESIGN: Final = Design(configurations, measure, report, Choices((250, 500, 1_000)))


def _beside(row: Row) -> Row:
    if (row["part"], row["structure"]) != (FILTERS, SBSTREE):
        return row
    return {**row, "published_bits_set": PUBLISHED_BITS_SET}


def _of(rows: Sequence[Row], part: str, structure: str) -> list[Row]:
    return [row for row in rows if (row["part"], row["structure"]) == (part, structure)]


def _charts(rows: Sequence[Row]) -> Iterator[Chart]:
    for name, title, part, structures, x, y in (
        ("insert", "Inserting a filter (9.14)", FILTERS, ALL, "filters", "add_us"),
        ("match", "Matching an event (9.15)", FILTERS, ALL, "filters", "match_us"),
        ("set", "Bits of an event (9.17)", FILTERS, (SBSTREE,), "filters", "bits_set"),
        ("by-bits", "Matching, by bits of an event (9.18)", BITS, TREES, "bits_set", "match_us"),
        ("constant", "Matching, bits constant (9.19)", CONSTANT, TREES, "filters", "match_us"),
        ("short", "The same, short lists", SHORT, (*TREES, SET_BACK), "filters", "match_us"),
    ):
        lines = {one: line(_of(rows, part, one), x, y) for one in structures}
        unit = "bits" if y == "bits_set" else "microseconds"
        yield Chart(name, title, x.replace("_", " "), unit, lines, linear_y=y == "bits_set")


def _findings(rows: Sequence[Row]) -> Iterator[Finding]:
    last = {one: _of(rows, FILTERS, one)[-1:] for one in ALL}
    if all(last.values()):
        yield from _of_last({name: row for name, (row,) in last.items()})
    bits = {one: _of(rows, BITS, one) for one in TREES}
    if all(len(some) > 1 for some in bits.values()):
        yield from _by_bits(bits)
    short = {one: _of(rows, SHORT, one) for one in (*TREES, SET_BACK)}
    if all(len(some) > 1 for some in short.values()):
        yield from _with_short_lists(short)
    constant = {one: _of(rows, CONSTANT, one) for one in TREES}
    if all(len(some) > 1 for some in constant.values()):
        yield from _with_constant_bits(constant)


def _of_last(last: Mapping[str, Row]) -> Iterator[Finding]:
    """Claims of insertion and matching, among the most filters."""
    add = {name: number(row["add_us"]) for name, row in last.items()}
    match = {name: number(row["match_us"]) for name, row in last.items()}
    filters = number(last[POSET]["filters"])
    both = add[SBSPOSET] + add[SBSTREE]
    shown = f"{figure(add[POSET])} us, forest {figure(add[FOREST])}, both {figure(both)}"
    yield Finding(
        f"{figure(filters)} filters: the poset is the slowest to insert into",
        add[POSET] > max(add[FOREST], both),
        shown,
    )
    yield Finding(
        f"{figure(filters)} filters: sbsposet and sbstree fill ten times as fast as the forest",
        add[FOREST] >= PUBLISHED_FASTER * both,
        f"{add[FOREST] / both:.3g} times",
        "The forest compares with all its roots, of which there are the more the more filters.",
        "more filters" if filters < max(SIZES) else "",
    )
    yield Finding(
        f"{figure(filters)} filters: the sbsposet is faster to match in than poset and forest",
        match[SBSPOSET] < min(match[POSET], match[FOREST]),
        ", ".join(f"{name} {figure(value)} us" for name, value in match.items()),
    )
    yield Finding(
        f"{figure(filters)} filters: the sbstree is on a par with the sbsposet, within three times",
        1 / 3 <= match[SBSTREE] / match[SBSPOSET] <= 3,
        f"{match[SBSTREE] / match[SBSPOSET]:.3g} times as long",
        "An event has few bits here, so that little is left to compare.",
    )
    yield is_within(
        f"an event has up to {PUBLISHED_BITS_SET} bits on the mean",
        number(last[SBSTREE]["bits_set"]),
        PUBLISHED_BITS_SET,
    )


def _by_bits(bits: Mapping[str, Sequence[Row]]) -> Iterator[Finding]:
    """Figure 9.18: how a search grows with the bits of an event."""
    postings = _power(bits[COUNTING], "bits_set", "steps")
    took = {name: _power(some, "bits_set", "match_us") for name, some in bits.items()}
    yield Finding(
        "the counting sbstree is linear in the bits of an event",
        0.7 <= postings <= 1.3,
        f"postings grow as bits to the power of {postings:.2f}, time of {took[COUNTING]:.2f}",
        "Bits of predicates that many events satisfy are those of many filters: their lists are "
        "longer.",
    )
    yield Finding(
        "the sbstree grows faster with the bits than the counting one",
        took[SBSTREE] > took[COUNTING],
        f"time as bits to the power of {took[SBSTREE]:.2f}, and {took[COUNTING]:.2f}",
    )
    ends = [_power(some, "bits_set", "match_us") for some in _halves(bits[SBSTREE])]
    yield Finding(
        "the sbstree grows exponentially",
        ends[1] >= 2 * ends[0] > 0,
        f"power of {ends[0]:.2f} among few bits, {ends[1]:.2f} among many",
        "A search visits no more nodes than the trie has, so that growth is a power of the bits, "
        "and ends.",
    )


def _with_constant_bits(constant: Mapping[str, Sequence[Row]]) -> Iterator[Finding]:
    """Figure 9.19: how a search grows with the filters."""
    took = {name: _power(some, "filters", "match_us") for name, some in constant.items()}
    steps = {name: _power(some, "filters", "steps") for name, some in constant.items()}
    yield Finding(
        "the sbstree is linear in the filters, bits constant",
        steps[SBSTREE] >= 0.5,
        f"nodes grow as filters to the power of {steps[SBSTREE]:.2f}, time of {took[SBSTREE]:.2f}",
        "Of the bits of an event few begin a filter, and below the others nothing is visited.",
    )
    yield Finding(
        "the counting sbstree stays flat",
        steps[COUNTING] <= FLAT,
        f"postings as filters to the power of {steps[COUNTING]:.2f}, time of {took[COUNTING]:.2f}",
        "The lists of the bits grow with the filters that have the same predicates: only short "
        "lists stay short.",
    )


def _with_short_lists(short: Mapping[str, Sequence[Row]]) -> Iterator[Finding]:
    """The findings on the growth of a search with filters that have hardly a bit in common."""
    steps = {name: _power(some, "filters", "steps") for name, some in short.items()}
    took = {name: _power(some, "filters", "match_us") for name, some in short.items()}
    most = figure(number(short[COUNTING][-1]["filters"]))
    yield Finding(
        f"the counting sbstree stays flat to {most} filters where lists are short",
        max(steps[COUNTING], took[COUNTING]) <= FLAT,
        f"postings as filters to the power of {steps[COUNTING]:.2f}, time of {took[COUNTING]:.2f}",
    )
    yield Finding(
        "and grows with the filters where all counters are set back",
        steps[SET_BACK] >= 0.5,
        f"counters and postings to the power of {steps[SET_BACK]:.2f}, time of "
        f"{took[SET_BACK]:.2f}",
    )
    yield Finding(
        "the sbstree grows with the filters where lists are short",
        steps[SBSTREE] >= 0.5,
        f"nodes as filters to the power of {steps[SBSTREE]:.2f}, time of {took[SBSTREE]:.2f}",
        "Each node that a search visits is that of a bit of the event in a filter, so they are "
        "never more than the postings of the counting variant.",
    )


def _halves(rows: Sequence[Row]) -> tuple[Sequence[Row], Sequence[Row]]:
    middle = len(rows) // 2
    return rows[: middle + 1], rows[middle:]


def _power(rows: Sequence[Row], x: str, y: str) -> float:
    """By which power of one column the other grows from the first row to the last."""
    (low, few), (high, many) = ((number(rows[at][x]), number(rows[at][y])) for at in (0, -1))
    grew = high / low if low else inf
    return log(max(many, 1e-9) / max(few, 1e-9)) / log(grew) if 1 < grew < inf else 0.0
