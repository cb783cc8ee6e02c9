"""The files of a log, and reading them: by brokers, and by any program with the folder.

A file is named after the place of its first publication and the number of its first commit::

    00000000000000000000-00000000000000000001.segment      (`layout`)
    00000000000000000000.jsonl                             of the version before (`lines`)

Files of the version before precede all others. Bytes are only ever appended to the last file, and a
commit without its end does not count yet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os import SEEK_CUR
from pathlib import Path
from typing import Final, NamedTuple

from sapwood.errors import FileFormatError
from sapwood.store.layout import (
    COMMIT_BYTES,
    HEADER_BYTES_MAX,
    VERSION,
    Commit,
    Damage,
    SegmentHeader,
    commit_at,
    commits_in,
    decode_commit_header,
    decode_segment_header,
)

SUFFIX: Final = ".segment"
LINES_SUFFIX: Final = ".jsonl"
_DIGITS: Final = 20
_BUFFER_BYTES: Final = 1 << 18


class Segment(NamedTuple):
    """One file of a log: the place of its first publication, the number of its first commit."""

    path: Path
    first: int
    commit: int

    @property
    def has_lines(self) -> bool:
        """True if it is a file of lines, of the version before."""
        return self.path.suffix == LINES_SUFFIX


def segment_name(first: int, commit: int) -> str:
    """The name of the file that begins with this place and this commit."""
    return f"{first:0{_DIGITS}d}-{commit:0{_DIGITS}d}{SUFFIX}"


def segments(folder: Path) -> list[Segment]:
    """The segments in a folder, in order.

    Raises `FileFormatError` where there is no such folder, or other files lie among them.
    """
    if not folder.is_dir():
        raise FileFormatError(str(folder), "there is no journal here")
    found: list[Segment] = []
    for path in (*folder.glob(f"*{LINES_SUFFIX}"), *folder.glob(f"*{SUFFIX}")):
        numbers = path.stem.split("-")
        wanted = 1 if path.suffix == LINES_SUFFIX else 2
        if len(numbers) != wanted or not all(_is_number(number) for number in numbers):
            raise FileFormatError(str(path), "is no segment of a journal; keep other files away")
        found.append(Segment(path, int(numbers[0]), int(numbers[1]) if wanted == 2 else 0))
    return sorted(found, key=lambda one: (one.commit, one.first))


def followed(found: Sequence[Segment]) -> list[tuple[Segment, Segment | None]]:
    """Each segment with its successor."""
    return list(zip(found, (*found[1:], None)[: len(found)], strict=True))


def is_journal(folder: Path) -> bool:
    """True if the folder holds segments and no other files of their kinds."""
    try:
        return bool(segments(folder))
    except FileFormatError:
        return False


def read_header(path: Path) -> tuple[SegmentHeader, int] | None:
    """The header of a segment and its end; `None` where it is damaged.

    Raises `FileFormatError` for one of another version.
    """
    with path.open("rb", buffering=0) as file:
        found = decode_segment_header(file.read(HEADER_BYTES_MAX))
    if isinstance(found, int):
        raise FileFormatError(
            str(path),
            f"is of version {found}, and this is Sapwood with version {VERSION} of segments; use "
            "the Sapwood that wrote it, or another folder",
        )
    return found


def read_commits(
    segment: Segment, place: int = 0, byte: int | None = None
) -> Iterator[Commit | Damage]:
    """The whole commits of a segment from the one with a place on, and the damage between them.

    `byte` is the start of a commit from which to search, if one is known. Bytes behind the last
    whole commit are ignored: more may follow.
    """
    if byte is None:
        told = read_header(segment.path)
        byte = 0 if told is None else told[1]
    with segment.path.open("rb", buffering=_BUFFER_BYTES) as file:
        file.seek(byte)
        while True:
            head = file.read(COMMIT_BYTES)
            header = decode_commit_header(head)
            if header is None:
                break
            size, _, first, count = header
            if first < place and first + count <= place:
                file.seek(size, SEEK_CUR)
            else:
                found = commit_at(head + file.read(size), 0)
                if found is None:
                    break
                yield found.moved(byte)
            byte += COMMIT_BYTES + size
        file.seek(byte)
        yield from _after_damage(file.read(), byte)


def _after_damage(data: bytes, byte: int) -> Iterator[Commit | Damage]:
    """The whole commits and the damage between them, without damage at the end."""
    damage: Damage | None = None
    for found in commits_in(data):
        if isinstance(found, Damage):
            damage = found
            continue
        if damage is not None:
            yield damage.moved(byte)
            damage = None
        yield found.moved(byte)


def _is_number(text: str) -> bool:
    return len(text) == _DIGITS and text.isascii() and text.isdecimal()
