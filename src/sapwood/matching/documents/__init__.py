"""Sets of tree patterns that return the patterns which accept a document.

1. `protocol.py`   the interface of every engine, and `engines.py`, which names them.
2. `automaton/`    the default engine.
3. `xtrie/`        the engine of XNet.
4. `reference.py`  brute force by the letter of XPath 1.0, to check the others.
5. `corpus/`       cases of document, expression and outcome, and `checks.py`, which runs them.
"""

from sapwood.matching.documents.checks import check_document_engine
from sapwood.matching.documents.engines import (
    DOCUMENT_ENGINES,
    DocumentEngineInfo,
    document_engine_info,
)

__all__ = [
    "DOCUMENT_ENGINES",
    "DocumentEngineInfo",
    "check_document_engine",
    "document_engine_info",
]
