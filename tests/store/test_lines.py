"""A journal as lines, those of the version before among them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InputError, LimitError
from sapwood.files.lines import decode_publication
from sapwood.limits import JOURNAL_LINE_BYTES_MAX
from sapwood.model.publication import Publication
from sapwood.store.lines import (
    Line,
    bounds,
    check_line,
    end_of,
    is_finite,
    is_plainly_a_line,
    line_of,
    read_lines,
)
from sapwood.store.segments import Segment
from sapwood.wire.publications import encode_publication
from tests.store.test_store import batch, commit, opened

INFINITE = (
    b"\xcb\x7f\xf0\0\0\0\0\0\0",
    b"\xcb\xff\xf0\0\0\0\0\0\0",
    b"\xca\x7f\x80\0\0",
    b"\xca\xff\x80\0\0",
)
PIECES = (
    *INFINITE,
    b"\xcb\x3f\xf0\0\0\0\0\0\0",
    b"\xcb\x7f\xf0\1",
    b"\xca\xff",
    b"\xcb",
    b"b",
    b"\0",
)


def test_lines_of_the_version_before_are_whole_and_numbered_from_the_name(tmp_path: Path) -> None:
    segment = Segment(tmp_path / f"{5:020d}.jsonl", 5, 0)
    segment.path.write_bytes(b"a\nbb\nc\nhalf")
    assert end_of(segment) == 8
    assert list(read_lines(segment, 6)) == [Line(6, b"bb", 5), Line(7, b"c", 7)]
    assert list(read_lines(segment, 7, 5)) == [Line(7, b"c", 7)]
    assert list(read_lines(segment, 8)) == []
    assert bounds(tmp_path) == (5, 8)


@pytest.mark.parametrize(
    "publication",
    [
        Publication("p", {"a": 1, "b": {"c": [1.5, None, "x"]}}),
        Publication("p", None, b"<a>text</a>"),
        Publication("p", {"a": "\u0000"}, b"<a/>"),
        Publication("p", {"a": 1}, payload=b"\xff\x00\xcb"),
        Publication("p", payload=b""),
        Publication("p", {"a": 1}, payload=b"x", is_blind=True),
    ],
)
def test_a_line_is_read_back_as_the_publication(publication: Publication) -> None:
    line = line_of(encode_publication(publication), 7, 1767225600.25, "r1")
    assert line.startswith(b'{"offset":7,"published_at":1767225600.25,"id":"p",')
    told = json.loads(line)
    assert told["home"] == "r1"
    for name in ("offset", "published_at"):
        del told[name]
    assert decode_publication(json.dumps(told).encode()).publication == publication


def test_reading_may_go_on_within_a_commit(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        commit(store, batch(0, 3))
        commit(store, batch(3, 3))
        (segment,) = store.writer.log.segments
    lines = list(read_lines(segment, 0))
    assert [line.offset for line in lines] == list(range(6))
    for line in lines:
        assert [one.offset for one in read_lines(segment, line.offset + 1, line.after)] == list(
            range(line.offset + 1, 6)
        )
    assert bounds(segment.path.parent) == (0, 6)
    assert bounds(tmp_path) == (0, 0)


def test_numbers_that_json_cannot_say_are_refused() -> None:
    for number in (float("inf"), float("-inf")):
        for attributes in ({"x": number}, {"x": [1, {"y": number}]}):
            encoded = encode_publication(Publication("p", attributes))
            assert not is_plainly_a_line(encoded)
            with pytest.raises(InputError, match="cannot be written as JSON"):
                check_line(encoded)
    seeming = encode_publication(Publication("p", {"x": b"\xcb\x7f\xf0".decode("latin-1")}))
    check_line(seeming)


def test_a_publication_that_makes_too_long_a_line_is_refused() -> None:
    text = "\u0001" * (JOURNAL_LINE_BYTES_MAX // 6)
    encoded = encode_publication(Publication("p", {"x": text}))
    assert not is_plainly_a_line(encoded)
    with pytest.raises(LimitError, match="JOURNAL_LINE_BYTES_MAX"):
        check_line(encoded)
    check_line(encode_publication(Publication("p", {"x": "x" * (JOURNAL_LINE_BYTES_MAX // 2)})))
    with pytest.raises(LimitError, match="JOURNAL_LINE_BYTES_MAX is 600"):
        check_line(encode_publication(Publication("p", {"x": "x" * 300})), 600)


@given(st.lists(st.sampled_from(PIECES), max_size=40), st.integers(0, 3000), st.integers(0, 9))
def test_numbers_that_json_cannot_say_are_found_in_few_bytes_and_in_many(
    pieces: list[bytes], filling: int, cut: int
) -> None:
    data = b"a" * filling + b"".join(pieces)
    end = max(0, len(data) - cut)
    whole = any(number in data[3:end] for number in INFINITE)
    assert is_finite(data, 3, end) == (not whole)


@pytest.mark.parametrize("shift", range(-10, 3))
def test_an_infinite_number_is_found_where_two_parts_meet(shift: int) -> None:
    number = b"\xcb\x7f\xf0\x00\x00\x00\x00\x00\x00"
    data = b"\xcb\x3f\xf0".ljust(1 << 15, b"x")
    data = data[:shift] + number + data if shift < 0 else data + bytes(shift) + number + data
    assert not is_finite(data, 0, len(data))
    assert is_finite(data.replace(number, b"\xcb\x7f\xef"), 0, len(data) - 6)
