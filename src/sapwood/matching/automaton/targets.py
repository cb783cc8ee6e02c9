"""Targets: the access of patterns (`access.py`) in numbers, each distinct one once."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from sapwood.matching.automaton.columns import Array, Column
from sapwood.matching.automaton.conditions import ALWAYS_ID
from sapwood.matching.automaton.search import Targets

NO_EQUALITY: Final = -1


class Target(NamedTuple):
    """The access path's node, the equality at its end, the condition left to check, and its place.

    `reach` is the node of the longest required path. `equality` is `NO_EQUALITY` where there is
    none. `reads_content` follows from the others.
    """

    node: int
    reach: int
    equality: int
    condition: int
    at_document: bool
    reads_content: bool

    @property
    def is_plain(self) -> bool:
        """True if the path alone decides a match."""
        return self.equality == NO_EQUALITY and self.condition == ALWAYS_ID


class TargetTable:
    """Targets by number, each with the number of its patterns; it only ever grows.

    A target without patterns stays, in case one comes back.
    """

    def __init__(self) -> None:
        self._nodes = Column(np.int32)
        self._reaches = Column(np.int32)
        self._equalities = Column(np.int32)
        self._conditions = Column(np.int32)
        self._at_document = Column(np.bool_)
        self._reading = Column(np.bool_)
        #: target -> its number; `None` in a restored table until a target is added
        self._numbers: dict[Target, int] | None = {}
        #: target -> the number of its patterns
        self.users = Column(np.int32)
        #: the number of targets without patterns
        self.unused = 0
        #: the number of patterns that read content
        self.readers = 0

    @classmethod
    def of(cls, columns: tuple[Array, ...], of_slots: Array) -> TargetTable:
        """The table with these columns (see `columns`), which it takes over.

        `of_slots` is the target of each pattern.
        """
        table = cls()
        table._nodes, table._reaches, table._equalities = map(Column.of, columns[:3])
        table._conditions, table._at_document, table._reading = map(Column.of, columns[3:])
        users = np.bincount(of_slots, minlength=len(table._nodes)).astype(np.int32)
        table.users = Column.of(users)
        table.unused = int(np.count_nonzero(users == 0))
        table.readers = int(users[table._reading.view].sum())
        table._numbers = None
        return table

    def __len__(self) -> int:
        """The number of targets."""
        return len(self._nodes)

    def __getitem__(self, number: int) -> Target:
        """The target of a number."""
        return Target(*(column[number].item() for column in self.columns()))

    def columns(self) -> tuple[Array, ...]:
        """Nodes, reaches, equalities, conditions (int32), at document, reading content (bool)."""
        columns = (
            *(self._nodes, self._reaches, self._equalities),
            *(self._conditions, self._at_document, self._reading),
        )
        return tuple(column.view for column in columns)

    def number(self, target: Target) -> int:
        """The number of a target; added, without patterns, if it is new."""
        if self._numbers is None:
            rows = zip(*(column.tolist() for column in self.columns()), strict=True)
            self._numbers = {Target(*row): number for number, row in enumerate(rows)}
        number = self._numbers.get(target)
        if number is None:
            number = self._numbers[target] = len(self)
            self._nodes.append(target.node)
            self._reaches.append(target.reach)
            self._equalities.append(target.equality)
            self._conditions.append(target.condition)
            self._at_document.append(target.at_document)
            self._reading.append(target.reads_content)
            self.users.append(0)
            self.unused += 1
        return number

    def use(self, number: int) -> int:
        """Count one pattern more; returns the new number."""
        self.users.view[number] += 1
        self.readers += int(self._reading.view[number])
        users = int(self.users.view[number])
        self.unused -= users == 1
        return users

    def leave(self, number: int) -> int:
        """Count one pattern less; returns the new number."""
        self.users.view[number] -= 1
        self.readers -= int(self._reading.view[number])
        users = int(self.users.view[number])
        self.unused += users == 0
        return users

    def arrays(self) -> Targets:
        """The arrays of the targets that a search reads."""
        return Targets(
            self._nodes.view, self._reaches.view, self._conditions.view, self._at_document.view
        )
