from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.matching.index import Index
from sapwood.pipeline.matching import output as writers
from sapwood.pipeline.matching.ids import LoadedIndex
from sapwood.pipeline.matching.output import Output, PublicationBatch, writer_for

pa = pytest.importorskip("pyarrow")

PAIRED = (Output.PAIRS, Output.LISTS, Output.HOMES)


def part(engine: str, **filters: str) -> LoadedIndex:
    made = Index(records=engine)
    for id_, text in filters.items():
        made.add(id_, text)
    return LoadedIndex(made)


@pytest.fixture(params=["columnar", "counting"])
def index(request: pytest.FixtureRequest) -> LoadedIndex:
    return part(request.param, all="true", low="n < 3", none="n is null")


def publications(numbers: Iterable[int]) -> PublicationBatch:
    records = [{"n": number} for number in numbers]
    return PublicationBatch(pa.array([f"p{place}" for place in range(len(records))]), records)


def written(
    output: Output,
    parts: Sequence[LoadedIndex],
    batches: Sequence[PublicationBatch],
    **options: Any,
) -> Any:
    writer = writer_for(output, parts, **options)
    return [*(rows for batch in batches for rows in writer.write(batch)), *writer.flush()]


def rows(batches: Sequence[Any]) -> list[tuple[Any, ...]]:
    """The rows of all batches, sorted."""
    return sorted(tuple(row.values()) for batch in batches for row in batch.to_pylist())


LOW = [("p0", "all"), ("p0", "low"), ("p1", "all"), ("p1", "low"), ("p2", "all"), ("p2", "low")]
PAIRS = [*LOW, ("p3", "all"), ("p4", "all")]


def test_large_batches_are_cut(index: LoadedIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writers, "RECORDS_PER_MATCH_MAX", 3)
    monkeypatch.setattr(writers, "PAIRS_PER_BATCH_MAX", 2)
    found = written(Output.PAIRS, [index], [publications(range(5))])
    assert max(batch.num_rows for batch in found) == 2
    assert rows(found) == PAIRS
    assert {tuple(batch.schema.names) for batch in found} == {("publication", "subscription")}


def test_lists_have_a_row_for_each_publication_with_a_match(
    index: LoadedIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writers, "PAIRS_PER_BATCH_MAX", 3)
    found = written(Output.LISTS, [index], [publications(range(5))])
    assert [batch.num_rows for batch in found] == [1, 1, 2, 1]
    lists = [tuple(row.values()) for batch in found for row in batch.to_pylist()]
    both = [(f"p{number}", ["all", "low"]) for number in range(3)]
    assert lists == [*both, ("p3", ["all"]), ("p4", ["all"])]


def test_counts_come_once_for_all_batches(
    index: LoadedIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writers, "PAIRS_PER_BATCH_MAX", 1)
    found = written(Output.COUNTS, [index], [publications(range(5)), publications(range(1))])
    assert [row for batch in found for row in rows([batch])] == [("all", 6), ("low", 4)]
    assert len(found) == 2


@pytest.mark.parametrize("held", [1, 4, 1000])
@pytest.mark.parametrize("engine", ["columnar", "counting"])
@pytest.mark.parametrize("coded", [False, True])
def test_homes_of_several_segments_come_once(
    monkeypatch: pytest.MonkeyPatch, engine: str, held: int, *, coded: bool
) -> None:
    monkeypatch.setattr(writers, "MATCHES_HELD_MAX", held)
    parts = [
        part(engine, **{"k1@r1": "n < 3", "k2@r1": "n < 2", "k3@r@2": "n = 0"}),
        part(engine, **{"k4@r1": "n < 1", "k5@r3": "n = 3"}),
    ]
    found = written(Output.HOMES, parts, [publications(range(5))], coded=coded)
    assert rows(found) == [
        ("p0", "r1"),
        ("p0", "r@2"),
        ("p1", "r1"),
        ("p2", "r1"),
        ("p3", "r3"),
    ]


@pytest.mark.parametrize("output", [Output.PAIRS, Output.LISTS, Output.COUNTS])
@pytest.mark.parametrize(
    ("engine", "at_a_time"), [("columnar", [4, 3, 1]), ("counting", [2, 2, 2, 1, 1])]
)
def test_no_more_matches_are_held_than_may_be_and_those_of_one_publication(
    monkeypatch: pytest.MonkeyPatch, output: Output, engine: str, at_a_time: list[int]
) -> None:
    index = part(engine, all="true", low="n < 3", none="n is null")
    held: list[int] = []
    match_slots = Index.match_slots

    def counted(self: Index, *given: Any, **options: Any) -> Any:
        found = match_slots(self, *given, **options)
        held.append(len(found.slots))
        return found

    monkeypatch.setattr(Index, "match_slots", counted)
    whole = written(output, [index], [publications(range(5))])
    assert held == [8]
    held.clear()
    monkeypatch.setattr(writers, "MATCHES_HELD_MAX", 3)
    cut = written(output, [index], [publications(range(5))])
    # The first three publications have two matches each, the others one.
    assert held == at_a_time
    assert rows(cut) == rows(whole)


@given(
    numbers=st.lists(st.lists(st.integers(0, 4), max_size=6), max_size=4),
    output=st.sampled_from(PAIRED),
    count=st.integers(1, 2),
    group=st.integers(1, 12),
    often=st.integers(0, 4),
)
def test_row_groups_hold_what_rows_would(
    numbers: list[list[int]], output: Output, count: int, group: int, often: int
) -> None:
    parts = [
        part("counting", **{"a@r1": "n < 2", "b@r2": "n >= 3", "c@r1": "n = 9"}),
        part("counting", **{"aa@r2": "n < 1", "d@r3": "n = 4 or n = 1"}),
    ][:count]
    batches = list(map(publications, numbers))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writers, "ROW_GROUP_ROWS_MAX", group)
        patch.setattr(writers, "_CODES_PER_TEXT", often)
        coded = written(output, parts, batches, coded=True)
    assert rows(coded) == rows(written(output, parts, batches))
    # All but the last are full, and none is empty.
    matches = [sum(len(x) if isinstance(x, list) else 1 for _, x in rows([b])) for b in coded]
    assert all(each >= group for each in matches[:-1])
    assert all(matches)


def test_a_dictionary_has_what_occurs_unless_most_does() -> None:
    index = part("counting", **{f"s{number}": f"n = {number}" for number in range(10)})
    (few,) = written(Output.PAIRS, [index], [publications([7, 2, 7])], coded=True)
    assert few.column(0).dictionary.to_pylist() == ["p0", "p1", "p2"]
    assert few.column(1).dictionary.to_pylist() == ["s2", "s7"]
    numbers = np.arange(80) % 9
    (many,) = written(Output.PAIRS, [index], [publications(numbers.tolist())], coded=True)
    assert len(many.column(1).dictionary) == 10
    assert rows([many]) == sorted((f"p{n}", f"s{number}") for n, number in enumerate(numbers))
