"""The conformance suite: every engine passes it, and an engine that is wrong does not."""

from __future__ import annotations

import pytest

from sapwood.matching.documents import DocumentEngineInfo, check_document_engine
from sapwood.matching.documents.checks import check_changes
from sapwood.matching.documents.protocol import Readable
from sapwood.matching.documents.reference import ReferenceXPathEngine
from tests.matching.documents.variants import VARIANTS


@pytest.mark.parametrize(
    "info",
    [
        # The kernels without a compiler: each is compared with its compiled form on its own too.
        pytest.param(info, marks=[pytest.mark.long] if info.name == "path-automaton-plain" else [])
        for info in VARIANTS
    ],
    ids=lambda info: info.name,
)
@pytest.mark.one_in(6)
def test_engine_passes(info: DocumentEngineInfo) -> None:
    check_document_engine(info.make)


class Forgetful(ReferenceXPathEngine):
    """Leaves a match out."""

    def match(self, document: Readable) -> list[int]:
        return super().match(document)[1:]


class Clinging(ReferenceXPathEngine):
    """Never removes anything."""

    def remove(self, slot: int) -> None:
        """Do nothing."""

    def add(self, slot: int, pattern: object) -> None:
        self._trees.pop(slot, None)
        super().add(slot, pattern)  # type: ignore[arg-type]


def test_engine_that_forgets_a_match_is_found() -> None:
    with pytest.raises(AssertionError, match="corpus"):
        check_document_engine(Forgetful)


def test_engine_that_removes_nothing_is_found() -> None:
    with pytest.raises(AssertionError, match="after remove"):
        check_changes(Clinging, 0, steps=100)
