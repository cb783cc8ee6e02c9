from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sapwood import parse_xpath
from sapwood.matching.index import Index
from sapwood.pipeline.matching.output import Output
from sapwood.pipeline.matching.workers import MatchWorker, load_indexes
from sapwood.pipeline.tables.publications import Carried

pa = pytest.importorskip("pyarrow")
files = pytest.importorskip("pyspark").SparkFiles


@pytest.fixture
def index(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of an index among the files that Spark has brought here."""
    made = Index(records=getattr(request, "param", "counting"))
    for id_, text in (("all", "true"), ("low", "n < 3"), ("none", "n is null")):
        made.add(id_, text)
    made.save(tmp_path / "the-index")
    monkeypatch.setattr(files, "getRootDirectory", lambda: str(tmp_path))
    return "the-index"


def publications(count: int) -> Any:
    return pa.RecordBatch.from_pydict(
        {"id": [f"p{n}" for n in range(count)], "n": pa.array(range(count), pa.int64())}
    )


def test_batches_of_columns_are_matched(index: str) -> None:
    match = MatchWorker(index, Carried(("n",)))
    found = [
        row for batch in match(iter([publications(4), publications(1)])) for row in rows(batch)
    ]
    assert sorted(found) == sorted(
        [(f"p{n}", "all") for n in (0, 1, 2, 3, 0)] + [(f"p{n}", "low") for n in (0, 1, 2, 0)]
    )


def rows(batch: Any) -> list[tuple[str, str]]:
    assert batch.schema.names == ["publication", "subscription"]
    return [(row["publication"], row["subscription"]) for row in batch.to_pylist()]


def test_batches_of_texts_are_matched_without_those_that_are_none(index: str) -> None:
    batch = pa.RecordBatch.from_pydict(
        {"id": ["p", "q", "r"], "attributes": ["nope", '{"n": 1}', "{}"]}
    )
    (found,) = MatchWorker(index, Carried(None))(iter([batch]))
    assert sorted(rows(found)) == [("q", "all"), ("q", "low"), ("r", "all"), ("r", "none")]


@pytest.mark.parametrize("engine", ["columnar", "counting"])
def test_rows_of_columns_with_nan_are_no_publications(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    made = Index(records=engine)
    made.add("all", "true")
    made.add("some", "x > 1 or t = 'b'")
    made.save(tmp_path / "the-index")
    monkeypatch.setattr(files, "getRootDirectory", lambda: str(tmp_path))
    numbers = [2.0, float("nan"), None, float("inf")]
    batch = pa.RecordBatch.from_pydict(
        {"id": list("pqrs"), "x": pa.array(numbers, pa.float64()), "t": ["a", "b", "b", None]}
    )
    records = pa.StructArray.from_arrays(batch.columns[1:], names=["x", "t"])
    whole = pa.RecordBatch.from_arrays([batch.column(0), records], names=["id", "record"])
    for carried, sent in ((Carried(("x", "t")), batch), (Carried(("x", "t"), whole=True), whole)):
        match = MatchWorker("the-index", carried)
        found = [row for one in match(iter([sent])) for row in rows(one)]
        assert sorted(found) == [(id_, name) for id_ in "prs" for name in ("all", "some")]


def test_a_batch_without_matches_gives_no_batch(index: str) -> None:
    assert list(MatchWorker(index, Carried(None))(iter([publications(0)]))) == []


def test_an_index_is_loaded_once(index: str, tmp_path: Path) -> None:
    folder = str(tmp_path / index)
    assert load_indexes(folder) is load_indexes(folder)


def test_all_outputs_are_told_of_all_indexes_of_a_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, filters in enumerate(({"k1@r1": "n < 3", "k3@r@2": "n = 0"}, {"k4@r1": "n < 1"})):
        made = Index(records="counting")
        for id_, text in filters.items():
            made.add(id_, text)
        made.save(tmp_path / "the-set" / f"segment-{number}")
    monkeypatch.setattr(files, "getRootDirectory", lambda: str(tmp_path))
    told = {
        output: [
            tuple(row.values())
            for batch in MatchWorker("the-set", Carried(("n",)), output)(iter([publications(2)]))
            for row in batch.to_pylist()
        ]
        for output in Output
    }
    assert sorted(told[Output.HOMES]) == [("p0", "r1"), ("p0", "r@2"), ("p1", "r1")]
    assert sorted(told[Output.COUNTS]) == [("k1@r1", 2), ("k3@r@2", 1), ("k4@r1", 1)]
    assert told[Output.LISTS] == [("p0", ["k1@r1", "k3@r@2", "k4@r1"]), ("p1", ["k1@r1"])]
    assert len(told[Output.PAIRS]) == 4


def test_documents_and_records_are_matched_side_by_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Index(records="counting")
    made.add("record", "n is null or n > 0")
    made.add("document", parse_xpath("//b[@c='1']"))
    made.save(tmp_path / "the-index")
    monkeypatch.setattr(files, "getRootDirectory", lambda: str(tmp_path))
    rows_ = {
        "both": ("<a><b c='1'/></a>", True, 1),
        "document": ("<b c='1'/>", False, None),
        "record": (None, True, None),
        "other": ("<a/>", True, 0),
        "bad": ("<a><b c='1'></a>", True, 1),
    }
    documents, present, numbers = zip(*rows_.values(), strict=True)
    beside = {"id": list(rows_), "document": documents, "has_record": present}
    columns = {**beside, "n": pa.array(numbers, pa.int64())}
    expected = [
        ("both", "document"),
        ("both", "record"),
        ("document", "document"),
        ("record", "record"),
    ]
    match = MatchWorker("the-index", Carried(("n",), documents=True))
    found = [row for b in match(iter([pa.RecordBatch.from_pydict(columns)])) for row in rows(b)]
    assert sorted(found) == expected
    written = [
        f'{{"n": {"null" if n is None else n}}}' if there else None
        for _, there, n in rows_.values()
    ]
    texts = {**beside, "attributes": pa.array(written, pa.string())}
    match = MatchWorker("the-index", Carried(None, documents=True))
    found = [row for b in match(iter([pa.RecordBatch.from_pydict(texts)])) for row in rows(b)]
    assert sorted(found) == expected
