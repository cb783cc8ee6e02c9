"""The properties of points of one shape, and comparisons of two shapes (`groups.py`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from sapwood.covering.columnar.columns import BLOCK, FOUND_MAX, Kernels, Places
from sapwood.covering.columnar.points import TOTAL, Point, Shape, sides
from sapwood.covering.columnar.table import PointTable
from sapwood.covering.hull import NUMBER, TEXT

Wants: TypeAlias = Mapping[str, tuple[int, dict[int, int]]]
"""By attribute the kinds that a side offers, and kind by kind the place of the first of its two
ends: of the shape ("halted", TRUE, "price", NUMBER) it is {"halted": (TRUE, {}), "price": (NUMBER,
{NUMBER: 0})}."""


class Table:
    """A large group: its points in a table, by rows that are its own."""

    __slots__ = ("_free", "_rows", "keys", "points")

    def __init__(self, kernels: Kernels) -> None:
        self.points = PointTable(kernels)
        #: row -> key; meaningless where the row is free
        self.keys: list[int] = []
        self._rows: dict[int, int] = {}
        self._free: list[int] = []

    def __len__(self) -> int:
        """The number of points."""
        return len(self._rows)

    def add(self, key: int, point: Point) -> None:
        """Add a point."""
        if self._free:
            row = self._free.pop()
            self.keys[row] = key
        else:
            row = len(self.keys)
            self.keys.append(key)
        self._rows[key] = row
        self.points.add(row, point)

    def remove(self, key: int) -> None:
        """Remove a point."""
        row = self._rows.pop(key)
        self._free.append(row)
        self.points.remove(row)

    def found(self, point: Point, *, is_above: bool) -> Iterator[int]:
        """The keys of points that hold a point, or that it holds, in the order of their rows."""
        table = self.points
        row, end = 0, table.blocks * BLOCK
        while row < end:
            layout = table.load(point)
            if is_above:
                find, view, question = table.kernels.find_above, table.upward, layout.above
            else:
                find, view, question = table.kernels.find_below, table.downward, layout.below
            count, row = find(view, question, table.blocks, row, FOUND_MAX)
            yield from [self.keys[at] for at in table.found[:count].tolist()]


class Plan(NamedTuple):
    """The groups that a query searches: crowds as kernels read them (`groups.py`), and tables."""

    crowds: Places
    tables: Sequence[Table]

    def parts(self) -> set[object]:
        """The parts for each group, without their order."""
        found: set[object] = {id(table) for table in self.tables}
        at, numbers = 0, self.crowds.tolist()
        while at < len(numbers):
            after = at + 2 + 2 * numbers[at + 1]
            found.add(tuple(numbers[at:after]))
            at = after
        return found


class Group:
    """The points of one shape.

    `named` are the attributes that a query has to constrain, which are all but those of which every
    value is offered.

    #: with a table it has no row in the arena
    """

    __slots__ = ("mask", "named", "number", "plan", "shape", "table", "wants", "whole")

    def __init__(self, shape: Shape, number: int) -> None:
        self.shape = shape
        self.number = number
        self.wants = wants_of(shape)
        self.named = tuple(name for name, (offered, _) in self.wants.items() if not offered & TOTAL)
        #: `named` as bits, and all attributes
        self.mask = self.whole = 0
        self.table: Table | None = None
        #: the plan of its shape, once one was needed
        self.plan: Plan | None = None


def wants_of(shape: Shape) -> Wants:
    """The kinds that a row of this shape offers, and the place of each end, by attribute."""
    wants: dict[str, tuple[int, dict[int, int]]] = {}
    end = 0
    for name, offered, needed in sides(shape):
        ends: dict[int, int] = {}
        for kind in (NUMBER, TEXT):
            if needed & kind:
                ends[kind] = end
                end += 2
        wants[name] = offered, ends
    return wants


def ends_of(shape: Shape) -> int:
    """The number of ends of a point of the shape."""
    return sum(2 * ((needed & NUMBER > 0) + (needed & TEXT > 0)) for _, _, needed in sides(shape))


def compared_above(group: Group, wants: Wants) -> list[int] | None:
    """The pairs of ends of a row and the query to compare; `None` if no row can hold it."""
    compared: list[int] = []
    for name in group.named:
        offered, ends = group.wants[name]
        wanted, asked = wants[name]
        if wanted & ~TOTAL & ~offered:
            return None
        for kind, at in asked.items():
            own = ends[kind]
            compared += (own, at, own + 1, at + 1)
    return compared


def compared_below(group: Group, wants: Wants, named: Sequence[str]) -> list[int] | None:
    """The pairs of ends to compare for rows that the query may hold."""
    compared: list[int] = []
    for name in named:
        offered, asked = wants[name]
        needed, ends = group.wants[name]
        if needed & ~TOTAL & ~offered:
            return None
        for kind, own in ends.items():
            at = asked[kind]
            compared += (own, at, own + 1, at + 1)
    return compared
