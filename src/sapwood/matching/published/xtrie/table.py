"""The auxiliary table (L813): the rows of all alternatives, by the event that probes them."""

from __future__ import annotations

from dataclasses import dataclass

from sapwood.errors import InvariantError
from sapwood.matching.published.xtrie.decomposition import Row, RowKind
from sapwood.matching.published.xtrie.trie import RunTrie
from sapwood.model.patterns.comparison import Comparison


@dataclass(slots=True, eq=False)
class TableRow:
    """A row of an alternative of the pattern in `slot`; one row is equal to itself alone.

    `nearest`, `farthest`, `comparison`, `rank` and `ranks` are those of the decomposition. `bit` is
    the one that this row sets in its parent, `needed` all bits that are to be set in this one.
    `texts` and `strings` are the comparisons that hang on it. `is_single` is true if no row of the
    alternative has more than one row hanging on it: a path.
    """

    slot: int
    parent: TableRow | None
    nearest: int
    farthest: float
    bit: int
    needed: int
    comparison: Comparison | None
    rank: int
    ranks: int
    is_single: bool
    texts: tuple[TableRow, ...] = ()
    strings: tuple[TableRow, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Alternative:
    """The rows of one alternative as they were decomposed, and as they are in the table."""

    decomposed: tuple[Row, ...]
    rows: tuple[TableRow, ...]


class Table:
    """All rows: those with runs in a trie, and those that are probed at every element."""

    def __init__(self) -> None:
        #: an ordered set
        self.alternatives: dict[Alternative, None] = {}
        self.runs: RunTrie[TableRow] = RunTrie()
        #: rows without a run, which are probed at every element; an ordered set
        self.anything: dict[TableRow, None] = {}

    def add(self, slot: int, decomposed: tuple[Row, ...]) -> Alternative:
        """Add the rows of an alternative of the pattern in a slot."""
        added = Alternative(decomposed, _rows(slot, decomposed))
        self.alternatives[added] = None
        for its, row in zip(decomposed, added.rows, strict=True):
            if its.kind is RowKind.RUN:
                self.runs.add([label.key for label in its.run], row)
            elif its.kind is RowKind.ANYTHING:
                self.anything[row] = None
        return added

    def remove(self, alternative: Alternative) -> None:
        """Remove the rows of an alternative that was added."""
        del self.alternatives[alternative]
        for its, row in zip(alternative.decomposed, alternative.rows, strict=True):
            if its.kind is RowKind.RUN:
                self.runs.remove([label.key for label in its.run], row)
            elif its.kind is RowKind.ANYTHING:
                del self.anything[row]

    def validate(self) -> None:
        """Raise `InvariantError` unless the rows are those of the alternatives."""
        self.runs.validate()
        waiting = [
            row
            for alternative in self.alternatives
            for its, row in zip(alternative.decomposed, alternative.rows, strict=True)
            if its.kind is RowKind.ANYTHING
        ]
        if waiting != list(self.anything):
            raise InvariantError("a row is lost")


def _rows(slot: int, decomposed: tuple[Row, ...]) -> tuple[TableRow, ...]:
    """The rows of the table, linked to each other."""
    is_single = all(row.hanging <= 1 for row in decomposed)
    rows: list[TableRow] = []
    for its in decomposed:
        parent = rows[its.parent] if its.parent >= 0 else None
        row = TableRow(
            slot,
            parent,
            its.nearest,
            its.farthest,
            1 << its.bit,
            (1 << its.hanging) - 1,
            its.comparison,
            its.rank,
            its.ranks,
            is_single,
        )
        rows.append(row)
        if parent is not None and its.kind is RowKind.TEXT:
            parent.texts += (row,)
        elif parent is not None and its.kind is RowKind.STRING:
            parent.strings += (row,)
    return tuple(rows)
