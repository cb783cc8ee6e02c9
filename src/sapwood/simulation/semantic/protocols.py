"""The catalogue of semantic overlays, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from types import MappingProxyType
from typing import Final, Protocol

from sapwood.errors import InputError, UnknownNameError
from sapwood.model.interest import Interest
from sapwood.overlay.semantic.hierarchy.hierarchy import Hierarchy
from sapwood.overlay.semantic.hierarchy.joining import Cost
from sapwood.overlay.semantic.hierarchy.options import Departure, HierarchyOptions, Variant
from sapwood.overlay.semantic.interests import Interests
from sapwood.overlay.semantic.spreading import Spread


class SemanticOverlay(Protocol):
    """Peers with interests, whatever they are neighbors for."""

    def __len__(self) -> int:
        """The number of peers."""

    @property
    def interests(self) -> Interests[Interest]:
        """All different interests."""

    @property
    def bytes(self) -> int:
        """What the state of all peers takes."""

    def interest(self, peer: int) -> int:
        """The number of a peer's interest."""

    def join(self, filter: Interest, random: Random) -> tuple[int, Cost]:
        """A new peer joins; returns its number."""

    def leave(self, peer: int, random: Random, departure: Departure = ...) -> Cost:
        """A peer says goodbye."""

    def crash(self, peers: list[int], random: Random) -> Cost:
        """Peers are gone at once, and the others repair the overlay."""

    def spread(self, is_interested: Callable[[int], bool], random: Random) -> Spread:
        """One publication's way, from where the work's experiments publish it."""

    def validate(self) -> None:
        """Raise `InvariantError` unless the invariants hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SemanticProtocol:
    """A way to be neighbors by interest.

    `exact` is false for each: a peer gets what it has no use for, and filters. `loses` says whether
    one may not get what it wants; where it may not, the verdict `lost` is the overlay's defect.
    """

    name: str
    summary: str
    make: Callable[[], SemanticOverlay]
    loses: bool
    choose: Callable[[str], SemanticProtocol] | None = None
    exact: bool = False
    kinds: tuple[str, ...] = ("records", "documents")


def _tree(variant: Variant, name: str) -> SemanticProtocol:
    return SemanticProtocol(
        name=name,
        summary="each peer is below the most specific one that contains its interest; "
        f"{variant.value} joins",
        make=lambda: Hierarchy[Interest](HierarchyOptions(variant=variant)),
        loses=False,
        choose=_chosen_tree,
    )


def _chosen_tree(argument: str) -> SemanticProtocol:
    known = {variant.value: variant for variant in Variant}
    if argument not in known:
        raise UnknownNameError("join variant", argument, known)
    return _tree(known[argument], f"semantic-tree:{argument}")


SEMANTIC: Final[Mapping[str, SemanticProtocol]] = MappingProxyType(
    {one.name: one for one in (_tree(Variant.ADAPTIVE, "semantic-tree"),)}
)
"""All semantic overlays; some take an argument behind a colon."""


def is_semantic(name: str) -> bool:
    """Whether a protocol's name is that of a semantic overlay."""
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
