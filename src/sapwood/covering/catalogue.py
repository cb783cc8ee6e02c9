"""Covering indexes, relation graphs and their combinations, by name.

A combination is written `graph,index`: `flat-1,columnar`. Graphs that search in themselves stand
alone: `poset`. An index may take an argument: `flat-1,sfc-z:0.05`.

The indexes of the catalogue are those of record filters. Tree patterns lie beside them in an index
of their own (XSearch), below the same graph; nothing covers across kinds. Another graph and index
for them is written behind a plus: `flat-1,columnar+subscription-tree` (`DOCUMENT_COVERINGS`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Final, Protocol

from sapwood.catalogue import Catalogue
from sapwood.covering.flat import FlatGraph
from sapwood.covering.interests import InterestGraph, InterestIndex, PatternGraph
from sapwood.covering.manager import CoveringManager
from sapwood.covering.protocol import CoveringIndex, RelationGraph
from sapwood.covering.published.dense import DenseGraph
from sapwood.covering.published.poset import PosetForest, SienaPoset
from sapwood.covering.published.procedure_index import PROCEDURES, ProcedureCovering
from sapwood.covering.reference import ReferenceCovering
from sapwood.covering.xsearch import XSearchIndex
from sapwood.errors import InputError, UnknownNameError
from sapwood.matching.published.subscription_tree import PRINTED, SubscriptionTree
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.model.patterns.pattern import TreePattern


@dataclass(frozen=True, slots=True)
class IndexInfo:
    """A covering index of record filters by name.

    `exact` means that it finds every cover that `Filter.covers` finds. `choose` is set where an
    argument may stand behind the colon of the name: it makes the index for that argument, or raises
    `InputError`.
    """

    name: str
    exact: bool
    summary: str
    make: Callable[[], CoveringIndex[Filter]]
    choose: Callable[[str], IndexInfo] | None = None


@dataclass(frozen=True, slots=True)
class GraphInfo:
    """A relation graph by name; one that searches in itself takes no index."""

    name: str
    searches_itself: bool
    summary: str
    make: Callable[[], RelationGraph]


class MakeManager(Protocol):
    """Makes an empty manager; if `is_maximal`, it withdraws filters that a new one covers."""

    def __call__(self, *, is_maximal: bool = False) -> CoveringManager[Interest]:
        """Make a manager."""
        ...


@dataclass(frozen=True, slots=True)
class CoveringInfo:
    """A combination by name, and its constructor of empty managers."""

    name: str
    exact: bool
    summary: str
    make: MakeManager


def _columnar() -> CoveringIndex[Filter]:
    from sapwood.covering.columnar import ColumnarCovering

    return ColumnarCovering()


def _counting() -> CoveringIndex[Filter]:
    from sapwood.covering.published.counting import CountingCovering

    return CountingCovering()


def _kdtree() -> CoveringIndex[Filter]:
    from sapwood.covering.published.kdtree import KdTreeCovering

    return KdTreeCovering()


def _space_filling(curve: str, epsilon: Fraction = Fraction()) -> CoveringIndex[Filter]:
    from sapwood.covering.published.sfc import SpaceFillingIndex

    return SpaceFillingIndex(curve, epsilon)


def _approximate(curve: str) -> Callable[[str], IndexInfo]:
    """The function that makes the info of an index on a curve from the share it may miss."""

    def choose(text: str) -> IndexInfo:
        epsilon = _share(text, f"sfc-{curve}")
        return IndexInfo(
            f"sfc-{curve}:{text}",
            exact=epsilon == 0,
            summary=f"the same with epsilon {text}, the share of the space that may be left out",
            make=partial(_space_filling, curve, epsilon),
        )

    return choose


def _share(text: str, name: str) -> Fraction:
    try:
        share = Fraction(text)
    except (ValueError, ZeroDivisionError):
        share = Fraction(-1)
    if not 0 <= share < 1:
        raise InputError(
            f"covering index {name}:{text}: epsilon is a share from 0 (nothing is missed) to below "
            f"1, as in {name}:0.05"
        )
    return share


def _space_filling_cubes() -> CoveringIndex[Filter]:
    from sapwood.covering.published.sfc import SpaceFillingIndex

    return SpaceFillingIndex("z", CUBES_EPSILON, CUBES_BUDGET)


CUBES_EPSILON: Final = Fraction(1, 20)
CUBES_BUDGET: Final = 256
"""For `sfc-z-cubes`: the share of the volume that is left out, and the cubes a search may look up.
Filters on one attribute keep the share; for others the largest cubes are searched."""

DEFAULT_COVERING: Final = "flat-1,columnar"
"""The combination that finds covers by default."""

COVERING_INDEXES: Final = Catalogue(
    "covering index",
    IndexInfo,
    (
        IndexInfo(
            "columnar",
            exact=True,
            summary="bitmaps over columns of hulls, compiled; the default",
            make=_columnar,
        ),
        IndexInfo(
            "counting",
            exact=True,
            summary="tallies of covering predicates",
            make=_counting,
        ),
        IndexInfo(
            "kdtree",
            exact=True,
            summary="numeric boxes as points, covers by dominance",
            make=_kdtree,
        ),
        IndexInfo(
            "sfc-z",
            exact=True,
            summary="the Z curve, walked over point by point; :EPSILON is the share left out",
            make=partial(_space_filling, "z"),
            choose=_approximate("z"),
        ),
        IndexInfo(
            "sfc-hilbert",
            exact=True,
            summary="Hilbert's curve, walked over point by point; :EPSILON is the share left out",
            make=partial(_space_filling, "hilbert"),
            choose=_approximate("hilbert"),
        ),
        IndexInfo(
            "sfc-z-cubes",
            exact=False,
            summary="the Z curve with epsilon 1/20, up to 256 cubes a search: misses covers",
            make=_space_filling_cubes,
        ),
        IndexInfo(
            "reference",
            exact=True,
            summary="every filter is asked; to check the others",
            make=ReferenceCovering,
        ),
    ),
    group="sapwood.covering_indexes",
)

RELATION_GRAPHS: Final = Catalogue(
    "relation graph",
    GraphInfo,
    (
        GraphInfo("flat-1", searches_itself=False, summary="one cover a node", make=FlatGraph),
        GraphInfo(
            "flat-8",
            searches_itself=False,
            summary="up to eight covers a node",
            make=lambda: FlatGraph(8),
        ),
        GraphInfo(
            "dense",
            searches_itself=False,
            summary="all covers of every node; to check the others",
            make=DenseGraph,
        ),
        GraphInfo(
            "poset",
            searches_itself=True,
            summary="Siena's poset: immediate covers, searched from the roots",
            make=SienaPoset,
        ),
        GraphInfo(
            "forest",
            searches_itself=True,
            summary="the poset-derived forest: one immediate cover",
            make=PosetForest,
        ),
    ),
    group="sapwood.relation_graphs",
)


@dataclass(frozen=True, slots=True)
class DocumentCoveringInfo:
    """A relation graph over tree patterns and its index, which may merely hold them.

    `exact` means that they find every cover that `TreePattern.covers` finds.
    """

    name: str
    summary: str
    make_graph: Callable[[], PatternGraph]
    make_index: Callable[[], CoveringIndex[TreePattern]]
    exact: bool = True


DEFAULT_DOCUMENT_COVERING: Final = "xsearch"
"""The combination that finds covers among tree patterns by default."""

DOCUMENT_COVERINGS: Final = Catalogue(
    "covering of documents",
    DocumentCoveringInfo,
    (
        DocumentCoveringInfo(
            "xsearch",
            summary="one cover a pattern, searched in a factorization tree; the default",
            make_graph=FlatGraph,
            make_index=XSearchIndex,
        ),
        DocumentCoveringInfo(
            "subscription-tree",
            summary="all covers, in a tree with super pointers",
            make_graph=SubscriptionTree,
            make_index=ReferenceCovering,
        ),
        DocumentCoveringInfo(
            "subscription-tree-lazy",
            summary="the same, with super pointers only where somebody asks for them",
            make_graph=lambda: SubscriptionTree(is_lazy=True),
            make_index=ReferenceCovering,
        ),
        DocumentCoveringInfo(
            "subscription-tree-printed",
            summary="the same with the printed shortcuts, by the printed procedures, repaired: "
            "misses covers",
            make_graph=lambda: SubscriptionTree(PROCEDURES, PRINTED, is_lazy=True),
            make_index=ReferenceCovering,
            exact=False,
        ),
        DocumentCoveringInfo(
            "xpe-procedures",
            summary="one cover an XPE, every one is asked by AbsSimCov, RelSimCov and DesCov, "
            "repaired: misses covers",
            make_graph=FlatGraph,
            make_index=ProcedureCovering,
            exact=False,
        ),
        DocumentCoveringInfo(
            "reference",
            summary="one cover a pattern, every one is asked; to check the others",
            make_graph=FlatGraph,
            make_index=ReferenceCovering,
        ),
    ),
    group="sapwood.document_coverings",
)


def document_covering_named(name: str) -> DocumentCoveringInfo:
    """The covering of documents with that name; raises `UnknownNameError` with the known names."""
    return DOCUMENT_COVERINGS.named(name)


def _combined(graph: GraphInfo, index: IndexInfo) -> CoveringInfo:
    def make(*, is_maximal: bool = False) -> CoveringManager[Interest]:
        return CoveringManager(graph.make(), interest_index(index), is_maximal=is_maximal)

    summary = f"{graph.summary}; {index.summary}"
    return CoveringInfo(f"{graph.name},{index.name}", index.exact, summary, make)


def _alone(graph: GraphInfo) -> CoveringInfo:
    def make(*, is_maximal: bool = False) -> CoveringManager[Interest]:
        return CoveringManager(graph.make(), is_maximal=is_maximal)

    return CoveringInfo(graph.name, exact=True, summary=graph.summary, make=make)


def _index_named(name: str) -> IndexInfo:
    """The index of a name, which may have an argument; raises `KeyError` or `InputError`."""
    word, colon, argument = name.partition(":")
    index = COVERING_INDEXES[word]
    if not colon:
        return index
    if index.choose is None:
        raise InputError(f"covering index {word} takes no argument: leave :{argument} out")
    return index.choose(argument)


class Combinations(Mapping[str, CoveringInfo]):
    """Every graph with every index that it can use, and alone if it searches itself.

    Made on access, since the two catalogues take contributions.
    """

    __slots__ = ()

    def __getitem__(self, name: str) -> CoveringInfo:
        """The combination of that name; raises `KeyError` if there is none."""
        graph_name, comma, index_name = name.partition(",")
        graph = RELATION_GRAPHS[graph_name]
        if graph.searches_itself is bool(comma):
            raise KeyError(name)
        return _combined(graph, _index_named(index_name)) if comma else _alone(graph)

    def __iter__(self) -> Iterator[str]:
        """All names, graph by graph."""
        for graph, info in RELATION_GRAPHS.items():
            if info.searches_itself:
                yield graph
            else:
                yield from (f"{graph},{index}" for index in COVERING_INDEXES)

    def __len__(self) -> int:
        """The number of combinations."""
        return sum(1 for _ in self)


COVERINGS: Final[Mapping[str, CoveringInfo]] = Combinations()


def interest_index(index: IndexInfo) -> CoveringIndex[Interest]:
    """An empty index of both kinds: `index` for records, the default one for tree patterns."""
    return InterestIndex(index.make(), DOCUMENT_COVERINGS[DEFAULT_DOCUMENT_COVERING].make_index())


def covering_named(name: str) -> CoveringInfo:
    """The combination of that name; raises `UnknownNameError` with the known names."""
    records, plus, documents = name.partition("+")
    info = COVERINGS.get(records)
    if info is None:
        raise UnknownNameError("covering", records, COVERINGS)
    return _with_documents(info, document_covering_named(documents)) if plus else info


def _with_documents(records: CoveringInfo, documents: DocumentCoveringInfo) -> CoveringInfo:
    """A combination for records with another one for tree patterns beside it."""
    graph, _, index = records.name.partition(",")
    make_graph = RELATION_GRAPHS[graph].make
    # A graph that searches itself uses no index, but the graph beside it may: so one is made.
    make_index = _index_named(index).make if index else ReferenceCovering

    def make(*, is_maximal: bool = False) -> CoveringManager[Interest]:
        both = InterestGraph(make_graph(), documents.make_graph())
        indexes = InterestIndex(make_index(), documents.make_index())
        return CoveringManager(both, indexes, is_maximal=is_maximal)

    return CoveringInfo(
        f"{records.name}+{documents.name}",
        exact=records.exact and documents.exact,
        summary=f"{records.summary}; documents: {documents.summary}",
        make=make,
    )


def covering_manager(name: str) -> CoveringManager[Interest]:
    """An empty manager of that name; raises `UnknownNameError` with the known names."""
    return covering_named(name).make()
