"""Loads: sizes, files, and matches that the model's own filters agree with."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from sapwood.model.publication import Publication
from sapwood.wire.publications import encode_publication
from sapwood_lab.benchmarks.broker.dialect import content_of, number_of, publishing
from sapwood_lab.benchmarks.broker.load import (
    DOCUMENT_BYTES,
    DOCUMENTS,
    DOCUMENTS_POOL,
    NUMBER_DIGITS,
    PUBLICATION_BYTES,
    TICKS,
    Load,
    make_load,
)


def publication(load: Load, place: int) -> Publication:
    content, id_ = load.pool[place], f"p{place:0{NUMBER_DIGITS}}"
    if isinstance(content, bytes):
        return Publication(id_, document=content)
    return Publication(id_, content)


@pytest.mark.parametrize(("workload", "size"), [("eq", 300), ("mix", 300), (DOCUMENTS, 40)])
def test_matches_are_those_of_the_filters(workload: str, size: int) -> None:
    load = make_load(workload, size, 4)
    assert load.size == size
    for place in range(12):
        found = load.matches[load.offsets[place] : load.offsets[place + 1]].tolist()
        one = publication(load, place)
        assert found == [n for n, wanted in enumerate(load.interests) if wanted.matches(one)]


@pytest.mark.parametrize("workload", ["eq", "mix"])
def test_every_record_is_as_long_as_stated(workload: str) -> None:
    load = make_load(workload, 2, 1)
    sizes = {len(encode_publication(publication(load, place))) for place in range(len(load.pool))}
    assert sizes == {PUBLICATION_BYTES}


@pytest.mark.long
def test_documents_have_about_four_kilobytes() -> None:
    pool = make_load(DOCUMENTS, 1, 1).pool
    assert len(pool) == DOCUMENTS_POOL
    assert all(len(document) in DOCUMENT_BYTES for document in pool)


@pytest.mark.parametrize("workload", ["eq", DOCUMENTS])
def test_one_subscription_gets_everything(workload: str) -> None:
    load = make_load(workload, 1, 3)
    assert (load.size, len(load.interests)) == (1, 1)
    assert load.matches_each() == 1.0
    assert load.deliveries().tolist() == [1] * len(load.pool)


def test_the_first_client_gets_each_tick_and_the_others_their_turns() -> None:
    load = make_load("eq", 10, 4)
    assert load.owners.tolist() == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 0]
    ticks = [place for place in range(len(load.pool)) if 10 in matches_of(load, place)]
    assert ticks == list(range(0, len(load.pool), TICKS))


def matches_of(load: Load, place: int) -> list[int]:
    found: list[int] = load.matches[load.offsets[place] : load.offsets[place + 1]].tolist()
    return found


def test_deliveries_are_counted_by_client_or_by_subscription() -> None:
    load = make_load("mix", 300, 2)
    each = load.deliveries(each_subscription=True)
    assert each.tolist() == np.diff(load.offsets).tolist()
    by_client = [len({int(load.owners[n]) for n in matches_of(load, p)}) for p in range(len(each))]
    assert load.deliveries().tolist() == by_client


@pytest.mark.parametrize("workload", ["mix", DOCUMENTS])
def test_the_files_of_drivers_hold_the_load(tmp_path: Path, workload: str) -> None:
    load = make_load(workload, 20, 3)
    load.write(tmp_path)
    subscriptions = lines_of(tmp_path / "subscriptions.jsonl")
    contents = lines_of(tmp_path / "publications.jsonl")
    assert [line["number"] for line in subscriptions] == list(range(21))
    assert [line["client"] for line in subscriptions] == load.owners.tolist()
    assert all(("xpath" in line) is (workload == DOCUMENTS) for line in subscriptions)
    assert [line["deliveries"] for line in contents] == load.deliveries().tolist()
    # What publishers make of a line is what the client would send.
    frame = publishing(1, 3, content_of(contents[3]))
    encoded = encode_publication(publication(load, 3))
    assert frame.endswith(encoded)
    assert number_of(encoded) == 3


def lines_of(path: Path) -> list[dict[str, object]]:
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
