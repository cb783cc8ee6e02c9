"""Files as streams of good values, and what happens to bad lines."""

from __future__ import annotations

import gzip
import io
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import FileFormatError
from sapwood.files.reading import Counts, read_publications, read_subscriptions
from sapwood.files.rejections import StrictRejections
from sapwood.limits import LINE_BYTES_MAX
from tests.patience import PATIENCE_S


class ListedRejections:
    """Keeps what is rejected."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, int, str, str]] = []

    def reject(self, path: str, line: int, reason: str, text: str) -> None:
        self.rows.append((path, line, reason, text))


Write = Callable[[bytes], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a file and gives its path."""

    def write_file(content: bytes) -> str:
        path = tmp_path / "lines.jsonl"
        path.write_bytes(content)
        return str(path)

    return write_file


def publication_ids(path: str) -> tuple[list[str], list[int], Counts]:
    """The ids of good lines, the numbers of bad ones, and the counts."""
    rejections = ListedRejections()
    reading = read_publications(path, rejections)
    ids = [line.publication.id for line in reading]
    return ids, [row[1] for row in rejections.rows], reading.counts


def in_batches(path: str) -> tuple[list[object], list[tuple[str, int, str, str]], Counts]:
    """The publications of a file in batches, what was rejected, and the counts."""
    rejections = ListedRejections()
    reading = read_publications(path, rejections)
    found: list[object] = []
    for batch in reading.batches():
        documents = batch.documents or [None] * len(batch.ids)
        found += zip(batch.ids, batch.records, documents, strict=True)
    return found, rejections.rows, reading.counts


def line_by_line(path: str) -> tuple[list[object], list[tuple[str, int, str, str]], Counts]:
    """The same, one by one, and each looked at closely."""
    rejections = ListedRejections()
    reading = read_publications(path, rejections)
    found: list[object] = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("sapwood.files.lines.decode_flat_line", lambda _: None)
        for one in (line.publication for line in reading):
            record = None if one.attributes is None else one.record
            found.append((one.id, record, one.readable_document))
    return found, rejections.rows, reading.counts


GOOD = b'{"id":"p1","attributes":{"a":1}}\n{"id":"p2","attributes":{"a":[1],"b":[[2]]}}\n'


def test_read_publications_gives_all_in_their_order(write: Write) -> None:
    ids, rejected, counts = publication_ids(write(GOOD))
    assert ids == ["p1", "p2"]
    assert rejected == []
    assert counts == Counts(read=2, good=2, rejected=0)


def test_read_subscriptions_gives_all_in_their_order(write: Write) -> None:
    path = write(b'{"id":"b","filter":"x = 1","home":"r1"}\n{"id":"a","filter":"y"}')
    reading = read_subscriptions(path, StrictRejections())
    assert [(s.id, s.home) for s in reading] == [("b", "r1"), ("a", None)]
    assert reading.counts == Counts(read=2, good=2)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(GOOD.rstrip(b"\n"), id="no end of the last line"),
        pytest.param(GOOD.replace(b"\n", b"\r\n"), id="carriage returns"),
        pytest.param(b"\xef\xbb\xbf" + GOOD, id="byte order mark"),
        pytest.param(b"\n \n\t\r\n" + GOOD.replace(b"\n", b"\n\n"), id="blank lines"),
        pytest.param(gzip.compress(GOOD), id="gzip"),
        pytest.param(gzip.compress(GOOD[:33]) + gzip.compress(GOOD[33:]), id="two gzip members"),
    ],
)
def test_reading_does_not_depend_on_how_lines_are_stored(write: Write, content: bytes) -> None:
    ids, rejected, counts = publication_ids(write(content))
    assert ids == ["p1", "p2"]
    assert rejected == []
    assert counts.read == 2


def test_reading_an_empty_file_gives_nothing(write: Write) -> None:
    assert publication_ids(write(b"")) == ([], [], Counts())


def test_reading_sets_bad_lines_aside_with_place_reason_and_text(write: Write) -> None:
    path = write(
        b'{"id":"s1","filter":"price > 10"}\n'
        b"\n"
        b'{"id":"s2","filter":"price > "}\n'
        b"{broken\n"
        b'{"id":"s3","filter":"price < 5"}\n'
    )
    rejections = ListedRejections()
    reading = read_subscriptions(path, rejections)
    assert [s.id for s in reading] == ["s1", "s3"]
    assert reading.counts == Counts(read=4, good=2, rejected=2)
    (_, syntax_line, syntax, text), (_, json_line, json_reason, _) = rejections.rows
    assert (syntax_line, json_line) == (3, 4)
    assert syntax.startswith("filter: expected")
    assert syntax.endswith(", at position 9")
    assert "\n" not in syntax
    assert text == '{"id":"s2","filter":"price > "}'
    assert json_reason.startswith("not JSON")


def test_reading_rejects_an_id_that_was_there_with_its_first_line(write: Write) -> None:
    path = write(b'\n{"id":"s","filter":"a"}\n{"id":"s","filter":"b"}\n{"id":"s","filter":"c"}\n')
    rejections = ListedRejections()
    reading = read_subscriptions(path, rejections)
    assert [s.filter.source for s in reading] == ["a"]
    assert [row[1] for row in rejections.rows] == [3, 4]
    assert rejections.rows[1][2] == "id 's' was on line 2 already; give it its own id"


def test_reading_takes_an_id_that_was_on_a_bad_line(write: Write) -> None:
    path = write(b'{"id":"s","filter":"a ="}\n{"id":"s","filter":"b"}\n')
    reading = read_subscriptions(path, ListedRejections())
    assert [s.filter.source for s in reading] == ["b"]


def test_reading_strictly_raises_at_the_first_bad_line(write: Write) -> None:
    path = write(b'{"id":"s1","filter":"a"}\n{"id":2,"filter":"a"}\n')
    values = iter(read_subscriptions(path, StrictRejections()))
    assert next(values).id == "s1"
    with pytest.raises(FileFormatError) as caught:
        next(values)
    assert (caught.value.path, caught.value.line) == (path, 2)
    assert '"id" is a number' in caught.value.reason


def test_reading_shows_bytes_that_are_no_text_in_a_rejected_line(write: Write) -> None:
    rejections = ListedRejections()
    assert list(read_publications(write(b'{"id":"M\xfcnchen"}'), rejections)) == []
    assert rejections.rows[0][3] == r'{"id":"M\xfcnchen"}'


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
def test_reading_takes_a_line_of_the_longest_length(write: Write, start: bytes, end: bytes) -> None:
    line = b'{"id":"p1","attributes":{}}'
    line += b" " * (LINE_BYTES_MAX - len(line))
    assert publication_ids(write(start + line + end))[0] == ["p1"]
    assert publication_ids(write(start + line + b" " + end))[:2] == ([], [1])


def test_reading_passes_over_a_line_of_any_length_and_goes_on(write: Write) -> None:
    long = b'{"id":"p0","attributes":{"t":"' + b"x" * (3 * LINE_BYTES_MAX) + b'"}}\n'
    rejections = ListedRejections()
    reading = read_publications(write(long + GOOD), rejections)
    assert [line.publication.id for line in reading] == ["p1", "p2"]
    ((_, number, reason, text),) = rejections.rows
    assert number == 1
    assert "LINE_BYTES_MAX" in reason
    assert len(text) < LINE_BYTES_MAX + 10


def test_reading_reads_standard_input_and_leaves_it_open(monkeypatch: pytest.MonkeyPatch) -> None:
    for content in (GOOD, gzip.compress(GOOD)):
        stdin = io.TextIOWrapper(io.BytesIO(content))
        monkeypatch.setattr(sys, "stdin", stdin)
        assert publication_ids("-")[0] == ["p1", "p2"]
        assert not stdin.buffer.closed


@pytest.mark.parametrize("where", ["-", "/dev/fd"])
def test_reading_gives_a_line_as_soon_as_it_is_written(
    monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    read, write = os.pipe()
    path = where if where == "-" else f"{where}/{read}"
    found: list[str] = []
    with open(read, encoding="utf-8") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        values = iter(read_publications(path, StrictRejections()))
        thread = threading.Thread(target=lambda: found.append(next(values).publication.id))
        os.write(write, GOOD)
        thread.start()
        thread.join(timeout=PATIENCE_S)
        in_time = list(found)
        os.close(write)
        thread.join()
        assert [line.publication.id for line in values] == ["p2"]
    assert in_time == ["p1"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(b"PAR1\x15\x04", "is a Parquet file", id="parquet"),
        pytest.param('{"id":"p"}'.encode("utf-16"), "is UTF-16", id="utf-16"),
        pytest.param(b"PK\x03\x04", "is a zip archive", id="zip"),
        pytest.param(b"\x28\xb5\x2f\xfd", "with zstd", id="zstd"),
        pytest.param(gzip.compress(GOOD)[:-9], "cannot be read further", id="half a gzip"),
        pytest.param(b"\x1f\x8b\x08" + b"\xff" * 40, "cannot be read further", id="broken gzip"),
    ],
)
def test_reading_refuses_a_file_of_another_kind(write: Write, content: bytes, reason: str) -> None:
    path = write(content)
    with pytest.raises(FileFormatError, match=reason) as caught:
        list(read_publications(path, StrictRejections()))
    assert caught.value.path == path


def test_reading_refuses_a_file_that_is_not_there(tmp_path: Path) -> None:
    path = str(tmp_path / "none.jsonl")
    with pytest.raises(FileFormatError, match="there is no such file") as caught:
        list(read_subscriptions(path, StrictRejections()))
    assert str(caught.value).startswith(path)


def test_reading_refuses_a_folder(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="is a folder"):
        list(read_subscriptions(str(tmp_path), StrictRejections()))


def test_reading_says_why_a_file_cannot_be_opened(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError(13, "Permission denied")

    path = write(GOOD)
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(FileFormatError, match="cannot be opened: Permission denied"):
        list(read_subscriptions(path, StrictRejections()))


def test_reading_closes_its_file_when_it_is_left_early(write: Write) -> None:
    values = iter(read_publications(write(GOOD), StrictRejections()))
    assert next(values).publication.id == "p1"
    del values  # An open file would now warn, and the suite turns such a warning into an error.


_ODD = st.sampled_from(
    [
        b"",
        b"  \r",
        b"{",
        b'{"id":"p1","attributes":{"a":1,"a":2}}',
        b'{"id":"p2","attributes":{"a":{"b":1},"c":[1]}}\r',
        b'{"id":"p3","document":"<a/>"}',
        b'{"id":"p4","attributes":{"a":1},"document":"<a/>"}',
        b'{"id":"p5","document":"<a>"}',
        b'{"id":"p6","attributes":{"a":9223372036854775808}}',
        b"\xef\xbb\xbf{}",
        b"\xff",
    ]
)
_PLAIN = st.integers(0, 40).map(
    lambda n: b'{"id":"p%d","attributes":{"a":%d,"b":"x : y"}}' % (n, n)
)


@given(
    lines=st.lists(_PLAIN | _PLAIN | _ODD, max_size=20),
    end=st.sampled_from((b"", b"\n", b"\r\n")),
    start=st.sampled_from((b"", b"\xef\xbb\xbf")),
    piece=st.sampled_from((1, 7, 100, 1 << 20)),
    limit=st.sampled_from((30, 1 << 20)),
)
def test_batches_tell_what_single_lines_do_however_a_file_is_cut(
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[bytes],
    end: bytes,
    start: bytes,
    piece: int,
    limit: int,
) -> None:
    path = tmp_path_factory.getbasetemp() / "cut.jsonl"
    path.write_bytes(start + b"\n".join(lines) + end)
    with pytest.MonkeyPatch.context() as patched:
        for module in ("files.flat_lines", "model.json_objects"):
            patched.setattr(f"sapwood.{module}.LINE_BYTES_MAX", limit)
        patched.setattr("sapwood.files.reading._READ_BYTES_MAX", limit + 5)
        whole = line_by_line(str(path))
        patched.setattr("sapwood.files.reading._PIECE_BYTES", piece)
        assert in_batches(str(path)) == line_by_line(str(path)) == whole


def test_a_damaged_archive_gives_the_lines_before_the_damage(write: Write) -> None:
    lines = b"".join(b'{"id":"p%d","attributes":{"a":1}}\n' % n for n in range(50_000))
    path = write(gzip.compress(lines)[:-2_000])
    batches = read_publications(path, ListedRejections()).batches()
    found: list[str] = []
    with pytest.raises(FileFormatError, match="cannot be read further") as raised:
        found.extend(id_ for batch in batches for id_ in batch.ids)
    assert raised.value.line == len(found) + 1
    assert found == [f"p{n}" for n in range(len(found))]
    assert len(found) > 10_000
