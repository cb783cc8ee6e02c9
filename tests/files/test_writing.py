"""Whole files or none, and deliveries."""

from __future__ import annotations

import io
import json
import os
import stat
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import FileFormatError
from sapwood.files.writing import DeliveryWriter, replacing


def test_replacing_puts_the_whole_file_in_place_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")
    with replacing(str(path)) as out:
        out.write(b"new")
        out.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_replacing_leaves_everything_as_it_was_when_the_block_fails(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), replacing(str(path)) as out:  # noqa: PT012 - tested
        out.write(b"half")
        raise ZeroDivisionError
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_replacing_follows_a_link_to_the_file_it_names(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    with replacing(str(link)) as out:
        out.write(b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_replacing_makes_a_file_that_others_may_read(tmp_path: Path) -> None:
    path = tmp_path / "out"
    before = os.umask(0o022)
    try:
        with replacing(str(path)):
            pass
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_replacing_writes_directly_to_what_is_no_file(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()))
    reader.start()
    with replacing(str(path)) as out:
        out.write(b"new")
    reader.join()
    assert read == [b"new"]
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_replacing_refuses_a_folder(tmp_path: Path) -> None:
    with (
        pytest.raises(FileFormatError, match="is a folder; name a file in it"),
        replacing(str(tmp_path)),
    ):
        pass


def test_replacing_refuses_a_file_in_no_folder(tmp_path: Path) -> None:
    path = str(tmp_path / "none" / "out")
    with pytest.raises(FileFormatError, match="there is no folder") as caught, replacing(path):
        pass
    assert caught.value.path == path


def test_replacing_says_why_a_file_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    path = str(tmp_path / "file" / "out")
    with (
        pytest.raises(FileFormatError, match="cannot be written: Not a directory"),
        replacing(path),
    ):
        pass


def test_delivery_writer_writes_one_line_a_pair_in_the_order_given() -> None:
    out = io.BytesIO()
    deliveries = DeliveryWriter(out)
    deliveries.write("p1", ["s2", "s1"])
    deliveries.write("p2", [])
    deliveries.write('p"3', ["s1"])
    assert out.getvalue() == (
        b'{"publication":"p1","subscription":"s2"}\n'
        b'{"publication":"p1","subscription":"s1"}\n'
        b'{"publication":"p\\"3","subscription":"s1"}\n'
    )
    assert deliveries.count == 3


@given(st.lists(st.tuples(st.text(), st.lists(st.text(), max_size=3)), max_size=5))
def test_delivery_writer_writes_what_json_reads_back(rows: list[tuple[str, list[str]]]) -> None:
    out = io.BytesIO()
    deliveries = DeliveryWriter(out)
    for publication, subscriptions in rows:
        deliveries.write(publication, subscriptions)
    lines = [json.loads(line) for line in out.getvalue().split(b"\n")[:-1]]
    assert [(line["publication"], line["subscription"]) for line in lines] == [
        (publication, subscription) for publication, ids in rows for subscription in ids
    ]
    assert deliveries.count == len(lines)
