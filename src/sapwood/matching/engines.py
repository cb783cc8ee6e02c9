"""The catalogue of matching engines: the names that `Index(records=...)` accepts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from sapwood.catalogue import Catalogue
from sapwood.matching.protocol import Engine


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """An engine by name: the kind that it matches, whether it is exact, and its constructor.

    `is_shared`: searching one engine with the filters of many sides takes less than searching an
    engine for each side, even where only one match of each side is needed.
    """

    name: str
    kind: Literal["records", "documents"]
    exact: bool
    summary: str
    make: Callable[[], Engine]
    #: the name of the engine whose file format `save` writes, if not this one's
    saved_as: str = ""
    is_shared: bool = False


def engine_info(name: str) -> EngineInfo:
    """The engine of that name; raises `UnknownNameError` with the known names."""
    return ENGINES.named(name)


def _auto() -> Engine:
    from sapwood.matching.auto import AutoEngine

    return AutoEngine()


def _columnar() -> Engine:
    from sapwood.matching.columnar import ColumnarEngine

    return ColumnarEngine()


def _counting() -> Engine:
    from sapwood.matching.counting import CountingEngine

    return CountingEngine()


def _kdtree() -> Engine:
    from sapwood.matching.published.kdtree import KdTreeEngine

    return KdTreeEngine()


def _counting_compiled() -> Engine:
    from sapwood.matching.published.boxes import CountingBoxes

    return CountingBoxes()


def _kdtree_compiled() -> Engine:
    from sapwood.matching.published.boxes import KdTreeBoxes

    return KdTreeBoxes()


def _siena_poset() -> Engine:
    from sapwood.matching.published.posets.engine import PosetEngine
    from sapwood.matching.published.posets.hasse import HasseDiagram

    return PosetEngine(HasseDiagram())


def _poset_forest() -> Engine:
    from sapwood.matching.published.posets.engine import PosetEngine
    from sapwood.matching.published.posets.forest import PosetForest

    return PosetEngine(PosetForest())


def _reference() -> Engine:
    from sapwood.matching.reference import ReferenceEngine

    return ReferenceEngine()


ENGINES: Final = Catalogue(
    "engine",
    EngineInfo,
    (
        EngineInfo(
            "auto",
            "records",
            exact=True,
            summary="the default: counting while that is faster, columnar from then on",
            make=_auto,
            saved_as="columnar",
            is_shared=True,
        ),
        EngineInfo(
            "columnar",
            "records",
            exact=True,
            summary="access predicates over columns, compiled; from thousands to millions",
            make=_columnar,
            is_shared=True,
        ),
        EngineInfo(
            "counting",
            "records",
            exact=True,
            summary="the counting algorithm, plain Python; small sets that change all the time",
            make=_counting,
        ),
        EngineInfo(
            "kdtree",
            "records",
            exact=True,
            summary="numeric boxes as points of k-d trees; few, always present attributes",
            make=_kdtree,
        ),
        EngineInfo(
            "counting-compiled",
            "records",
            exact=True,
            summary="counting over numeric boxes, compiled; to compare with the published figures",
            make=_counting_compiled,
        ),
        EngineInfo(
            "kdtree-compiled",
            "records",
            exact=True,
            summary="k-d trees over numeric boxes, compiled; to compare with the published figures",
            make=_kdtree_compiled,
        ),
        EngineInfo(
            "siena-poset",
            "records",
            exact=True,
            summary="Siena's poset: filters below all that cover them; deep nesting",
            make=_siena_poset,
        ),
        EngineInfo(
            "poset-forest",
            "records",
            exact=True,
            summary="the poset-derived forest: filters below one that covers them",
            make=_poset_forest,
        ),
        EngineInfo(
            "reference",
            "records",
            exact=True,
            summary="brute force by the letter of the language; to check the others",
            make=_reference,
        ),
    ),
    group="sapwood.engines",
)
