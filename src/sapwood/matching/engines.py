"""The catalogue of matching engines: what `Index(records=...)` can be asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from sapwood.errors import UnknownNameError
from sapwood.matching.protocol import Engine


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """An engine by name: what it matches, whether it is exact, and how to make an empty one."""

    name: str
    kind: Literal["records", "documents"]
    exact: bool
    summary: str
    make: Callable[[], Engine]


def engine_info(name: str) -> EngineInfo:
    """The engine of that name; raises `UnknownNameError` with the names there are."""
    info = ENGINES.get(name)
    if info is None:
        raise UnknownNameError("engine", name, ENGINES)
    return info


def _columnar() -> Engine:
    from sapwood.matching.columnar import ColumnarEngine

    return ColumnarEngine()


def _counting() -> Engine:
    from sapwood.matching.counting import CountingEngine

    return CountingEngine()


def _reference() -> Engine:
    from sapwood.matching.reference import ReferenceEngine

    return ReferenceEngine()


ENGINES: Final[Mapping[str, EngineInfo]] = MappingProxyType(
    {
        info.name: info
        for info in (
            EngineInfo(
                "columnar",
                "records",
                exact=True,
                summary="access predicates over columns, compiled; from thousands to millions",
                make=_columnar,
            ),
            EngineInfo(
                "counting",
                "records",
                exact=True,
                summary="the counting algorithm, plain Python; small sets that change all the time",
                make=_counting,
            ),
            EngineInfo(
                "reference",
                "records",
                exact=True,
                summary="brute force by the letter of the language; to check the others",
                make=_reference,
            ),
        )
    }
)
