"""Reading JSON Lines files as a stream: good values out, bad lines to a `Rejections`.

A file may be compressed with gzip, whatever its name, and `-` is standard input. Blank lines are
skipped; so is a byte order mark at the start. Nothing but the ids of a file is kept in memory (to
find an id that was there before, some 150 bytes a line), so publications may be more than fit.
"""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count, starmap
from pathlib import Path
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar, cast

from sapwood.errors import FileFormatError, FilterSyntaxError, InputError, LimitError
from sapwood.files.flat_lines import FlatLine, decode_flat_lines, decode_flat_records
from sapwood.files.lines import (
    AdvertisementLine,
    PublicationLine,
    SubscriptionText,
    decode_advertisement,
    decode_publication,
    decode_record,
    decode_subscription,
    read_member,
    split_subscription,
)
from sapwood.files.rejections import Rejections
from sapwood.files.writing import STANDARD_INPUT
from sapwood.language.dialects import DIALECTS
from sapwood.language.written import as_given
from sapwood.limits import FILTER_TEXT_CHARS_MAX, LINE_BYTES_MAX
from sapwood.model.publication import Record
from sapwood.model.subscription import Subscription
from sapwood.wire.names import check_id
from sapwood.xml.document import Document

T = TypeVar("T")
H = TypeVar("H", Subscription, PublicationLine, AdvertisementLine)

CheckHome: TypeAlias = Callable[[str], object]
"""Raises `InputError` for a home that does not exist: for example the `known` of an overlay."""

_BOM: Final = b"\xef\xbb\xbf"
_GZIP: Final = b"\x1f\x8b"
_FOREIGN: Final = (
    (b"PAR1", "is a Parquet file; `sapwood pipeline` reads those, this command JSON Lines"),
    (b"\xff\xfe", "is UTF-16; save it as UTF-8"),
    (b"\xfe\xff", "is UTF-16; save it as UTF-8"),
    (b"PK\x03\x04", "is a zip archive; unpack it, or compress with gzip"),
    (b"\x28\xb5\x2f\xfd", "is compressed with zstd; unpack it, or compress with gzip"),
)
"""First bytes of files of which no line can be good, and what to do instead."""

_PIECE_BYTES: Final = 1 << 20
"""The bytes that are read at a time, where there are as many."""

_MAGIC_BYTES: Final = max(len(magic) for magic, _ in _FOREIGN)
_READ_BYTES_MAX: Final = len(_BOM) + LINE_BYTES_MAX + len(b"\r\n")


class Line(NamedTuple, Generic[T]):
    """A good line: its number, its value, and the line itself."""

    number: int
    value: T
    text: bytes


@dataclass(slots=True)
class Counts:
    """The counts of lines in a file so far. Always `read == good + rejected`."""

    #: Lines that were not blank.
    read: int = 0
    #: Lines that gave a value.
    good: int = 0
    #: Lines that were handed to the `Rejections`.
    rejected: int = 0


@dataclass(frozen=True, slots=True)
class PublicationBatch:
    """A batch of publications of a file, in its order: ids, flat records, and documents.

    A publication without one of the two has `None` there; `documents` is `None` if none has one.
    """

    ids: list[str]
    records: list[Record | None]
    documents: list[bytes | Document | None] | None


class Reading(Generic[T]):
    """The good values of one file, to be iterated over once, and `counts`, which grow meanwhile.

    Iteration raises `FileFormatError` where the file as a whole cannot be read.
    """

    def __init__(
        self,
        path: str,
        rejections: Rejections,
        decode: Callable[[bytes], T],
        id_of: Callable[[T], str],
    ) -> None:
        """Read `path`, in which each value has an id of its own."""
        self.path = path
        self.counts = Counts()
        self._rejections = rejections
        self._decode = decode
        self._id_of = id_of

    def __iter__(self) -> Iterator[T]:
        return (value for _, value, _ in self._good())

    def lines(self) -> Iterator[Line[T]]:
        """The good lines, for callers that may yet reject one; in place of the values."""
        return starmap(Line, self._good())

    def _good(self) -> Iterator[tuple[int, T, bytes]]:
        first_lines: dict[str, int] = {}
        for number, line in _numbered_lines(self.path):
            value = self._read(number, line, first_lines)
            if value is not None:
                yield number, value, line

    def _read(self, number: int, line: bytes, first_lines: dict[str, int]) -> T | None:
        """The value of a line; `None` if it was rejected. Its id goes to those that were there."""
        self.counts.read += 1
        try:
            value = self._decode(line)
            id_ = self._id_of(value)
            first = first_lines.setdefault(id_, number)
            if first != number:
                raise InputError(f"id {id_!r} was on line {first} already; give it its own id")
        except InputError as error:
            self.counts.rejected += 1
            self.reject(number, _reason(error), line)
            return None
        self.counts.good += 1
        return value

    def reject(self, number: int, reason: str, text: bytes) -> None:
        """Set a line aside, or fail, as the `Rejections` have it."""
        shown = text.decode(errors="backslashreplace")
        self._rejections.reject(self.path, number, reason, shown)


class PublicationReading(Reading[PublicationLine]):
    """The publications of one file, which come in batches as well."""

    def __init__(
        self,
        path: str,
        rejections: Rejections,
        decode: Callable[[bytes], PublicationLine],
        decode_flat: Callable[[list[bytes]], list[FlatLine | None]] | None = None,
    ) -> None:
        """Read `path`; `decode_flat` passes lines that are in order at first sight, many at a time.

        Without one, lines are publications.
        """
        super().__init__(
            path,
            rejections,
            decode,
            lambda value: value.publication.id,
        )
        self._decode_flat = decode_flat or decode_flat_lines

    def batches(self) -> Iterator[PublicationBatch]:
        """All publications, as many together as were read at a time; in place of the values.

        Rejected are the same lines, for the same reasons; homes are not checked.
        """
        first_lines: dict[str, int] = {}
        for first, lines in _pieces(self.path):
            found = self._decode_flat(lines)
            flat = cast("list[FlatLine]", found)
            ids = [] if None in found else [one.id for one in flat]
            if len(set(ids)) == len(lines) and first_lines.keys().isdisjoint(ids):
                first_lines.update(zip(ids, range(first, first + len(ids)), strict=True))
                self.counts.read += len(ids)
                self.counts.good += len(ids)
                yield PublicationBatch(ids, [one.attributes for one in flat], None)
            else:
                yield self._batch(first, lines, found, first_lines)

    def _batch(
        self,
        first: int,
        lines: list[bytes],
        found: list[FlatLine | None],
        first_lines: dict[str, int],
    ) -> PublicationBatch:
        """The publications of lines that are not all in order at first sight."""
        ids: list[str] = []
        records: list[Record | None] = []
        documents: list[bytes | Document | None] = []
        for number, line, flat in zip(count(first), lines, found, strict=False):
            if flat is not None and first_lines.setdefault(flat.id, number) == number:
                self.counts.read += 1
                self.counts.good += 1
                ids.append(flat.id)
                records.append(flat.attributes)
                documents.append(None)
            elif line and not line.isspace():
                value = self._read(number, line, first_lines)
                if value is not None:
                    publication = value.publication
                    ids.append(publication.id)
                    is_record = publication.attributes is not None
                    records.append(publication.record if is_record else None)
                    documents.append(publication.readable_document)
        has_documents = any(document is not None for document in documents)
        return PublicationBatch(ids, records, documents if has_documents else None)


def read_subscriptions(
    path: str,
    rejections: Rejections,
    check_home: CheckHome | None = None,
    *,
    dialect: str | None = None,
) -> Reading[Subscription]:
    """The subscriptions in the file `path` (`-` is standard input), in its order.

    Filters that name no dialect are in the one given; `UnknownNameError` if there is none such.
    """
    if dialect is not None:
        DIALECTS.named(dialect)
    decode = _at_home(partial(decode_subscription, dialect=dialect), check_home)
    return Reading(path, rejections, decode, lambda value: value.id)


def read_subscription_texts(
    path: str, rejections: Rejections, *, dialect: str | None = None
) -> Reading[SubscriptionText]:
    """The subscriptions with unparsed filters: a broker parses them and refuses wrong ones.

    Filters in a dialect are parsed here, as no broker does that.
    """
    if dialect is not None:
        DIALECTS.named(dialect)
    decode = partial(_unread_subscription, dialect=dialect)
    return Reading(path, rejections, decode, lambda value: value.id)


def _unread_subscription(line: bytes, dialect: str | None) -> SubscriptionText:
    found = split_subscription(line, dialect)
    if found.interest.dialect is not None:
        found = found._replace(interest=as_given(read_member(found.interest)))
    if len(found.interest.text) > FILTER_TEXT_CHARS_MAX:
        name, length = "FILTER_TEXT_CHARS_MAX", len(found.interest.text)
        raise LimitError(name, FILTER_TEXT_CHARS_MAX, length, "the length of the filter")
    check_id("subscription", found.id)
    return found


def read_publications(
    path: str,
    rejections: Rejections,
    check_home: CheckHome | None = None,
    *,
    id_member: str | None = None,
) -> PublicationReading:
    """The publications in the file `path` (`-` is standard input), in its order.

    With `id_member` its lines are records by themselves, each with its id in that member.
    """
    if id_member is not None:
        of_record = partial(decode_record, id_member=id_member)
        flat = partial(decode_flat_records, id_member=id_member)
        return PublicationReading(path, rejections, of_record, flat)
    return PublicationReading(path, rejections, _at_home(decode_publication, check_home))


def read_advertisements(
    path: str, rejections: Rejections, check_home: CheckHome | None = None
) -> Reading[AdvertisementLine]:
    """The advertisements in the file `path` (`-` is standard input), in its order."""
    decode = _at_home(decode_advertisement, check_home)
    return Reading(path, rejections, decode, lambda value: value.id)


def _at_home(decode: Callable[[bytes], H], check_home: CheckHome | None) -> Callable[[bytes], H]:
    """A decoder that refuses a home that does not pass the check."""
    if check_home is None:
        return decode

    def decode_at_home(line: bytes) -> H:
        value = decode(line)
        if value.home is not None:
            check_home(value.home)
        return value

    return decode_at_home


def _reason(error: InputError) -> str:
    """The error in one line: the rejected text stands beside it, so no pointer is needed."""
    if isinstance(error, FilterSyntaxError):
        return f"{error.reason}, at position {error.position + 1}"
    return str(error)


def _numbered_lines(path: str) -> Iterator[tuple[int, bytes]]:
    """All lines of `path` that are not blank, without their ends, numbered from 1.

    A line longer than `LINE_BYTES_MAX` comes cut, still longer than that.
    """
    for first, lines in _pieces(path):
        for number, line in enumerate(lines, first):
            if line and not line.isspace():
                yield number, line


def _pieces(path: str) -> Iterator[tuple[int, list[bytes]]]:
    """The lines of `path`, without their ends, as many as are there at a time.

    Each time with the number of the first one. Lines from a pipe come at once.
    """
    number, rest = 1, b""
    with opened(path) as stream:
        while True:
            try:
                piece = stream.read1(_PIECE_BYTES)
            except (OSError, EOFError, zlib.error) as error:
                raise FileFormatError(path, f"cannot be read further: {error}", number) from error
            if not piece:
                break
            *lines, last = piece.split(b"\n")
            if lines:
                lines[0] = rest + lines[0]
                rest = last
                yield number, _cleaned(lines, is_first=number == 1)
                number += len(lines)
            else:
                rest += last
            # The rest of the line beyond the limit is passed over.
            rest = rest[:_READ_BYTES_MAX]
    if rest:
        yield number, _cleaned([rest], is_first=number == 1)


def _cleaned(lines: list[bytes], *, is_first: bool) -> list[bytes]:
    """Lines that were split at their ends, without a byte order mark."""
    cut = [line[:_READ_BYTES_MAX] for line in lines]
    if is_first:
        cut[0] = cut[0].removeprefix(_BOM)
    return [line.removesuffix(b"\r") for line in cut]


@contextmanager
def opened(path: str) -> Iterator[io.BufferedIOBase]:
    """The bytes of `path` (`-` is standard input), unpacked.

    Raises `FileFormatError` where the first bytes leave no hope for text.
    """
    with _standard_input() if path == STANDARD_INPUT else _file(path) as stream:
        start = stream.peek(_MAGIC_BYTES)
        for magic, reason in _FOREIGN:
            if start.startswith(magic):
                raise FileFormatError(path, reason)
        if start.startswith(_GZIP):
            yield gzip.GzipFile(fileobj=stream)
        else:
            yield stream


def _file(path: str) -> io.BufferedReader:
    try:
        return Path(path).open("rb")
    except FileNotFoundError:
        raise FileFormatError(path, "there is no such file") from None
    except IsADirectoryError:
        raise FileFormatError(path, "is a folder; name a file in it") from None
    except OSError as error:
        raise FileFormatError(path, f"cannot be opened: {error.strerror}") from error


@contextmanager
def _standard_input() -> Iterator[io.BufferedReader]:
    stream = sys.stdin.buffer
    if isinstance(stream, io.BufferedReader):
        yield stream
        return
    # Something that stands for it. (Wrapped as well, the real one would give no line before a
    # second buffer is full: a live pipe would seem to be stuck.)
    wrapper: io.BufferedReader = io.BufferedReader(cast("Any", stream))
    try:
        yield wrapper
    finally:
        wrapper.detach()  # Else the stream would be closed with its wrapper.
