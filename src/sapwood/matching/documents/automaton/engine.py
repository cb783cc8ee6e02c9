"""The engine: adding, removing and matching."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sapwood.errors import InvariantError
from sapwood.limits import PATTERN_REMAINS_MIN
from sapwood.matching.documents.automaton.access import Access, access
from sapwood.matching.documents.automaton.columns import Column
from sapwood.matching.documents.automaton.conditions import ALWAYS_ID, ConditionTable
from sapwood.matching.documents.automaton.encoding import Encoder
from sapwood.matching.documents.automaton.equalities import Equalities
from sapwood.matching.documents.automaton.names import Names
from sapwood.matching.documents.automaton.paths import PathTrie
from sapwood.matching.documents.automaton.postings import FIRST_TARGET, GAP, Lists, Postings
from sapwood.matching.documents.automaton.search import (
    Asked,
    Groups,
    MarkBook,
    Patterns,
    Reached,
    Targets,
)
from sapwood.matching.documents.automaton.states import PathStates
from sapwood.matching.documents.protocol import Readable
from sapwood.matching.protocol import SlotBatch
from sapwood.model.documents.pattern import TreePattern
from sapwood.xml import Document, DocumentBounds, read_document
from sapwood.xml.bounds import DEFAULT_BOUNDS

KernelsName: TypeAlias = Literal["compiled", "plain"]

_KERNELS: Final = MappingProxyType(
    {
        "compiled": "sapwood.matching.documents.automaton.kernels.compiled",
        "plain": "sapwood.matching.documents.automaton.kernels.plain",
    }
)
_NO_EQUALITY: Final = -1
_EQUALITY_BITS: Final = 31
_EQUALITY_MASK: Final = (1 << _EQUALITY_BITS) - 1

Slots: TypeAlias = npt.NDArray[np.int32]


class _Target(NamedTuple):
    """What a pattern comes down to (`access.py`), in numbers."""

    node: int
    equality: int
    condition: int
    at_document: bool


class PathAutomatonEngine:
    """A path automaton over tree patterns (see `sapwood.matching.documents.automaton`).

    What removed patterns leave behind (paths, conditions, states that know them) is used again if
    they come back, and dropped together with all that was learned when it is more than half of all
    and more than `limits.PATTERN_REMAINS_MIN`.

    `kernels` names the compiled loops or their plain twins, which need no compiler and are slow.
    """

    def __init__(
        self, bounds: DocumentBounds = DEFAULT_BOUNDS, *, kernels: KernelsName = "compiled"
    ) -> None:
        self._bounds = bounds
        self._kernels: Any = import_module(_KERNELS[kernels])
        self._begin()

    def _begin(self) -> None:
        """Begin with no patterns, and with nothing learned."""
        self._names = Names()
        self._paths = PathTrie()
        self._table = ConditionTable(self._names)
        self._encoder = Encoder(self._names, self._table)
        self._equalities = Equalities(self._names, self._encoder)
        self._states = PathStates(self._kernels)
        self._book = MarkBook()
        #: what patterns come down to -> its number; also those whose patterns are gone
        self._targets: dict[_Target, int] = {}
        self._target_nodes = Column(np.int32)
        self._target_conditions = Column(np.int32)
        self._target_at_document = Column(np.bool_)
        self._target_equalities = Column(np.int32)
        #: target -> what it was made of
        self._accesses: list[Access] = []
        #: how many targets have no slot
        self._unused = 0
        #: target -> how many slots it has
        self._users = Column(np.int32)
        #: node -> who is there of whom nothing is left to check: GAP for nobody, the slot if it is
        #: only one, or the target with several (FIRST_TARGET - target)
        self._plain = Column(np.int32, GAP)
        #: slots by target; targets with something to check by node, or by equality
        self._slots = Postings()
        self._by_node = Postings()
        self._by_equality = Postings()
        #: the nodes of the targets in the lists of `_by_equality`, and which lists those were
        self._equality_nodes = np.zeros(0, np.int32)
        self._equality_starts = self._by_equality.lists().starts
        #: room for the slots that are found, kept because fresh memory costs more than the search
        self._scratch = Column(np.int32)
        #: slot -> whether its pattern reads content
        self._reading = Column(np.bool_)
        self._readers = 0

    def __len__(self) -> int:
        """The number of taken slots."""
        return len(self._slots)

    def add(self, slot: int, pattern: TreePattern) -> None:
        """Take `slot` for `pattern`."""
        assert self._slots.key(slot) == GAP, f"slot {slot} is taken"
        self._take(slot, access(pattern), reads_content=pattern.reads_content)

    def remove(self, slot: int) -> None:
        """Free `slot`; what was made for its pattern stays for a while, in case it comes back."""
        target = self._slots.remove(slot)
        self._users.view[target] -= 1
        self._readers -= int(self._reading.view[slot])
        if not self._users.view[target]:
            self._leave(target)
            self._unused += 1
            if self._unused > max(PATTERN_REMAINS_MIN, len(self._targets) // 2):
                self._renew()

    def _take(self, slot: int, reached: Access, *, reads_content: bool) -> None:
        target = self._target(reached)
        self._slots.add(target, slot)
        self._users.view[target] += 1
        if self._users.view[target] == 1:
            self._unused -= 1
            self._enter(target, slot)
        elif self._is_plain(target):
            self._plain.view[self._target_nodes.view[target]] = FIRST_TARGET - target
        if slot >= len(self._reading):
            self._reading.resize(slot + 1)
        self._reading.view[slot] = reads_content
        self._readers += reads_content

    def _renew(self) -> None:
        """Make everything anew for the patterns that are there."""
        taken = [
            (slot, self._accesses[target], bool(self._reading.view[slot]))
            for slot in range(len(self._reading))
            if (target := self._slots.key(slot)) != GAP
        ]
        self._begin()
        for slot, reached, reads_content in taken:
            self._take(slot, reached, reads_content=reads_content)

    def match(self, document: Readable) -> list[int]:
        """The slots whose patterns accept `document`, ascending."""
        found: list[int] = self._found(document).tolist()
        return found

    def match_any(self, document: Readable) -> bool:
        """Whether any pattern accepts `document`."""
        return bool(len(self._found(document)))

    def match_slots(self, documents: Sequence[Readable]) -> SlotBatch:
        """The matches of many documents, without a Python object for each match."""
        found = [self._found(document) for document in documents]
        offsets = np.zeros(len(found) + 1, np.int64)
        np.cumsum([len(slots) for slots in found], out=offsets[1:])
        return SlotBatch(offsets, np.concatenate([np.zeros(0, np.int32), *found]))

    def save(self, folder: Path) -> None:
        """Nothing to write: the patterns say it all, and the states are learned again."""

    def load(self, folder: Path, patterns: Iterable[tuple[int, TreePattern]]) -> None:  # noqa: ARG002
        """Add all patterns again."""
        for slot, stored in patterns:
            self.add(slot, stored)

    def _target(self, reached: Access) -> int:
        """The number of what a pattern comes down to; made if it is not there."""
        names = self._names
        path = [(axis, names.test(test)) for axis, test in reached.path]
        equality = _NO_EQUALITY
        if reached.equality is not None:
            equality = self._equalities.number(path[-1][1], reached.equality)
        wanted = _Target(
            self._paths.node(path), equality, self._table.number(reached.rest), reached.at_document
        )
        target = self._targets.get(wanted)
        if target is None:
            target = self._targets[wanted] = len(self._targets)
            self._target_nodes.append(wanted.node)
            self._target_conditions.append(wanted.condition)
            self._target_at_document.append(wanted.at_document)
            self._users.append(0)
            self._accesses.append(reached)
            self._unused += 1
            self._target_equalities.append(wanted.equality)
        return target

    def _is_plain(self, target: int) -> bool:
        """Whether a target is reached by its path alone."""
        return bool(
            self._target_equalities.view[target] == _NO_EQUALITY
            and self._target_conditions.view[target] == ALWAYS_ID
        )

    def _enter(self, target: int, slot: int) -> None:
        """Make a target known to the search: its first slot has come."""
        node, equality = self._place(target)
        if equality != _NO_EQUALITY:
            self._by_equality.add(equality, target)
        elif not self._is_plain(target):
            self._by_node.add(node, target)
        else:
            self._plain.resize(max(len(self._plain), node + 1))
            self._plain.view[node] = slot

    def _leave(self, target: int) -> None:
        """Take a target out of the search: its last slot has gone."""
        node, equality = self._place(target)
        if equality != _NO_EQUALITY:
            self._by_equality.remove(target)
        elif not self._is_plain(target):
            self._by_node.remove(target)
        else:
            self._plain.view[node] = GAP

    def _place(self, target: int) -> tuple[int, int]:
        return int(self._target_nodes.view[target]), int(self._target_equalities.view[target])

    def _found(self, readable: Readable) -> Slots:
        """The slots whose patterns accept a document, ascending."""
        document = (
            readable
            if isinstance(readable, Document)
            else read_document(readable, self._bounds, content=self._readers > 0)
        )
        if self._readers:
            _ = document.whole  # refuses one that was read without the content that is asked for
        symbols, states = self._walk(document)
        distinct = list(dict.fromkeys(states))
        reached = Reached(np.array(distinct, np.int32), self._states.held())
        self._plain.resize(len(self._paths))
        slots = self._slots.lists()
        marks = self._book.begin(
            len(self._reading),
            len(self._targets),
            len(self._paths),
            len(self._table),
            len(distinct),
        )
        self._kernels.mark_plain(reached, self._plain.view, slots, marks)
        if len(self._by_node) or len(self._by_equality):
            patterns = self._patterns(slots)
            places = {state: place for place, state in enumerate(distinct)}
            groups = self._groups(document, symbols, [places[state] for state in states])
            candidates = self._kernels.find_candidates(reached, patterns, groups, marks)
            if len(candidates.targets):
                encoded = self._encoder.encode(document, symbols)
                asked = Asked(self._table.conditions(), encoded)
                self._kernels.check_candidates(candidates, groups, patterns, asked, marks)
        self._scratch.reserve(len(self._slots))
        count = self._kernels.collect(slots, marks, self._scratch.room)
        return self._scratch.room[:count].copy()

    def _walk(self, document: Document) -> tuple[list[int], list[int]]:
        """The symbol and the state of each element."""
        names, states = self._names, self._states
        symbols = names.numbers(document.names)
        states.begin(self._paths.trie())
        current = states.current
        # The last place is the document's, which parent -1 finds.
        found = [0] * (len(document) + 1)
        for element, (symbol, parent) in enumerate(zip(symbols, document.parents, strict=True)):
            above = found[parent]
            state = current.get(above << 32 | symbol)
            if state is None:
                state = states.state(above, symbol, names.symbols[symbol])
            found[element] = state
        found.pop()
        return symbols, found

    def _patterns(self, slots: Lists) -> Patterns:
        """The patterns as they are now."""
        by_equality = self._by_equality.lists()
        if by_equality.starts is not self._equality_starts:
            # The lists were sorted anew. Gaps stay where they are, so nodes beside them do no harm.
            self._equality_starts = by_equality.starts
            self._equality_nodes = self._target_nodes.view[by_equality.values]
        return Patterns(
            self._plain.view,
            slots,
            self._by_node.lists(),
            by_equality,
            self._equality_nodes,
            Targets(
                self._target_nodes.view,
                self._target_conditions.view,
                self._target_at_document.view,
            ),
        )

    def _groups(self, document: Document, symbols: list[int], places: list[int]) -> Groups:
        """Elements by the place of their state, and by the equalities they satisfy besides."""
        own = np.array(places, np.int64)
        states = int(own.max()) + 1
        words = (len(document) + 64) >> 6
        keys, elements = own << _EQUALITY_BITS, np.arange(1, len(document) + 1)
        if len(self._by_equality):
            pairs = self._equalities.satisfied(document, symbols)
            equal = np.array(pairs, np.int64).reshape(len(pairs), 2)
            keys = np.concatenate([keys, (own[equal[:, 0]] << _EQUALITY_BITS) + 1 + equal[:, 1]])
            elements = np.concatenate([elements, 1 + equal[:, 0]])
        # Those of the states come first, whatever equalities there are.
        keys += np.where(keys & _EQUALITY_MASK, 1 << 2 * _EQUALITY_BITS, 0)
        distinct, group = np.unique(keys, return_inverse=True)
        bits = np.zeros((len(distinct), words), np.uint64)
        np.bitwise_or.at(bits, (group, elements >> 6), np.uint64(1) << (elements & 63).astype("u8"))
        place = (distinct >> _EQUALITY_BITS) & _EQUALITY_MASK
        assert np.array_equal(place[:states], np.arange(states)), "every state has an element"
        equality = (distinct & _EQUALITY_MASK) - 1
        return Groups(place.astype(np.int32), equality.astype(np.int32), bits)

    def validate(self) -> None:
        """Slots, targets and postings agree."""
        for postings in (self._slots, self._by_node, self._by_equality):
            postings.validate()
        self._paths.validate()
        self._states.validate()
        users = np.zeros(len(self._targets), np.int32)
        for slot in range(len(self._reading)):
            if self._slots.key(slot) != GAP:
                users[self._slots.key(slot)] += 1
        if not np.array_equal(users, self._users.view):
            raise InvariantError("a target does not have the slots it is said to have")
        if np.count_nonzero(users == 0) != self._unused:
            raise InvariantError("the number of unused targets is wrong")
        for wanted, target in self._targets.items():
            if wanted.equality != _NO_EQUALITY:
                there = self._by_equality.key(target) == wanted.equality
            elif wanted.condition != ALWAYS_ID:
                there = self._by_node.key(target) == wanted.node
            else:
                there = wanted.node < len(self._plain) and self._is_at(wanted.node, target)
            if there != bool(users[target]):
                raise InvariantError("a target is not where it should be")

    def _is_at(self, node: int, target: int) -> bool:
        """Whether a node leads to a target, or to the only slot of it."""
        what = int(self._plain.view[node])
        return what == FIRST_TARGET - target or (what >= 0 and self._slots.key(what) == target)
