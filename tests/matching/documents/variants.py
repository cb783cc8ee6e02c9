"""The engines of documents under test: the exact ones of the catalogue, and odd variants."""

from __future__ import annotations

from typing import Final

from sapwood.matching.automaton import PathAutomatonEngine
from sapwood.matching.documents import DOCUMENT_ENGINES, DocumentEngineInfo
from sapwood.matching.documents.protocol import DocumentEngine
from sapwood.matching.readiness import DOCUMENTS, Awaiting
from tests.matching.switched import Nobody, Switched


def _plain() -> DocumentEngine:
    return PathAutomatonEngine(kernels="plain")


def _auto() -> DocumentEngine:
    """Begins with plain kernels, and finds compiled ones with every third document."""
    kernels = Switched(DOCUMENTS)
    engine = PathAutomatonEngine(awaiting=Awaiting(kernels, Nobody(), every=48))
    kernels.is_on = True
    return engine


VARIANTS: Final = (
    *(info for info in DOCUMENT_ENGINES.values() if info.exact),
    DocumentEngineInfo("auto-swift", exact=True, summary="", make=_auto),
    DocumentEngineInfo("path-automaton-plain", exact=True, summary="", make=_plain),
)
