"""The engines of documents under test: those of the catalogue, and odd variants of them."""

from __future__ import annotations

from typing import Final

from sapwood.matching.documents import DOCUMENT_ENGINES, DocumentEngineInfo
from sapwood.matching.documents.automaton import PathAutomatonEngine
from sapwood.matching.documents.protocol import DocumentEngine


def _plain() -> DocumentEngine:
    return PathAutomatonEngine(kernels="plain")


VARIANTS: Final = (
    *DOCUMENT_ENGINES.values(),
    DocumentEngineInfo("path-automaton-plain", exact=True, summary="", make=_plain),
)
