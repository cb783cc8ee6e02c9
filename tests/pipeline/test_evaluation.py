from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sapwood import parse_xpath
from sapwood.matching.index import Index
from sapwood.pipeline import evaluation
from sapwood.pipeline.evaluation import (
    Loaded,
    MatchBatches,
    Output,
    Some,
    deliveries,
    load_indexes,
)
from sapwood.pipeline.publications import Carried

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
    match = MatchBatches(index, Carried(("n",)))
    found = [
        row for batch in match(iter([publications(4), publications(1)])) for row in rows(batch)
    ]
    assert sorted(found) == sorted(
        [(f"p{n}", "all") for n in (0, 1, 2, 3, 0)] + [(f"p{n}", "low") for n in (0, 1, 2, 0)]
    )


def all_rows(batches: list[Any]) -> list[str]:
    """The rows of all batches, in a defined order; that of what is in a list is none."""
    return sorted(
        str([sorted(value) if isinstance(value, list) else value for value in row.values()])
        for batch in batches
        for row in batch.to_pylist()
    )


def rows(batch: Any) -> list[tuple[str, str]]:
    assert batch.schema.names == ["publication", "subscription"]
    return [(row["publication"], row["subscription"]) for row in batch.to_pylist()]


def test_batches_of_texts_are_matched_without_those_that_are_none(index: str) -> None:
    batch = pa.RecordBatch.from_pydict(
        {"id": ["p", "q", "r"], "attributes": ["nope", '{"n": 1}', "{}"]}
    )
    (found,) = MatchBatches(index, Carried(None))(iter([batch]))
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
        match = MatchBatches("the-index", carried)
        found = [row for one in match(iter([sent])) for row in rows(one)]
        assert sorted(found) == [(id_, name) for id_ in "prs" for name in ("all", "some")]


def test_a_batch_without_matches_gives_no_batch(index: str) -> None:
    assert list(MatchBatches(index, Carried(None))(iter([publications(0)]))) == []


def test_large_batches_are_cut(index: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "RECORDS_PER_MATCH_MAX", 3)
    monkeypatch.setattr(evaluation, "PAIRS_PER_BATCH_MAX", 2)
    found = list(MatchBatches(index, Carried(("n",)))(iter([publications(7)])))
    assert max(batch.num_rows for batch in found) == 2
    whole = sorted(row for batch in found for row in rows(batch))
    assert whole == sorted(
        [(f"p{n}", "all") for n in range(7)] + [(f"p{n}", "low") for n in range(3)]
    )


def test_an_index_is_loaded_once(index: str, tmp_path: Path) -> None:
    folder = str(tmp_path / index)
    assert load_indexes(folder) is load_indexes(folder)


def test_free_slots_are_never_delivered() -> None:
    made = Index(records="counting")
    for id_ in ("a", "b", "c"):
        made.add(id_, "true")
    made.remove("b")
    loaded = Loaded(made, pa.array(list(made.ids), pa.string()))
    (batch,) = deliveries(loaded, Some(pa.array(["p"]), [{}]), made.match_slots([{}]))
    assert rows(batch) == [("p", "a"), ("p", "c")]


def test_lists_have_a_row_for_each_publication_that_is_wanted(
    index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation, "PAIRS_PER_BATCH_MAX", 3)
    found = list(MatchBatches(index, Carried(("n",)), Output.LISTS)(iter([publications(5)])))
    assert [batch.num_rows for batch in found] == [1, 1, 2, 1]
    lists = [row for batch in found for row in batch.to_pylist()]
    assert [row["publication"] for row in lists] == [f"p{n}" for n in range(5)]
    assert [row["subscriptions"] for row in lists] == [["all", "low"]] * 3 + [["all"]] * 2


def test_counts_are_told_once_for_all_batches(index: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "PAIRS_PER_BATCH_MAX", 1)
    match = MatchBatches(index, Carried(("n",)), Output.COUNTS)
    found = [
        row
        for batch in match(iter([publications(5), publications(1)]))
        for row in batch.to_pylist()
    ]
    counts = {row["subscription"]: row["publications"] for row in found}
    assert counts == {"all": 6, "low": 4}
    assert len(found) == 2


@pytest.mark.parametrize("held", [1, 4, 1000])
@pytest.mark.parametrize("engine", ["columnar", "counting"])
def test_homes_of_several_segments_are_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str, held: int
) -> None:
    monkeypatch.setattr(evaluation, "MATCHES_HELD_MAX", held)
    segments = (
        {"k1@r1": "n < 3", "k2@r1": "n < 2", "k3@r@2": "n = 0"},
        {"k4@r1": "n < 1", "k5@r3": "n = 3"},
    )
    for number, filters in enumerate(segments):
        made = Index(records=engine)
        for id_, text in filters.items():
            made.add(id_, text)
        made.save(tmp_path / "the-set" / f"segment-{number}")
    monkeypatch.setattr(files, "getRootDirectory", lambda: str(tmp_path))
    match = MatchBatches("the-set", Carried(("n",)), Output.HOMES)
    told = [
        tuple(row.values()) for batch in match(iter([publications(5)])) for row in batch.to_pylist()
    ]
    assert sorted(told) == [
        ("p0", "r1"),
        ("p0", "r@2"),
        ("p1", "r1"),
        ("p2", "r1"),
        ("p3", "r3"),
    ]


@pytest.mark.parametrize("output", [Output.PAIRS, Output.LISTS, Output.COUNTS])
@pytest.mark.parametrize(
    ("index", "at_a_time"),
    [("columnar", [4, 3, 1]), ("counting", [2, 2, 2, 1, 1])],
    indirect=["index"],
)
def test_no_more_matches_are_held_than_may_be_and_those_of_one_publication(
    index: str, monkeypatch: pytest.MonkeyPatch, output: Output, at_a_time: list[int]
) -> None:
    held: list[int] = []
    match_slots = Index.match_slots

    def counted(self: Index, *given: Any, **options: Any) -> Any:
        found = match_slots(self, *given, **options)
        held.append(len(found.slots))
        return found

    monkeypatch.setattr(Index, "match_slots", counted)
    whole = list(MatchBatches(index, Carried(("n",)), output)(iter([publications(5)])))
    assert held == [8]
    held.clear()
    monkeypatch.setattr(evaluation, "MATCHES_HELD_MAX", 3)
    cut = list(MatchBatches(index, Carried(("n",)), output)(iter([publications(5)])))
    # The first three publications have two matches each, the others one.
    assert held == at_a_time
    assert all_rows(cut) == all_rows(whole)


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
    match = MatchBatches("the-index", Carried(("n",), documents=True))
    found = [row for b in match(iter([pa.RecordBatch.from_pydict(columns)])) for row in rows(b)]
    assert sorted(found) == expected
    written = [
        f'{{"n": {"null" if n is None else n}}}' if there else None
        for _, there, n in rows_.values()
    ]
    texts = {**beside, "attributes": pa.array(written, pa.string())}
    match = MatchBatches("the-index", Carried(None, documents=True))
    found = [row for b in match(iter([pa.RecordBatch.from_pydict(texts)])) for row in rows(b)]
    assert sorted(found) == expected
