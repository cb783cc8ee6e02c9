"""The measured contenders: the engines of the catalogue, and comparisons beside them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
from lxml import etree

from sapwood.language.xpath import parse_xpath
from sapwood.matching.automaton import PathAutomatonEngine
from sapwood.matching.documents.engines import document_engine_info
from sapwood.matching.documents.protocol import DocumentEngine
from sapwood.model.patterns.pattern import TreePattern
from sapwood_lab.benchmarks.documents.sources import BOUNDS

ONE_BY_ONE: Final = "lxml one by one"
"""The name of lxml without any index among the engines."""

PLAIN: Final = "path-automaton in plain Python"
"""The default engine without compiled kernels, beside engines that have none."""

COMPARISONS: Final = (ONE_BY_ONE, PLAIN)
"""The contenders beside the engines of the catalogue."""

TEXTS_REMEMBERED: Final = 2**18
"""Texts of which an engine's contender keeps the pattern, where memory is not what is measured."""


Found: TypeAlias = list[int] | npt.NDArray[np.int32]
"""Slots, ascending."""


class Contender(Protocol):
    """Expressions by slot, numbered as they come, and a match that finds those that hold."""

    def read(self, expression: str) -> Any:
        """The form of an expression for `add`; reading an expression is not measured."""

    def add(self, read: Any) -> None:
        """Add the next expression."""

    def match(self, document: bytes) -> Found:
        """The slots of the expressions that hold; parses the document."""


class EngineContender:
    """An engine of the catalogue, or the default one in plain Python."""

    def __init__(self, name: str, texts_remembered: int = TEXTS_REMEMBERED) -> None:
        self._engine: DocumentEngine = (
            PathAutomatonEngine(kernels="plain")
            if name == PLAIN
            else document_engine_info(name).make()
        )
        self._read = lru_cache(texts_remembered)(lambda text: parse_xpath(text, bounds=BOUNDS))

    def read(self, expression: str) -> TreePattern:
        """The pattern of an expression; of equal ones, the same."""
        return self._read(expression)

    def add(self, read: TreePattern) -> None:
        """Add the next pattern."""
        self._engine.add(len(self._engine), read)

    def match(self, document: bytes) -> Found:
        """The slots, as an array."""
        return self._engine.match_slots([document]).slots


class OneByOne:
    """lxml: every expression compiled once, and evaluated over every document."""

    def __init__(self) -> None:
        self._compiled: list[etree.XPath] = []

    def read(self, expression: str) -> str:
        """The expression as it is: compiling is this contender's way of adding."""
        return expression

    def add(self, read: str) -> None:
        """Compile the next expression."""
        self._compiled.append(etree.XPath(f"boolean({read})"))

    def match(self, document: bytes) -> Found:
        """The slots of the expressions that are true."""
        tree = etree.ElementTree(etree.fromstring(document))
        return [slot for slot, holds in enumerate(self._compiled) if holds(tree)]


def contender(name: str, texts_remembered: int = TEXTS_REMEMBERED) -> Contender:
    """An empty one of that name; raises `UnknownNameError` for an engine that does not exist."""
    return OneByOne() if name == ONE_BY_ONE else EngineContender(name, texts_remembered)
