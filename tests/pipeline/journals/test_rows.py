from __future__ import annotations

from datetime import UTC, datetime

import pytest

from sapwood.pipeline.journals.rows import batch_of_lines, batch_of_rows

pytest.importorskip("pyarrow")

LINES = [
    b'{"offset":4,"published_at":1767225600.250000,"id":"p","attributes":{"x":1.0},"home":"r"}',
    b'{"offset":6,"published_at":0.000000,"id":"q","document":"<a/>","payload":"/wA="}',
]


def test_rows_say_what_lines_say() -> None:
    first, second = batch_of_rows("j", LINES).to_pylist()
    assert first == {
        "id": "p",
        "attributes": '{"x":1.0}',
        "document": None,
        "payload": None,
        "home": "r",
        "published_at": datetime(2026, 1, 1, 0, 0, 0, 250_000, tzinfo=UTC),
        "source": "j",
        "offset": 4,
    }
    assert (second["attributes"], second["document"], second["offset"]) == (None, "<a/>", 6)
    assert second["payload"] == b"\xff\x00"


def test_lines_have_the_place_of_the_first() -> None:
    assert batch_of_lines("j", LINES).to_pylist() == [
        {"file": "j", "block": 4, "value": LINES[0]},
        {"file": "j", "block": 4, "value": LINES[1]},
    ]
