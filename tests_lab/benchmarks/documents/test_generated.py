"""Generated workloads are always the same, and their expressions meet their documents."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from sapwood.language.xpath import parse_xpath
from sapwood.xml import read_document
from sapwood_lab.benchmarks.documents.generated import (
    SHAPES,
    generated_documents,
    generated_expressions,
)
from tests_lab.benchmarks.documents.folder import NITF


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.one_in(2)
def test_generated_workload_is_the_same_each_time_and_meets_its_documents(
    name: str, tmp_path: Path
) -> None:
    nitf = tmp_path / "nitf.dtd"
    nitf.write_bytes(NITF)
    first = list(generated_expressions(name, 40, nitf))
    assert list(islice(generated_expressions(name, 60, nitf), 40)) == first
    documents = [read_document(data) for data in generated_documents(name, nitf)[:20]]
    patterns = [parse_xpath(text) for text in first]
    held = sum(pattern.accepts(document) for pattern in patterns for document in documents)
    assert 0 < held < len(patterns) * len(documents)
