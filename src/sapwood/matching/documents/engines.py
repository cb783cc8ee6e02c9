"""The engines of documents by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from sapwood.catalogue import Catalogue
from sapwood.matching.documents.protocol import DocumentEngine


@dataclass(frozen=True, slots=True)
class DocumentEngineInfo:
    """An engine by name: whether it is exact by XPath, and its constructor."""

    name: str
    exact: bool
    summary: str
    make: Callable[[], DocumentEngine]
    #: the name of the engine whose file format `save` writes, if not this one's
    saved_as: str = ""


def document_engine_info(name: str) -> DocumentEngineInfo:
    """The engine of that name; raises `UnknownNameError` with the known names."""
    return DOCUMENT_ENGINES.named(name)


def _auto() -> DocumentEngine:
    from sapwood.matching.automaton import PathAutomatonEngine
    from sapwood.matching.readiness import DOCUMENTS, Awaiting

    return PathAutomatonEngine(awaiting=Awaiting(DOCUMENTS))


def _path_automaton() -> DocumentEngine:
    from sapwood.matching.automaton import PathAutomatonEngine

    return PathAutomatonEngine()


def _xtrie() -> DocumentEngine:
    from sapwood.matching.published.xtrie import XTrieEngine

    return XTrieEngine()


def _xtrie_paths() -> DocumentEngine:
    from sapwood.matching.published.xtrie import XTrieEngine

    return XTrieEngine(single_paths=True)


def _xtrie_ordered() -> DocumentEngine:
    from sapwood.matching.published.xtrie import XTrieEngine

    return XTrieEngine(ordered=True)


def _subscription_tree() -> DocumentEngine:
    from sapwood.matching.published.subscription_tree import SubscriptionTreeEngine

    return SubscriptionTreeEngine()


def _reference() -> DocumentEngine:
    from sapwood.matching.documents.reference import ReferenceXPathEngine

    return ReferenceXPathEngine()


DOCUMENT_ENGINES: Final = Catalogue(
    "document engine",
    DocumentEngineInfo,
    (
        DocumentEngineInfo(
            "auto",
            exact=True,
            summary="the default: path-automaton, in plain Python until compiling pays",
            make=_auto,
            saved_as="path-automaton",
        ),
        DocumentEngineInfo(
            "path-automaton",
            exact=True,
            summary="label paths determinized as they come, compiled; up to millions",
            make=_path_automaton,
        ),
        DocumentEngineInfo(
            "xtrie",
            exact=True,
            summary="runs of labels in a trie while documents stream by, plain Python; thousands",
            make=_xtrie,
        ),
        DocumentEngineInfo(
            "xtrie-paths",
            exact=True,
            summary="xtrie, with its variant for single paths for all patterns without branches",
            make=_xtrie_paths,
        ),
        DocumentEngineInfo(
            "xtrie-ordered",
            exact=False,
            summary="xtrie, branches in the order they are written: fewer matches than XPath",
            make=_xtrie_ordered,
        ),
        DocumentEngineInfo(
            "subscription-tree",
            exact=True,
            summary="patterns below those that cover them: what refuses passes over all below",
            make=_subscription_tree,
        ),
        DocumentEngineInfo(
            "reference-xpath",
            exact=True,
            summary="brute force by the letter of XPath 1.0; to check the others",
            make=_reference,
        ),
    ),
    group="sapwood.document_engines",
)
