"""Documents of one size, and of which the share asked for is not wanted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from lxml import etree

from sapwood.errors import InvalidValueError
from sapwood.language.xpath import parse_xpath
from sapwood.model.patterns.pattern import TreePattern
from sapwood.model.publication import Publication
from sapwood.xml import read_document
from sapwood_lab.workload.documents import XNET, DocumentShape
from sapwood_lab.workload.documents import calibration as module
from sapwood_lab.workload.documents.calibration import (
    TOLERANCE,
    calibrated,
    sized_documents,
    tags_of,
    uninterested_share,
)
from sapwood_lab.workload.documents.patterns import draw_patterns
from tests_lab.workload.documents.dtds import dtd_bytes, dtd_of, validator

NEWS = dtd_of("news")
SHAPE = DocumentShape(levels=20)


def patterns(count: int, seed: int) -> list[TreePattern]:
    shape = replace(XNET, distinct=False, skew=0.0)
    return list(draw_patterns(NEWS, shape, np.random.default_rng(seed), count))


@pytest.mark.parametrize("tags", [22, 58])
def test_documents_have_the_size_and_are_valid(tags: int) -> None:
    drawn = sized_documents(NEWS, replace(SHAPE, tags=tags), np.random.default_rng(1), 12)
    oracle = validator(dtd_bytes("news"))
    sizes = [len(read_document(one, content=False)) for one in drawn]
    assert sizes == [tags_of(one) for one in drawn]
    assert len(drawn) == 12
    assert all(0.8 * tags <= size <= 1.2 * tags for size in sizes)
    assert all(oracle.validate(etree.fromstring(one)) for one in drawn)


def test_documents_of_a_size_that_there_is_not_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_DRAWS_MAX", 1)
    with pytest.raises(InvalidValueError, match="hardly a document has about 2"):
        sized_documents(NEWS, replace(SHAPE, tags=2), np.random.default_rng(1), 2)


def test_a_share_is_that_of_pairs_with_equal_interests_counted_each() -> None:
    title, names = parse_xpath("/news/head/title"), parse_xpath("/*[a]")
    documents = [b"<news><head><title/></head></news>", b"<x><a/></x>", b"<y/>"]
    assert uninterested_share([title, names], documents) == pytest.approx(4 / 6)
    assert uninterested_share([title, title, names], documents) == pytest.approx(6 / 9)


def test_other_documents_are_rejected_by_the_share_that_was_asked_for() -> None:
    sizes = (22, 58)
    found = calibrated(NEWS, patterns(150, 1), SHAPE, sizes, 1)
    others, shares = patterns(80, 2), {}
    for tags in sizes:
        shape = replace(SHAPE, tags=tags, optional=found.optional)
        drawn = sized_documents(NEWS, shape, np.random.default_rng(7), 12)
        publications = [Publication("p", document=one) for one in drawn]
        rejected = sum(not one.matches(p) for one in others for p in publications)
        shares[tags] = rejected / (len(others) * len(publications))
        assert shares[tags] == pytest.approx(found.uninterested[tags], abs=0.08)
    assert found.mean == pytest.approx(0.75, abs=TOLERANCE)


def test_what_cannot_be_calibrated_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SAMPLE", 2)
    monkeypatch.setattr(module, "_DRAWS_MAX", 1)
    with pytest.raises(InvalidValueError, match=r"the nearest that .* is 0%"):
        calibrated(NEWS, [parse_xpath("/news")], SHAPE, (22,), 1)
    with pytest.raises(InvalidValueError, match="is no documents of these sizes"):
        calibrated(NEWS, patterns(5, 1), SHAPE, (2,), 1)
