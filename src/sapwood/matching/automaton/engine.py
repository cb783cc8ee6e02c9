"""The engine of the path automaton: adding, removing and matching."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from sapwood.errors import InvariantError
from sapwood.limits import PATTERN_REMAINS_MIN
from sapwood.matching.automaton.access import Access, access
from sapwood.matching.automaton.columns import Column
from sapwood.matching.automaton.postings import FIRST_TARGET, GAP, Lists, Postings
from sapwood.matching.automaton.search import (
    Asked,
    MarkBook,
    Marks,
    Pairs,
    Patterns,
    Reached,
    Sizes,
)
from sapwood.matching.automaton.states import PathStates
from sapwood.matching.automaton.storing import read_tables, write_tables
from sapwood.matching.automaton.tables import Tables
from sapwood.matching.automaton.targets import NO_EQUALITY, Target
from sapwood.matching.documents.protocol import Readable
from sapwood.matching.protocol import SlotBatch
from sapwood.matching.readiness import Awaiting
from sapwood.matching.storage import Folder
from sapwood.model.patterns.pattern import TreePattern
from sapwood.xml import Document, DocumentBounds, read_document
from sapwood.xml.bounds import DEFAULT_BOUNDS

KernelsName: TypeAlias = Literal["compiled", "plain"]

_KERNELS: Final = MappingProxyType(
    {
        "compiled": "sapwood.matching.automaton.kernels.compiled",
        "plain": "sapwood.matching.automaton.kernels.plain",
    }
)
Slots: TypeAlias = npt.NDArray[np.int32]

_DOCUMENT_WORK: Final = 16
"""The time by which plain kernels take longer for a document, in about microseconds, besides one
for each pattern. Measured: 30 with 10 patterns, 180 with 100, 600 with 1,000 (workload NEWS)."""


class PathAutomatonEngine:
    """A path automaton over tree patterns (see `sapwood.matching.automaton`).

    Matching learns: a label path that no document had before becomes a state, which costs some
    hundred microseconds at 150,000 paths and is paid once; `sapwood bench documents` shows the
    first pass over documents beside later ones. Adding and removing patterns leaves the states as
    they are: a state is brought up to date when a document next reaches it. The states are bounded
    by `limits.PATH_STATES_MAX` and `limits.PATH_STATE_NODES_MAX`; a stream of documents with more
    label paths than that begins to learn anew from time to time, and costs a new state an element
    at worst. States are not saved.

    The remains of removed patterns (paths, conditions, states that have them) are used again if the
    patterns come back, and dropped together with all states when they are more than half of all and
    more than `limits.PATTERN_REMAINS_MIN`.

    Threads: any number may match at the same time, beside one that folds. Documents are parsed side
    by side; learning and searching, which share tables, take turns under a lock.

    `kernels` names the compiled loops or their plain twins, which need no compiler and are slow
    from some hundred patterns on. With `awaiting` the engine begins with the plain ones until the
    compiled ones are at hand: they work on the same arrays, so they are exchanged between two
    documents.
    """

    def __init__(
        self,
        bounds: DocumentBounds = DEFAULT_BOUNDS,
        *,
        kernels: KernelsName = "compiled",
        awaiting: Awaiting | None = None,
    ) -> None:
        self._bounds = bounds
        #: the account of work without compiled kernels; `None` once they are in use
        self._awaiting = awaiting
        compiled = None if awaiting is None else awaiting.at_hand()
        if compiled is not None:
            self._awaiting = None
        chosen = kernels if awaiting is None else "plain"
        self._kernels: Any = compiled or import_module(_KERNELS[chosen])
        self._lock = Lock()
        self._begin(Tables.empty())

    def _begin(self, tables: Tables) -> None:
        """Begin with the patterns of the tables, and without states."""
        self._names, self._paths, self._table = tables.names, tables.paths, tables.conditions
        self._encoder, self._equalities = tables.encoder, tables.equalities
        self._targets = tables.targets
        #: slots by target; targets with something to check by node, or by equality
        self._slots = Postings.of(tables.of_slots)
        self._by_node = Postings.of(tables.by_node())
        self._by_equality = Postings.of(tables.by_equality())
        #: node -> the patterns there that need no further check: GAP for none, the slot of the only
        #: one, or the target of several (FIRST_TARGET - target)
        self._plain = Column.of(tables.plain(), GAP)
        #: the number of nodes with such patterns
        self._plain_nodes = int(np.count_nonzero(self._plain.view != GAP))
        self._states = PathStates(self._kernels)
        self._book = MarkBook()
        #: the nodes of the targets in the lists of `_by_equality`, those of their longest paths,
        #: the conditions left to check, and the starts of the lists that these were made for
        self._equality_nodes = self._equality_reaches = np.zeros(0, np.int32)
        self._equality_checks = np.zeros(0, np.int32)
        self._equality_starts = np.zeros(0, np.int64)

    def __len__(self) -> int:
        """The number of taken slots."""
        return len(self._slots)

    def add(self, slot: int, pattern: TreePattern) -> None:
        """Put `pattern` into `slot`."""
        assert self._slots.key(slot) == GAP, f"slot {slot} is taken"
        reached = access(pattern)
        if self._awaiting is not None:
            self._awaiting.expect()
        with self._lock:
            self._take(slot, reached, reads_content=pattern.reads_content)

    def remove(self, slot: int) -> None:
        """Free `slot`; parts of its pattern stay in the tables, in case it comes back."""
        with self._lock:
            target = self._slots.remove(slot)
            if not self._targets.leave(target):
                self._leave(target)
                if self._targets.unused > max(PATTERN_REMAINS_MIN, len(self._targets) // 2):
                    self._renew()

    def fold(self) -> None:
        """Sort the added patterns, so that no document waits for that."""
        with self._lock:
            for postings in (self._slots, self._by_node, self._by_equality):
                postings.fold()

    def match(self, document: Readable) -> list[int]:
        """The slots whose patterns accept `document`, ascending."""
        found: list[int] = self._found(document).tolist()
        return found

    def match_any(self, document: Readable) -> bool:
        """True if any pattern accepts `document`."""
        return self.match_count(document) > 0

    def match_count(self, document: Readable) -> int:
        """The number of patterns that accept `document`; writes no slots."""
        tree = self._read(document)
        with self._lock:
            slots, marks = self._search(tree)
            count = int(self._kernels.count(slots, marks))
            marks.words[:] = 0
            return count

    def match_slots(self, documents: Sequence[Readable]) -> SlotBatch:
        """The matches of many documents, without a Python object for each match."""
        found = [self._found(document) for document in documents]
        offsets = np.zeros(len(found) + 1, np.int64)
        np.cumsum([len(slots) for slots in found], out=offsets[1:])
        if len(found) == 1:
            return SlotBatch(offsets, found[0])
        return SlotBatch(offsets, np.concatenate([np.zeros(0, np.int32), *found]))

    def save(self, folder: Path) -> None:
        """Write paths, conditions and targets as arrays; states are learned again."""
        write_tables(Folder(folder), self._tables())

    def load(self, folder: Path, patterns: Iterable[tuple[int, TreePattern]]) -> None:  # noqa: ARG002
        """Map the arrays into memory, where changes to them stay in this process.

        No pattern is read. Raises `FileFormatError` for files that `save` did not write.
        """
        assert not len(self), "only an empty engine loads"
        self._begin(read_tables(Folder(folder)))

    def _tables(self) -> Tables:
        """The patterns as tables."""
        return Tables(
            *(self._names, self._paths, self._table, self._encoder, self._equalities),
            *(self._targets, self._slots.keys),
        )

    def _take(self, slot: int, reached: Access, *, reads_content: bool) -> None:
        target = self._targets.number(self._target(reached, reads_content=reads_content))
        self._slots.add(target, slot)
        if self._targets.use(target) == 1:
            self._enter(target, slot)
        elif (fields := self._targets[target]).is_plain:
            self._plain.view[fields.node] = FIRST_TARGET - target

    def _renew(self) -> None:
        """Build all tables anew for the present patterns."""
        former = self._tables()
        self._begin(Tables.empty())
        for slot, target in enumerate(former.of_slots.tolist()):
            if target != GAP:
                reads_content = former.targets[target].reads_content
                self._take(slot, former.access(target), reads_content=reads_content)

    def _target(self, reached: Access, *, reads_content: bool) -> Target:
        """The target of a pattern: its access, in numbers."""
        names = self._names
        path, reach = (
            [(axis, names.test(test)) for axis, test in steps]
            for steps in (reached.path, reached.reach)
        )
        equality = NO_EQUALITY
        if reached.equality is not None:
            equality = self._equalities.number(path[-1][1], reached.equality)
        return Target(
            *(self._paths.node(path), self._paths.node(reach), equality),
            *(self._table.number(reached.rest), reached.at_document, reads_content),
        )

    def _enter(self, target: int, slot: int) -> None:
        """Add a target to the search, at its first slot."""
        fields = self._targets[target]
        if fields.equality != NO_EQUALITY:
            self._by_equality.add(fields.equality, target)
        elif not fields.is_plain:
            self._by_node.add(fields.node, target)
        else:
            self._plain.resize(max(len(self._plain), fields.node + 1))
            self._plain.view[fields.node] = slot
            self._plain_nodes += 1

    def _leave(self, target: int) -> None:
        """Remove a target from the search, at its last slot."""
        fields = self._targets[target]
        if fields.equality != NO_EQUALITY:
            self._by_equality.remove(target)
        elif not fields.is_plain:
            self._by_node.remove(target)
        else:
            self._plain.view[fields.node] = GAP
            self._plain_nodes -= 1

    def _read(self, readable: Readable) -> Document:
        if isinstance(readable, Document):
            return readable
        return read_document(readable, self._bounds, content=self._targets.readers > 0)

    def _found(self, readable: Readable) -> Slots:
        """The slots whose patterns accept a document, ascending."""
        document = self._read(readable)
        with self._lock:
            slots, marks = self._search(document)
            found = np.empty(self._kernels.count(slots, marks), np.int32)
            self._kernels.collect(marks, found)
            return found

    def _search(self, document: Document) -> tuple[Lists, Marks]:
        """Mark the targets and slots that a document reaches; the caller takes the marks back.

        Raises `InputError`, before any mark is set, for a document without content that is needed.
        """
        if self._targets.readers:
            _ = document.whole
        if self._awaiting is not None:
            self._await(self._awaiting)
        symbols, states = self._walk(document)
        distinct = sorted(set(states))
        reached_states = np.array(distinct, np.int32)
        self._states.join(self._paths.trie(), reached_states)
        reached = Reached(reached_states, self._states.held())
        self._plain.resize(len(self._paths))
        slots = self._slots.lists()
        marks = self._book.begin(
            Sizes(
                slots=self._slots.capacity,
                targets=len(self._targets),
                nodes=len(self._paths),
                equalities=len(self._equalities),
                conditions=len(self._table),
                states=len(distinct),
            )
        )
        if self._plain_nodes:
            self._kernels.mark_plain(reached, self._plain.view, slots, marks)
        if len(self._by_node) or len(self._by_equality):
            patterns = self._patterns(slots)
            places = {state: place for place, state in enumerate(distinct)}
            own = np.array([places[state] for state in states], np.int32)
            equal = self._equal(document, symbols)
            groups = self._kernels.group_elements(own, len(distinct), equal, marks)
            candidates = self._kernels.find_candidates(reached, patterns, groups, marks)
            if len(candidates.targets):
                encoded = self._encoder.encode(document, symbols)
                asked = Asked(self._table.conditions(), encoded)
                self._kernels.check_candidates(candidates, groups, patterns, asked, marks)
        return slots, marks

    def _await(self, awaiting: Awaiting) -> None:
        """Use the compiled kernels if they are at hand now."""
        compiled = awaiting.compiled(_DOCUMENT_WORK + len(self._slots))
        if compiled is not None:
            self._kernels, self._awaiting = compiled, None
            self._states.use(compiled)

    def _walk(self, document: Document) -> tuple[list[int], list[int]]:
        """The symbol and the state of each element."""
        names, states = self._names, self._states
        symbols = names.numbers(document.names)
        states.begin()
        made = states.made
        # The last place is the document's, which parent -1 finds.
        found = [0] * (len(document) + 1)
        for element, (symbol, parent) in enumerate(zip(symbols, document.parents, strict=True)):
            above = found[parent]
            state = made.get(above << 32 | symbol)
            if state is None:
                state = states.state(above, symbol, names.symbols[symbol])
            found[element] = state
        found.pop()
        return symbols, found

    def _patterns(self, slots: Lists) -> Patterns:
        """The patterns as they are now."""
        targets, by_equality = self._targets.arrays(), self._by_equality.lists()
        if by_equality.starts is not self._equality_starts:
            # The lists were sorted anew. Gaps stay in their places, so the nodes beside them stay
            # valid.
            self._equality_starts = by_equality.starts
            self._equality_nodes = targets.nodes[by_equality.values]
            self._equality_reaches = targets.reaches[by_equality.values]
            self._equality_checks = (2 * targets.conditions + targets.at_document)[
                by_equality.values
            ]
        return Patterns(
            self._plain.view,
            slots,
            self._by_node.lists(),
            by_equality,
            self._equality_nodes,
            self._equality_reaches,
            self._equality_checks,
            targets,
        )

    def _equal(self, document: Document, symbols: list[int]) -> Pairs:
        """The equalities that the elements of a document satisfy."""
        if not len(self._by_equality):
            return Pairs(np.zeros(0, np.int32), np.zeros(0, np.int32))
        elements, equalities = self._equalities.satisfied(document, symbols)
        return Pairs(np.array(elements, np.int32), np.array(equalities, np.int32))

    def validate(self) -> None:
        """Check that slots, targets and postings agree."""
        for postings in (self._slots, self._by_node, self._by_equality):
            postings.validate()
        self._paths.validate()
        self._states.validate()
        of_slots = self._slots.keys
        users = np.bincount(of_slots[of_slots != GAP], minlength=len(self._targets))
        if not np.array_equal(users, self._targets.users.view):
            raise InvariantError("a target does not have the slots it is said to have")
        if np.count_nonzero(users == 0) != self._targets.unused:
            raise InvariantError("the number of unused targets is wrong")
        if np.count_nonzero(self._plain.view != GAP) != self._plain_nodes:
            raise InvariantError("the number of nodes with plain targets is wrong")
        for target in range(len(self._targets)):
            fields = self._targets[target]
            if fields.equality != NO_EQUALITY:
                there = self._by_equality.key(target) == fields.equality
            elif not fields.is_plain:
                there = self._by_node.key(target) == fields.node
            else:
                there = fields.node < len(self._plain) and self._is_at(fields.node, target)
            if there != bool(users[target]):
                raise InvariantError("a target is not where it should be")

    def _is_at(self, node: int, target: int) -> bool:
        """True if a node leads to a target, or to the only slot of it."""
        what = int(self._plain.view[node])
        return what == FIRST_TARGET - target or (what >= 0 and self._slots.key(what) == target)
