"""Paths of documents as publications."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import pytest

from sapwood.errors import UnknownNameError
from sapwood.model.publication import Publication
from sapwood.xml import read_document
from sapwood_lab.experiments.paths import dtd_named, path_publications, root_to_leaf
from sapwood_lab.workload.documents import shipped_dtd

DOCUMENT = b"<a><b><c/></b><b><c/><d/></b><e/></a>"


def test_root_to_leaf_lists_each_way_once() -> None:
    assert root_to_leaf(read_document(DOCUMENT)) == (("a", "b", "c"), ("a", "b", "d"), ("a", "e"))


def test_path_publications_are_documents_of_one_element_a_level() -> None:
    found = list(path_publications(iter([Publication("p", document=DOCUMENT)])))
    assert [one.id for one in found] == ["p.0", "p.1", "p.2"]
    assert found[1].document == b"<a><b><d></d></b></a>"


def test_dtds_are_named_or_in_files(tmp_path: Path) -> None:
    own = tmp_path / "own.DTD"
    own.write_bytes(
        resources.files("sapwood_lab.workload.documents").joinpath("news.dtd").read_bytes()
    )
    assert dtd_named(str(own)).root == dtd_named("news").root == shipped_dtd("news").root
    with pytest.raises(UnknownNameError):
        dtd_named("own")
    with pytest.raises(OSError, match=r"nowhere\.dtd"):
        dtd_named(str(tmp_path / "nowhere.dtd"))
