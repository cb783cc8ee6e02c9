from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sapwood.errors import InputError
from sapwood.model.publication import Publication
from sapwood.pipeline.journals.publisher import publications_in, publish_batches
from sapwood.store.lines import read_lines
from sapwood.store.segments import segments
from tests.broker.helpers import broker_in_a_thread

pa = pytest.importorskip("pyarrow")


def batch(**columns: list[Any]) -> Any:
    return pa.RecordBatch.from_pydict(columns)


def test_rows_are_publications() -> None:
    rows = batch(
        id=["p", "q"], attributes=['{"x": 1, "y": {"z": null}}', None], document=[None, "<a/>"]
    )
    assert publications_in(rows) == [
        Publication("p", {"x": 1, "y": {"z": None}}),
        Publication("q", None, b"<a/>"),
    ]
    carrying = batch(id=["p"], attributes=['{"x": 1}'], payload=[b"\xff"])
    assert publications_in(carrying) == [Publication("p", {"x": 1}, payload=b"\xff")]
    typed = batch(id=["p"], attributes=[{"x": 1.5, "s": "a"}])
    assert publications_in(typed) == [Publication("p", {"x": 1.5, "s": "a"})]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"id": ["p"]}, "has the columns id and attributes or document; this has id"),
        ({"id": ["p"], "attributes": ["[1]"]}, "no JSON object"),
        ({"id": ["p"], "attributes": [None]}, "a record or a document"),
    ],
)
def test_rows_that_are_none_are_refused(columns: dict[str, list[Any]], said: str) -> None:
    with pytest.raises(InputError, match=said):
        publications_in(batch(**columns))


def test_publishing_again_changes_nothing_and_a_refusal_is_told(tmp_path: Path) -> None:
    rows = batch(id=["p", "q"], attributes=['{"x": 1}', '{"x": 2}'])
    with broker_in_a_thread(data=tmp_path) as address:
        assert publish_batches(address, "job/0", iter([rows, rows])) == 4
        assert publish_batches(address, "job/1", iter([rows])) == 2  # another task of the job
        (segment,) = segments(tmp_path / "journal")
        assert [line.offset for line in read_lines(segment, 0)] == [0, 1]
        assert publish_batches(address, "other/0", iter([rows])) == 2
        assert [line.offset for line in read_lines(segment, 0)] == [0, 1, 2, 3]
        infinite = batch(id=["r"], attributes=[{"x": float("inf")}])
        with pytest.raises(InputError, match="publication 'r' was refused"):
            publish_batches(address, "job/0", iter([infinite]))
