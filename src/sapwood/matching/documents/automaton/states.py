"""The automaton: a state for each label path that was seen.

State 0 is the document; any other state is its parent's label path and one more symbol. It *holds*
the trie's nodes whose paths lead to an element with that label path, ascending. A node belongs to a
state if its step's test passes the symbol and its parent is held by the state's parent, or, for a
`//` step, by any state above. Nodes are numbered with parents first, and what a state holds among
the first `known` nodes never changes; so a state is brought up to date by looking at newer nodes.

The table is a cache: it depends on the trie and on nothing else, and when it has grown beyond
`limits.PATH_STATES_MAX` or `limits.PATH_STATE_NODES_MAX` it is begun anew.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sapwood.errors import InvariantError
from sapwood.limits import PATH_STATE_NODES_MAX, PATH_STATES_MAX
from sapwood.matching.documents.automaton.columns import Column
from sapwood.matching.documents.automaton.names import Symbol
from sapwood.matching.documents.automaton.paths import Trie

_SYMBOL_BITS = 32


class Held(NamedTuple):
    """The nodes that states hold: `nodes[starts[state]:starts[state] + sizes[state]]`."""

    starts: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int32]
    nodes: npt.NDArray[np.int32]


class Growth(NamedTuple):
    """What it takes to bring a state up to date.

    `parents` are the states' parents, `symbol` the two numbers of the state's symbol, `seen` the
    number of nodes it has looked at. `above` and `beside` are to be marked with `mark` for the
    nodes that any state above, and the parent, holds.
    """

    trie: Trie
    held: Held
    parents: npt.NDArray[np.int32]
    state: int
    symbol: npt.NDArray[np.int32]
    seen: int
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
        #: node -> the last round in which it was held by a state above, and by the parent
        self._above = Column(np.int32)
        self._beside = Column(np.int32)
        self._round = 0
        #: how many nodes the trie had when it was taken
        self._known = 0
        #: the part of `_made` that is up to date
        self.current: dict[int, int] = {}
        self._clear()

    def __len__(self) -> int:
        """The number of states, the document's included."""
        return len(self._parents)

    def begin(self, trie: Trie) -> None:
        """Take the trie as it is now, before a document; makes room if there is none left."""
        if len(self) > self._states_max or len(self._nodes) > self._nodes_max:
            self._clear()
        if len(trie.parents) != self._known:
            self.current = {}
            self._known = len(trie.parents)
            self._above.resize(self._known)
            self._beside.resize(self._known)
        self._trie = trie

    def state(self, parent: int, number: int, symbol: Symbol) -> int:
        """The state of a symbol below another state that is up to date, made or brought up to date.

        `current` keeps the answer until the trie grows: `parent << 32 | number` to state.
        """
        key = parent << _SYMBOL_BITS | number
        state = self._made.get(key)
        if state is None:
            state = self._made[key] = len(self._parents)
            self._parents.append(parent)
            self._locals.append(symbol.local)
            self._expanded.append(symbol.expanded)
            self._seen.append(0)
            self._starts.append(len(self._nodes))
            self._sizes.append(0)
        self._update(state)
        self.current[key] = state
        return state

    def held(self) -> Held:
        """What the states hold; only what is in `current` is up to date."""
        return Held(self._starts.view, self._sizes.view, self._nodes.view)

    def _clear(self) -> None:
        #: state -> the state above it, -1 for the document
        self._parents = Column(np.int32)
        #: state -> the two numbers of its symbol
        self._locals = Column(np.int32)
        self._expanded = Column(np.int32)
        #: state -> how many of the trie's nodes it has looked at
        self._seen = Column(np.int64)
        self._starts = Column(np.int64)
        self._sizes = Column(np.int32)
        self._nodes = Column(np.int32)
        #: parent and symbol -> state
        self._made: dict[int, int] = {}
        self.current = {}
        self._known = -1
        for column, value in ((self._parents, -1), (self._locals, -1), (self._expanded, -1)):
            column.append(value)
        self._seen.append(0)
        self._starts.append(0)
        self._sizes.append(1)
        self._nodes.append(0)

    def _update(self, state: int) -> None:
        seen = int(self._seen.view[state])
        if seen == self._known:
            return
        self._round += 1
        symbol = (self._locals.view[state], self._expanded.view[state])
        growth = Growth(
            self._trie,
            self.held(),
            self._parents.view,
            state,
            np.array(symbol, np.int32),
            seen,
            self._above.view,
            self._beside.view,
            self._round,
        )
        new = self._kernels.new_nodes(growth)
        self._seen.view[state] = self._known
        if len(new):
            start, size = int(self._starts.view[state]), int(self._sizes.view[state])
            if start + size != len(self._nodes):
                self._starts.view[state] = len(self._nodes)
                self._nodes.extend(self._nodes.view[start : start + size].copy())
            self._nodes.extend(new)
            self._sizes.view[state] = size + len(new)

    def validate(self) -> None:
        """Raise `InvariantError` unless states lie below others and hold ascending nodes."""
        if len(self._made) != len(self) - 1:
            raise InvariantError("a state is lost")
        for state in range(1, len(self)):
            start, size = int(self._starts.view[state]), int(self._sizes.view[state])
            nodes = self._nodes.view[start : start + size]
            if not self._parents.view[state] < state or np.any(np.diff(nodes) <= 0):
                raise InvariantError("a state is not made as it should be")
