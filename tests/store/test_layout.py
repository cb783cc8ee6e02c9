"""The bytes of a log: what is written is what is read, and nothing else is ever read."""

from __future__ import annotations

import inspect
import re
import struct
import zlib

from hypothesis import given
from hypothesis import strategies as st

from sapwood.store import layout
from sapwood.store.layout import (
    Commit,
    Damage,
    Entry,
    Publications,
    Released,
    Remembered,
    Row,
    SegmentHeader,
    State,
    commit_at,
    commits_in,
    decode_commit_header,
    decode_segment_header,
    encode_commit,
    encode_segment_header,
    write_commit,
)

ENTRIES: tuple[Entry, ...] = (
    Publications(1.5, "c", ("s", 7), True, b"\0\0\0\x02\0\0\0\x01", b"abc"),
    Publications(2.5, "r2", b"\x90", False, b"\0\0\0\x01", b"x"),
    State(b"\x92\x01\xa1c"),
    Remembered("incarnation", b"\0"),
    Row("mailbox", "m", 3, b"value"),
    Row("mailbox", "m", 2, None),
    Released(9),
)


def log(count: int = 4) -> tuple[bytes, list[Commit]]:
    """So many commits, one behind the other."""
    data, made = b"", []
    for number in range(1, count + 1):
        one = encode_commit(number, 10 * number, number, ENTRIES[:number])
        begin, data = len(data), data + one
        found = commit_at(data, begin)
        assert found is not None
        made.append(found)
    return data, made


def test_the_worked_example_is_what_is_written() -> None:
    bodies = bytes.fromhex("93A2703181A16101C0 93A2703280C0")
    entry = Publications(
        1767225600.25, "c", ("s", 7), True, bytes.fromhex("00000009 00000006"), bodies
    )
    data = encode_commit(3, 5, 2, [entry])
    shown = inspect.cleandoc(layout.__doc__ or "").partition("were before::")[2]
    digits = re.findall(r"(?m)(?<= )[0-9A-F]{2}(?= |$)", re.sub(r"(?<=\S) {3,}\S.*", "", shown))
    assert data.hex(" ").upper().split() == digits
    assert decode_commit_header(data) == (len(data) - 32, 3, 5, 2)
    assert len(entry) == 2
    assert entry.is_ours
    assert entry.ends().tolist() == [9, 15]


def test_a_buffer_holds_one_commit_whatever_was_in_it_before() -> None:
    buffer = bytearray()
    for number, entries in enumerate((ENTRIES, ENTRIES[:1], (), ENTRIES), 1):
        write_commit(buffer, number, 2, 3, entries)
        assert buffer == encode_commit(number, 2, 3, entries)
        found = commit_at(bytes(buffer), 0)
        assert found is not None
        assert (found.number, found.end) == (number, len(buffer))
        assert found.entries() == list(entries)


def test_every_kind_of_entry_is_read_as_it_was_written() -> None:
    found = commit_at(encode_commit(1, 2, 3, ENTRIES), 0)
    assert found is not None
    assert [found.number, found.place, found.count] == [1, 2, 3]
    assert found.entries() == list(ENTRIES)
    assert not ENTRIES[1].is_ours  # type: ignore[union-attr]


def test_whatever_is_cut_off_whole_commits_before_it_are_there() -> None:
    data, commits = log()
    for size in range(len(data) + 1):
        found = list(commits_in(data[:size]))
        whole = [commit for commit in commits if commit.end <= size]
        torn = [] if not size or (whole and whole[-1].end == size) else [found[-1]]
        assert found == [*whole, *torn]
        assert all(isinstance(one, Damage) and one.end == size for one in torn)


@given(st.data())
def test_flipped_bits_cost_the_commit_that_they_are_in_and_no_other(data: st.DataObject) -> None:
    written, commits = log()
    place = data.draw(st.integers(0, len(written) - 1))
    damaged = bytearray(written)
    damaged[place] ^= 1 << data.draw(st.integers(0, 7))
    found = list(commits_in(bytes(damaged)))
    assert [one for one in found if isinstance(one, Commit)] == [
        one for one in commits if not one.begin <= place < one.end
    ]
    (damage,) = (one for one in found if isinstance(one, Damage))
    assert damage.begin <= place < damage.end


def test_a_header_of_a_segment_is_read_whole_or_not_at_all() -> None:
    header = SegmentHeader(5, 3, "r1", "00-00.segment", 4711)
    data = encode_segment_header(header)
    assert decode_segment_header(data + b"more") == (header, len(data))
    for size in range(len(data)):
        assert decode_segment_header(data[:size]) is None
        damaged = bytearray(data)
        damaged[size] ^= 0x10
        assert decode_segment_header(bytes(damaged)) is None


def test_another_version_of_segments_is_told_from_damage() -> None:
    rest = struct.pack(">8sII", b"SAPWOODJ", 7, 3)
    assert decode_segment_header(rest + struct.pack(">I", zlib.crc32(rest + b"new")) + b"new") == 7
