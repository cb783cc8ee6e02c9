"""What finds covers among tree patterns, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from sapwood.catalogue import Catalogue
from sapwood.covering.graphs.flat import FlatGraph
from sapwood.covering.graphs.kinds import PatternGraph
from sapwood.covering.protocol import CoveringIndex
from sapwood.covering.published.subscription_tree import SubscriptionTree
from sapwood.covering.reference import ReferenceCovering
from sapwood.covering.xsearch import XSearchIndex
from sapwood.model.patterns.pattern import TreePattern


@dataclass(frozen=True, slots=True)
class DocumentCoveringInfo:
    """A relation graph over tree patterns and the index it asks, or that merely holds them.

    All find whatever `TreePattern.covers` finds.
    """

    name: str
    summary: str
    make_graph: Callable[[], PatternGraph]
    make_index: Callable[[], CoveringIndex[TreePattern]]


DEFAULT_DOCUMENT_COVERING: Final = "xsearch"
"""What finds covers among tree patterns unless another name is given."""

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
            "reference",
            summary="one cover a pattern, every one is asked; to check the others",
            make_graph=FlatGraph,
            make_index=ReferenceCovering,
        ),
    ),
    group="sapwood.document_coverings",
)


def document_covering_named(name: str) -> DocumentCoveringInfo:
    """What has that name; raises `UnknownNameError` with the names there are."""
    return DOCUMENT_COVERINGS.named(name)
