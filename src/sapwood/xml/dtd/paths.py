"""The root-to-leaf paths that documents of a DTD have.

A path is a walk from the root to an element that may be without children. The possible children of
an element do not depend on the way to it, so the paths are those of a graph with one node for each
element name; and each path is in some valid document, since siblings are free.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType

from sapwood.xml.dtd.content import ContentKind, ElementType, occurring

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Paths:
    """A graph of element names: every walk from `root` to one of `ends` is a path.

    `edges` holds each name that a walk can reach, with its possible children. Make one with
    `allowed_paths`; every name has a walk to an end.
    """

    root: str
    edges: tuple[tuple[str, tuple[str, ...]], ...]
    ends: frozenset[str]
    #: the edges by name
    _children: Mapping[str, tuple[str, ...]] = field(init=False, compare=False, repr=False)
    #: sets of names that reach each other, lower sets before upper ones
    _components: tuple[tuple[str, ...], ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        children = MappingProxyType(dict(self.edges))
        object.__setattr__(self, "_children", children)
        object.__setattr__(self, "_components", tuple(_components(children)))

    @property
    def names(self) -> tuple[str, ...]:
        """All names on paths."""
        return tuple(self._children)

    def children(self, name: str) -> tuple[str, ...]:
        """The names that may follow a name on a path; none for a name that is on no path."""
        return self._children.get(name, ())

    def allows(self, path: Sequence[str]) -> bool:
        """True if this is a whole path, from the root to an element that may end it."""
        if not path or path[0] != self.root or path[-1] not in self.ends:
            return False
        return all(below in self.children(above) for above, below in pairwise(path))

    @property
    def components(self) -> tuple[tuple[str, ...], ...]:
        """Sets of names that can be below each other, each after all sets that are below it."""
        return self._components

    @property
    def is_recursive(self) -> bool:
        """True if some element may, at any depth, hold one of its own name."""
        return any(self.repeats(component) for component in self._components)

    def repeats(self, component: Sequence[str]) -> bool:
        """True if a path can pass through one of the component's names twice."""
        return len(component) > 1 or component[0] in self.children(component[0])

    def up_to(self, levels: int) -> Iterator[Path]:
        """All paths of at most `levels` elements, the children of a name in their order."""
        waiting: list[Path] = [(self.root,)] if levels > 0 else []
        while waiting:
            path = waiting.pop()
            if path[-1] in self.ends:
                yield path
            if len(path) < levels:
                waiting.extend((*path, child) for child in reversed(self.children(path[-1])))

    def count(self, levels: int) -> int:
        """The number of paths of `up_to`."""
        walks, total = {self.root: 1}, 0
        for _ in range(levels):
            total += sum(count for name, count in walks.items() if name in self.ends)
            further: dict[str, int] = {}
            for name, count in walks.items():
                for child in self.children(name):
                    further[child] = further.get(child, 0) + count
            walks = further
        return total


def allowed_paths(root: str, elements: Iterable[ElementType], finite: Mapping[str, int]) -> Paths:
    """The paths of documents with this root.

    `finite` holds the elements that can be completed, the root among them
    (`sapwood.xml.dtd.content.least_heights`).
    """
    declared = {one.name: one for one in elements}
    every = tuple(finite)
    edges: dict[str, tuple[str, ...]] = {}
    waiting = [root]
    while waiting:
        name = waiting.pop()
        if name not in edges:
            edges[name] = _children(declared[name], finite, every)
            waiting.extend(reversed(edges[name]))
    return Paths(root, tuple(edges.items()), frozenset(n for n in edges if declared[n].may_end))


def _children(
    element: ElementType, finite: Mapping[str, int], every: tuple[str, ...]
) -> tuple[str, ...]:
    if element.kind is ContentKind.ANY:
        return every
    return () if element.model is None else tuple(dict.fromkeys(occurring(element.model, finite)))


def _components(children: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """Strongly connected components, lower ones first (Tarjan 1972), without recursion."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    path: list[str] = []
    done: set[str] = set()
    for start in children:
        work = [] if start in order else [(start, iter(children[start]))]
        if work:
            order[start] = low[start] = len(order)
            path.append(start)
        while work:
            name, rest = work[-1]
            child = next(rest, None)
            if child is None:
                work.pop()
                if work:
                    above = work[-1][0]
                    low[above] = min(low[above], low[name])
                if low[name] == order[name]:
                    at = path.index(name)
                    yield tuple(path[at:])
                    done.update(path[at:])
                    del path[at:]
            elif child not in order:
                order[child] = low[child] = len(order)
                path.append(child)
                work.append((child, iter(children[child])))
            elif child not in done:
                low[name] = min(low[name], order[child])
