"""The catalogue of semantic overlays, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from types import MappingProxyType
from typing import Final, Protocol

from sapwood.covering.catalogue import COVERING_INDEXES, interest_index
from sapwood.errors import InputError, UnknownNameError
from sapwood.limits.semantic import CLUSTER_MEMBERS, HOT_CHILDREN, RANDOM_NEIGHBORS
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.overlay.semantic.graph.graph import SimilarityGraph
from sapwood.overlay.semantic.graph.options import GraphOptions
from sapwood.overlay.semantic.hierarchy.hierarchy import Hierarchy
from sapwood.overlay.semantic.hierarchy.joining import Cost
from sapwood.overlay.semantic.hierarchy.options import (
    Clusters,
    Departure,
    HierarchyOptions,
    Variant,
)
from sapwood.overlay.semantic.interests import Interests
from sapwood.overlay.semantic.spreading import Spread
from sapwood.similarity import Knowledge, Similarity, SynopsisBuilder
from sapwood.similarity.boxes import box_similarity


class SemanticOverlay(Protocol):
    """Peers with interests, whatever they are neighbors for."""

    def __len__(self) -> int:
        """The number of peers."""

    @property
    def interests(self) -> Interests[Interest]:
        """All different interests."""

    @property
    def bytes(self) -> int:
        """The bytes that the state of all peers takes."""

    def interest(self, peer: int) -> int:
        """The number of a peer's interest."""

    def join(self, filter: Interest, random: Random) -> tuple[int, Cost]:
        """A new peer joins; returns its number."""

    def leave(self, peer: int, random: Random, departure: Departure = ...) -> Cost:
        """Let a peer leave in an orderly way."""

    def crash(self, peers: list[int], random: Random) -> Cost:
        """Peers are gone at once, and the others repair the overlay."""

    def spread(self, is_interested: Callable[[int], bool], random: Random) -> Spread:
        """The way of a publication, from where the work's experiments publish it."""

    def validate(self) -> None:
        """Raise `InvariantError` unless the invariants hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SemanticProtocol:
    """A way to be neighbors by interest.

    `exact` is false for each: a peer gets publications that it does not accept, and filters. With
    `loses` a peer may miss publications that it accepts; without, the verdict `lost` is the
    overlay's defect. `make` is given the publications, for overlays that compare interests by them.
    """

    name: str
    summary: str
    make: Callable[[Sequence[Publication]], SemanticOverlay]
    loses: bool
    choose: Callable[[str], SemanticProtocol] | None = None
    exact: bool = False
    kinds: tuple[str, ...] = ("records", "documents")


def _tree(options: HierarchyOptions, name: str) -> SemanticProtocol:
    return SemanticProtocol(
        name=name,
        summary="each peer is below the most specific one that contains its interest; "
        f"{options.variant.value} joins",
        make=lambda _: Hierarchy[Interest](options, interest_index(COVERING_INDEXES["columnar"])),
        loses=False,
        choose=_chosen_tree,
    )


def _chosen_tree(argument: str) -> SemanticProtocol:
    """The tree of a join variant, with further options: `cascade`, `clusters` (or with `=N`)."""
    options = HierarchyOptions()
    for word in argument.split(","):
        name, _, value = word.partition("=")
        if name == "cascade" and not value:
            options = replace(options, cascade=True)
        elif name == "clusters":
            options = replace(options, clusters=Clusters(HOT_CHILDREN, _members(value, argument)))
        elif word in _VARIANTS:
            options = replace(options, variant=_VARIANTS[word])
        else:
            raise UnknownNameError("choice of a tree", word, [*_VARIANTS, "cascade", "clusters"])
    return _tree(options, f"semantic-tree:{argument}")


def _members(value: str, argument: str) -> int:
    if not value:
        return CLUSTER_MEMBERS
    if not value.isdecimal() or not int(value):
        raise InputError(
            f"protocol 'semantic-tree:{argument}': clusters have a number of members, as in "
            "semantic-tree:full,clusters=8"
        )
    return int(value)


_VARIANTS: Final = MappingProxyType({variant.value: variant for variant in Variant})


def _graph(options: GraphOptions, name: str) -> SemanticProtocol:
    return SemanticProtocol(
        name=name,
        summary=f"each peer is linked to the {options.closest} most similar ones and "
        f"{options.random} by chance; may lose publications",
        make=lambda publications: SimilarityGraph(interest_similarity(publications), options),
        loses=True,
        choose=_chosen_graph,
    )


def _chosen_graph(argument: str) -> SemanticProtocol:
    """The graph of n, r, rho and gamma, of which the last ones may be left out, and `one-way`."""
    texts = argument.split(",")
    one_way = texts[-1] == ONE_WAY
    texts = texts[:-1] if one_way else texts
    texts += _LEFT_OUT[len(texts) - 1 :]
    try:
        closest, by_chance, forwarding = int(texts[0]), int(texts[1]), float(texts[2])
        indulgence = int(texts[3])
        [] = texts[4:]
    except ValueError:
        raise InputError(
            f"protocol 'semantic-graph:{argument}': behind the colon go the closest neighbors, "
            "those by chance, the share of random links that forward, and how many on a way may "
            "forward without interest, as in semantic-graph:10,1,0.5,2; one-way at the end lets "
            "links by chance carry to the chosen peer only"
        ) from None
    options = GraphOptions(
        closest=closest,
        random=by_chance,
        forwarding=forwarding,
        indulgence=indulgence,
        one_way=one_way,
    )
    return _graph(options, f"semantic-graph:{argument}")


ONE_WAY: Final = "one-way"

_LEFT_OUT: Final = (str(RANDOM_NEIGHBORS), "1", "0")
"""The defaults of random neighbors, the share that forwards, and gamma, where left out."""


def interest_similarity(
    publications: Sequence[Publication],
) -> Callable[[Interest, Interest], float]:
    """The similarity of interests: of records as boxes, of documents by a synopsis.

    The synopsis is of all documents that are published, one that all peers share. Nothing is
    similar across the two languages.
    """
    builder = SynopsisBuilder()
    for publication in publications:
        document = publication.read_document()
        if document is not None:
            builder.add(document)
    of_documents = Similarity(Knowledge(synopsis=builder.synopsis()))

    def similarity(one: Interest, other: Interest) -> float:
        if isinstance(one, Filter) and isinstance(other, Filter):
            return box_similarity(one, other)
        if isinstance(one, Filter) or isinstance(other, Filter):
            return 0.0
        return of_documents(one, other)

    return similarity


SEMANTIC: Final[Mapping[str, SemanticProtocol]] = MappingProxyType(
    {
        one.name: one
        for one in (
            _tree(HierarchyOptions(), "semantic-tree"),
            _graph(GraphOptions(), "semantic-graph"),
        )
    }
)
"""All semantic overlays; some take an argument behind a colon."""


def is_semantic(name: str) -> bool:
    """True if a protocol's name is that of a semantic overlay."""
    return name.partition(":")[0] in SEMANTIC


def semantic_protocol(name: str) -> SemanticProtocol:
    """The semantic overlay of a name, with what stands behind its colon.

    Raises `UnknownNameError` for a name that there is not, `InputError` for an argument that the
    overlay does not take.
    """
    word, colon, argument = name.partition(":")
    chosen = SEMANTIC.get(word)
    if chosen is None:
        raise UnknownNameError("protocol", name, SEMANTIC)
    if not colon:
        return chosen
    if chosen.choose is None:
        raise InputError(f"protocol {name!r}: {word} takes nothing behind a colon")
    return chosen.choose(argument)
