"""Peers and documents of the semantic experiments."""

from __future__ import annotations

import pytest

from sapwood.model.publication import Publication
from sapwood_lab.experiments import semantic_peers
from sapwood_lab.experiments.design import Choices
from sapwood_lab.experiments.paths import NITF
from sapwood_lab.experiments.semantic_peers import (
    SMALL,
    calibration_of,
    configurations_of,
    documents_of,
    hits_of,
    interests_of,
    is_calibrated,
    settings_of,
    source_of,
)
from tests_lab.experiments.semantic import uncalibrated

__all__ = ["uncalibrated"]


@pytest.mark.usefixtures("uncalibrated")
def test_hits_are_what_each_interest_says() -> None:
    hits = hits_of("news", SMALL, 4, 50, 7)
    distinct = list(dict.fromkeys(interests_of("news", 50, 7)))
    assert hits.shape == (4, len(distinct))
    for at, document in enumerate(documents_of("news", SMALL, 4, 7)):
        publication = Publication("p", document=document)
        assert hits[at].tolist() == [one.matches(publication) for one in distinct]
    assert hits.any()
    assert not hits.all()


def test_fewer_peers_are_the_first_of_more() -> None:
    assert interests_of("news", 40, 7) == interests_of("news", 90, 7)[:40]


@pytest.mark.long
def test_documents_are_calibrated_before_anything_is_measured() -> None:
    found = calibration_of("news", 3)
    assert set(found.uninterested) == {22, 58, 108}
    assert 0.65 <= found.mean <= 0.85


def test_the_dtd_is_the_works_where_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(semantic_peers, "nitf_missing", lambda: "it is not here")
    assert source_of(Choices()) == "news"
    assert settings_of(Choices())["nitf"] == "left out: it is not here"
    assert source_of(Choices(source="proteins")) == "proteins"
    monkeypatch.setattr(semantic_peers, "nitf_missing", lambda: None)
    assert source_of(Choices()) == NITF
    chosen = configurations_of(Choices((5, 9), 3, "news", 2), (1,))
    assert [one["peers"] for one in chosen] == [5, 9]
    assert all((one["source"], one["documents"], one["seed"]) == ("news", 2, 3) for one in chosen)


@pytest.mark.parametrize(("shares", "holds"), [((65, 85), True), ((64, 75), False)])
def test_a_share_is_calibrated_within_ten_points(shares: tuple[int, int], holds: bool) -> None:
    rows = [{"share": share} for share in shares]
    assert is_calibrated(rows, ["share"]).holds is holds
