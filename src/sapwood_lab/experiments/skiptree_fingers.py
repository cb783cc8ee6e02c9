"""XSiena, figure 5.8: the skiptree of table 5.1, and the fingers that a search looks at.

The work draws the tree with the filters of its table 5.1, fingers of 128 bits at the lowest level
and of four times as many on each further one, and describes how the bits 2787 and 12518 of an event
are searched (5.6.2). Here the bits of the table are put into Sapwood's skiptree, and each row is a
finger that holds filters: its level and range, whose filters are there, and, if the search takes
it, what it excludes and who is left.

The text is compared sentence by sentence. Two of its statements are wrong, and an example of each
is computed: the searched range begins behind bit 0, and nothing behind the last bit of an event is
searched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from sapwood.routing.forwarding.bloom.choice import PUBLISHED_BITS
from sapwood.routing.forwarding.bloom.published.skiptree import LEVEL_FACTOR, LOWEST_SPAN, SkipTree
from sapwood_lab.experiments.design import Choices, Configuration, Design
from sapwood_lab.experiments.report import Cell, Chart, Finding, Report, Row, table

FILTERS: Final[Mapping[str, frozenset[int]]] = MappingProxyType(
    {
        "f1": frozenset({6066, 8581}),
        "f2": frozenset({2787, 12518}),
        "f3": frozenset({6441, 10582}),
        "f4": frozenset({5037, 8516}),
        "f5": frozenset({5001, 8507}),
        "f6": frozenset({6441, 10582, 5102, 8636}),
    }
)
"""Table 5.1: the bits of each filter."""

EVENT: Final = frozenset({2787, 12518})
"""The bits of the event in the example, x = 3."""

TAKEN: Final = ((4096, 6143), (6144, 8191), (8192, 10239), (10240, 12287))
"""The fingers that the work's search excludes by, first and last bit; it prints 6143 for 6144."""

COLUMNS: Final = ("bits", "span", "first", "last", "filters", "taken", "excluded", "left")


class Step(NamedTuple):
    """A finger that a search takes: the filters that it excludes, and those that are left."""

    first: int
    last: int
    excluded: tuple[str, ...]
    left: tuple[str, ...]


class Steps(SkipTree):
    """A skiptree that notes which fingers its searches take."""

    __slots__ = ("taken",)

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.taken: list[Step] = []

    def _exclude(self, alive: set[tuple[int, ...]], at: int, end: int) -> None:
        while at < end:
            span = self.finger_at(at, end)
            if span is None:  # what is left is searched bit by bit, to the end of a finger
                stop = min(end, at - at % LOWEST_SPAN + LOWEST_SPAN)
                super()._exclude(alive, at, stop)
                at = stop
                continue
            before = set(alive)
            super()._exclude(alive, at, at + span)
            gone, left = (tuple(sorted(map(_name, some))) for some in (before - alive, alive))
            self.taken.append(Step(at, at + span - 1, gone, left))
            at += span


def _name(bits: Iterable[int]) -> str:
    """The filter of the table that has these bits."""
    return next(name for name, own in FILTERS.items() if own == frozenset(bits))


def searched(event: Iterable[int], filters: Mapping[str, Iterable[int]]) -> set[str]:
    """The filters that an event matches by the work's own procedure.

    The first range lies between bit 0 and the first bit of the event, both left out, and nothing is
    searched behind the last one.
    """
    bits = sorted(event)
    gaps = [(low + 1, high) for low, high in zip([0, *bits], bits, strict=False)]
    return {
        name
        for name, own in filters.items()
        if not any(low <= bit < high for low, high in gaps for bit in own)
    }


def configurations(choices: Choices) -> list[Configuration]:  # noqa: ARG001 - nothing is drawn
    """One, as the work has it: the figure is of one tree."""
    return [{"bits": PUBLISHED_BITS}]


def measure(configuration: Configuration) -> list[Row]:
    """Every finger of the tree that holds filters, the widest first."""
    tree = Steps(configuration["bits"])
    for name, bits in FILTERS.items():
        tree.add(bits, name)
    tree.match(EVENT)
    taken = {(step.first, step.last): step for step in tree.taken}
    rows: list[Row] = []
    for span, first in tree.fingers():
        last = first + span - 1
        held = sorted(
            name for name, bits in FILTERS.items() if any(first <= b <= last for b in bits)
        )
        row: dict[str, Cell] = {
            "span": span,
            "first": first,
            "last": last,
            "filters": " ".join(held),
            "taken": 0,
        }
        step = taken.get((first, last))
        if step is not None:
            row |= {"taken": 1, "excluded": " ".join(step.excluded), "left": " ".join(step.left)}
        rows.append(row)
    return rows


def report(choices: Choices, rows: Sequence[Row]) -> Report:  # noqa: ARG001 - nothing is drawn
    """The fingers as the work draws them, and its text sentence by sentence."""
    spans = sorted({int(str(row["span"])) for row in rows})
    lines = {f"fingers of {span:,}": [*_middles(rows, span)] for span in spans}
    lines["bits"] = [(float(bit), 1.0) for bit in sorted(frozenset().union(*FILTERS.values()))]
    return Report(
        title="The skiptree of table 5.1 (XSiena, figure 5.8)",
        settings={"event": ", ".join(map(str, sorted(EVENT)))},
        columns=COLUMNS,
        rows=table(COLUMNS, rows),
        compare="the fingers that hold filters, and the steps of the search that the text tells.",
        charts=(
            Chart(
                "fingers", "Fingers that hold filters (5.8)", "bit", "bits of a finger", lines,
                linear_x=True,
            ),
        ),
        findings=tuple(_findings(rows)),
    )  # fmt: skip


def _middles(rows: Sequence[Row], span: int) -> Iterator[tuple[float, float]]:
    for row in rows:
        if row["span"] == span:
            yield int(str(row["first"])) + span / 2, float(span)


def _findings(rows: Sequence[Row]) -> Iterator[Finding]:
    spans = sorted({int(str(row["span"])) for row in rows})
    expected = [LOWEST_SPAN * LEVEL_FACTOR**level for level in range(len(spans))]
    yield Finding(
        "the lowest fingers span 128 bits, those of each further level four times as many",
        spans == expected,
        ", ".join(map(str, spans)),
    )
    steps = {(row["first"], row["last"]): row for row in rows if row["taken"]}
    yield Finding(
        "the search takes the fingers from 4096, 6144, 8192 and 10240",
        all(finger in steps or not _holds(finger) for finger in TAKEN),
        ", ".join(map(str, sorted(int(str(first)) for first, _ in steps))),
    )
    first = steps.get(TAKEN[0], {})
    yield Finding(
        "the first of them leaves f2 and f3",
        first.get("left") == "f2 f3",
        f"{first.get('left')}",
    )
    second = steps.get(TAKEN[1], {})
    yield Finding(
        "the second removes f3 and f6",
        second.get("excluded") == "f3 f6",
        f"it removes {second.get('excluded')}",
        "The first has removed f6 already, which has the bit 5102, as the text says just before.",
    )
    left = searched(EVENT, FILTERS)
    yield Finding("f2 alone is left in the end", left == {"f2"}, " ".join(sorted(left)))
    behind, before = frozenset({*EVENT, 15_000}), frozenset({*EVENT, 0})
    for told, bits in (("behind its last bit", behind), ("at bit 0", before)):
        wrong = bool(searched(EVENT, {"f": bits})) and not bits <= EVENT
        yield Finding(
            f"no filter is matched that has a bit which the event lacks: {told}",
            not wrong,
            f"a filter with the bits {', '.join(map(str, sorted(bits)))} is matched",
            "The ranges that the text searches leave that bit out.",
        )


def _holds(finger: tuple[int, int]) -> bool:
    """True if a filter of the table has a bit there."""
    first, last = finger
    return any(first <= bit <= last for bits in FILTERS.values() for bit in bits)


DESIGN: Final = Design(configurations, measure, report)
