"""The automaton: a state for each label path that was seen.

State 0 is the document; any other state is its parent's label path and one more symbol. It *holds*
the trie's nodes whose paths lead to an element with that label path, ascending. A node belongs to a
state if its step's test passes the symbol and its parent is held by the state's parent, or, for a
`//` step, by any state above. Nodes are numbered with parents first, and the nodes that a state
holds among the first `known` ones never change; so a state is brought up to date by testing newer
nodes, and all states of a document are, together, when it has been walked.

The table is a cache: it depends on the trie and on nothing else, and when it has grown beyond
`limits.PATH_STATES_MAX` or `limits.PATH_STATE_NODES_MAX` it is begun anew. A state that grows moves
to a place half as large again as it needs, so the places left behind stay in proportion.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sapwood.errors import InvariantError
from sapwood.limits import PATH_STATE_NODES_MAX, PATH_STATES_MAX
from sapwood.matching.automaton.columns import Column
from sapwood.matching.automaton.names import Symbol
from sapwood.matching.automaton.paths import Trie

_SYMBOL_BITS: Final = 32
_MARK_MAX: Final = 2**31 - 2**20
"""Before marks leave 32 bits, they begin anew."""


class Held(NamedTuple):
    """The nodes that states hold: `nodes[starts[state]:starts[state] + sizes[state]]`."""

    starts: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int32]
    nodes: npt.NDArray[np.int32]


class Growth(NamedTuple):
    """The input to bring `states` up to date; they are ascending, so parents come first.

    By state: `parents`, the two numbers of its symbol (`locals`, `expanded`), the number of nodes
    that it has `seen`, and the place of its nodes, as in `Held`, with `rooms` for more. `above` and
    `beside` may be marked, for each node, with `mark` and numbers after it, one for each of
    `states`.
    """

    trie: Trie
    states: npt.NDArray[np.int32]
    parents: npt.NDArray[np.int32]
    locals: npt.NDArray[np.int32]
    expanded: npt.NDArray[np.int32]
    seen: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int32]
    rooms: npt.NDArray[np.int32]
    nodes: npt.NDArray[np.int32]
    above: npt.NDArray[np.int32]
    beside: npt.NDArray[np.int32]
    mark: int


class PathStates:
    """Label paths and the nodes they reach (see the module)."""

    def __init__(
        self,
        kernels: Any,
        states_max: int = PATH_STATES_MAX,
        nodes_max: int = PATH_STATE_NODES_MAX,
    ) -> None:
        self._kernels = kernels
        self._states_max = states_max
        self._nodes_max = nodes_max
        self._clear_marks()
        self._clear()

    def __len__(self) -> int:
        """The number of states, the document's included."""
        return len(self._parents)

    def use(self, kernels: Any) -> None:
        """Exchange the kernels; all work on the same arrays."""
        self._kernels = kernels

    def begin(self) -> None:
        """Make room before a document if there is none left."""
        if len(self) > self._states_max or len(self._nodes) > self._nodes_max:
            self._clear()

    def state(self, parent: int, number: int, symbol: Symbol) -> int:
        """The state of a symbol below another state, made if it does not exist.

        `made` has it from then on: `parent << 32 | number` to state.
        """
        key = parent << _SYMBOL_BITS | number
        state = self.made.get(key)
        if state is None:
            state = self.made[key] = self._append(parent, symbol)
        return state

    def join(self, trie: Trie, states: npt.NDArray[np.int32]) -> None:
        """Bring states up to date; they are ascending, and include all states above them."""
        known = len(trie.parents)
        if not len(states) or self._seen.view[states].min() == known:
            return
        if self._mark > _MARK_MAX:
            self._clear_marks()
        self._above.resize(known)
        self._beside.resize(known)
        done, end, missing = 0, len(self._nodes), 0
        while done < len(states):
            self._nodes.reserve(end + missing)
            growth = Growth(
                *(trie, states, self._parents.view, self._locals.view, self._expanded.view),
                *(self._seen.view, self._starts.view, self._sizes.view, self._rooms.view),
                *(self._nodes.room, self._above.view, self._beside.view, self._mark),
            )
            done, end, missing = self._kernels.join_nodes(growth, done, end)
            self._nodes.resize(end)
        self._mark += len(states)

    def held(self) -> Held:
        """The nodes that the states hold, each as far as it was brought up to date."""
        return Held(self._starts.view, self._sizes.view, self._nodes.view)

    def _clear_marks(self) -> None:
        #: node -> the last mark of a state for which a state above held it, or the one right above
        self._above = Column(np.int32)
        self._beside = Column(np.int32)
        self._mark = 1

    def _clear(self) -> None:
        #: state -> the state above it, -1 for the document
        self._parents = Column(np.int32)
        #: state -> the two numbers of its symbol
        self._locals = Column(np.int32)
        self._expanded = Column(np.int32)
        #: state -> the number of the trie's nodes that it has tested
        self._seen = Column(np.int64)
        #: state -> the place of its nodes in `_nodes`, their number, and its room for nodes
        self._starts = Column(np.int64)
        self._sizes = Column(np.int32)
        self._rooms = Column(np.int32)
        self._nodes = Column(np.int32)
        #: parent and symbol -> state
        self.made: dict[int, int] = {}
        self._append(-1, Symbol(-1, -1))
        self._sizes.view[0] = self._rooms.view[0] = 1
        self._nodes.append(0)

    def _append(self, parent: int, symbol: Symbol) -> int:
        """A state that has seen no node and holds none."""
        self._parents.append(parent)
        self._locals.append(symbol.local)
        self._expanded.append(symbol.expanded)
        self._seen.append(0)
        self._starts.append(0)
        self._sizes.append(0)
        self._rooms.append(0)
        return len(self._parents) - 1

    def validate(self) -> None:
        """Raise `InvariantError` unless states lie below others and hold ascending nodes."""
        if len(self.made) != len(self) - 1:
            raise InvariantError("a state is lost")
        places: list[tuple[int, int]] = []
        for state in range(len(self)):
            start, size = int(self._starts.view[state]), int(self._sizes.view[state])
            nodes = self._nodes.view[start : start + size]
            if not self._parents.view[state] < state or np.any(np.diff(nodes) <= 0):
                raise InvariantError("a state is not made as it should be")
            room = int(self._rooms.view[state])
            if room:
                places.append((start, start + room))
            if size > room:
                raise InvariantError("a state holds more than it has room for")
        places.sort()
        if any(end > start for (_, end), (start, _) in pairwise(places)):
            raise InvariantError("two states hold their nodes in the same place")
