"""The engines of documents under test: the exact ones of the catalogue, and odd variants."""

from __future__ import annotations

from typing import Final

from sapwood.matching.automaton import PathAutomatonEngine
from sapwood.matching.documents import DOCUMENT_ENGINES, DocumentEngineInfo
from sapwood.matching.documents.protocol import DocumentEngine


def _plain() -> DocumentEngine:
    return PathAutomatonEngine(kernels="plain")


VARIANTS: Final = (
    *(info for info in DOCUMENT_ENGINES.values() if info.exact),
    DocumentEngineInfo("path-automaton-plain", exact=True, summary="", make=_plain),
)
