"""Points by key, in groups of one shape; `columns.py` has the search of a large group.

A filter covers another only if it constrains no attribute that the other leaves free. So all points
of one shape (`points.py`) are one *group*, and a query searches only groups whose attributes are
among its own: of filters on three attributes each, eight lookups find these. That is a *plan*:
groups, and which end of the query is compared with which end of their rows. It is kept with the
group of the query's shape until a group that belongs to it is added or removed.

A group is a *crowd* of rows that lie behind each other in one array, the *arena*, until it is
large; then it has a `PointTable` of its own. A row is a *tag*, `2 * key`, plus 1 if it is unsure,
and the ends of its point. Three filters under the keys 0 to 2, with room for two rows in the first
group and one in the second, and the entries of `groups` for both:

    0  price >= 5                         group 0, shape ("price", NUMBER)
    1  price between 10 and 20            group 0
    2  halted and price between 10 and 12 group 1, shape ("halted", TRUE, "price", NUMBER)

    arena     0  -5  inf |  2  -10  20 |  4  -10  12        tag, -lowest, highest
    groups    start  rows  room  stride
    0         0      2     2     3
    1         6      1     1     3

Which filters cover `halted and price = 15`? Its shape is that of group 1, its ends are -15 and 15.
Its attributes have four subsets, of which ("price",) and both have groups. So the plan is

    0  2  0 0  1 1 |  1  2  0 0  1 1        group, comparisons: end of the row, end of the query

In group 0 both rows reach the ends; in group 1 the row ends at 12 and does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Final

import numpy as np

from sapwood.covering.columnar.batches import Points
from sapwood.covering.columnar.columns import FOUND_MAX, Floats, Kernels, Places
from sapwood.covering.columnar.plans import (
    Group,
    Plan,
    Table,
    Wants,
    compared_above,
    compared_below,
    ends_of,
    wants_of,
)
from sapwood.covering.columnar.points import TOTAL, Point, Shape
from sapwood.errors import InvariantError
from sapwood.limits import COVERING_ATTRIBUTES_MAX

CROWD_MAX: Final = 1024
"""Rows of a crowd: comparing this many takes a microsecond, about as long as a query of a table."""

START, ROWS, ROOM, STRIDE, OF_A_GROUP = range(5)
"""The places in an entry of `groups`: the begin of a crowd, the number of its rows, its room for
rows, and the numbers of a row."""

PLAN_FIRST, PLAN_LAST, GROUP, ENDS, BY_ITSELF, OF_A_QUESTION = range(6)
"""The places in the input of `place_rows` for a point: the part of the plans that is its own, its
group, its first end, and the flag that its query is to be run by itself."""

SURE, UNSURE = range(2)
"""Rows that cover every point that they reach, and rows whose filters have to be compared."""

_SUBSETS_MAX: Final = 64
"""Sets of attributes that are looked up one by one; where there are more, all groups are
searched."""


class Groups:
    """Points by key.

    #: _groups[g.number] is g, _by_shape[g.shape] is g, and g is in _by_names[g.named]
    #: the plan of a group, if it has one, equals one that is made now
    #: each point is a row of its group's crowd, or in its table; _group_of[key] is the number of
    #: that group
    """

    __slots__ = (
        "_arena",
        "_bits",
        "_by_names",
        "_by_shape",
        "_count",
        "_free",
        "_free_bits",
        "_free_places",
        "_group_of",
        "_groups",
        "_places",
        "_top",
        "_with",
        "found",
        "kernels",
    )

    def __init__(self, kernels: Kernels) -> None:
        #: compiled or plain; see `use`
        self.kernels = kernels
        #: the memory to which kernels write the keys that they find
        self.found = np.empty(FOUND_MAX, np.int64)
        self._arena: Floats = np.zeros(1024)
        #: the begin of the part of the arena that was never used
        self._top = 0
        #: a number of elements -> the begins of unused places of that length
        self._free_places: dict[int, list[int]] = {}
        self._places: Places = np.zeros(16 * OF_A_GROUP, np.int64)
        self._groups: list[Group | None] = []
        self._free: list[int] = []
        self._by_shape: dict[Shape, Group] = {}
        self._by_names: dict[tuple[str, ...], list[Group]] = {}
        #: attribute -> the groups that have a side for it, in order; one at least
        self._with: dict[str, dict[Group, None]] = {}
        #: attribute of a group -> its bit in masks, and the bits that are free
        self._bits: dict[str, int] = {}
        self._free_bits: list[int] = []
        self._group_of: Places = np.full(64, -1, np.int64)
        self._count = 0

    def __len__(self) -> int:
        """The number of points."""
        return self._count

    def use(self, kernels: Kernels) -> None:
        """Exchange the kernels."""
        self.kernels = kernels
        for group in self._by_shape.values():
            if group.table is not None:
                group.table.points.use(kernels)

    def add(self, key: int, point: Point, *, is_sure: bool) -> None:
        """Add a point under a free key."""
        group = self._group(point.shape)
        self._reserve(group, 1)
        self._number(key)
        self._group_of[key] = group.number
        self._count += 1
        if group.table is not None:
            group.table.add(key, point)
            return
        start, rows, _, stride = self._crowd(group)
        at = start + rows * stride
        self._arena[at] = 2 * key + (not is_sure)
        self._arena[at + 1 : at + stride] = point.ends
        self._places[group.number * OF_A_GROUP + ROWS] += 1

    def remove(self, key: int) -> None:
        """Remove a point."""
        group = self._groups[int(self._group_of[key])]
        assert group is not None, f"key {key} is free"
        self._group_of[key] = -1
        self._count -= 1
        if group.table is not None:
            group.table.remove(key)
            left = len(group.table)
        else:
            left = self.kernels.drop_row(self._arena, self._places, group.number, key)
        if not left:
            self._forget(group)

    def above(self, point: Point, kind: int) -> Iterator[int]:
        """The keys of sure rows, or of unsure ones, that hold a point; rows of tables are unsure.

        To be iterated before the groups change.
        """
        plan = self._plan(point.shape)
        yield from self._crowds(plan.crowds, point, kind, is_above=True)
        if kind == UNSURE:
            for table in plan.tables:
                yield from table.found(point, is_above=True)

    def below(self, point: Point, kind: int) -> Iterator[int]:
        """The keys of sure or unsure rows that a point holds; as `above`."""
        crowds: list[int] = []
        tables: list[Table] = []
        wants = wants_of(point.shape)
        named = [name for name, (offered, _) in wants.items() if not offered & TOTAL]
        for group in self._having(named):
            compared = compared_below(group, wants, named)
            if compared is not None:
                if group.table is not None:
                    tables.append(group.table)
                else:
                    crowds += (group.number, len(compared) // 2, *compared)
        yield from self._crowds(np.array(crowds, np.int64), point, kind, is_above=False)
        if kind == UNSURE:
            for table in tables:
                yield from table.found(point, is_above=False)

    def place_many(self, keys: Sequence[int], points: Points, limit: int) -> Placing:
        """Prepare to search the covers of each point, and then to add it."""
        asked = np.zeros((len(keys), OF_A_QUESTION), np.int64)
        asked[:, ENDS] = points.first_end[:-1]
        asked[:, BY_ITSELF] = True
        full = np.flatnonzero(~points.is_empty)
        plans = self._prepare(points, full, asked) if len(full) else np.zeros(0, np.int64)
        numbered = np.array(keys, np.int64)
        self._number(int(numbered.max(initial=0)))
        tags = (2 * numbered + ~points.is_filter).astype(np.float64)
        return Placing(self, asked.reshape(-1), plans, points.ends, tags, numbered, limit)

    def _prepare(self, points: Points, full: Places, asked: Places) -> Places:
        """Make groups with room for the points; returns the plans, to whose places `asked` refers.

        All groups come first, as each may belong to the plans of others.
        """
        known: dict[Shape, int] = {}
        shapes = points.shapes
        at = np.array([known.setdefault(shapes[one], len(known)) for one in full.tolist()])
        some = [self._by_shape.get(shape) or self._group(shape) for shape in known]
        numbers, counts = np.array([group.number for group in some]), np.bincount(at)
        firsts = OF_A_GROUP * numbers
        lacks_room = self._places[firsts + ROWS] + counts > self._places[firsts + ROOM]
        for place in np.flatnonzero(lacks_room).tolist():
            self._reserve(some[place], int(counts[place]))
        plans = [group.plan or self._plan(group.shape) for group in some]
        lasts = np.cumsum([len(plan.crowds) for plan in plans])
        asked[full, PLAN_FIRST], asked[full, PLAN_LAST] = np.append(0, lasts)[at], lasts[at]
        asked[full, GROUP] = numbers[at]
        has_tables = [
            bool(plan.tables) or group.table is not None
            for plan, group in zip(plans, some, strict=True)
        ]
        asked[full, BY_ITSELF] = np.array(has_tables)[at] | ~points.is_precise[full]
        return np.concatenate([plan.crowds for plan in plans])

    def validate(self, points: Iterator[tuple[int, Point, bool]]) -> None:
        """Raise `InvariantError` unless the groups hold exactly these points, sure or not."""
        count = 0
        rows_of: dict[int, set[tuple[float, ...]]] = {}
        for key, point, is_sure in points:
            count += 1
            group = self._by_shape.get(point.shape)
            if group is None or self._group_of[key] != group.number:
                raise InvariantError(f"the point of key {key} is not in the group of its shape")
            if group.table is not None:
                if key not in set(group.table.found(point, is_above=True)):
                    raise InvariantError(f"the point of key {key} is not in its table")
                continue
            if group.number not in rows_of:
                start, rows, _, stride = self._crowd(group)
                crowd = self._arena[start : start + rows * stride].reshape(rows, stride)
                rows_of[group.number] = set(map(tuple, crowd.tolist()))
            if (2 * key + (not is_sure), *point.ends) not in rows_of[group.number]:
                raise InvariantError(f"the point of key {key} is not what its row says")
        if count != self._count or count != np.count_nonzero(self._group_of >= 0):
            raise InvariantError(f"the groups hold {self._count} points, not {count}")
        for group in self._by_shape.values():
            if group.table is not None:
                group.table.points.validate()
            if self._groups[group.number] is not group:
                raise InvariantError("a group has the number of another")
            if group not in self._by_names[group.named]:
                raise InvariantError("a group is not found by its attributes")
            plan = group.plan
            if plan is not None and plan.parts() != self._planned(group.wants).parts():
                raise InvariantError("a plan leaves out a group, or has one that is gone")

    def _crowds(self, plan: Places, point: Point, kind: int, *, is_above: bool) -> Iterator[int]:
        """The keys of the rows of crowds that a search finds."""
        at, row, ends = 0, 0, np.array(point.ends, np.float64)
        while at < len(plan):
            count, at, row = self.kernels.find_rows(
                self._arena, self._places, plan, ends, is_above, kind, at, row, self.found
            )
            yield from self.found[:count].tolist()

    def _crowd(self, group: Group) -> list[int]:
        first = group.number * OF_A_GROUP
        found: list[int] = self._places[first : first + OF_A_GROUP].tolist()
        return found

    def _number(self, key: int) -> None:
        """Make room for the group of a key in `_group_of`."""
        if key >= len(self._group_of):
            more = np.full(max(key + 1, 2 * len(self._group_of)), -1, np.int64)
            more[: len(self._group_of)] = self._group_of
            self._group_of = more

    def _group(self, shape: Shape) -> Group:
        """The group of a shape, made if need be."""
        group = self._by_shape.get(shape)
        if group is not None:
            return group
        number = self._free.pop() if self._free else len(self._groups)
        group = Group(shape, number)
        if number == len(self._groups):
            self._groups.append(group)
        else:
            self._groups[number] = group
        if len(self._groups) * OF_A_GROUP > len(self._places):
            self._places = np.concatenate((self._places, np.zeros_like(self._places)))
        first = number * OF_A_GROUP
        self._places[first : first + OF_A_GROUP] = 0, 0, 0, 1 + ends_of(shape)
        self._by_shape[shape] = group
        self._by_names.setdefault(group.named, []).append(group)
        for name in group.wants:
            if name not in self._bits:
                self._bits[name] = self._free_bits.pop() if self._free_bits else len(self._bits)
            self._with.setdefault(name, {})[group] = None
        group.mask, group.whole = self._mask(group.named), self._mask(group.wants)
        self._plan_anew(group)
        return group

    def _forget(self, group: Group) -> None:
        """Remove a group that has no points any more."""
        self._plan_anew(group)
        if group.table is None:
            start, _, room, stride = self._crowd(group)
            self._free_places.setdefault(room * stride, []).append(start)
        del self._by_shape[group.shape]
        alike = self._by_names[group.named]
        alike.remove(group)
        if not alike:
            del self._by_names[group.named]
        for name in group.wants:
            having = self._with[name]
            del having[group]
            if not having:
                del self._with[name]
                self._free_bits.append(self._bits.pop(name))
        self._groups[group.number] = None
        self._free.append(group.number)

    def _mask(self, names: Iterable[str]) -> int:
        """The attributes that groups have, as bits."""
        mask, bits = 0, self._bits
        for name in names:
            if name in bits:
                mask |= 1 << bits[name]
        return mask

    def _reserve(self, group: Group, count: int) -> None:
        """Make room for `count` more points in a group."""
        if group.table is not None:
            return
        start, rows, room, stride = self._crowd(group)
        if rows + count <= room:
            return
        if rows + count > CROWD_MAX and len(group.wants) <= COVERING_ATTRIBUTES_MAX:
            self._promote(group)
            return
        wider = 1
        while wider < rows + count:
            wider *= 2
        to = self._room_for(wider * stride)
        self._arena[to : to + rows * stride] = self._arena[start : start + rows * stride]
        if room:
            self._free_places.setdefault(room * stride, []).append(start)
        first = group.number * OF_A_GROUP
        self._places[first + START], self._places[first + ROOM] = to, wider

    def _room_for(self, numbers: int) -> int:
        """The begin of a free place for `numbers` elements in the arena."""
        free = self._free_places.get(numbers)
        if free:
            return free.pop()
        start = self._top
        self._top += numbers
        if self._top > len(self._arena):
            arena = np.zeros(max(2 * len(self._arena), self._top))
            arena[: len(self._arena)] = self._arena
            self._arena = arena
        return start

    def _promote(self, group: Group) -> None:
        """Give a crowd that has become large a table of its own."""
        start, rows, room, stride = self._crowd(group)
        table = Table(self.kernels)
        crowd = self._arena[start : start + rows * stride].reshape(rows, stride)
        for tag, *ends in crowd.tolist():
            table.add(int(tag) >> 1, Point(group.shape, ends, is_filter=True, is_precise=True))
        group.table = table
        if room:
            self._free_places.setdefault(room * stride, []).append(start)
        first = group.number * OF_A_GROUP
        self._places[first : first + STRIDE] = 0
        self._plan_anew(group)

    # Plans -------------------------------------------------------------------------------------

    def _plan(self, shape: Shape) -> Plan:
        """The plan for queries of a shape."""
        group = self._by_shape.get(shape)
        if group is None:
            return self._planned(wants_of(shape))
        if group.plan is None:
            group.plan = self._planned(group.wants)
        return group.plan

    def _plan_anew(self, group: Group) -> None:
        """Drop the plans that a group belongs to, as it was added, changed or removed."""
        for other in self._having(group.named):
            other.plan = None

    def _planned(self, wants: Wants) -> Plan:
        crowds: list[int] = []
        tables: list[Table] = []
        for group in self._among(tuple(wants)):
            compared = compared_above(group, wants)
            if compared is not None:
                if group.table is not None:
                    tables.append(group.table)
                else:
                    crowds += (group.number, len(compared) // 2, *compared)
        return Plan(np.array(crowds, np.int64), tables)

    def _among(self, names: tuple[str, ...]) -> Iterator[Group]:
        """The groups whose attributes are all among `names`."""
        known = [name for name in names if name in self._with]
        if 1 << len(known) <= min(_SUBSETS_MAX, 2 * len(self._by_names)):
            for count in range(len(known) + 1):
                for some in combinations(known, count):
                    yield from self._by_names.get(some, ())
            return
        outside = ~self._mask(names)
        for named, groups in self._by_names.items():
            if not groups[0].mask & outside:
                yield from self._by_names[named]

    def _having(self, names: Sequence[str]) -> Iterator[Group]:
        """The groups that have all attributes of `names`."""
        if not names:
            yield from self._by_shape.values()
            return
        if any(name not in self._with for name in names):
            return
        mask = self._mask(names)
        for group in min((self._with[name] for name in names), key=len):
            if not mask & ~group.whole:
                yield group


class Placing:
    """Points that are added one after the other, each after the search of its covers."""

    __slots__ = (
        "_asked",
        "_counts",
        "_ends",
        "_found",
        "_groups",
        "_keys",
        "_limit",
        "_plans",
        "_tags",
    )

    def __init__(  # noqa: PLR0917 - what kernels take
        self,
        groups: Groups,
        asked: Places,
        plans: Places,
        ends: Floats,
        tags: Floats,
        keys: Places,
        limit: int,
    ) -> None:
        self._groups = groups
        self._asked, self._plans, self._ends, self._tags = asked, plans, ends, tags
        self._keys = keys
        self._limit = limit
        self._found = np.empty(len(keys) * limit, np.int64)
        self._counts = np.zeros(len(keys), np.int64)

    def go_on(self, first: int) -> int:
        """Place the points from `first` on; returns the first that needs a query by itself."""
        groups = self._groups
        last: int = groups.kernels.place_rows(
            groups._arena,
            groups._places,
            self._plans,
            self._asked,
            self._tags,
            self._ends,
            self._limit,
            first,
            self._found,
            self._counts,
        )
        numbers = self._asked[first * OF_A_QUESTION : last * OF_A_QUESTION]
        groups._group_of[self._keys[first:last]] = numbers[GROUP::OF_A_QUESTION]
        groups._count += last - first
        return last

    def covers(self, first: int, last: int) -> list[list[int]]:
        """The keys of the covers found for the points from one place up to another."""
        limit = self._limit
        counts: list[int] = self._counts[first:last].tolist()
        if not any(counts):
            return [[] for _ in counts]
        keys: list[int] = self._found[first * limit : last * limit].tolist()
        return [keys[at * limit : at * limit + count] for at, count in enumerate(counts)]
