"""The DTDs that come along are what their descriptions say."""

from __future__ import annotations

import pytest

from sapwood.errors import UnknownNameError
from sapwood_lab.workload.documents.shipped import SHIPPED, shipped_dtd


def test_proteins_is_shallow_and_news_is_recursive() -> None:
    proteins, news = shipped_dtd("proteins").paths, shipped_dtd("news").paths
    assert not proteins.is_recursive
    assert proteins.count(5) < proteins.count(6) == proteins.count(10) == 37
    assert news.is_recursive
    assert news.count(10) == 4446


@pytest.mark.parametrize("name", SHIPPED)
def test_every_declared_element_is_on_a_path(name: str) -> None:
    dtd = shipped_dtd(name)
    assert set(dtd.paths.names) == {one.name for one in dtd.elements}


def test_unknown_name_is_refused() -> None:
    with pytest.raises(UnknownNameError):
        shipped_dtd("../news")
