"""The engine: rows in a trie, and the matches that are under way while a document streams by."""

from __future__ import annotations

from bisect import bisect_right, insort
from dataclasses import dataclass
from itertools import count
from threading import Lock
from typing import Final, TypeAlias

from sapwood.errors import InvariantError
from sapwood.language.xpath.bounds import UNBOUNDED
from sapwood.language.xpath.normal import written_form
from sapwood.language.xpath.parser import parse
from sapwood.matching.documents.protocol import Readable
from sapwood.matching.published.xtrie.alternatives import (
    AttributeLabel,
    ElementLabel,
    Label,
    ValueLabel,
    alternatives,
)
from sapwood.matching.published.xtrie.decomposition import Row, RowKind, decompose
from sapwood.matching.published.xtrie.events import Characters, End, Start, events
from sapwood.matching.published.xtrie.trie import RunTrie, TrieNode
from sapwood.matching.unbatched import UnbatchedEngine
from sapwood.model.patterns.conditions import Below, NameTest
from sapwood.model.patterns.pattern import TreePattern
from sapwood.xml import Document, DocumentBounds, read_document
from sapwood.xml.bounds import DEFAULT_BOUNDS
from sapwood.xml.document import local_name

_Key: TypeAlias = int
"""Names one alternative of one pattern; never used twice."""

_RowId: TypeAlias = tuple[_Key, int]
"""A row: its alternative, and its place in the decomposition."""

_Branches: TypeAlias = tuple[list[int], ...]
"""For each branch the numbers of elements, ascending."""


@dataclass(slots=True)
class _Occurrence:
    """A row that ends at an open element or attribute.

    Which rows that hang on it are complete, as bits, and whether it is itself. Elements are
    numbered as they begin: `position` is that of this one, `branches` those that each of its
    branches may begin with, ascending, where their order counts.
    """

    position: int
    branches: _Branches
    complete: int = 0
    done: bool = False

    def is_in_order(self) -> bool:
        """Whether each branch can begin with an element after that of the branch before."""
        last = -1
        for positions in self.branches:
            at = bisect_right(positions, last)
            if at == len(positions):
                return False
            last = positions[at]
        return True


class XTrieEngine(UnbatchedEngine[TreePattern, Readable]):
    """XTrie over tree patterns (see `sapwood.matching.published.xtrie`).

    Patterns that compare local names, and those that compare expanded ones, have a table each,
    because an element is one label to either.

    With `ordered`, the branches of a node must be found in the order in which the expression names
    them, predicates before the path that goes on: the elements that they begin with are different
    and come one after the other in the document. Attributes, texts and comparisons have no order.
    That is XNet's variant (section 3.3.3) and not what XPath says, so the catalogue has such an
    engine as inexact; a pattern without the text it was read from is taken in the order of its
    normal form.
    """

    def __init__(self, bounds: DocumentBounds = DEFAULT_BOUNDS, *, ordered: bool = False) -> None:
        self._bounds = bounds
        self._ordered = ordered
        self._tables = (_Table(), _Table())
        #: slot -> its table, its alternatives, and whether it reads content; the taken slots
        self._taken: dict[int, tuple[_Table, tuple[_Key, ...], bool]] = {}
        self._readers = 0
        self._next_keys = count()
        self._lock = Lock()

    def __len__(self) -> int:
        """The number of taken slots."""
        return len(self._taken)

    def add(self, slot: int, pattern: TreePattern) -> None:
        """Take `slot` for `pattern`.

        Raises `LimitError` for a pattern with more than `limits.EXPANSIONS_MAX` alternatives; the
        engine is then as it was.
        """
        assert slot not in self._taken, f"slot {slot} is taken"
        asked = self._written(pattern) if self._ordered else pattern.root
        decomposed = [decompose(root, ordered=self._ordered) for root in alternatives(asked)]
        table = self._tables[pattern.namespaces is not None]
        keys = tuple(next(self._next_keys) for _ in decomposed)
        for key, rows in zip(keys, decomposed, strict=True):
            table.add(key, slot, rows)
        self._taken[slot] = (table, keys, pattern.reads_content)
        self._readers += pattern.reads_content

    def _written(self, pattern: TreePattern) -> Below:
        """What a pattern asks, in the order of its text."""
        if pattern.source is None:
            return pattern.root
        bound = None if pattern.bindings is None else dict(pattern.bindings)
        # The pattern was within bounds when it was read, whatever they were.
        return written_form(parse(pattern.source, bound, UNBOUNDED))

    def remove(self, slot: int) -> None:
        """Free `slot`."""
        table, keys, reads_content = self._taken.pop(slot)
        for key in keys:
            table.remove(key)
        self._readers -= reads_content

    def match(self, document: Readable) -> list[int]:
        """The slots whose patterns accept `document`, ascending."""
        tree = document
        if not isinstance(tree, Document):
            tree = read_document(tree, self._bounds, content=self._readers > 0)
        self.fold()
        found: set[int] = set()
        for expanded, table in enumerate(self._tables):
            if table.slots:
                found |= _Run(table, tree, expanded=bool(expanded)).found()
        return sorted(found)

    def fold(self) -> None:
        """Link the tries, so that no document waits for that."""
        with self._lock:
            for table in self._tables:
                table.runs.link()

    def validate(self) -> None:
        """Every alternative of every taken slot is in its table, and nothing else is."""
        for table in self._tables:
            table.validate()
            taken = {
                key: slot
                for slot, (its, keys, _) in self._taken.items()
                if its is table
                for key in keys
            }
            if taken != table.slots:
                raise InvariantError("the alternatives are not those of the taken slots")


class _Table:
    """The rows of all alternatives, by what they wait for."""

    def __init__(self) -> None:
        #: alternative -> its slot
        self.slots: dict[_Key, int] = {}
        #: alternative -> its rows
        self.rows: dict[_Key, tuple[Row, ...]] = {}
        self.runs: RunTrie[_RowId] = RunTrie()
        #: rows that are probed at every element, at every text, at every end; as ordered sets
        self.waiting: dict[RowKind, dict[_RowId, None]] = {
            kind: {} for kind in RowKind if kind is not RowKind.RUN
        }

    def add(self, key: _Key, slot: int, rows: tuple[Row, ...]) -> None:
        self.slots[key] = slot
        self.rows[key] = rows
        for at, row in enumerate(rows):
            if row.kind is RowKind.RUN:
                self.runs.add(row.run, (key, at))
            else:
                self.waiting[row.kind][key, at] = None

    def remove(self, key: _Key) -> None:
        del self.slots[key]
        for at, row in enumerate(self.rows.pop(key)):
            if row.kind is RowKind.RUN:
                self.runs.remove(row.run, (key, at))
            else:
                del self.waiting[row.kind][key, at]

    def validate(self) -> None:
        self.runs.validate()
        if self.slots.keys() != self.rows.keys():
            raise InvariantError("an alternative has no rows")
        waiting = sum(len(rows) for rows in self.waiting.values())
        other = [row for rows in self.rows.values() for row in rows if row.kind is not RowKind.RUN]
        if waiting != len(other):
            raise InvariantError("a row is lost")


_DOCUMENT_LEVEL: Final = 0


class _Run:
    """One document against one table; levels count from 1 at the root element.

    An attribute is one level below its element, and a value one below its attribute or element.
    """

    def __init__(self, table: _Table, document: Document, *, expanded: bool) -> None:
        self.table = table
        self.document = document
        self.expanded = expanded
        #: row -> level -> occurrence, of what is open
        self.occurrences: dict[_RowId, dict[int, _Occurrence]] = {}
        #: level -> the rows that end there
        self.ending: list[list[_RowId]] = [[]]
        self.states: list[TrieNode[_RowId]] = [table.runs.root]
        self.matched: set[_Key] = set()
        #: the number of the last element that began
        self.position = -1

    def found(self) -> set[int]:
        """The slots whose patterns are found."""
        for event in events(self.document):
            match event:
                case Start(element=element, name=name, attributes=attributes):
                    self.position = element
                    self._start(ElementLabel(self._test(name)), is_element=True)
                    for attribute, value in attributes:
                        self._start(AttributeLabel(self._test(attribute)), is_element=False)
                        self._value(value, of_attribute=True)
                        self._end()
                case Characters(text=text):
                    self._value(text, of_attribute=False)
                case End(element=element):
                    self._strings(element)
                    self._end()
        return {self.table.slots[key] for key in self.matched}

    def _test(self, name: str) -> NameTest:
        local = local_name(name)
        if not self.expanded:
            return NameTest(local)
        return NameTest(local, "" if local == name else name[1 : -len(local) - 1])

    def _start(self, label: Label, *, is_element: bool) -> None:
        level = len(self.states)
        state = self.table.runs.step(self.states[-1], label)
        self.states.append(state)
        self.ending.append([])
        for row in self.table.runs.found(state):
            self._probe(row, level)
        if is_element:
            for row in self.table.waiting[RowKind.ANYTHING]:
                self._probe(row, level)

    def _value(self, text: str, *, of_attribute: bool) -> None:
        """A text node, or the value of the attribute that has just started."""
        self._start(ValueLabel(text, of_attribute), is_element=False)
        level = len(self.states) - 1
        for row in self.table.waiting[RowKind.TEXT]:
            comparison = self._row(row).comparison
            if self._hangs(row, level) and (comparison is None or comparison.accepts(text)):
                self._probe(row, level)
        self._end()

    def _strings(self, element: int) -> None:
        """The string-value of the element that is about to end."""
        level = len(self.states) - 1
        text: str | None = None
        for row in self.table.waiting[RowKind.STRING]:
            if self._hangs(row, level):
                text = self.document.string_value(element) if text is None else text
                comparison = self._row(row).comparison
                assert comparison is not None, "a string-value is always compared"
                if comparison.accepts(text):
                    self._probe(row, level)

    def _end(self) -> None:
        level = len(self.states) - 1
        self.states.pop()
        for row in self.ending.pop():
            self.occurrences[row].pop(level, None)

    def _row(self, row: _RowId) -> Row:
        return self.table.rows[row[0]][row[1]]

    def _hangs(self, row: _RowId, level: int) -> bool:
        """Whether the row may end at a level: its parent row ends at a right level above."""
        its = self._row(row)
        if its.parent < 0:
            return its.nearest <= level - _DOCUMENT_LEVEL <= its.farthest
        above = self.occurrences.get((row[0], its.parent))
        return above is not None and any(
            its.nearest <= level - other <= its.farthest for other in above
        )

    def _probe(self, row: _RowId, level: int) -> None:
        """The row's run ends, or its comparison holds, at a level."""
        if row[0] in self.matched or not self._hangs(row, level):
            return
        there = self.occurrences.setdefault(row, {})
        occurrence = there.get(level)
        if occurrence is None:
            ranks = self._row(row).ranks
            branches: _Branches = tuple([] for _ in range(ranks)) if ranks else ()
            occurrence = there[level] = _Occurrence(self.position, branches)
        self.ending[level].append(row)
        if not self._row(row).hanging:
            self._complete(row, occurrence, level)

    def _complete(self, row: _RowId, occurrence: _Occurrence, level: int) -> None:
        """All that hangs on a row is complete: so is this part of the rows above."""
        if occurrence.done:
            return
        occurrence.done = True
        its = self._row(row)
        if its.parent < 0:
            self.matched.add(row[0])
            return
        parent = (row[0], its.parent)
        needed = (1 << self._row(parent).hanging) - 1
        # A completed row may match the pattern, but never ends what is open.
        for other, above in tuple(self.occurrences[parent].items()):
            if its.nearest <= level - other <= its.farthest and not above.done:
                above.complete |= 1 << its.bit
                if its.rank >= 0:
                    insort(above.branches[its.rank], occurrence.position)
                if above.complete == needed and above.is_in_order():
                    self._complete(parent, above, other)
