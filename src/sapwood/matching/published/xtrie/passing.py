"""One document matched against one table as a stream: only the state of open elements is kept.

Levels count from 1 at the root element. An attribute is one level below its element, and a value
one below its attribute or element.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from sapwood.matching.published.xtrie.alternatives import ATTRIBUTE, ATTRIBUTE_VALUE, TEXT
from sapwood.matching.published.xtrie.table import Table, TableRow
from sapwood.matching.published.xtrie.trie import TrieNode
from sapwood.xml.document import local_name

_Branches: TypeAlias = tuple[list[int], ...]
"""For each branch the numbers of elements, ascending."""


@dataclass(slots=True)
class _Occurrence:
    """A row that ends at an open element or attribute, at a level.

    `complete` has a bit for each complete row that hangs on it, and `done` is true if it is
    complete itself. Elements are numbered as they begin: `position` is the number of this one,
    `branches` those that each of its branches may begin with, ascending, where their order counts.
    """

    level: int
    position: int
    branches: _Branches
    complete: int = 0
    done: bool = False

    def is_in_order(self) -> bool:
        """True if each branch can begin with an element after that of the branch before."""
        last = -1
        for positions in self.branches:
            at = bisect_right(positions, last)
            if at == len(positions):
                return False
            last = positions[at]
        return True


class Passing:
    """A listener (`sapwood.xml.Listener`) that finds the slots whose patterns accept a document.

    Patterns without a row that has more than one row hanging on it are matched as single paths, if
    `single_paths`: for a row it is enough to store the levels at which it ends, as bits, and the
    pattern is found when its last row is. All other patterns are completed from the leaves up.
    """

    def __init__(self, table: Table, *, expanded: bool, single_paths: bool) -> None:
        self.table = table
        self.expanded = expanded
        self.single_paths = single_paths
        #: the slots that were found
        self.matched: set[int] = set()
        #: row -> its occurrences at open elements, outermost first; no list is empty
        self.occurrences: dict[TableRow, list[_Occurrence]] = {}
        #: the same for single paths: a bit for each level
        self.levels: dict[TableRow, int] = {}
        #: level -> the rows that end there
        self.ending: list[list[TableRow]] = [[]]
        self.states: list[TrieNode[TableRow]] = [table.runs.root]
        #: level -> the rows that end there and have comparisons of texts, or of string-values
        self.asking_texts: dict[int, list[TableRow]] = {}
        self.asking_strings: dict[int, list[TableRow]] = {}
        #: the texts since the begin of the outermost element whose string-value is compared, and
        #: for each such element the number of texts before it
        self.texts: list[str] = []
        self.texts_before: dict[int, int] = {}
        #: the number of the last element that began
        self.position = -1

    def start(self, name: str, attributes: Iterable[tuple[str, str]]) -> None:
        """Handle the begin of an element."""
        self.position += 1
        self._step(name if self.expanded else local_name(name))
        level = len(self.states) - 1
        if self.table.anything:
            self._probe(self.table.anything, level)
        if level in self.asking_strings:
            self.texts_before[level] = len(self.texts)
        for attribute, value in attributes:
            self._step(ATTRIBUTE + (attribute if self.expanded else local_name(attribute)))
            self._value(ATTRIBUTE_VALUE, value)
            self._leave()

    def text(self, text: str) -> None:
        """Handle a text node of the innermost open element."""
        if self.texts_before:
            self.texts.append(text)
        self._value(TEXT, text)

    def end(self) -> None:
        """Handle the end of the innermost open element."""
        level = len(self.states) - 1
        if level in self.texts_before:
            text = "".join(self.texts[self.texts_before.pop(level) :])
            for row in self.asking_strings[level]:
                self._probe([one for one in row.strings if _accepts(one, text)], level)
            if not self.texts_before:
                self.texts.clear()
        self._leave()

    def is_at_an_end(self) -> bool:
        """True if no state is left but the matches, as after every document."""
        return self.ending == [[]] and not any(
            (self.occurrences, self.levels, self.asking_texts, self.asking_strings, self.texts)
        )

    def _value(self, mark: str, value: str) -> None:
        """Handle a text node, or the value of the attribute that has just begun."""
        level = len(self.states)
        for row in self.asking_texts.get(level - 1, ()):
            self._probe([one for one in row.texts if _accepts(one, value)], level)
        self._step(mark + value)
        self._leave()

    def _step(self, key: str) -> None:
        """Handle the begin of an element, an attribute or a value."""
        level = len(self.states)
        state = self.table.runs.step(self.states[-1], key)
        self.states.append(state)
        self.ending.append([])
        at: TrieNode[TableRow] | None = state
        while at is not None:
            if at.stored:
                self._probe(at.stored, level)
            at = at.storing

    def _leave(self) -> None:
        """Handle the end of the last begun node, and drop the rows that end there."""
        self.states.pop()
        level = len(self.states)
        for row in self.ending.pop():
            if row in self.levels:
                self.levels[row] &= ~(1 << level)
                if not self.levels[row]:
                    del self.levels[row]
            else:
                open_ones = self.occurrences[row]
                open_ones.pop()
                if not open_ones:
                    del self.occurrences[row]
        self.asking_texts.pop(level, None)
        self.asking_strings.pop(level, None)

    def _probe(self, rows: Iterable[TableRow], level: int) -> None:
        """Handle rows whose runs end, or whose comparisons hold, at a level."""
        matched, single_paths = self.matched, self.single_paths
        for row in rows:
            if row.slot in matched:
                continue
            is_single = single_paths and row.is_single
            if not (self._continues(row, level) if is_single else self._hangs(row, level)):
                continue
            if not row.needed:
                if is_single:
                    matched.add(row.slot)
                else:
                    self._complete(row, level, self.position)
                continue
            if is_single:
                self.levels[row] = self.levels.get(row, 0) | 1 << level
            else:
                branches: _Branches = tuple([] for _ in range(row.ranks)) if row.ranks else ()
                here = _Occurrence(level, self.position, branches)
                self.occurrences.setdefault(row, []).append(here)
            self.ending[level].append(row)
            if row.texts:
                self.asking_texts.setdefault(level, []).append(row)
            if row.strings:
                self.asking_strings.setdefault(level, []).append(row)

    def _continues(self, row: TableRow, level: int) -> bool:
        """True if the row before, of a single path, ends at a right level above."""
        if row.parent is None:
            return row.nearest <= level <= row.farthest
        if level < row.nearest:
            return False
        levels = self.levels.get(row.parent, 0)
        if row.farthest == row.nearest:
            return bool(levels >> (level - row.nearest) & 1)
        return bool(levels & ((2 << (level - row.nearest)) - 1))

    def _hangs(self, row: TableRow, level: int) -> bool:
        """True if the row may end at a level: its parent row ends at a right level above."""
        if row.parent is None:
            return row.nearest <= level <= row.farthest
        nearest, farthest = row.nearest, row.farthest
        for above in self.occurrences.get(row.parent, ()):
            if nearest <= level - above.level <= farthest:
                return True
        return False

    def _complete(self, row: TableRow, level: int, position: int) -> None:
        """Complete a row at the occurrences of its parent row, and these if that completes them.

        `position` is the number of the element at which the row ends.
        """
        if row.parent is None:
            self.matched.add(row.slot)
            return
        for above in self.occurrences[row.parent]:
            if row.nearest <= level - above.level <= row.farthest and not above.done:
                above.complete |= row.bit
                if row.rank >= 0:
                    insort(above.branches[row.rank], position)
                if above.complete == row.parent.needed and above.is_in_order():
                    above.done = True
                    self._complete(row.parent, above.level, above.position)


def _accepts(row: TableRow, text: str) -> bool:
    return row.comparison is None or row.comparison.accepts(text)
